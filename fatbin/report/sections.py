"""A verdict by library and GPU, as every format shows it: nothing is added and nothing left out."""

from __future__ import annotations

from fatbin._record import Record
from fatbin.judge.verdict import Outcome, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fatbin.judge.verdict import Answer, Finding, IgnoredFinding, LibraryVerdict, Verdict

_ORDER = {Severity.FAIL: 0, Severity.WARN: 1, Severity.NOTE: 2}


class Group(Record):
    """What is said of one library on one GPU.

    Attributes:
        gpu: as in the findings; empty for what holds on every GPU.
        answer: for the GPU; None where the verdict has findings and no answer.
        findings: FAIL first, then WARN, then notes.
        ignored: in the verdict's order.
        known: that the baseline has already, FAIL first.
    """

    gpu: str
    answer: Answer | None
    findings: tuple[Finding, ...]
    ignored: tuple[IgnoredFinding, ...]
    known: tuple[Finding, ...] = ()


class Section(Record):
    """What is said of one library, or of the whole check.

    Attributes:
        location: of the library; empty for the whole check.
        library: None for the whole check, and where the verdict has findings and no library.
        groups: what holds on every GPU first, then the answers in order, then what is left; groups
            in which nothing is said are absent.
    """

    location: str
    library: LibraryVerdict | None
    groups: tuple[Group, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all groups."""
        return tuple(finding for group in self.groups for finding in group.findings)

    @property
    def ignored(self) -> tuple[IgnoredFinding, ...]:
        """The ignored findings of all groups."""
        return tuple(ignored for group in self.groups for ignored in group.ignored)

    @property
    def known(self) -> tuple[Finding, ...]:
        """The findings of all groups that the baseline has already."""
        return tuple(known for group in self.groups for known in group.known)


class _Said:
    """What is said of one library on one GPU, while it is collected."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.ignored: list[IgnoredFinding] = []
        self.known: list[Finding] = []

    def group(self, gpu: str, answer: Answer | None) -> Group:
        return Group(gpu, answer, tuple(self.findings), tuple(self.ignored), tuple(self.known))


def sections(verdict: Verdict) -> tuple[Section, ...]:
    """Return the whole check and then each library; the first is there even when it is silent."""
    found: dict[str, dict[str, _Said]] = {"": {}}

    def about(finding: Finding) -> _Said:
        return found.setdefault(finding.location, {}).setdefault(finding.gpu, _Said())

    for finding in sorted(verdict.findings, key=lambda finding: _ORDER[finding.severity]):
        about(finding).findings.append(finding)
    for ignored in verdict.ignored:
        about(ignored.finding).ignored.append(ignored)
    for known in sorted(verdict.known, key=lambda finding: _ORDER[finding.severity]):
        about(known).known.append(known)
    made = [Section("", None, _groups((), found.pop("")))]
    # A file that was scanned twice has its findings once.
    for library in verdict.libraries:
        own = found.pop(library.location, {})
        made.append(Section(library.location, library, _groups(library.answers, own)))
    made += [Section(location, None, _groups((), groups)) for location, groups in found.items()]
    return tuple(made)


def _groups(answers: Iterable[Answer], found: dict[str, _Said]) -> tuple[Group, ...]:
    made = []
    if "" in found:
        made.append(found.pop("").group("", None))
    made += [found.pop(answer.gpu, _Said()).group(answer.gpu, answer) for answer in answers]
    made += [said.group(gpu, None) for gpu, said in found.items()]
    return tuple(made)


def is_plain(section: Section, verdict: Verdict) -> bool:
    """Tell whether there is no more to say than PASS, or NOTHING beside others, and notes."""
    plain = {Outcome.PASS}
    if verdict.outcome is not Outcome.NOTHING:
        plain.add(Outcome.NOTHING)
    outcomes = {group.answer.outcome for group in section.groups if group.answer}
    if section.library:
        outcomes.add(section.library.outcome)
    noted = all(finding.severity is Severity.NOTE for finding in section.findings)
    return outcomes <= plain and noted and not section.ignored and not section.known


_VERBS = {
    Outcome.PASS: ("passes", "pass"),
    Outcome.WARN: ("has warnings", "have warnings"),
    Outcome.FAIL: ("fails", "fail"),
}


def summary(verdict: Verdict) -> str:
    """Return the outcome in one line: ``FAIL: 2 of 5 libraries fail on 1 of 3 GPUs``."""
    outcome = verdict.outcome
    if outcome is Outcome.NOTHING:
        return f"{outcome}: no device code to judge"
    libraries = [library for library in verdict.libraries if library.outcome is outcome]
    one, many = _VERBS[outcome]
    if not libraries:
        return f"{outcome}: see the findings"
    what = _of(len(libraries), len(verdict.libraries), "library", "libraries")
    verb = one if len(libraries) == 1 else many
    gpus = {a.gpu for library in libraries for a in library.answers if a.outcome is outcome}
    where = f" on {_of(len(gpus), len(verdict.gpus), 'GPU', 'GPUs')}" if gpus else ""
    return f"{outcome}: {what} {verb}{where}"


def _of(number: int, total: int, one: str, many: str) -> str:
    if total <= 1:
        return f"the {one}"
    return f"all {total:,} {many}" if number == total else f"{number:,} of {total:,} {many}"


def cells(verdict: Verdict) -> Iterable[tuple[LibraryVerdict, Sequence[str]]]:
    """Yield each library with a word for each GPU asked for: a row of the matrix."""
    for library in verdict.libraries:
        words = {answer.gpu: answer.outcome.value for answer in library.answers}
        yield library, [words.get(gpu, "-") for gpu in verdict.gpus]


def by_distribution(verdict: Verdict) -> Iterable[tuple[str, int, Sequence[str]]]:
    """Yield each distribution with its number of libraries and its worst word for each GPU.

    Libraries of no distribution come last, under an empty name.
    """
    found: dict[str, list[Sequence[str]]] = {}
    for library, words in cells(verdict):
        found.setdefault(library.distribution, []).append(words)
    for distribution, rows in sorted(found.items(), key=lambda item: (not item[0], item[0])):
        worst = [max(column, key=_WORDS.index) for column in zip(*rows, strict=True)]
        yield distribution, len(rows), worst


_WORDS = ("-", *(outcome.value for outcome in Outcome))
"""From what matters least to what decides; the order of the outcomes is the judge's."""

_SERVING = (
    ("native", "native"),
    ("jit", "JIT"),
    ("jit_link", "JIT link"),
    ("likely", "likely"),
    ("unsure", "unsure"),
)
_LACKING = (
    ("specialised", "specialised"),
    ("holes", "with a hole"),
    ("newer_only", "for newer GPUs only"),
    ("refused", "refused by the driver"),
)
_ASIDE = (("empty", "without kernels"), ("unjudged", "of kinds not judged"))


def coverage(answer: Answer) -> str:
    """Return the counts in words; empty when no module was counted.

    >>> from fatbin.judge.verdict import Answer, Coverage, Outcome
    >>> counts = Coverage(modules=3, native=2, holes=1, empty=4)
    >>> coverage(Answer("9.0", "9.0", Outcome.WARN, counts))
    '2 of 3 modules run (2 native); 1 does not (1 with a hole); aside: 4 without kernels'
    """
    counts = answer.coverage
    parts = []
    if counts.modules:
        noun = "module" if counts.modules == 1 else "modules"
        verb = "runs" if counts.serving == 1 else "run"
        run = f"{counts.serving:,} of {counts.modules:,} {noun} {verb}"
        parts.append(run + _counted(counts, _SERVING))
        rest = counts.modules - counts.serving
        if rest > 0:
            verb = "does" if rest == 1 else "do"
            parts.append(f"{rest:,} {verb} not{_counted(counts, _LACKING)}")
    aside = _counted(counts, _ASIDE)
    if aside:
        parts.append(f"aside: {aside[2:-1]}")
    return "; ".join(parts)


def _counted(counts: object, words: Iterable[tuple[str, str]]) -> str:
    said = [f"{getattr(counts, key):,} {word}" for key, word in words if getattr(counts, key)]
    return f" ({', '.join(said)})" if said else ""
