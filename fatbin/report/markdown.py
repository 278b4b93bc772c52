"""A verdict as Markdown, for a comment on a pull request.

Names of files are whatever somebody called them: they are code, or escaped so far that they can be
neither markup nor a mention of a person.
"""

from __future__ import annotations

import re
from html import escape

from fatbin.errors import printable
from fatbin.judge.verdict import Outcome
from fatbin.report.sections import cells, coverage, is_plain, sections, summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fatbin.judge.verdict import Answer, Finding, Verdict
    from fatbin.report.sections import Group, Section

_SIGNS = {
    Outcome.FAIL.value: "❌ FAIL",
    Outcome.WARN.value: "⚠️ WARN",
    Outcome.PASS.value: "✅ PASS",
    Outcome.NOTHING.value: "NOTHING",
}


def render(verdict: Verdict) -> str:
    """Return the document."""
    return "".join(f"{line}\n" for line in _document(verdict))


def _document(verdict: Verdict) -> Iterator[str]:
    check, *libraries = sections(verdict)
    yield f"## {summary(verdict)}"
    if verdict.skip_reason:
        yield ""
        yield f"> **OVERRIDDEN**: {_text(verdict.skip_reason)}"
    facts = [f"GPUs: {', '.join(map(_code, verdict.gpus))}"] if verdict.gpus else []
    facts += [f"driver: {_code(verdict.driver)}"] if verdict.driver else []
    if facts:
        yield ""
        yield "; ".join(facts)
    if check.groups:
        yield ""
        for group in check.groups:
            yield from _group(group)
    if verdict.libraries and verdict.gpus:
        yield ""
        yield from _table(verdict)
    for section in libraries:
        if not is_plain(section, verdict) or section.findings:
            yield ""
            yield from _details(section)


def _table(verdict: Verdict) -> Iterator[str]:
    yield _row(["library", *map(_cell, verdict.gpus)])
    yield _row(["---"] * (1 + len(verdict.gpus)))
    for library, words in cells(verdict):
        yield _row([_cell(library.location), *(_SIGNS.get(word, word) for word in words)])


def _row(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _details(section: Section) -> Iterator[str]:
    library = section.library
    shown = escape(printable(section.location))
    failing = library is not None and library.outcome is Outcome.FAIL
    word = f": {library.outcome}" if library else ""
    yield "<details open>" if failing else "<details>"
    yield f"<summary><code>{shown}</code>{word}</summary>"
    yield ""
    if library:
        named = [_code(text) for text in (library.name, library.version) if text]
        if named:
            yield f"- library: {', '.join(named)}"
        yield f"- SASS: {', '.join(map(_code, library.sass)) or 'none'}"
        yield f"- PTX: {', '.join(map(_code, library.ptx)) or 'none'}"
    for group in section.groups:
        yield from _group(group)
    yield ""
    yield "</details>"


def _group(group: Group) -> Iterator[str]:
    indent = ""
    if group.gpu:
        word = _SIGNS[group.answer.outcome.value] if group.answer else "no answer"
        yield f"- on {_code(group.gpu)}: {word}"
        indent = "  "
    if group.answer and group.answer.outcome is not Outcome.PASS:
        actions = {finding.action for finding in group.findings}
        yield from (f"{indent}- {text}" for text in _answer(group.answer, actions))
    for finding in group.findings:
        yield from _finding(indent, finding, finding.severity.value)
    for finding in group.known:
        yield from _finding(indent, finding, f"known ({finding.severity})")
    for ignored in group.ignored:
        yield from _finding(indent, ignored.finding, f"ignored ({ignored.finding.severity})")
        yield f"{indent}  - reason: {_text(ignored.reason)}"
        yield f"{indent}  - rule: {_code(ignored.rule)}"


def _answer(answer: Answer, said: set[str]) -> Iterator[str]:
    if answer.missing:
        yield f"missing {_code(answer.missing)}"
    if answer.drivers:
        yield f"driver {answer.drivers}"
    counts = coverage(answer)
    if counts:
        yield counts
    if answer.action and answer.action not in said:
        yield f"action: {_text(answer.action)}"


def _finding(indent: str, finding: Finding, word: str) -> Iterator[str]:
    yield f"{indent}- **{finding.code}** {word}: {_text(finding.message)}"
    if finding.action:
        yield f"{indent}  - action: {_text(finding.action)}"


def _code(text: str) -> str:
    """Return text as code, with a fence that no backtick in it can close."""
    shown = printable(text)
    runs = [len(run) for run in re.findall("`+", shown)]
    fence = "`" * next(n for n in range(1, len(runs) + 2) if n not in runs)
    # One blank is taken off either end where there is one at both.
    pad = " " if shown[:1] in "` " or shown[-1:] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}" if shown.strip(" ") else f"`{shown or ' '}`"


def _cell(text: str) -> str:
    """Return text as code in a table, where bars count inside code too and escapes differ."""
    if "|" not in text:
        return _code(text)
    shown = _MARKUP.sub(lambda match: f"&#{ord(match[0])};", printable(text))
    return f"<code>{shown}</code>"


_MARKUP = re.compile(r"[\\`*_\[\]<>|#&~$!]|:(?=//)|(?<=www)\.", re.IGNORECASE)


def _text(text: str) -> str:
    """Return text in which nothing is Markdown, HTML, a link or a mention."""
    shown = _MARKUP.sub(lambda match: f"\\{match[0]}", printable(text).strip(" "))
    return re.sub("@+", lambda match: f"`{match[0]}`", shown)
