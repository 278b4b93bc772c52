"""What a driver does with one module, as plain data: in which way, with which error, and why."""

from __future__ import annotations

from fatbin import variables as names
from fatbin._record import Record, Word
from fatbin.judge.serving import Certainty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SUCCESS = 0
NO_DEVICE = 100
INVALID_IMAGE = 200
NO_BINARY_FOR_GPU = 209
INVALID_PTX = 218
UNSUPPORTED_PTX_VERSION = 222
JIT_COMPILATION_DISABLED = 223
INVALID_SOURCE = 300
NOT_FOUND = 500


class How(Word):
    """In which way a module serves a device."""

    NATIVE = "native"
    """SASS that fits is loaded."""
    JIT = "jit"
    """PTX is compiled by the driver."""
    JIT_LINK = "jit-link"
    """Relocatable PTX of a device-linked library is compiled and linked by the driver."""
    NONE = "none"
    """It does not."""


class Environment(Record):
    """The variables of a process that change what the driver chooses.

    Attributes:
        force_ptx_jit: CUDA_FORCE_PTX_JIT=1: cubins in containers are passed over.
        disable_ptx_jit: CUDA_DISABLE_PTX_JIT=1: PTX is not compiled.
        eager: CUDA_MODULE_LOADING=EAGER: missing functions show when loading.
        warm_cache: the driver's compute cache holds every compilation already; ``disable_ptx_jit``
            then stops nothing that compiles at all.
        unclear: variables that are set and whose effect nobody has described; they do not count.
    """

    force_ptx_jit: bool = False
    disable_ptx_jit: bool = False
    eager: bool = False
    warm_cache: bool = False
    unclear: tuple[str, ...] = ()

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> Environment:
        """Read the variables of a process; other values than 1 and EAGER change nothing.

        Source: CUDA C++ Programming Guide, "CUDA Environment Variables".
        """
        return cls(
            force_ptx_jit=variables.get(names.FORCE_PTX_JIT) == "1",
            disable_ptx_jit=variables.get(names.DISABLE_PTX_JIT) == "1",
            eager=variables.get(names.MODULE_LOADING) == "EAGER",
            unclear=tuple(n for n in (names.FORCE_JIT, names.DISABLE_JIT) if variables.get(n)),
        )


class Choice(Record):
    """What the driver does with one module.

    Attributes:
        how: in which way the module serves the device.
        certainty: of that answer.
        code: the CUresult, 0 when the module loads.
        entry: index in ``Module.entries`` of the image taken, or that the error is about; -1 when
            there is none.
        late: the error comes when a kernel is looked up, not when the module is loaded.
        because: ids of statements, the deciding one first.
        driver: branch of the oldest driver that reads the image, 0 when every one does.
    """

    how: How
    certainty: Certainty = Certainty.YES
    code: int = SUCCESS
    entry: int = -1
    late: bool = False
    because: tuple[str, ...] = ()
    driver: int = 0

    @property
    def serves(self) -> bool:
        """Whether code runs, surely or probably."""
        return self.how is not How.NONE
