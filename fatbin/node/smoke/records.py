"""What a smoke test saw and what it comes to, as plain frozen data."""

from __future__ import annotations

from fatbin._record import Record, Word, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA_VERSION = 1
"""Of the JSON document; raised when a key changes its meaning or goes away."""


class SmokeOutcome(Word):
    """What comes of a smoke test."""

    PASS = "PASS"  # noqa: S105 - no password
    """Every rank launched kernels, and the values were right."""
    FAIL = "FAIL"
    """A rank failed, crashed or got a wrong value."""
    TIMEOUT = "TIMEOUT"
    """A rank gave no answer in time."""
    SKIPPED = "SKIPPED"
    """Nothing was tried, for a reason: not a PASS."""


class SmokeStep(Record):
    """One thing that a rank began to do.

    Attributes:
        name: such as ``importing torch`` or ``all_reduce SUM of 4,194,304 B``.
        at: seconds from the start of the round.
        checked: of an operation, whether its values were found to be right.
    """

    name: str
    at: float
    checked: bool = False


class RankReport(Record):
    """What was seen of one rank. Nothing in it is judged.

    Attributes:
        rank: counted from 0.
        gpu: ``NVIDIA H200 (9.0)``; empty before it was opened.
        torch: version, ``2.11.0+cu130``; empty before it was imported.
        library: path of the libnccl that torch calls; empty when not known.
        library_version: what that library says, ``2.28.9``; empty when not known.
        steps: what it began, in order; the last one was not finished unless ``finished``.
        finished: whether it did everything.
        skipped: why there was nothing to try; empty when there was.
        error: type of the exception that ended it; empty without one.
        failed: text of that exception.
        failed_at: seconds from the start of the round; 0 when it did not fail.
        ended: how the process ended by itself, ``SIGSEGV`` or ``exit code 1``; empty when it did
            not, or did after ``finished`` or ``skipped``.
        ended_at: when, as above.
        nccl: the last lines of NCCL's log.
        nccl_at: seconds of the last one; 0 without any.
        warnings: NCCL's warnings, the first ones.
        errors: the last lines of standard error that are not NCCL's.
        stack: of the Python code, when it was ended or crashed.
        cores: processors that it used or waited for, over a second before it was ended; None when
            not asked.
        cache: bytes by which the driver's compute cache grew in the round; None when not asked or
            there is no cache.
    """

    rank: int
    gpu: str = ""
    torch: str = ""
    library: str = ""
    library_version: str = ""
    steps: tuple[SmokeStep, ...] = ()
    finished: bool = False
    skipped: str = ""
    error: str = ""
    failed: str = ""
    failed_at: float = 0.0
    ended: str = ""
    ended_at: float = 0.0
    nccl: tuple[str, ...] = ()
    nccl_at: float = 0.0
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    stack: tuple[str, ...] = ()
    cores: float | None = None
    cache: int | None = None

    @property
    def step(self) -> str:
        """The last thing that it began."""
        return self.steps[-1].name if self.steps else "starting Python"

    @property
    def broke(self) -> bool:
        """Whether it failed or ended by itself before it was done."""
        return bool(self.error or self.ended)

    @property
    def broke_at(self) -> float:
        """When it failed or ended, in seconds from the start of the round."""
        return self.failed_at if self.error else self.ended_at

    @property
    def checked(self) -> int:
        """How many operations left the right values."""
        return sum(step.checked for step in self.steps)


class SmokeRound(Record):
    """One job of NCCL's, with one way of making the group.

    Attributes:
        init: ``eager`` or ``lazy``; both, divided by a comma, when a launcher started this process.
        outcome: of this round.
        reason: the cause in one line; empty for PASS.
        action: what to do about it; empty when there is nothing to say.
        signs: what else was seen that tells the cause.
        first: the rank that failed first, or hangs; -1 when none did.
        seconds: it took.
        timed_out: whether the time was up.
        limit: the seconds that were allowed for what timed out.
        ranks: what was seen of each.
    """

    init: str
    outcome: SmokeOutcome
    reason: str = ""
    action: str = ""
    signs: tuple[str, ...] = ()
    first: int = -1
    seconds: float = 0.0
    timed_out: bool = False
    limit: float = 0.0
    ranks: tuple[RankReport, ...] = ()


class SmokePrediction(Record):
    """What a check of the library that was really loaded says, without running anything.

    Attributes:
        outcome: ``PASS``, ``WARN``, ``FAIL`` or ``NOTHING``; empty when it could not be checked.
        gpus: that it was checked for.
        version: of the library, by its file, ``2.28.9+cuda13.0``.
        sass: architectures of its machine code.
        ptx: of its PTX.
        findings: ``FB101 ...``, warnings and failures.
        action: of the first finding.
        problem: why it could not be checked; empty when it was.
    """

    outcome: str = ""
    gpus: tuple[str, ...] = ()
    version: str = ""
    sass: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    action: str = ""
    problem: str = ""


class SmokeResult(Record):
    """What a smoke test of NCCL says.

    Attributes:
        outcome: the worst of the rounds.
        reason: the cause in one line; empty for PASS.
        action: what to do about it; empty when there is nothing to say.
        ranks: how many there were; with a launcher, those of the whole job.
        torch: version that was imported; empty when none was.
        library: path of the libnccl that torch called; empty when not known.
        library_version: what that library said.
        predicted: by a check of that file.
        rounds: one for each way of making the group.
        seconds: everything took.
    """

    outcome: SmokeOutcome
    reason: str = ""
    action: str = ""
    ranks: int = 0
    torch: str = ""
    library: str = ""
    library_version: str = ""
    predicted: SmokePrediction = SmokePrediction()
    rounds: tuple[SmokeRound, ...] = ()
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, with the version of its schema."""
        return {"schema_version": SCHEMA_VERSION, **plain(self)}


def report_from(data: dict[str, Any]) -> RankReport:
    """Return the report of one rank of a JSON document: a recording can be judged again."""
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in data.items()
        if key in RankReport._fields
    }
    fields["steps"] = tuple(SmokeStep(**step) for step in data["steps"])
    return RankReport(**fields)
