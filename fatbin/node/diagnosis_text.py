"""A diagnosis for a terminal: what is likely comes first."""

from __future__ import annotations

from fatbin.node.diagnosis import Confidence
from fatbin.report import verdict_text
from fatbin.report.verdict_text import name as inert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.node.diagnosis import Cause, Diagnosis, RankStory, Sighting
    from fatbin.report.table import Writer

__all__ = ["write"]

_TONES = {Confidence.LIKELY: "FAIL", Confidence.POSSIBLE: "WARN", Confidence.EFFECT: ""}
_MOST_RANKS = 16


def write(out: Writer, diagnosis: Diagnosis, *, verbose: bool = False) -> None:
    """Write a diagnosis.

    Args:
        out: from :func:`fatbin.report.table.writer`.
        diagnosis: what to write.
        verbose: also say where each meaning is written, and show the verdict of libraries.
    """
    out.line(_summary(diagnosis))
    for label, text in _facts(diagnosis):
        out.line(f"  {label:<10} {text}")
    for cause in diagnosis.causes:
        out.line("")
        out.line(f"{cause.symptom} {cause.confidence}: {cause.title}", _TONES[cause.confidence])
        for label, text in _about(cause, verbose=verbose):
            out.line(f"  {label:<10} {text}")
    if diagnosis.ranks and diagnosis.causes:
        out.line("")
        out.table(
            ("rank", "state", "first", "line", "time"),
            [_rank(story) for story in diagnosis.ranks[:_MOST_RANKS]],
        )
        if len(diagnosis.ranks) > _MOST_RANKS:
            out.line(f"  and {len(diagnosis.ranks) - _MOST_RANKS:,} more")
    if diagnosis.advice:
        out.line("")
        for text in diagnosis.advice:
            out.line(f"next: {_plain(text)}")
    if diagnosis.verdict is not None and verbose:
        out.line("")
        verdict_text.write(out, diagnosis.verdict)


def _summary(diagnosis: Diagnosis) -> str:
    files = f"{len(diagnosis.files)} {'log' if len(diagnosis.files) == 1 else 'logs'}"
    read = f"{files}, {diagnosis.lines:,} {'line' if diagnosis.lines == 1 else 'lines'}"
    counts = dict.fromkeys(Confidence, 0)
    for cause in diagnosis.causes:
        counts[cause.confidence] += 1
    if not diagnosis.causes:
        return f"nothing known found in {read}"
    said = [f"{number} {word}" for word, number in counts.items() if number]
    return f"found in {read}: {', '.join(said)}"


def _facts(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    if diagnosis.gpus:
        yield "GPUs", ", ".join(map(inert, diagnosis.gpus))
    if diagnosis.driver:
        yield "driver", inert(diagnosis.driver)
    if diagnosis.nccl:
        yield "NCCL", ", ".join(map(inert, diagnosis.nccl))
    if diagnosis.causes and diagnosis.last_nccl is not None:
        last = diagnosis.last_nccl
        after = f", {diagnosis.gap_s:,} s before the end" if diagnosis.gap_s >= 0 else ""
        yield "last NCCL", f"{inert(last.file)} line {last.line}{after}"


def _about(cause: Cause, *, verbose: bool) -> Iterator[tuple[str, str]]:
    for detail in cause.details:
        yield "here", _plain(detail)
    for sighting in cause.evidence:
        yield "line", _line(sighting)
    if cause.lines > len(cause.evidence):
        yield "", f"and {cause.lines - len(cause.evidence):,} more"
    yield "means", cause.means + ("" if cause.certain else " (not certain)")
    yield "but", f"it does not prove {cause.not_proof}"
    yield "check", _plain(cause.check)
    if verbose:
        for source in cause.sources:
            yield "source", source


def _line(sighting: Sighting) -> str:
    who = f" ({inert(sighting.who)})" if sighting.who else ""
    return f"{inert(sighting.file)} line {sighting.line}{who}: {_plain(sighting.text)}"


def _rank(story: RankStory) -> tuple[str, ...]:
    return (
        inert(story.who),
        story.state,
        story.first,
        inert(story.file) + (f" line {story.line}" if story.line else ""),
        story.when,
    )


def _plain(text: str) -> str:
    """Return text of a log that no build server takes for a command."""
    return text.replace("##[", "\\x23#[")
