"""GPUs as a user names them."""

from __future__ import annotations

import re

from fatbin._record import Record
from fatbin.arch import ComputeCapability
from fatbin.errors import ArchitectureError, UnknownGpuError
from fatbin.judge.facts.architectures import row_of
from fatbin.judge.facts.gpus import find_gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Gpu", "parse_gpus"]

_CAPABILITY = re.compile(r"(?:sm_?)?\d{2,3}|\d{1,3}\.\d", re.ASCII | re.IGNORECASE)
_CODE = re.compile(
    r"(?:(?:compute|lto)_?|sm_?)?(?P<number>\d{2,3}|\d{1,3}\.\d)(?:[af]|\+ptx|[af]\+ptx)?",
    re.ASCII | re.IGNORECASE,
)


class Gpu(Record):
    """A GPU to judge for.

    Attributes:
        name: the one of the table of GPUs; empty when only a compute capability was given.
        cc: the compute capability.
    """

    name: str
    cc: ComputeCapability

    def __str__(self) -> str:
        """Return ``RTX 5090 (12.0)``, or ``12.0`` without a name."""
        return f"{self.name} ({self.cc})" if self.name else str(self.cc)


def parse_gpus(given: str | Iterable[str | Gpu | ComputeCapability]) -> tuple[Gpu, ...]:
    """Read which GPUs are meant: ``"8.0 9.0, RTX 5090"``, ``["sm_90", "NVIDIA H100 80GB HBM3"]``.

    Commas, semicolons and line ends separate; blanks separate compute capabilities (``9.0``,
    ``sm_90``, ``90``). Order is kept and repeats are dropped.

    Raises:
        ArchitectureError: an architecture of code such as ``sm_90a``, or nothing at all.
        UnknownGpuError: a name that no GPU has, or several that differ.
    """
    found: dict[Gpu, None] = {}
    for item in (given,) if isinstance(given, str | Gpu | ComputeCapability) else given:
        if isinstance(item, Gpu):
            found[item] = None
        elif isinstance(item, ComputeCapability):
            found[Gpu("", item)] = None
        else:
            for piece in re.split(r"[,;\n]+", item):
                found.update(dict.fromkeys(_gpus(piece.strip())))
    if not found:
        msg = f"expected GPUs such as 9.0 or RTX 5090, found {given!r}"
        raise ArchitectureError(msg)
    return tuple(found)


def _gpus(piece: str) -> Iterator[Gpu]:
    if any(c.isnumeric() and not c.isascii() for c in piece):
        msg = f"expected a GPU in digits 0 to 9, found {piece!r}"
        raise ArchitectureError(msg)
    words = piece.split()
    if words and all(_CODE.fullmatch(word) for word in words):
        for word in words:
            yield _by_number(word)
    elif piece:
        row = find_gpu(piece)
        yield Gpu(row.name, row.cc)


def _by_number(word: str) -> Gpu:
    if not _CAPABILITY.fullmatch(word):
        match = _CODE.fullmatch(word)
        number = match["number"] if match else word
        msg = f"expected a GPU, found {word!r}, which is an architecture of code"
        raise ArchitectureError(
            msg, hint=f"write the GPU's compute capability: {ComputeCapability.parse(number)}"
        )
    cc = ComputeCapability.parse(re.sub(r"(?i)^sm_?", "", word))
    if word.isdigit() and row_of(cc) is None:
        return _by_name(word, cc)
    return Gpu("", cc)


def _by_name(word: str, cc: ComputeCapability) -> Gpu:
    """Return the GPU of a bare number that is no known architecture: 980 is more likely a name."""
    try:
        row = find_gpu(word)
    except UnknownGpuError as exc:
        exc.hint = f"if compute capability {cc} is meant, write {cc}"
        raise
    return Gpu(row.name, row.cc)
