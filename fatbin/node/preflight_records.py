"""What a preflight says, as plain frozen data."""

from __future__ import annotations

from fatbin._record import Record, Word, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

SCHEMA_VERSION = 1
"""Of the JSON document; raised when a key changes its meaning or goes away."""
STAGES = ("detect", "check", "probe", "smoke")


class PreflightOutcome(Word):
    """What comes of a stage, or of all."""

    PASS = "PASS"  # noqa: S105 - no password
    """What was looked at is in order."""
    WARN = "WARN"
    """It runs, or may run, with something to know; or something could not be looked at."""
    FAIL = "FAIL"
    """A program that needs this will not run here."""
    ERROR = "ERROR"
    """It could not be told: something named cannot be read, or a process cannot be started."""
    NOTHING = "NOTHING"
    """There is no GPU, or nothing to look at."""
    SKIPPED = "SKIPPED"
    """The stage was not asked for, or pointless; it does not count."""


_RANKS = {
    PreflightOutcome.SKIPPED: 0,
    PreflightOutcome.PASS: 1,
    PreflightOutcome.WARN: 2,
    PreflightOutcome.NOTHING: 3,
    PreflightOutcome.ERROR: 4,
    PreflightOutcome.FAIL: 5,
}


def worst(outcomes: Iterable[PreflightOutcome]) -> PreflightOutcome:
    """Return the outcome that decides; NOTHING when no stage counts."""
    found = max(outcomes, key=_RANKS.__getitem__, default=PreflightOutcome.SKIPPED)
    return PreflightOutcome.NOTHING if found is PreflightOutcome.SKIPPED else found


class PreflightStage(Record):
    """One stage.

    Attributes:
        name: ``detect``, ``check``, ``probe`` or ``smoke``.
        outcome: of this stage.
        seconds: it took.
        said: the cause, or what was found, in one line.
        action: what to do; empty when there is nothing.
        details: the whole document of what the stage is made of; keys as in the documents of
            ``fatbin detect``, ``check``, ``probe`` and ``smoke``.
    """

    name: str
    outcome: PreflightOutcome
    seconds: float = 0.0
    said: str = ""
    action: str = ""
    details: Any = None


class PreflightLibrary(Record):
    """One library that was looked at.

    Attributes:
        path: as named or found.
        how: ``NCCL by torch`` and the like, or ``named``.
        version: what it says of itself; empty if nothing.
        sass: architectures of its machine code.
        ptx: of its PTX.
        outcome: of its check; empty when it could not be checked.
    """

    path: str
    how: str
    version: str = ""
    sass: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    outcome: str = ""


class Preflight(Record):
    """What a preflight says.

    Attributes:
        outcome: the worst of the stages.
        cause: the stage that decides and what it said, in one line.
        action: what to do; empty when there is nothing.
        node: name of the node (NODE_NAME); empty when not set.
        image: the image (IMAGE); empty when not set.
        gpus: ``NVIDIA H200 (9.0)``, one for each.
        driver: of the kernel; empty when not known.
        cuda_version: of libcuda; empty when not known.
        libraries: that were looked at, NCCL first.
        stages: all four, in order.
        seconds: everything took.
    """

    outcome: PreflightOutcome
    cause: str = ""
    action: str = ""
    node: str = ""
    image: str = ""
    gpus: tuple[str, ...] = ()
    driver: str = ""
    cuda_version: str = ""
    libraries: tuple[PreflightLibrary, ...] = ()
    stages: tuple[PreflightStage, ...] = ()
    seconds: float = 0.0

    def stage(self, name: str) -> PreflightStage:
        """Return a stage by its name."""
        return next(stage for stage in self.stages if stage.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, with the version of its schema."""
        return {"schema_version": SCHEMA_VERSION, **plain(self)}
