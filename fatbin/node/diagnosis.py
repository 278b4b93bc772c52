"""A diagnosis of logs as plain frozen data: what was seen, and what it means."""

from __future__ import annotations

from fatbin._record import Record, Word, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fatbin.judge.verdict import Verdict

SCHEMA_VERSION = 1
"""Of the JSON document; raised when a key changes its meaning or goes away, not for new keys."""


class Confidence(Word):
    """How far a symptom leads to a cause."""

    LIKELY = "likely"
    """The text names the cause, or leaves few others."""
    POSSIBLE = "possible"
    """One of several common causes."""
    EFFECT = "effect"
    """Something failed elsewhere or earlier; it names no cause."""


class Symptom(Record):
    """One thing that logs say.

    Attributes:
        id: a stable name.
        title: what is seen, in a few words.
        needles: texts in lower case, any of which is the symptom; empty where the reader of logs
            finds it by what a line or several say together.
        confidence: how far it leads to a cause by itself.
        means: what it usually means.
        not_proof: what it does not prove.
        check: a command that checks it; words in capitals stand for your own.
        sources: keys of the judge's ``SOURCES``, or addresses.
        certain: False when what it means is inferred or reported by users only.
    """

    id: str
    title: str
    needles: tuple[str, ...]
    confidence: Confidence
    means: str
    not_proof: str
    check: str
    sources: tuple[str, ...]
    certain: bool = True


class Sighting(Record):
    """One line that shows a symptom.

    Attributes:
        file: the log.
        line: its number, from 1.
        who: the rank or process that wrote it, ``rank 3``; empty when the line does not say.
        when: its time as the log writes it, or that of the nearest line before; may be empty.
        text: the line, or the part of a long one.
    """

    file: str
    line: int
    who: str
    when: str
    text: str


class Cause(Record):
    """One symptom found, with what the log adds to its row.

    Attributes:
        symptom: id of the row.
        title: what is seen.
        confidence: ``likely``, ``possible`` or ``effect``, with what else is known.
        details: what this log adds, one sentence each.
        evidence: the first lines that show it.
        lines: how many show it.
        means: what it usually means.
        not_proof: what it does not prove.
        check: a command that checks it, with what is known filled in.
        sources: where that is written or how it was measured.
        certain: False when what it means is inferred or reported by users only.
    """

    symptom: str
    title: str
    confidence: Confidence
    details: tuple[str, ...]
    evidence: tuple[Sighting, ...]
    lines: int
    means: str
    not_proof: str
    check: str
    sources: tuple[str, ...]
    certain: bool = True


class RankStory(Record):
    """One rank or process and what came first of it.

    Attributes:
        who: ``rank 3``, or a process when the log does not tell ranks.
        state: ``failed``, ``waited`` (nothing but time limits and peers that left), ``silent``, or
            ``nothing found``.
        first: id of its first symptom; empty when it has none.
        file: the log of that line.
        line: its number; 0 when there is none.
        when: its time; may be empty.
    """

    who: str
    state: str
    first: str = ""
    file: str = ""
    line: int = 0
    when: str = ""


class Diagnosis(Record):
    """What logs say.

    Attributes:
        files: the logs read.
        lines: read in all of them.
        causes: found, those that lead furthest first.
        ranks: seen in the logs, the first to fail first.
        nccl: versions of NCCL named, ``2.26.2+cuda12.2``.
        gpus: asked for, or named in the logs.
        driver: asked for, or named in the logs; may be empty.
        last_nccl: the last line of NCCL; None when there is none.
        gap_s: seconds between that line and the last one of its log; -1 when not known.
        advice: what to look at next, one sentence each.
        verdict: of the libraries named; None when none was.
    """

    files: tuple[str, ...]
    lines: int
    causes: tuple[Cause, ...] = ()
    ranks: tuple[RankStory, ...] = ()
    nccl: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    driver: str = ""
    last_nccl: Sighting | None = None
    gap_s: int = -1
    advice: tuple[str, ...] = ()
    verdict: Verdict | None = None

    @property
    def names_a_cause(self) -> bool:
        """Whether any symptom is more than an effect of something else."""
        return any(cause.confidence is not Confidence.EFFECT for cause in self.causes)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, with the version of its schema."""
        found = {"schema_version": SCHEMA_VERSION, **plain(self._replace(verdict=None))}
        found["verdict"] = None if self.verdict is None else self.verdict.to_dict()
        return found
