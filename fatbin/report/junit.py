"""A verdict as JUnit XML: a suite for each library, a case for each GPU.

The first suite is the check as a whole. It is there even when nothing was found: a document without
a case passes everywhere, and a check that judged nothing did not pass.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from fatbin.errors import printable
from fatbin.judge.verdict import Outcome, Severity, worst
from fatbin.report.sections import coverage, sections, summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.judge.verdict import Finding, Verdict
    from fatbin.report.sections import Group, Section

_CHECK = "fatbin check"
_OUTCOMES = {Severity.FAIL: Outcome.FAIL, Severity.WARN: Outcome.WARN}


def render(verdict: Verdict, *, strict: bool = False) -> str:
    """Return the document.

    Args:
        verdict: what to write.
        strict: cases with warnings fail.
    """
    root = ET.Element("testsuites", name=_CHECK)
    check, *libraries = sections(verdict)
    _add_check(root, verdict, check, strict=strict)
    for section in libraries:
        suite = ET.SubElement(root, "testsuite", name=printable(section.location))
        if section.library:
            facts = (
                ("name", section.library.name),
                ("version", section.library.version),
                ("sass", " ".join(section.library.sass)),
                ("ptx", ", ".join(section.library.ptx)),
            )
            _add_properties(suite, facts)
        for group in section.groups:
            _add_case(suite, section, group, strict=strict)
        if section.library and not section.library.answers:
            # There was no GPU to ask about, and the library must not go missing.
            case = _case(suite, section.location, "without a GPU")
            _add_result(case, section.library.outcome, "", [], strict=strict)
    for suite in root:
        for key, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
            suite.set(key, str(sum(1 for _ in suite.iter(tag))))
        suite.set("errors", "0")
    for key in ("tests", "failures", "skipped", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _add_check(root: ET.Element, verdict: Verdict, check: Section, *, strict: bool) -> None:
    suite = ET.SubElement(root, "testsuite", name=_CHECK)
    facts = (
        ("outcome", verdict.outcome.value),
        ("summary", summary(verdict)),
        ("overridden", verdict.skip_reason),
        ("gpus", ", ".join(verdict.gpus)),
        ("driver", verdict.driver),
    )
    _add_properties(suite, facts)
    nothing = verdict.outcome is Outcome.NOTHING
    overridden = [f"OVERRIDDEN: {printable(verdict.skip_reason)}"] if verdict.skip_reason else []
    case = _case(suite, _CHECK, "outcome")
    _add_result(
        case,
        Outcome.NOTHING if nothing else Outcome.PASS,
        summary(verdict),
        overridden,
        strict=strict,
    )
    for group in check.groups:
        _add_case(suite, check, group, strict=strict)


def _add_properties(suite: ET.Element, facts: tuple[tuple[str, str], ...]) -> None:
    properties = ET.SubElement(suite, "properties")
    for key, value in facts:
        if value:
            ET.SubElement(properties, "property", name=key, value=printable(value))


def _case(suite: ET.Element, location: str, called: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=printable(location), name=called, time="0")


def _add_case(suite: ET.Element, section: Section, group: Group, *, strict: bool) -> None:
    # A GPU may be called anything, and the prefix keeps it apart from what holds on every GPU.
    called = f"on {printable(group.gpu)}" if group.gpu else "findings"
    case = _case(suite, section.location or _CHECK, called)
    outcomes = [_OUTCOMES[f.severity] for f in group.findings if f.severity in _OUTCOMES]
    if group.answer:
        outcomes.append(group.answer.outcome)
    outcome = worst(outcomes or [Outcome.PASS])
    _add_result(case, outcome, _headline(group), list(_lines(group)), strict=strict)


def _headline(group: Group) -> str:
    counted = [f for f in group.findings if f.severity is not Severity.NOTE]
    if counted:
        return counted[0].message
    return group.answer.action if group.answer else ""


def _add_result(
    case: ET.Element, outcome: Outcome, headline: str, lines: list[str], *, strict: bool
) -> None:
    """Add what the outcome is to a reader of test results, and everything said as text."""
    text = "".join(f"{line}\n" for line in lines)
    message = printable(f"{outcome}: {headline}" if headline else outcome.value)
    if outcome is Outcome.FAIL or (outcome is Outcome.WARN and strict):
        ET.SubElement(case, "failure", type=outcome.value, message=message).text = text
        return
    if outcome is Outcome.NOTHING:
        ET.SubElement(case, "skipped", message=message)
    if text:
        ET.SubElement(case, "system-out").text = text


def _lines(group: Group) -> Iterator[str]:
    if group.answer:
        counts = coverage(group.answer)
        yield f"{group.answer.outcome}{f': {counts}' if counts else ''}"
        if group.answer.missing:
            yield f"missing: {printable(group.answer.missing)}"
        if group.answer.drivers:
            yield f"driver: {group.answer.drivers}"
        if group.answer.action:
            yield f"action: {printable(group.answer.action)}"
    for finding in group.findings:
        yield from _finding_lines(finding, finding.severity.value)
    for finding in group.known:
        yield from _finding_lines(finding, f"known ({finding.severity})")
    for ignored in group.ignored:
        yield from _finding_lines(ignored.finding, f"ignored ({ignored.finding.severity})")
        yield f"  reason: {printable(ignored.reason)}"
        yield f"  rule: {printable(ignored.rule)}"


def _finding_lines(finding: Finding, word: str) -> Iterator[str]:
    yield f"{finding.code} {word}  {printable(finding.message)}"
    if finding.action:
        yield f"  action: {printable(finding.action)}"
