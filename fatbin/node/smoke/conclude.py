"""From what was seen of the ranks to an outcome, a cause and what to do: a pure function.

A recording of what was seen gives the same answer again.
"""

from __future__ import annotations

import re

from fatbin.node.smoke.records import SmokeOutcome, SmokeRound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.node.smoke.records import RankReport
    from fatbin.node.smoke.supervise import Watched

BUSY = 0.5
"""Processors from which on a process counts as busy: one that computes has one."""
_CRASH_LEAD = 0.5
_REASON_CHARACTERS = 400
_TIME_OF_LOG = re.compile(r"^.*?NCCL (?:INFO|WARN|TRACE) ")
_BEGINNING = re.compile(
    r"NCCL version |Bootstrap\b|cudaDriverVersion|cudaRuntimeVersion|NCCL git version|"
    r"NCCL_\w+ set |[Cc]omm config|Comm Config|NET/Plugin|Plugin Path|Using (?:network|internal)"
)
_NO_CODE = (
    "named symbol not found",
    "no kernel image is available",
    "invalid device function",
    "device kernel image is invalid",
)
_WRONG = "WrongValue"

NO_CODE_ACTION = (
    "use an NCCL that has code for the GPU; fatbin check LIBRARY says which architectures it has"
)
JIT_ACTION = (
    "use an NCCL with machine code for the GPU; until then wait for minutes, or bring along a "
    "filled compute cache (CUDA_CACHE_PATH)"
)

SLOW_ACTION = (
    "look at the stack and the last NCCL line of each rank; a longer --timeout tells slow from "
    "stuck"
)
WRONG_ACTION = (
    "wrong values are no matter of missing code: try another NCCL, then another GPU or link"
)


def conclude(init: str, watched: Watched) -> SmokeRound:
    """Judge what was seen of one round."""
    outcome, first, reason = _outcome(watched)
    culprit = watched.ranks[first] if first >= 0 else None
    signs = (
        tuple(_signs(watched, culprit)) if culprit and outcome is not SmokeOutcome.SKIPPED else ()
    )
    return SmokeRound(
        init=init,
        outcome=outcome,
        reason=reason,
        action=_action(watched, culprit),
        signs=signs,
        first=first,
        seconds=watched.seconds,
        timed_out=watched.timed_out,
        limit=watched.limit,
        ranks=watched.ranks,
    )


def _outcome(watched: Watched) -> tuple[SmokeOutcome, int, str]:
    """Return the outcome, the rank that decides it, and why."""
    ranks = watched.ranks
    broken = sorted(
        (index for index, rank in enumerate(ranks) if rank.broke), key=lambda i: _order(ranks[i])
    )
    if broken:
        first = broken[0]
        return SmokeOutcome.FAIL, first, _failure(watched, first)
    skipped = next((i for i, rank in enumerate(ranks) if rank.skipped), -1)
    if skipped >= 0:
        return SmokeOutcome.SKIPPED, skipped, ranks[skipped].skipped
    stuck = [index for index, rank in enumerate(ranks) if not rank.finished]
    if stuck:
        # The one that got least far is what the others wait for.
        first = min(stuck, key=lambda index: len(ranks[index].steps))
        rank = ranks[first]
        return (
            SmokeOutcome.TIMEOUT,
            first,
            (f"{_called(rank, ranks)} gave no answer within {watched.limit:g} s, in {rank.step}"),
        )
    if any(rank.checked == 0 for rank in ranks):
        return SmokeOutcome.FAIL, 0, "no operation was tried"
    return SmokeOutcome.PASS, -1, ""


def _order(rank: RankReport) -> float:
    """Order failures in time; an error that the crash of another rank brings is seen before it.

    Times count as a document has them, so that it is judged as the run was.
    """
    return round(rank.broke_at, 3) - (_CRASH_LEAD if not rank.error else 0.0)


def _failure(watched: Watched, first: int) -> str:
    rank = watched.ranks[first]
    others = [other for other in watched.ranks if other is not rank]
    text = f"{_called(rank, watched.ranks)} failed{' first' if others else ''} in {rank.step}: "
    if rank.error == _WRONG:
        text += f"wrong value: {rank.failed}"
    elif rank.error:
        text += f"{rank.error}: {_summary(rank.failed)}"
        warning = next(map(_message, rank.warnings), "")
        if warning and warning not in text:
            text += f"; NCCL: {warning}"
    else:
        text += f"the process ended with {rank.ended}"
    return text


def _called(rank: RankReport, ranks: tuple[RankReport, ...]) -> str:
    return f"rank {rank.rank}" if len(ranks) > 1 else "the rank"


def _summary(text: str) -> str:
    """Return the lines of an error's text as one."""
    line = "; ".join(part.strip() for part in text.splitlines() if part.strip()).replace(
        ":; ", ": "
    )
    return line if len(line) <= _REASON_CHARACTERS else line[: _REASON_CHARACTERS - 3] + "..."


def _message(line: str) -> str:
    """Return what a line of NCCL's log says, without host, process and thread."""
    return _TIME_OF_LOG.sub("", line).strip()


# What tells the cause -----------------------------------------------------------------------------


def _signs(watched: Watched, culprit: RankReport) -> Iterator[str]:
    ranks = watched.ranks
    if is_compiling(culprit):
        grown = f"the compute cache grew by {culprit.cache:,} B"
        log = _log_state(culprit)
        yield f"one busy core, {log}, {grown}: the driver is compiling PTX"
    elif watched.timed_out and culprit.cores is not None:
        state = f"{culprit.cores:.1f} cores busy" if culprit.cores >= BUSY else "idle"
        cache = (
            "no compute cache to look at"
            if culprit.cache is None
            else f"the compute cache grew by {culprit.cache:,} B"
        )
        yield f"{_called(culprit, ranks)} is {state}, {_log_state(culprit)}, {cache}"
    if _lacks_code(culprit):
        yield "the words are those of a library without code for the GPU"
    for rank in ranks:
        if rank is not culprit and not rank.finished and not rank.broke and not rank.skipped:
            yield f"rank {rank.rank} did not fail: it waits in {rank.step}"
    yield from _libraries(ranks)


def _libraries(ranks: tuple[RankReport, ...]) -> Iterator[str]:
    """Say which libraries were loaded where they differ."""
    loaded: dict[str, list[str]] = {}
    for rank in ranks:
        if rank.library:
            loaded.setdefault(rank.library, []).append(str(rank.rank))
    if len(loaded) > 1:
        each = "; ".join(f"{path} in rank {', '.join(who)}" for path, who in loaded.items())
        yield f"the ranks loaded different libraries: {each}"


def _log_state(rank: RankReport) -> str:
    if not rank.nccl:
        return "no line of NCCL's"
    if _BEGINNING.search(rank.nccl[-1]):
        return "no NCCL line after the version"
    return f"last NCCL line: {_message(rank.nccl[-1])}"


def is_compiling(rank: RankReport) -> bool:
    """Tell whether the driver is seen to compile PTX: a busy processor and a growing cache."""
    return bool(rank.cache and rank.cache > 0 and rank.cores is not None and rank.cores >= BUSY)


def _lacks_code(rank: RankReport) -> bool:
    said = "\n".join((rank.failed, *rank.warnings)).lower()
    return any(words in said for words in _NO_CODE)


def _action(watched: Watched, culprit: RankReport | None) -> str:
    if culprit is None or culprit.skipped:
        return ""
    if is_compiling(culprit):
        return JIT_ACTION
    if _lacks_code(culprit):
        return NO_CODE_ACTION
    if watched.timed_out and not any(step.checked for step in culprit.steps):
        return SLOW_ACTION
    if culprit.error == _WRONG:
        return WRONG_ACTION
    return "look at the rank's last lines in the report"
