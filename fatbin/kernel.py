"""Kernels and device functions as plain data."""

from __future__ import annotations

from fatbin._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.arch import Architecture


class Parameter(Record):
    """One parameter of a kernel.

    Attributes:
        ordinal: position in the parameter list, from 0.
        offset: in the parameter block, bytes.
        size: in bytes.
    """

    ordinal: int
    offset: int
    size: int


class Kernel(Record):
    """A kernel, or a device function of a relocatable or debug image.

    Sizes are in bytes. What an image does not say is 0 or empty. Source of each fact: the section
    or the attribute record named in parentheses; see the format reference.

    Attributes:
        name: the symbol's name, mangled as in the file.
        entry: True for a kernel (``st_other`` bit 0x10), False for a device function.
        arch: of the image.
        registers: a thread needs (REGCOUNT).
        stack: a thread needs, of kernels only (MIN_STACK_SIZE).
        frame: of the function itself (FRAME_SIZE).
        shared: static shared memory (``.nv.shared.<name>``); from SM 90 on with the 1,024 bytes
            that the system reserves. Dynamic shared memory is a launch parameter and not in the
            image.
        local: ``.nv.local.<name>``.
        constant: bytes of each constant bank of its own, by bank (``.nv.constantN.<name>``).
        barriers: named barriers used (NUM_BARRIERS).
        max_threads: the three sizes of ``__launch_bounds__`` or ``.maxntid`` (MAX_THREADS).
        required_threads: the three sizes of ``.reqntid`` (REQNTID).
        max_registers: limit given to the compiler, 0 for none (MAXREG_COUNT, where 255 is none).
        parameters: in order of their ordinal (KPARAM_INFO).
        parameter_bytes: size of the parameter block (CBANK_PARAM_SIZE).
        code_size: of ``.text.<name>``.
    """

    name: str
    entry: bool
    arch: Architecture | None = None
    registers: int = 0
    stack: int = 0
    frame: int = 0
    shared: int = 0
    local: int = 0
    constant: tuple[tuple[int, int], ...] = ()
    barriers: int = 0
    max_threads: tuple[int, ...] = ()
    required_threads: tuple[int, ...] = ()
    max_registers: int = 0
    parameters: tuple[Parameter, ...] = ()
    parameter_bytes: int = 0
    code_size: int = 0
