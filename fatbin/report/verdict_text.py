r"""A verdict for a terminal and for the log of a build.

The outcome comes first, and what decides it before what does not. Two blanks separate columns and a
line that begins at the margin is ours or the name of a library: :func:`name` sees to it that no
name of a file or GPU looks like either. A build server reads commands from logs (``::error::`` of
GitHub, ``##[error]`` of its forebears); no line becomes one.
"""

from __future__ import annotations

import re

from fatbin.errors import printable
from fatbin.judge.verdict import Outcome, Severity
from fatbin.report.sections import by_distribution, cells, coverage, is_plain, sections, summary
from fatbin.report.table import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.judge.verdict import Answer, Finding, IgnoredFinding, LibraryVerdict, Verdict
    from fatbin.report.sections import Group, Section
    from fatbin.report.table import Writer

__all__ = ["name", "write", "writer"]

_TONES = {Severity.FAIL: "FAIL", Severity.WARN: "WARN", Severity.NOTE: ""}
_AMBIGUOUS = re.compile(r"^[ :>]|(?<= ) | $")


def write(out: Writer, verdict: Verdict, *, verbose: bool = False) -> None:
    """Write a verdict.

    Args:
        out: from :func:`fatbin.report.table.writer`.
        verdict: what to write.
        verbose: show the libraries too of which there is no more to say than the matrix does, and
            what each finding rests on.
    """
    check, *libraries = sections(verdict)
    if verdict.skip_reason:
        out.line(f"OVERRIDDEN: {_inert(verdict.skip_reason)}", "WARN")
    out.line(summary(verdict), verdict.outcome.value)
    if verdict.gpus:
        out.line(f"  GPUs      {', '.join(name(gpu) for gpu in verdict.gpus)}")
    if verdict.driver:
        out.line(f"  driver    {name(verdict.driver)}")
    for group in check.groups:
        _write_group(out, group, verbose=verbose)
    if len(verdict.libraries) > 1 or (verdict.libraries and len(verdict.gpus) > 1):
        out.line("")
        _write_matrix(out, verdict, verbose=verbose)
    shown = [section for section in libraries if verbose or not is_plain(section, verdict)]
    for section in shown:
        out.line("")
        _write_section(out, section, verbose=verbose)
    hidden = sum(1 for s in libraries if s.findings) - sum(1 for s in shown if s.findings)
    notes = sum(len(s.findings) for s in libraries) - sum(len(s.findings) for s in shown)
    if notes:
        out.line("")
        out.line(
            f"{notes:,} {'note' if notes == 1 else 'notes'} on "
            f"{hidden:,} {'library' if hidden == 1 else 'libraries'} "
            "not shown (--verbose)"
        )


def _write_matrix(out: Writer, verdict: Verdict, *, verbose: bool) -> None:
    """Write a row for each distribution where some are known, else for each library."""
    gpus = [name(gpu) for gpu in verdict.gpus]
    known = any(library.distribution for library in verdict.libraries)
    if known:
        rows = (
            [name(distribution) if distribution else "of no distribution", f"{many:,}", *words]
            for distribution, many, words in by_distribution(verdict)
        )
        out.table(("distribution", ">libraries", *gpus), rows)
    if known and verbose:
        out.line("")
    if not known or verbose:
        libraries = ([name(library.location), *words] for library, words in cells(verdict))
        out.table(("library", *gpus), libraries)


def _write_section(out: Writer, section: Section, *, verbose: bool) -> None:
    library = section.library
    out.heading(name(section.location) + (_title(library) if library else ""))
    if library:
        out.line(f"  SASS      {' '.join(name(arch) for arch in library.sass) or 'none'}")
        out.line(f"  PTX       {', '.join(name(arch) for arch in library.ptx) or 'none'}")
    for group in section.groups:
        _write_group(out, group, verbose=verbose)
    if library and not library.answers:
        out.line(f"  result    {library.outcome}", library.outcome.value)


def _title(library: LibraryVerdict) -> str:
    own = library.location.rpartition("::")[2].replace("\\", "/").rpartition("/")[2]
    facts = [
        name(library.distribution) if library.distribution else "",
        name(library.name) if library.name and library.name != own else "",
        f"version {name(library.version)}" if library.version else "",
        f"layer {name(library.layer)}" if library.layer else "",
    ]
    said = ", ".join(fact for fact in facts if fact)
    return f"  ({said})" if said else ""


def _write_group(out: Writer, group: Group, *, verbose: bool) -> None:
    """Write what holds for one GPU: the answer, then the findings with their actions."""
    indent = "  "
    answer = group.answer
    if group.gpu:
        indent = "    "
        word = answer.outcome.value if answer else ""
        out.line(f"  result    {name(group.gpu)}: {word or 'no answer'}", word)
    if answer:
        actions = {finding.action for finding in group.findings}
        for label, text in _answer_lines(answer, actions):
            out.line(f"{indent}{label:<9} {text}")
    for finding in group.findings:
        _write_finding(out, indent, finding, finding.severity.value, _TONES[finding.severity])
        if verbose:
            for text in _evidence(finding):
                out.line(f"{indent}            {text}")
    for finding in group.known:
        _write_finding(out, indent, finding, f"known ({finding.severity})", "")
    for ignored in group.ignored:
        _write_ignored(out, indent, ignored)


def _answer_lines(answer: Answer, said: set[str]) -> Iterator[tuple[str, str]]:
    if answer.missing:
        yield "missing", _inert(answer.missing)
    if answer.drivers:
        yield "driver", answer.drivers
    counts = coverage(answer)
    if counts and answer.outcome is not Outcome.PASS:
        yield "coverage", counts
    if answer.action and answer.action not in said:
        yield "action", _inert(answer.action)


def _write_finding(out: Writer, indent: str, finding: Finding, word: str, tone: str) -> None:
    out.line(f"{indent}{finding.code} {word}  {_inert(finding.message)}", tone)
    if finding.action:
        out.line(f"{indent}            action: {_inert(finding.action)}")


def _write_ignored(out: Writer, indent: str, ignored: IgnoredFinding) -> None:
    finding = ignored.finding
    _write_finding(out, indent, finding, f"ignored ({finding.severity})", "")
    out.line(f"{indent}            reason: {_inert(ignored.reason)}")
    out.line(f"{indent}            rule: {_inert(ignored.rule)}")


def _evidence(finding: Finding) -> Iterator[str]:
    for evidence in finding.because:
        doubt = "" if evidence.certain else ", not certain"
        source = f"; {evidence.source}" if evidence.source else ""
        where = f"{evidence.kind} {evidence.ref}{source}{doubt}"
        yield f"because: {_inert(evidence.text)} ({_inert(where)})"


def name(text: str) -> str:
    r"""Return a name that cannot be taken for a column, an indent or a command.

    >>> name("::error::  x ")
    '\\x3a:error:: \\x20x\\x20'
    """
    shown = _AMBIGUOUS.sub(lambda match: f"\\x{ord(match[0]):02x}", printable(text))
    return _inert(shown)


def _inert(text: str) -> str:
    return printable(text).replace("##[", "\\x23#[")
