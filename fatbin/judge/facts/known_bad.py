"""Libraries that are known to fail on GPUs for which their device code alone says nothing of it."""

from __future__ import annotations

from fatbin._record import Record
from fatbin.judge.facts.versions import version_numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.arch import ComputeCapability

__all__ = ["KNOWN_BAD", "KnownBad", "matching"]


class KnownBad(Record):
    """One library that fails on some GPUs.

    Attributes:
        id: a stable name of the row.
        library: pattern of its soname or file name, ``libnccl.so*``.
        version_low: the first version meant; empty for every one from the start.
        version_high: the first version no longer meant; empty for every one to the end.
        cuda_low: of the CUDA that built it, likewise.
        cuda_high: the first CUDA no longer meant, likewise.
        gpus: first and last compute capability of each range meant, ``("12.0", "12.9")``.
        severity: ``fail`` or ``warn``.
        symptom: what a user sees.
        remedy: what helps.
        sources: keys of ``SOURCES``.
        certain: False when it is not sure that this is the cause.
    """

    id: str
    library: str
    version_low: tuple[int, ...]
    version_high: tuple[int, ...]
    cuda_low: tuple[int, ...]
    cuda_high: tuple[int, ...]
    gpus: tuple[tuple[str, str], ...]
    severity: str
    symptom: str
    remedy: str
    sources: tuple[str, ...]
    certain: bool = True


KNOWN_BAD: tuple[KnownBad, ...] = (
    KnownBad(
        id="KB-NCCL-1",
        library="libnccl.so*",
        version_low=(),
        version_high=(),
        cuda_low=(),
        cuda_high=(12, 8),
        gpus=(("12.0", "12.9"),),
        severity="fail",
        symptom="the first communicator seems to hang while the driver links and compiles PTX, "
        "for minutes; then collectives from 512 KiB on fail with error 700 (illegal memory access)",
        remedy="NCCL 2.26 or later built by CUDA 12.8 or later",
        sources=(
            "NVIDIA/nccl#2418",
            "NVIDIA/nccl#1852",
            "pytorch/pytorch#152780",
            "Lightning-AI/pytorch-lightning#20757",
        ),
    ),
    KnownBad(
        id="KB-NCCL-2",
        library="libnccl.so*",
        version_low=(2, 25, 1),
        version_high=(2, 26),
        cuda_low=(),
        cuda_high=(),
        gpus=(("12.0", "12.0"),),
        severity="fail",
        symptom="collectives fail; with NCCL_DEBUG=INFO the log has "
        "'ncclMaxSharedMem 82240 exceeds device/fn maxSharedMem 79856'",
        remedy="NCCL 2.26 or later built by CUDA 12.8 or later",
        sources=("NVIDIA/nccl-tests#287", "NVIDIA/nccl-tests#291", "NVIDIA/nccl#1637"),
    ),
)
"""One row a fault."""


def matching(library: str, version: str, cuda: str, cc: ComputeCapability) -> tuple[KnownBad, ...]:
    """Return the rows that a library meets on a GPU.

    Args:
        library: its soname or file name, ``libnccl.so.2``.
        version: its version, ``2.26.2``; empty when unknown.
        cuda: the CUDA that built it, ``12.2``; empty when unknown.
        cc: of the GPU.

    Returns:
        Those rows; what is not known about a library is never held against it.
    """
    from fnmatch import fnmatchcase  # noqa: PLC0415 - start-up does not need it

    return tuple(
        row
        for row in KNOWN_BAD
        if fnmatchcase(library, row.library)
        and _within(version_numbers(version), row.version_low, row.version_high)
        and _within(version_numbers(cuda), row.cuda_low, row.cuda_high)
        and any(_within_gpus(cc, low, high) for low, high in row.gpus)
    )


def _within(version: tuple[int, ...], low: tuple[int, ...], high: tuple[int, ...]) -> bool:
    if not version:
        return not low and not high
    return low <= version and (not high or version < high)


def _within_gpus(cc: ComputeCapability, low: str, high: str) -> bool:
    return version_numbers(low) <= (cc.major, cc.minor) <= version_numbers(high)
