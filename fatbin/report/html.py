"""A verdict as one HTML file: no network, no framework, and readable without its script.

The table, the details and the chart are plain HTML; the script hides, orders and opens what is
there. Names of files are whatever somebody called them: each text is escaped, and the policy of the
page (``Content-Security-Policy``) lets run the one script whose hash it names. The document is
ASCII and, for the same verdict, the same bytes.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from html import escape
from importlib.resources import files

from fatbin import __version__
from fatbin.errors import printable
from fatbin.judge.verdict import Outcome, Severity, worst
from fatbin.report.html_chart import chart
from fatbin.report.sections import coverage, sections, summary
from fatbin.report.table import size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fatbin.judge.verdict import Answer, Evidence, Finding, LibraryVerdict, Verdict
    from fatbin.report.sections import Group, Section

_MOST_TARGETS = 12
_FEW_GPUS = 4
"""More have narrower columns, so that names keep their place."""
_SEVERITIES = {Severity.FAIL: Outcome.FAIL, Severity.WARN: Outcome.WARN}
_SIGNS = {"FAIL": "&#10005;", "WARN": "!", "PASS": "&#10003;", "NOTHING": "&#8211;"}


def render(verdict: Verdict, *, titles: Mapping[str, str] | None = None, made: str = "") -> str:
    """Return the document.

    Args:
        verdict: what to write.
        titles: a short text for each code.
        made: when, in words; nothing is said by default, so that a verdict has one document.
    """
    check, *libraries = sections(verdict)
    matrix = _Matrix(verdict, libraries)
    style = matrix.style(_part("page.css"))
    script = _part("page.js")
    parts = {
        "style": style,
        "script": script,
        "policy": f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
        "outcome": verdict.outcome.value,
        "sign": _SIGNS[verdict.outcome.value],
        "summary": text(summary(verdict).partition(": ")[2]),
        "title": text(summary(verdict)),
        "overridden": _overridden(verdict.skip_reason),
        "facts": "".join(_facts(verdict, made)),
        "tally": "".join(_tally(verdict)),
        "check": _listed(check),
        "codes": "".join(_codes(verdict, titles or {})),
        "chart": chart(verdict.libraries),
        "matrix": "".join(matrix.lines()),
        "json": _json(verdict),
        "version": text(__version__),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _part("page.html"))


@lru_cache(maxsize=1 << 14)
def text(value: str) -> str:
    """Return text as HTML that is nothing but text, within elements and attributes, in ASCII."""
    return escape(printable(value)).encode("ascii", "xmlcharrefreplace").decode()


def _part(name: str) -> str:
    return (files("fatbin.report") / name).read_text(encoding="ascii")


def _hash(source: str) -> str:
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"


def _json(verdict: Verdict) -> str:
    """Return the verdict as JSON that no parser of HTML can see the end of a script in."""
    document = json.dumps(verdict.to_dict(), separators=(",", ":"))
    return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", document)


# The head of the page -----------------------------------------------------------------------------


def _overridden(reason: str) -> str:
    if not reason:
        return ""
    said = f'<span id="overridden">{text(reason)}</span>'
    return f'<p class="override"><b>OVERRIDDEN</b> the outcome does not count: {said}</p>'


def _facts(verdict: Verdict, made: str) -> Iterator[str]:
    gpus = ", ".join(f'<span class="nowrap">{text(gpu)}</span>' for gpu in verdict.gpus)
    yield _fact("GPUs", gpus or "none")
    yield _fact("Driver", text(verdict.driver) or "not given: taken to be new enough")
    shown = [f"<code>{text(target)}</code>" for target in verdict.targets[:_MOST_TARGETS]]
    more = len(verdict.targets) - len(shown)
    if shown:
        yield _fact("Checked", ", ".join(shown) + (f" and {more:,} more" if more else ""))
    if made:
        yield _fact("Made", text(made))


def _fact(label: str, value: str) -> str:
    return f"<div><dt>{label}</dt><dd>{value}</dd></div>"


def _tally(verdict: Verdict) -> Iterator[str]:
    outcomes = [library.outcome for library in verdict.libraries]
    for outcome in reversed(Outcome):
        number = outcomes.count(outcome)
        if outcomes:
            yield f'<li class="{outcome}"><b>{number:,}</b> {outcome}</li>'


def _codes(verdict: Verdict, titles: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each code of the findings that count, those that fail first."""
    counted: dict[tuple[str, Severity], int] = {}
    for section in sections(verdict):
        for finding in section.findings:
            key = (finding.code, finding.severity)
            counted[key] = counted.get(key, 0) + 1
    order = list(Severity)[::-1]
    for (code, severity), number in sorted(
        counted.items(), key=lambda item: (order.index(item[0][1]), item[0][0])
    ):
        yield (
            f'<li><span class="tag {severity}">{text(code)} {severity}</span> '
            f"<b>{number:,}</b> {text(titles.get(code, ''))}</li>"
        )


# The matrix ---------------------------------------------------------------------------------------


class _Matrix:
    """Libraries by GPU; each library is a row and, below it, its details."""

    def __init__(self, verdict: Verdict, libraries: Iterable[Section]) -> None:
        self._gpus = verdict.gpus
        self._sections = list(libraries)
        self._grouped = any(map(_distribution, self._sections))

    def style(self, rules: str) -> str:
        """Return the rules with the columns of this matrix."""
        columns = [("minmax(16rem, 1fr)", 16.0)]
        columns += [("9rem", 9.0)] if self._grouped else []
        each = 5.8 if len(self._gpus) <= _FEW_GPUS else 5.3
        columns += [("5.5rem", 5.5), ("6rem", 6.0), *[(f"{each}rem", each)] * len(self._gpus)]
        columns += [("8.5rem", 8.5)]
        width = sum(size for _, size in columns)
        named = ["size", "outcome", *self._gpus]
        named = ["distribution", *named] if self._grouped else named
        labels = "".join(
            f'.row > :nth-child({number})::before {{ content: "{_quoted(label)}"; }}\n'
            for number, label in enumerate(named, 2)
        )
        own = f":root {{ --columns: {' '.join(c for c, _ in columns)}; --least: {width:g}rem; }}\n"
        return f"{own}{rules}@media (max-width: 48rem) {{\n{labels}}}\n"

    def lines(self) -> Iterator[str]:
        """Yield the table; nothing when there is no library."""
        if not self._sections:
            return
        names = ["library", *(["distribution"] if self._grouped else []), "size", "outcome"]
        heads = [f'<th scope="col" data-key="{name}">{name}</th>' for name in names]
        heads += [f'<th scope="col" data-key="gpu">{text(gpu)}</th>' for gpu in self._gpus]
        heads += ['<th scope="col">findings</th>']
        yield '<table id="matrix"><caption>Libraries and GPUs</caption>\n'
        yield f'<thead><tr class="row">{"".join(heads)}</tr></thead>\n'
        groups: dict[str, list[Section]] = {}
        for section in self._sections:
            groups.setdefault(_distribution(section), []).append(section)
        number = 0
        for distribution, members in groups.items():
            if self._grouped:
                many = f"{len(members):,} {'library' if len(members) == 1 else 'libraries'}"
                called = text(distribution) if distribution else "of no distribution"
                head = f'<th scope="rowgroup">{called}: {many}</th>'
                yield f'<tbody class="group"><tr>{head}</tr></tbody>\n'
            for section in members:
                number += 1
                yield from self._library(number, section)
        yield "</table>\n"

    def _library(self, number: int, section: Section) -> Iterator[str]:
        library = section.library
        outcome = library.outcome.value if library else _worst_said(section)
        size = library.size if library else 0
        columns = 4 + self._grouped + len(self._gpus)
        found = {answer.gpu: answer.outcome.value for answer in library.answers} if library else {}
        yield f'<tbody class="library" id="l{number}" data-size="{size}"><tr class="row">'
        name = _location(section.location)
        yield f'<th scope="row"><label><input type="checkbox"> {name}</label></th>'
        if self._grouped:
            yield f"<td>{text(_distribution(section))}</td>"
        yield f'<td class="size">{size_text(size) if library else ""}</td>'
        for word in (outcome, *(found.get(gpu, "-") for gpu in self._gpus)):
            yield f'<td class="{word}">{word}</td>' if word != "-" else "<td>-</td>"
        yield f'<td class="tags">{"".join(_tags(section))}</td></tr>\n'
        details = "".join(_details(section))
        yield f'<tr class="more"><td colspan="{columns}">{details}</td></tr></tbody>\n'


def _distribution(section: Section) -> str:
    """Return what package the library came with; empty where that is not known."""
    return section.library.distribution if section.library else ""


def _worst_said(section: Section) -> str:
    said = [_SEVERITIES[f.severity] for f in section.findings if f.severity in _SEVERITIES]
    return worst(said).value if said else "-"


def _location(location: str) -> str:
    shown = printable(location)
    cut = max(shown.rfind("/"), shown.rfind("::") + 1) + 1
    folder = f"<span>{text(shown[:cut])}</span>" if 0 < cut < len(shown) else ""
    return f'<code class="loc">{folder}{text(shown[cut:] if folder else shown)}</code>'


def _tags(section: Section) -> Iterator[str]:
    codes = dict.fromkeys((finding.severity, finding.code) for finding in section.findings)
    for severity in reversed(Severity):
        for code in [code for own, code in codes if own is severity]:
            yield f'<span class="tag {severity}">{text(code)}</span> '
    for word, number in (("known", len(section.known)), ("ignored", len(section.ignored))):
        if number:
            yield f'<span class="aside">{number:,} {word}</span> '


def _quoted(name: str) -> str:
    """Return the inside of a string of CSS, in which only letters and digits are themselves."""
    return re.sub(r"[^A-Za-z0-9]", lambda match: f"\\{ord(match[0]):x} ", printable(name))


# Details ------------------------------------------------------------------------------------------


def _details(section: Section) -> Iterator[str]:
    if section.library:
        yield f"<dl>{''.join(_properties(section.library))}</dl>"
        if section.library.answers:
            yield _answers(section.library)
    yield _listed(section)


def _properties(library: LibraryVerdict) -> Iterator[str]:
    named = " ".join(filter(None, (library.name, library.version)))
    yield _fact("Library", f"{text(named)} <small>({text(library.format)})</small>")
    yield _fact("SASS", _words(library.sass))
    yield _fact("PTX", _words(library.ptx))
    if library.code_sizes:
        stored = [
            f'<span class="nowrap">{text(what)}: {size_text(size)}</span>'
            for what, size in library.code_sizes
        ]
        yield _fact("Stored code", "; ".join(stored))


def _words(words: Iterable[str]) -> str:
    return " ".join(f"<code>{text(word)}</code>" for word in words) or "none"


def _answers(library: LibraryVerdict) -> str:
    """Return a table of the answers; GPUs that have the same one share a row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for answer in library.answers:
        rows.setdefault(_answer(answer), []).append(
            f'<span class="nowrap">{text(answer.gpu)}</span>'
        )
    heads = ("GPU", "outcome", "modules", "driver", "missing", "action")
    used = [True, True, *(any(row[n] for row in rows) for n in range(1, 5))]
    lines = [
        "".join(f'<th scope="col">{h}</th>' for h, use in zip(heads, used, strict=True) if use)
    ]
    for row, gpus in rows.items():
        cells = (
            f'<td data-head="{head}">{text(cell)}</td>'
            for head, cell, use in zip(heads[2:], row[1:], used[2:], strict=True)
            if use
        )
        chip = f'<span class="chip {row[0]}">{row[0]}</span>'
        lines.append(f'<th scope="row">{", ".join(gpus)}</th><td>{chip}</td>{"".join(cells)}')
    return f'<table class="answers"><tr>{"</tr><tr>".join(lines)}</tr></table>'


def _answer(answer: Answer) -> tuple[str, ...]:
    driver = answer.drivers
    return (answer.outcome.value, coverage(answer), driver, answer.missing, answer.action)


def _listed(section: Section) -> str:
    lines = [line for group in section.groups for line in _group(group)]
    return f'<ul class="findings">{"".join(lines)}</ul>' if lines else ""


def _group(group: Group) -> Iterator[str]:
    for finding in group.findings:
        yield _finding(finding, finding.severity.value)
    for finding in group.known:
        yield _finding(finding, f"known ({finding.severity})")
    for ignored in group.ignored:
        more = (
            f'<p>reason: <span class="reason">{text(ignored.reason)}</span></p>'
            f'<p>rule: <code class="rule">{text(ignored.rule)}</code></p>'
        )
        yield _finding(ignored.finding, f"ignored ({ignored.finding.severity})", more)


def _finding(finding: Finding, word: str, more: str = "") -> str:
    counts = word == finding.severity.value
    tone, shade = (finding.severity.value,) * 2 if counts else ("aside", "out")
    on, action = text(finding.gpu), text(finding.action)
    on = on and f'on <b class="gpu">{on}</b> '
    action = action and f'<p class="action"><b>action:</b> {action}</p>'
    because = "".join(map(_evidence, finding.because))
    because = because and f'<ul class="because">{because}</ul>'
    return (
        f'<li class="{tone}"><p><span class="tag {shade}">'
        f'<b class="code">{text(finding.code)}</b> '
        f'<span class="severity">{word}</span></span> {on}'
        f'<span class="message">{text(finding.message)}</span></p>{action}{more}'
        f"{because}</li>"
    )


_LINK = re.compile(r"https?://[^\s<>\"'()]*[^\s<>\"'().,;:]")


def _evidence(evidence: Evidence) -> str:
    doubt = "" if evidence.certain else " <b>(not certain)</b>"
    where = f"<code>{text(evidence.ref)}</code>" if evidence.ref else ""
    source = f" <cite>{_linked(evidence.source)}</cite>" if evidence.source else ""
    return f"<li><b>{text(evidence.kind)}</b> {where} {text(evidence.text)}{doubt}{source}</li>"


def _linked(source: str) -> str:
    """Return a source in which addresses are links; nothing else can become one."""
    made, end = [], 0
    for match in _LINK.finditer(source):
        address = text(match[0])
        made += [text(source[end : match.start()])]
        made += [f'<a href="{address}" rel="noreferrer noopener">{address}</a>']
        end = match.end()
    return "".join([*made, text(source[end:])])
