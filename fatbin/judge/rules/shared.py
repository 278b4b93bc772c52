"""What rules share: remedies, samples of entries as evidence, the finding itself."""

from __future__ import annotations

from fatbin.judge.case import Case, entries, facts, name_of
from fatbin.judge.content import has_ptx
from fatbin.judge.facts.architectures import row_of
from fatbin.judge.facts.nccl import first_build_with
from fatbin.judge.verdict import Evidence, Finding, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fatbin.arch import ComputeCapability
    from fatbin.judge.coverage import Answered

_MOST_GROUPS = 3
"""Groups of modules whose entries a finding cites as samples."""


def remedy(case: Case) -> str:
    """Return what makes a library serve a GPU natively, one line."""
    if passes_over_sass(case):
        return f"{UNSET}, or build PTX too"
    build = good_nccl(case)
    words = [f"use {build}" if build else f"build SASS for {native(case.gpu.cc)}"]
    if not has_ptx(case.modules.content):
        words.append("no PTX: a newer driver will not help")
    return "; ".join(words)


def good_nccl(case: Case) -> str:
    """Return the first NCCL that serves a GPU well; empty where the library is another one."""
    if not name_of(case.library).startswith("libnccl.so"):
        return ""
    return first_build_with(case.gpu.cc)


UNSET = "unset CUDA_FORCE_PTX_JIT, which passes SASS over"


def passes_over_sass(case: Case) -> bool:
    """Tell whether the process would not take SASS if it were there."""
    return case.loader.environment.force_ptx_jit and any(
        group.module.form == "container" for group in case.modules.judged
    )


def more_sass(case: Case) -> str:
    """Return how a module comes to be loaded without the driver's compiler."""
    return UNSET if passes_over_sass(case) else f"build SASS for {native(case.gpu.cc)}"


def native(cc: ComputeCapability) -> str:
    """Return the SASS that serves a GPU natively, and who builds it: ``sm_120 (CUDA 12.8 ...)``."""
    row = row_of(cc)
    if row is None:
        return f"sm_{cc.sm}"
    until = f" to {row.last_toolkit}" if row.last_toolkit else " or later"
    return f"sm_{cc.sm} (CUDA {row.first_toolkit}{until})"


def samples(
    case: Case, answers: Iterable[Answered], *, chosen: bool = False
) -> tuple[Evidence, ...]:
    """Return entries of a few modules, the most frequent first, and the statements about them."""
    found = sorted(answers, key=lambda answer: -answer.group.size)[:_MOST_GROUPS]
    evidence: dict[Evidence, None] = {}
    for answer in found:
        index = answer.choice.entry if chosen else -1
        evidence |= dict.fromkeys(entries(case.library, answer.group.module, index))
        evidence |= dict.fromkeys(facts(_why(case, answer)))
    return tuple(evidence)


def _why(case: Case, answer: Answered) -> Iterator[str]:
    """Yield the statements about a choice; where nothing fits, those about each image."""
    yield from answer.choice.because
    if answer.choice.serves or answer.choice.entry >= 0:
        return
    for entry in answer.group.module.entries:
        yield from case.loader.fitting.why_not(entry)


def finding(
    case: Case,
    code: str,
    severity: Severity,
    message: str,
    *,
    action: str = "",
    because: tuple[Evidence, ...] = (),
) -> Finding:
    """Return a finding about the library and the GPU of a case."""
    return Finding(
        code=code,
        severity=severity,
        message=message,
        location=case.library.location,
        gpu=str(case.gpu),
        action=action,
        because=tuple(dict.fromkeys(because)),  # samples and rules may rest on the same
    )
