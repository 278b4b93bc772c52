"""The ranks of a job: which failed first, which only waited, and whose log is missing."""

from __future__ import annotations

from fatbin.node.diagnosis import RankStory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fatbin.judge.gpu import Gpu
    from fatbin.node.diagnosis import Cause
    from fatbin.node.log_reader import LogReader, Process

__all__ = ["WAITING", "advice", "stories"]

WAITING = frozenset(("WATCHDOG", "NCCL-REMOTE"))
"""Symptoms of a rank that waited for another one."""
_NO_FAILURE = WAITING | {"TORCH-ARCH"}
"""Symptoms with which a rank has not failed yet."""


def stories(reader: LogReader, causes: Sequence[Cause]) -> tuple[RankStory, ...]:
    """Return what came of each rank, the first to fail first."""
    silent = {
        sighting.who
        for cause in causes
        if cause.symptom == "NCCL-SILENT"
        for sighting in cause.evidence
    }
    named = _by_rank(reader)
    if len(named) <= 1:
        return ()
    told = [
        (order, _story(who, processes, silent))
        for order, (who, processes) in enumerate(named.items())
    ]
    times = _comparable(named)
    position = {file: number for number, file in enumerate(reader.files)}

    def key(pair: tuple[int, RankStory]) -> tuple[float, ...]:
        order, story = pair
        state = ("failed", "silent", "waited", "nothing found").index(story.state)
        return (state, times.get(story.who, 0.0), position.get(story.file, 0), story.line, order)

    return tuple(story for _, story in sorted(told, key=key))


def _by_rank(reader: LogReader) -> dict[str, list[Process]]:
    named: dict[str, list[Process]] = {}
    for who, process in reader.processes.items():
        if who in reader.files and len(reader.files) == 1:
            continue  # lines that do not say who wrote them
        named.setdefault(process.rank or who, []).append(process)
    return named


def _story(who: str, processes: Sequence[Process], silent: set[str]) -> RankStory:
    firsts = [first for process in processes for first in process.symptoms.values()]
    failed = [first for first in firsts if first.symptom not in _NO_FAILURE]
    shown = failed or firsts
    if not shown:
        state = "silent" if who in silent else "nothing found"
        return RankStory(who, state, file=processes[0].file)
    first = min(shown, key=lambda f: f.line) if len({f.file for f in shown}) == 1 else shown[0]
    when = first.stamp.text if first.stamp is not None else ""
    state = "failed" if failed else "waited"
    return RankStory(who, state, first.symptom, first.file, first.line, when)


def _comparable(named: dict[str, list[Process]]) -> dict[str, float]:
    """Return when each rank failed; empty unless all times are written in one way."""
    times: dict[str, float] = {}
    kinds = set()
    for who, processes in named.items():
        firsts = [
            first
            for process in processes
            for first in process.symptoms.values()
            if first.symptom not in _NO_FAILURE
        ]
        for first in firsts:
            kinds.add(first.stamp.kind if first.stamp is not None else "")
            if first.stamp is not None:
                times[who] = min(times.get(who, first.stamp.seconds), first.stamp.seconds)
    return times if len(kinds) == 1 and "" not in kinds else {}


def advice(
    reader: LogReader,
    causes: Sequence[Cause],
    ranks: Sequence[RankStory],
    gpus: Sequence[Gpu],
) -> tuple[str, ...]:
    """Return what to look at next; nothing when nothing was found."""
    if not causes:
        return ()
    said = []
    failed = [story for story in ranks if story.state == "failed"]
    waited = [story.who for story in ranks if story.state == "waited"]
    if failed:
        said.append(_first_failed(reader, failed))
    missing = _missing_ranks(reader, ranks)
    if missing:
        said.append(f"no line of {missing} is in these logs: read theirs too")
    if waited and not failed:
        said.append(
            f"{_few(waited)} only waited: the rank that failed, or never came, is another; "
            "give the logs of all ranks"
        )
    elif not ranks and any(cause.symptom in WAITING for cause in causes):
        said.append("this may be the log of a healthy rank: give the logs of all ranks")
    if reader.versions and not gpus:
        said.append("name the GPU with --gpu: then the version of NCCL can be judged")
    return tuple(said)


def _first_failed(reader: LogReader, failed: Sequence[RankStory]) -> str:
    first = failed[0]
    text = f"{first.who} failed first: {first.first}, {first.file} line {first.line}"
    if len({story.file for story in failed}) > 1 and not _comparable(_by_rank(reader)):
        return (
            f"which rank failed first cannot be told: the times of {len(reader.files)} logs "
            "cannot be compared"
        )
    return text


def _missing_ranks(reader: LogReader, ranks: Sequence[RankStory]) -> str:
    present = {story.who for story in ranks}
    if not any(who.startswith("rank ") for who in present):
        return ""
    count = min(reader.ranks_told, 100_000)
    return _few([f"rank {n}" for n in range(count) if f"rank {n}" not in present])


def _few(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
