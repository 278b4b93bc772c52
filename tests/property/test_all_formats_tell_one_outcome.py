"""Whatever a verdict says, every format says it: the outcome, each finding, each exception."""

from __future__ import annotations

import html
import io
import json
import re
from functools import lru_cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree as ET

import jsonschema
import junitparser
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from sarif_schema import sarif_schema
from support import ROOT
from verdicts import verdicts

from fatbin.judge.verdict import Finding, Severity, Verdict
from fatbin.report.formats import FORMATS, Options

if TYPE_CHECKING:
    from collections.abc import Iterator

Key = tuple[str, str, str, str]


class Said(NamedTuple):
    """What can be read back from a document; an ignored finding comes with reason and rule."""

    outcome: str
    findings: set[Key]
    ignored: set[tuple[Key, str, str]]
    overridden: str
    known: set[Key]


def written(name: str, verdict: Verdict, *, verbose: bool = False, strict: bool = False) -> str:
    out = io.StringIO()
    FORMATS[name](out, verdict, Options(verbose=verbose, strict=strict, root="/abs"))
    return out.getvalue()


# What is expected ---------------------------------------------------------------------------------


def escaped(text: str) -> str:
    """Return text as people are shown it: control characters as Python writes them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def unguarded(text: str) -> str:
    """Undo what the text format does besides, on either side of a comparison."""
    text = escaped(text)
    for guard in " :>#":
        text = text.replace(f"\\x{ord(guard):02x}", guard)
    return text


def paired(text: str) -> str:
    """Return text as JSON gives it back: two lone surrogates in a row are one character there."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def expected(verdict: Verdict, shown: Any, reason: Any = None) -> Said:  # noqa: ANN401 - functions
    reason = reason or shown

    def key(finding: Finding) -> Key:
        return (finding.code, finding.severity.value, shown(finding.location), shown(finding.gpu))

    return Said(
        verdict.outcome.value,
        {key(finding) for finding in verdict.findings},
        {(key(i.finding), reason(i.reason), reason(i.rule)) for i in verdict.ignored},
        reason(verdict.skip_reason),
        {key(finding) for finding in verdict.known},
    )


def harmless(text: str) -> None:
    """Fail where a character could steer a terminal or break an encoder."""
    assert {c for c in text if not c.isprintable()} <= {"\n"}
    text.encode()


# Text ---------------------------------------------------------------------------------------------

_FINDING = re.compile(r" *(FB\d{3}) (?:(fail|warn|note)|(ignored|known) \((\w+)\))  ")


def read_text(text: str) -> Said:
    first, *rest = text.removesuffix("\n").split("\n\n")
    lines = first.split("\n")
    overridden = ""
    if lines[0].startswith("OVERRIDDEN: "):
        overridden = lines.pop(0).removeprefix("OVERRIDDEN: ")
    said = Said(lines[0].partition(":")[0], set(), set(), unguarded(overridden), set())
    blocks = [("", lines[1:])]
    for block in rest:
        head, *lines = block.split("\n")
        if not head.startswith(" "):  # the matrix is indented
            blocks.append((head.split("  ")[0], lines))
    for location, lines in blocks:
        read_block(said, unguarded(location), lines)
    return said


def read_block(said: Said, location: str, lines: list[str]) -> None:
    gpu = ""
    for number, line in enumerate(lines):
        result = re.fullmatch(r"  result    (.*): (?:PASS|WARN|FAIL|NOTHING|no answer)", line)
        if result:
            gpu = unguarded(result[1])
        if not (match := _FINDING.match(line)):
            continue
        assert line.startswith("    FB" if gpu else "  FB")
        key = (match[1], match[2] or match[4], location, gpu)
        if match[3] != "ignored":
            (said.known if match[3] else said.findings).add(key)
            continue
        after = [other.strip(" ") for other in lines[number + 1 : number + 4]]
        if after[0].startswith("action:"):
            del after[0]
        reason, rule = (unguarded(text.partition(":")[2].strip(" ")) for text in after[:2])
        said.ignored.add((key, reason, rule))


def stripped(text: str) -> str:
    return unguarded(text).strip(" ")


@given(verdicts())
def test_text(verdict: Verdict) -> None:
    text = written("text", verdict, verbose=True)
    harmless(text)
    said = read_text(text)
    assert said._replace(overridden=said.overridden.strip(" ")) == expected(
        verdict, unguarded, stripped
    )


@given(verdicts())
def test_text_that_is_not_verbose_hides_notes_at_most(verdict: Verdict) -> None:
    text = written("text", verdict)
    harmless(text)
    said, full = read_text(text), expected(verdict, unguarded, stripped)
    hidden = full.findings - said.findings
    assert said.findings <= full.findings
    assert {severity for _, severity, _, _ in hidden} <= {"note"}
    assert bool(hidden) <= ("not shown (--verbose)" in text.rsplit("\n\n", maxsplit=1)[-1])
    assert (said.outcome, said.ignored, said.known) == (full.outcome, full.ignored, full.known)


@given(verdicts(), st.booleans())
def test_no_line_of_text_is_a_command_of_a_build_server(verdict: Verdict, verbose: bool) -> None:  # noqa: FBT001 - drawn
    text = written("text", verdict, verbose=verbose)
    assert "##[" not in text
    assert not [line for line in text.split("\n") if line.lstrip().startswith("::")]


# JSON ---------------------------------------------------------------------------------------------


def closed(schema: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a schema that takes no key besides its own."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    return {**made, "additionalProperties": False} if made.get("type") == "object" else made


@lru_cache(maxsize=1)
def schemas() -> list[Any]:
    schema = json.loads((ROOT / "fatbin" / "report" / "verdict.schema.json").read_text())
    return [jsonschema.Draft202012Validator(form) for form in (schema, closed(schema))]


@given(verdicts())
def test_json(verdict: Verdict) -> None:
    text = written("json", verdict)
    harmless(text)
    document = json.loads(text)
    for validator in schemas():
        validator.validate(document)

    def key(finding: dict[str, str]) -> Key:
        return finding["code"], finding["severity"], finding["location"], finding["gpu"]

    said = Said(
        document["outcome"],
        {key(finding) for finding in document["findings"]},
        {(key(i["finding"]), i["reason"], i["rule"]) for i in document["ignored"]},
        document["skip_reason"],
        {key(finding) for finding in document["known"]},
    )
    assert said == expected(verdict, paired)


# SARIF --------------------------------------------------------------------------------------------

_SEVERITIES = {"error": "fail", "warning": "warn", "note": "note", "notice": "note"}


@lru_cache(maxsize=1)
def sarif_validator() -> Any:  # noqa: ANN401 - without types
    return jsonschema.Draft7Validator(sarif_schema())


@given(verdicts())
def test_sarif(verdict: Verdict) -> None:
    text = written("sarif", verdict)
    harmless(text)
    document = json.loads(text)
    sarif_validator().validate(document)
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    said = Said(run["properties"]["outcome"], set(), set(), "", set())
    for notice in run["invocations"][0].get("toolExecutionNotifications", []):
        said = said._replace(overridden=notice["message"]["text"].removeprefix("OVERRIDDEN: "))
    marks = []
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        properties = result["properties"]
        key = (
            result["ruleId"],
            _SEVERITIES[result["level"]],
            properties["location"],
            properties["gpu"],
        )
        check_places(result, properties["location"])
        marks += result["partialFingerprints"].values()
        if "suppressions" in result:
            (why,) = result["suppressions"]
            if "known" in why["properties"]:
                said.known.add(key)
            else:
                said.ignored.add((key, why["justification"], why["properties"]["rule"]))
        else:
            said.findings.add(key)
    assert len(marks) == len(set(marks)) == len(run["results"])
    assert len(marks) == sum(map(len, (verdict.findings, verdict.ignored, verdict.known)))
    wanted = expected(verdict, paired)
    reasons = {(key, escaped(reason), rule) for key, reason, rule in wanted.ignored}
    # A reason is escaped before JSON has joined its surrogates, and so compared as written.
    said_reasons = {(key, rule) for key, _, rule in said.ignored}
    assert said_reasons == {(key, rule) for key, _, rule in reasons}
    assert {reason for _, reason, _ in said.ignored} == {escaped(i.reason) for i in verdict.ignored}
    assert (said.outcome, said.findings) == (wanted.outcome, wanted.findings)
    assert said.known == wanted.known
    assert said.overridden == escaped(verdict.skip_reason)


def check_places(result: dict[str, Any], location: str) -> None:
    for place in result.get("locations", []):
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"(file://)?([A-Za-z0-9._~/-]|%[0-9A-F]{2})+", uri)
        if location:
            assert all(
                logical["fullyQualifiedName"] == location
                for logical in place.get("logicalLocations", [])
            )
    if location:
        (place,) = result["locations"]
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        path = unquote_to_bytes(uri.removeprefix("file://"))
        for logical in place.get("logicalLocations", []):
            path += b"::" + logical["name"].encode("utf-8", "surrogatepass")
        # Both sides as bytes; how a lone surrogate becomes bytes is a matter of its own.
        plain = location.removeprefix("/abs/")
        if plain.isascii():
            assert path == plain.encode()


# JUnit --------------------------------------------------------------------------------------------

_SAID = re.compile(r"(FB\d{3}) (?:(fail|warn|note)|(ignored|known) \((\w+)\))  ")


def read_junit(text: str) -> Said:
    root = ET.fromstring(text)  # noqa: S314 - written by the code under test
    facts = {p.get("name"): p.get("value", "") for p in root[0].iter("property")}
    said = Said(facts["outcome"] or "", set(), set(), facts.get("overridden", ""), set())
    for number, suite in enumerate(root):
        for case in suite.iter("testcase"):
            called = case.get("name", "")
            gpu = called.removeprefix("on ") if called.startswith("on ") else ""
            location = case.get("classname", "") if number else ""
            lines = [
                line
                for tag in ("failure", "system-out")
                for out in case.iter(tag)
                for line in (out.text or "").split("\n")
            ]
            for index, line in enumerate(lines):
                if not (match := _SAID.match(line)):
                    continue
                key = (match[1], match[2] or match[4], location, gpu)
                if match[3] != "ignored":
                    (said.known if match[3] else said.findings).add(key)
                    continue
                after = [other for other in lines[index + 1 :] if not other.startswith("  action:")]
                reason, rule = (other.partition(": ")[2] for other in after[:2])
                said.ignored.add((key, reason, rule))
    return said


@given(verdicts(), st.booleans())
def test_junit(verdict: Verdict, strict: bool) -> None:  # noqa: FBT001 - drawn
    text = written("junit", verdict, strict=strict)
    harmless(text)
    assert read_junit(text) == expected(verdict, escaped)
    suites = junitparser.JUnitXml.fromstring(text.encode())
    cases = [case for suite in suites for case in suite]
    assert suites.tests == len(cases)
    failed = [c for c in cases if any(isinstance(r, junitparser.Failure) for r in c.result)]
    assert suites.failures == len(failed)
    severities = {f.severity for f in verdict.findings}
    if Severity.FAIL in severities or (strict and Severity.WARN in severities):
        assert failed
    if verdict.outcome.value == "NOTHING":
        assert suites.skipped


# Markdown -----------------------------------------------------------------------------------------

_PARSER = MarkdownIt("commonmark").enable("table")
_HARMLESS = {"text", "text_special", "code_inline", "strong_open", "strong_close"}


class Item(NamedTuple):
    """A line of a document: its words, and the pieces that they come in."""

    location: str
    depth: int
    kinds: list[str]
    pieces: list[str]

    @property
    def words(self) -> str:
        return "".join(self.pieces)


def markdown_items(text: str) -> Iterator[Item]:
    """Yield each line with the summary that it stands below and how deep in lists it is."""
    location = ""
    depth = 0
    for token in _PARSER.parse(text):
        depth += {"bullet_list_open": 1, "bullet_list_close": -1}.get(token.type, 0)
        if token.type == "html_block":
            opened = re.search(r"<summary><code>(.*)</code>(?:: \w+)?</summary>", token.content)
            location = html.unescape(opened[1]) if opened else ""
            assert token.content.count("<") == (5 if opened else 1)
        if token.type == "inline":
            pieces = token.children or []
            kinds = [piece.type for piece in pieces]
            # Only a cell of the table may need HTML: for a name with a bar.
            assert set(kinds) <= _HARMLESS | (set() if depth else {"html_inline"})
            yield Item(location, depth, kinds, [piece.content for piece in pieces])


def read_markdown(text: str) -> Said:
    heading, *items = markdown_items(text)
    said = Said(heading.words.partition(":")[0], set(), set(), "", set())
    gpu = reason = ""
    key: Key = ("", "", "", "")
    for item in items:
        if not item.depth:
            # A file may be called that, too; only this is bold.
            if item.words.startswith("OVERRIDDEN: ") and "strong_open" in item.kinds:
                said = said._replace(overridden=item.words.removeprefix("OVERRIDDEN: "))
        elif "strong_open" in item.kinds:
            match = re.match(
                r"(FB\d{3}) (?:(fail|warn|note)|(ignored|known) \((\w+)\)): ?", item.words
            )
            assert match
            own_gpu = gpu if item.depth > 1 else ""
            key = (match[1], match[2] or match[4], item.location, own_gpu)
            if match[3] != "ignored":
                (said.known if match[3] else said.findings).add(key)
        elif item.depth == 1 and item.words.startswith("on "):
            gpu = item.pieces[1]
        elif item.words.startswith("reason:"):
            reason = item.words.removeprefix("reason:").strip(" ")
        elif item.words.startswith("rule: ") and item.kinds[-1] == "code_inline":
            said.ignored.add((key, reason, item.pieces[-1]))
    return said


@given(verdicts())
def test_markdown(verdict: Verdict) -> None:
    text = written("markdown", verdict)
    assert {c for c in text if not c.isprintable()} <= {"\n", "\ufe0f"}
    text.encode()

    def trimmed(said: Said) -> Said:
        # Code cannot be empty in Markdown; an empty rule is a blank.
        ignored = {
            (key, reason.strip(" "), rule.strip(" ") and rule) for key, reason, rule in said.ignored
        }
        return said._replace(ignored=ignored, overridden=said.overridden.strip(" "))

    assert trimmed(read_markdown(text)) == trimmed(expected(verdict, escaped))
    rows = re.findall(r"<tr>.*?</tr>", _PARSER.render(text), re.DOTALL)
    if verdict.libraries and verdict.gpus:
        assert len(rows) == 1 + len(verdict.libraries)
        firsts = [re.findall(r"<t[hd]>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
        assert {len(row) for row in firsts} == {1 + len(verdict.gpus)}
        names = [html.unescape(re.sub("</?code>", "", row[0])) for row in firsts[1:]]
        assert names == [escaped(library.location) for library in verdict.libraries]


# GitHub -------------------------------------------------------------------------------------------

_COMMAND = re.compile(r"::(error|warning|notice) (?:file=([^,:]*),)?title=([^,:]*)::(.*)")


def unquoted(text: str) -> str:
    for code, char in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, char)
    return text


def read_github(text: str) -> Said:
    first, *lines = text.removesuffix("\n").split("\n")
    match = _COMMAND.fullmatch(first)
    assert match
    *before, last = unquoted(match[4]).split("\n")
    overridden = "\n".join(before).removeprefix("OVERRIDDEN: ")
    said = Said(last.partition(":")[0], set(), set(), overridden, set())
    for line in lines:
        match = _COMMAND.fullmatch(line)
        assert match
        level, file, title, data = (unquoted(part or "") for part in match.groups())
        code, _, gpu = title.partition(" on ")
        known = re.match(r"known \((\w+)\): ", data)
        ignored = re.match(r"ignored \((\w+)\): ", data)
        if known:
            said.known.add((code, known[1], file, gpu))
            continue
        if not ignored:
            said.findings.add((code, _SEVERITIES[level], file, gpu))
            continue
        reason, rule = re.findall(r"\nreason: (.*)\nrule: (.*)", data, re.DOTALL)[-1]
        said.ignored.add(((code, ignored[1], file, gpu), reason, rule))
    return said


def by_line(text: str) -> str:
    return "\n".join(escaped(line) for line in text.split("\n"))


@given(verdicts())
def test_github(verdict: Verdict) -> None:
    text = written("github", verdict, verbose=True)
    harmless(text)
    wanted = expected(verdict, escaped, by_line)
    said = read_github(text)
    assert said == wanted
    quiet = read_github(written("github", verdict))
    assert quiet == wanted._replace(findings={k for k in wanted.findings if k[1] != "note"})


# HTML ---------------------------------------------------------------------------------------------

_VOID = {"meta", "input", "link", "br", "rect"}
_HTML = """
a b body button caption circle cite code dd details div dl dt fieldset footer form h1 h2 head header
html input label legend li main meta option output p rect script section select small span style svg
table tbody td text th thead title tr ul
"""
_ATTRIBUTES = """
action aria-hidden aria-label aria-live autocomplete charset checked class colspan content data-head
data-key data-size height hidden href http-equiv id lang name placeholder rel role rx scope spellcheck
text-anchor type value width x y
"""


class Page(HTMLParser):
    """Reads a page as a browser would, and refuses what no page of ours has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, str]] = []
        self.said = Said("", set(), set(), "", set())
        self.location = self.data = ""
        self.found: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert tag in _HTML.split(), tag
        assert set(given) <= set(_ATTRIBUTES.split()), given
        assert (given.get("href") or "https://").startswith(("https://", "http://"))
        if tag == "tbody":
            self.location = ""
        mark = given.get("id") or given.get("class") or ""
        if tag not in _VOID:
            self.open.append((tag, mark))

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        assert self.open.pop()[0] == tag
        if tag == "li" and "code" in self.found:
            self.finish()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        marks = [mark for _, mark in self.open]
        if not marks:
            return
        if marks[-1] == "outcome":
            self.said = self.said._replace(outcome=data)
        elif marks[-1] == "overridden":
            self.said = self.said._replace(overridden=data)
        elif "loc" in marks:
            self.location += data
        elif marks[-1] == "verdict":
            self.data += data
        elif marks[-1] in {"code", "severity", "gpu", "reason", "rule"}:
            self.found[marks[-1]] = data

    def finish(self) -> None:
        match = re.fullmatch(r"(\w+)(?: \((\w+)\))?", self.found["severity"])
        assert match
        gpu = self.found.get("gpu", "")
        key = (self.found["code"], match[2] or match[1], self.location, gpu)
        if match[1] == "ignored":
            reason, rule = (self.found.get(name, "") for name in ("reason", "rule"))
            self.said.ignored.add((key, reason, rule))
        else:
            (self.said.known if match[2] else self.said.findings).add(key)
        self.found = {}


@given(verdicts())
def test_html(verdict: Verdict) -> None:
    text = written("html", verdict)
    harmless(text)
    assert text.isascii()
    page = Page(text)
    assert page.said == expected(verdict, escaped)
    document = json.loads(page.data)
    assert document == json.loads(json.dumps(verdict.to_dict()))
    assert written("html", verdict) == text


def test_every_format_is_read_here() -> None:
    """A format that is added needs its law."""
    assert set(FORMATS) <= {name.removeprefix("test_") for name in globals()}
