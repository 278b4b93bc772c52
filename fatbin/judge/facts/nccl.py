"""What NVIDIA builds NCCL for, by its version and the CUDA that builds it."""

from __future__ import annotations

from fatbin._record import Record
from fatbin.arch import Architecture
from fatbin.judge.facts.architectures import row_of
from fatbin.judge.facts.known_bad import KNOWN_BAD, matching
from fatbin.judge.facts.versions import version_numbers
from fatbin.judge.serving import Certainty, sass_serves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fatbin.arch import ComputeCapability

__all__ = ["BUILDS", "NcclBuild", "expected_architectures", "first_build_with", "has_code_for"]


class NcclBuild(Record):
    """What a build of NCCL holds from one version and one CUDA on.

    A build is of the row with the highest CUDA that is not above its own, and among those of the
    one with the highest version.

    Attributes:
        version: of NCCL, the first.
        cuda: that builds it, the first; ``0.0`` for every one.
        sass: SM numbers of its machine code.
        ptx: SM number of its PTX.
        sources: keys of ``SOURCES``.
        certain: False when the first version is not sure.
    """

    version: str
    cuda: str
    sass: tuple[int, ...]
    ptx: int
    sources: tuple[str, ...] = ("nccl-makefile",)
    certain: bool = True


BUILDS: tuple[NcclBuild, ...] = (
    NcclBuild("2.12.7", "0.0", (35, 50, 60, 61, 70), 70),
    NcclBuild("2.12.7", "11.0", (35, 50, 60, 61, 70, 80), 80),
    NcclBuild("2.15.1", "11.8", (35, 50, 60, 61, 70, 80, 90), 90),
    NcclBuild("2.16.2", "12.0", (50, 60, 61, 70, 80, 90), 90),
    NcclBuild("2.25.1", "12.8", (50, 60, 61, 70, 80, 90, 100, 120), 120),
    NcclBuild("2.27.3", "13.0", (80, 90, 100, 120), 120),
    NcclBuild("2.27.5", "13.0", (75, 80, 90, 100, 110, 120), 120),
    NcclBuild("2.28.3", "0.0", (60, 61, 70), 70),
    NcclBuild("2.28.3", "11.0", (60, 61, 70, 80), 80),
    NcclBuild("2.28.3", "11.8", (60, 61, 70, 80, 90), 90),
    NcclBuild("2.28.3", "12.0", (60, 61, 70, 80, 90), 90),
    NcclBuild("2.28.3", "12.8", (60, 61, 70, 80, 90, 100, 120), 120),
    NcclBuild(
        "2.32.3", "13.4", (75, 80, 90, 100, 107, 110, 120), 120, ("nccl-releases",), certain=False
    ),
)
"""By version, then by CUDA. From 2.27 on a few modules are for ``sm_100f`` or ``sm_100a`` only."""


def expected_architectures(version: str, cuda: str) -> tuple[Architecture, ...]:
    """Return what NVIDIA's build holds in most of its modules; empty when it is not known.

    Args:
        version: of NCCL, ``2.26.2``.
        cuda: that built it, ``12.2``.
    """
    of, by = version_numbers(version), version_numbers(cuda)
    if not of or not by:
        return ()
    rows = [r for r in BUILDS if version_numbers(r.version) <= of and version_numbers(r.cuda) <= by]
    if not rows:
        return ()
    row = max(rows, key=lambda r: (version_numbers(r.cuda), version_numbers(r.version)))
    return (*map(Architecture, row.sass), Architecture(row.ptx, virtual=True))


def has_code_for(version: str, cuda: str, cc: ComputeCapability) -> bool | None:
    """Tell whether NVIDIA's build has machine code for a GPU; None when that is not known."""
    answers = {
        sass_serves(arch, cc, toolkit=cuda).certainty
        for arch in expected_architectures(version, cuda)
        if not arch.virtual
    }
    if Certainty.YES in answers:
        return True
    return False if answers == {Certainty.NO} else None


def first_build_with(cc: ComputeCapability) -> str:
    """Return the first NCCL that has machine code for a GPU and is not known to fail there.

    In words: ``NCCL 2.26 or later built by CUDA 12.8 or later``; empty when no build has any.
    """
    cudas = _in_order(row.cuda for row in BUILDS)
    versions = _in_order([*(row.version for row in BUILDS), *_MENDED])
    runs = {v: [c for c in cudas if _runs(v, c, cc)] for v in versions}
    first = next((v for v in versions if runs[v]), None)
    if first is None:
        return ""
    last = next(v for v in reversed(versions) if runs[v])
    text = f"NCCL {_short(first, versions)} or later"
    if last != versions[-1]:
        text += f" and before {_short(versions[versions.index(last) + 1], versions)}"
    bounds = []
    if runs[first][0] != cudas[0]:
        bounds.append(f"{runs[first][0]} or later")
    if runs[last][-1] != cudas[-1]:
        bounds.append(f"before {cudas[cudas.index(runs[last][-1]) + 1]}")
    return f"{text} built by CUDA {' and '.join(bounds)}" if bounds else text


_MENDED = tuple(".".join(map(str, row.version_high)) for row in KNOWN_BAD if row.version_high)
"""Versions that end a known fault: the first to name, where an earlier one has the code."""


def _runs(version: str, cuda: str, cc: ComputeCapability) -> bool:
    if any(row.severity == "fail" for row in matching("libnccl.so.2", version, cuda, cc)):
        return False
    by = version_numbers(cuda)
    for arch in expected_architectures(version, cuda):
        row = row_of(arch.compute_capability)
        if row is not None and row.last_toolkit and version_numbers(row.last_toolkit) < by:
            return False  # that version does not build with this CUDA
    return bool(has_code_for(version, cuda, cc))


def _in_order(texts: Iterable[str]) -> list[str]:
    return sorted(set(texts), key=version_numbers)


def _short(version: str, versions: list[str]) -> str:
    """Return ``2.25`` of ``2.25.1``, unless another version of it is told apart."""
    short = ".".join(version.split(".")[:2])
    return version if sum(v.startswith(f"{short}.") for v in versions) > 1 else short
