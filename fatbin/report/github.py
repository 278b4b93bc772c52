"""A verdict as workflow commands of GitHub Actions, which become annotations.

The outcome comes first: GitHub shows ten annotations of each level for a step and drops the rest.
"""

from __future__ import annotations

from fatbin.errors import printable
from fatbin.judge.verdict import Outcome, Severity
from fatbin.report.sections import sections, summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.judge.verdict import Finding, Verdict

_LEVELS = {Severity.FAIL: "error", Severity.WARN: "warning", Severity.NOTE: "notice"}
_OUTCOMES = {
    Outcome.FAIL: "error",
    Outcome.WARN: "warning",
    Outcome.NOTHING: "warning",
    Outcome.PASS: "notice",
}


def render(verdict: Verdict, *, verbose: bool = False) -> str:
    """Return one line for the outcome and one for each finding, those that fail first.

    Args:
        verdict: what to write.
        verbose: notes too, as notices.
    """
    return "".join(f"{line}\n" for line in _lines(verdict, verbose=verbose))


def _lines(verdict: Verdict, *, verbose: bool) -> Iterator[str]:
    level, text = _OUTCOMES[verdict.outcome], summary(verdict)
    if verdict.skip_reason:
        level, text = "warning", f"OVERRIDDEN: {verdict.skip_reason}\n{text}"
    yield _command(level, "", "fatbin check", text)
    found = [finding for section in sections(verdict) for finding in section.findings]
    for severity, word in _LEVELS.items():
        if severity is not Severity.NOTE or verbose:
            for finding in found:
                if finding.severity is severity:
                    yield _command(word, finding.location, _title(finding), _message(finding))
    for finding in verdict.known:
        text = f"known ({finding.severity}): {_message(finding)}"
        yield _command("notice", finding.location, _title(finding), text)
    for ignored in verdict.ignored:
        finding = ignored.finding
        text = f"ignored ({finding.severity}): {_message(finding)}\nreason: {ignored.reason}"
        text = f"{text}\nrule: {ignored.rule}"
        yield _command("notice", finding.location, _title(finding), text)


def _title(finding: Finding) -> str:
    return f"{finding.code} on {finding.gpu}" if finding.gpu else finding.code


def _message(finding: Finding) -> str:
    return finding.message + (f"\naction: {finding.action}" if finding.action else "")


def _command(level: str, file: str, title: str, message: str) -> str:
    place = f"file={_property(file)}," if file else ""
    return f"::{level} {place}title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    """Return a message with its line ends kept and every other control character shown."""
    shown = "\n".join(printable(line) for line in text.split("\n"))
    return shown.replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return printable(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
