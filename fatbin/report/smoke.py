"""``smoke`` as text: the cause first, then what was seen."""

from __future__ import annotations

from fatbin.report.table import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.node.smoke.records import RankReport, SmokeResult, SmokeRound
    from fatbin.report.table import Writer

__all__ = ["smoke_text", "summary", "writer"]

_TONES = {"PASS": "PASS", "FAIL": "FAIL", "TIMEOUT": "FAIL", "SKIPPED": "WARN"}
_FEW = 6


def smoke_text(out: Writer, result: SmokeResult, *, verbose: bool = False) -> None:
    """Write a result.

    Args:
        out: from :func:`fatbin.report.table.writer`.
        result: what to write.
        verbose: every step and every line that was kept of each rank.
    """
    out.line(summary(result), _TONES[result.outcome.value])
    for label, text in _facts(result):
        out.line(f"  {label:<10} {text}")
    for one in result.rounds:
        out.line("")
        out.line(
            f"  {one.init}: {one.outcome} after {one.seconds:.1f} s", _TONES[one.outcome.value]
        )
        if len(result.rounds) > 1 and one.reason:
            out.line(f"    {one.reason}")
        for sign in one.signs:
            out.line(f"    sign: {sign}")
        for rank in one.ranks:
            _write_rank(out, one, rank, verbose=verbose)


def summary(result: SmokeResult) -> str:
    """Return the outcome and its cause in one line."""
    if result.reason:
        return f"{result.outcome}: {result.reason}"
    ranks = "1 rank" if result.ranks == 1 else f"{result.ranks} ranks"
    return f"{result.outcome}: NCCL works with {ranks}"


def _facts(result: SmokeResult) -> Iterator[tuple[str, str]]:
    if result.torch:
        yield "torch", result.torch
    if result.library_version:
        where = f" ({result.library})" if result.library else ""
        yield "NCCL", f"{result.library_version}{where}"
    predicted = result.predicted
    if predicted.outcome:
        for_gpus = ", ".join(predicted.gpus)
        yield "predicted", f"{predicted.outcome} for {for_gpus}"
        for finding in predicted.findings:
            yield "", finding
    elif predicted.problem and result.library:
        yield "predicted", f"nothing: {predicted.problem}"
    if result.action:
        yield "action", result.action
    if predicted.action and result.outcome != "PASS" and predicted.action != result.action:
        yield "action", predicted.action


def _write_rank(out: Writer, one: SmokeRound, rank: RankReport, *, verbose: bool) -> None:
    out.line(f"    rank {rank.rank}  {rank.gpu or 'no GPU yet'}: {_state(one, rank)}")
    if verbose:
        for step in rank.steps:
            checked = ", values right" if step.checked else ""
            out.line(f"      {step.at:7.2f} s  {step.name}{checked}")
    if one.outcome == "PASS" and not verbose:
        return
    if rank.cores is not None:
        cache = "" if rank.cache is None else f", compute cache +{rank.cache:,} B"
        out.line(f"      busy   {rank.cores:.1f} cores{cache}")
    for label, lines, few in (
        ("NCCL", rank.warnings or rank.nccl[-1:], _FEW),
        ("log", rank.nccl, 0),
        ("error", rank.errors, 0),
        ("stack", rank.stack, _FEW),
    ):
        for line in lines if verbose else lines[:few]:
            out.line(f"      {label:<6} {line.strip()}")


def _state(one: SmokeRound, rank: RankReport) -> str:
    if rank.skipped:
        return f"skipped: {rank.skipped}"
    if rank.error:
        return f"failed in {rank.step}: {rank.error}"
    if rank.ended:
        return f"{rank.ended} in {rank.step}"
    if rank.finished:
        return f"done, {rank.checked} operations with the right values"
    word = "no answer" if one.timed_out else "waiting"
    return f"{word} in {rank.step}"
