"""The verdict: outcomes, findings with stable codes, and what they rest on, as plain frozen data.

A verdict holds no open file and needs no GPU to be read. Every format of ``fatbin check`` is made
from it, and from nothing else.
"""

from __future__ import annotations

from fatbin._record import Record, Word, plain
from fatbin.errors import CheckFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

SCHEMA_VERSION = 1
"""Of the JSON document; raised when a key changes its meaning or goes away, not for new keys."""


class Outcome(Word):
    """What comes of a check, for one library and GPU or for everything together."""

    NOTHING = "NOTHING"
    """There is no device code to judge: not a PASS."""
    PASS = "PASS"  # noqa: S105 - no password
    """Native code for the GPU."""
    WARN = "WARN"
    """It runs by compilation, or probably, or with gaps; or it cannot be told."""
    FAIL = "FAIL"
    """It does not run."""


_RANKS = {Outcome.NOTHING: 0, Outcome.PASS: 1, Outcome.WARN: 2, Outcome.FAIL: 3}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome that decides: FAIL before WARN before PASS before NOTHING."""
    return max(outcomes, key=_RANKS.__getitem__, default=Outcome.NOTHING)


class Severity(Word):
    """What a finding does to the outcome."""

    NOTE = "note"
    """Nothing: worth knowing."""
    WARN = "warn"
    FAIL = "fail"


class Evidence(Record):
    """One thing that a finding rests on.

    Attributes:
        kind: ``entry`` (bytes of the file), ``fact`` (a row of the tables), ``issue`` (damage),
            ``policy`` (what the user asked for).
        ref: where: location of an entry with its offset; id of a fact; key of a policy.
        text: what it says.
        source: of a fact: where that is written or how it was measured; else empty.
        certain: False when a fact is inferred, reported by users only, or disputed.
    """

    kind: str
    ref: str
    text: str
    source: str = ""
    certain: bool = True


class Finding(Record):
    """One statement about one library, or about the whole check.

    Attributes:
        code: stable, such as ``FB101``; ``fatbin explain FB101`` says what it means.
        severity: what it does to the outcome.
        message: one line that names the library, the GPU, what is there and what is missing.
        location: of the library; empty when the finding is about the whole check.
        gpu: ``9.0`` or ``RTX 5090 (12.0)``; empty when the finding holds for every GPU.
        action: what to do about it, one line; empty when there is nothing to do.
        because: what it rests on.
    """

    code: str
    severity: Severity
    message: str
    location: str = ""
    gpu: str = ""
    action: str = ""
    because: tuple[Evidence, ...] = ()


class IgnoredFinding(Record):
    """A finding that the policy takes out of the outcome, and why.

    Attributes:
        finding: as it would have counted.
        rule: the ignore rule, ``FB106@*/libfoo.so``.
        reason: given by the user.
    """

    finding: Finding
    rule: str
    reason: str


class Coverage(Record):
    """How the modules of one library stand to one GPU; all numbers count modules.

    Attributes:
        modules: judged; the sum of the nine that follow.
        native: SASS that fits.
        jit: PTX that the driver compiles.
        jit_link: device-linked, linked by the driver from relocatable PTX.
        likely: of ``native`` kind, by evidence without a vendor's promise.
        unsure: of ``native`` kind, with evidence that conflicts.
        specialised: nothing that fits, by design: only ``a``/``f`` images, or plain ones of a
            single generation.
        holes: nothing that fits although older GPUs are served.
        newer_only: nothing that fits because every image is for newer GPUs.
        refused: code that fits, but the driver does not take: PTX or compression too new, JIT off.
        empty: not judged: no kernel inside.
        unjudged: not judged: LTO-IR, which the library links itself, or kinds without a name.
        best: the largest number of modules that serve any one architecture that the library names.
    """

    modules: int = 0
    native: int = 0
    jit: int = 0
    jit_link: int = 0
    likely: int = 0
    unsure: int = 0
    specialised: int = 0
    holes: int = 0
    newer_only: int = 0
    refused: int = 0
    empty: int = 0
    unjudged: int = 0
    best: int = 0

    @property
    def serving(self) -> int:
        """Modules that serve the GPU in one way or another."""
        return self.native + self.jit + self.jit_link + self.likely + self.unsure


class Answer(Record):
    """One library on one GPU.

    Attributes:
        gpu: ``9.0`` or ``RTX 5090 (12.0)``.
        compute_capability: ``12.0``.
        outcome: for this library on this GPU.
        coverage: the counts.
        required_driver: branch of the oldest driver that runs it, such as 570; 0 when not known,
            and where no driver of this GPU does.
        missing: the architecture of code that would serve it natively, ``sm_120``; empty when
            a module has such code.
        action: what to do; empty when there is nothing.
        last_driver: branch of the last driver that drives the GPU; 0 while the newest does.
    """

    gpu: str
    compute_capability: str
    outcome: Outcome
    coverage: Coverage
    required_driver: int = 0
    missing: str = ""
    action: str = ""
    last_driver: int = 0

    @property
    def drivers(self) -> str:
        """The driver branches on which it runs: ``570 or later``, ``384 to 580``; empty if none."""
        if not self.required_driver:
            return ""
        until = f"to {self.last_driver}" if self.last_driver else "or later"
        return f"{self.required_driver} {until}"


class LibraryVerdict(Record):
    """One library on all GPUs.

    Attributes:
        location: as in the inventory.
        name: soname or file name.
        version: what the library says of itself, ``2.26.2+cuda12.2``; empty if nothing.
        format: ``elf``, ``pe``, ``fatbin``, ...
        sass: real architectures with SASS, ``sm_80``, by number.
        ptx: virtual architectures with PTX and its ISA version, ``compute_90 (8.2)``; of a
            device-linked library also those that only a JIT link can use, marked ``relocatable``.
        outcome: the worst of the answers.
        answers: one for each GPU, in the order asked.
        size: bytes of the file or archive member.
        code_sizes: device code by kind and architecture, ``sass sm_90``, ``ptx compute_90``, and
            the bytes that it takes in the file as its headers declare them; images of a group
            count as ``group``.
        distribution: that the library came with, ``torch 2.11.0``; empty where none is known.
        layer: of a container image that brought the library; empty elsewhere.
    """

    location: str
    name: str
    version: str
    format: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    outcome: Outcome
    answers: tuple[Answer, ...] = ()
    size: int = 0
    code_sizes: tuple[tuple[str, int], ...] = ()
    distribution: str = ""
    layer: str = ""


class Verdict(Record):
    """What a check says.

    Attributes:
        outcome: the worst of the libraries and findings; NOTHING when there is nothing to judge.
        gpus: asked for, as in :attr:`Answer.gpu`.
        driver: asked for, ``570.124``; empty when none was given.
        libraries: in the order of the inventory.
        findings: that count, worst first.
        ignored: findings that the policy takes out.
        skip_reason: why the outcome is to be overridden; empty when it is not.
        targets: what was scanned.
        known: findings that do not count because the baseline has them already.
    """

    outcome: Outcome
    gpus: tuple[str, ...]
    driver: str = ""
    libraries: tuple[LibraryVerdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    ignored: tuple[IgnoredFinding, ...] = ()
    skip_reason: str = ""
    targets: tuple[str, ...] = ()
    known: tuple[Finding, ...] = ()

    def require_pass(self, *, strict: bool = False) -> None:
        """Raise unless everything passes; an override does not count here.

        Args:
            strict: refuse warnings too.

        Raises:
            CheckFailed: FAIL, NOTHING, or with ``strict`` WARN.
        """
        if self.outcome is Outcome.PASS or (self.outcome is Outcome.WARN and not strict):
            return
        reasons = [f for f in self.findings if f.severity is not Severity.NOTE]
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        said = f"{reasons[0].code} {reasons[0].message}{more}" if reasons else "no device code"
        raise CheckFailed(f"{self.outcome}: {said}", outcome=self.outcome.value)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, with the version of its schema."""
        return {"schema_version": SCHEMA_VERSION, **plain(self)}
