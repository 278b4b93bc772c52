"""Every code has its page, and every statement is told, used and sourced."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from support import ROOT

from fatbin.arch import ComputeCapability
from fatbin.judge.codes import CODES, page
from fatbin.judge.device_support import first_driver_of
from fatbin.judge.facts.architectures import ARCHITECTURES
from fatbin.judge.facts.known_bad import KNOWN_BAD
from fatbin.judge.facts.sources import SOURCES
from fatbin.judge.facts.statements import STATEMENTS
from fatbin.judge.facts.toolkits import ERRORS, FLOORS, TOOLKITS

JUDGE = ROOT / "fatbin" / "judge"
PAGES = JUDGE / "pages"
HEADINGS = ["What you would see", "Why", "What to do", "What it does not prove"]
WIDTH, HEIGHT = 90, 40
_SUBJECTS = "|".join(sorted({key.partition(".")[0] for key in STATEMENTS}))
_ID = re.compile(rf"(?:{_SUBJECTS})\.[a-z0-9]+(?:-[a-z0-9]+)*")
SOURCE_FILES = [*sorted(JUDGE.glob("*.py")), *sorted((JUDGE / "rules").glob("*.py"))]

pages = pytest.mark.parametrize("code", sorted(CODES))


def plain(code: str) -> str:
    """Return a page on one line, so that line breaks do not matter."""
    return " ".join(page(code).split())


def ids_in(source: Path) -> set[str]:
    """Return what looks like the id of a statement among the literals of a module."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _ID.fullmatch(node.value)
    }


# Codes --------------------------------------------------------------------------------------------


def test_codes_are_named_as_they_are_keyed() -> None:
    for key, code in CODES.items():
        assert code.code == key
        assert re.fullmatch(r"FB[1-5]\d\d", key)
        assert code.severity in {"note", "warn", "fail"}
        assert code.title == code.title.strip(" .")
    assert list(CODES) == sorted(CODES)


def test_pages_and_codes_are_the_same() -> None:
    assert sorted(path.name for path in PAGES.iterdir()) == [f"{code}.md" for code in CODES]


def test_there_is_no_page_without_a_code() -> None:
    with pytest.raises(KeyError):
        page("FB999")
    with pytest.raises(KeyError):
        page("../codes")


# Pages --------------------------------------------------------------------------------------------


@pages
def test_a_page_has_its_title_and_headings(code: str) -> None:
    first, *rest = page(code).splitlines()
    assert first == f"# {code}: {CODES[code].title}"
    headings = [line.removeprefix("## ") for line in rest if line.startswith("#")]
    assert headings in (HEADINGS, HEADINGS[:-1])


@pages
def test_a_page_says_first_what_it_means_and_how_severe_it_is(code: str) -> None:
    _, meaning, severity, *_ = page(code).split("\n\n")
    assert meaning[0].isupper()
    assert severity.startswith(f"Severity: {CODES[code].severity}")


@pages
def test_no_part_of_a_page_is_empty(code: str) -> None:
    parts = re.split(r"^## .+$", page(code), flags=re.MULTILINE)
    assert all(len(part.split()) > 3 for part in parts)


@pages
def test_a_page_fits_into_a_terminal(code: str) -> None:
    lines = page(code).splitlines()
    assert len(lines) <= HEIGHT
    assert max(map(len, lines)) <= WIDTH
    assert all(line == line.rstrip() for line in lines)
    assert page(code).endswith("\n")
    assert page(code).isascii()
    assert "\n\n\n" not in page(code)


@pages
def test_a_page_is_plain_markdown(code: str) -> None:
    text = page(code)
    assert not re.search(r"</?[a-z]|!\[|\]\(|\t", text)
    assert text.count("`") % 2 == 0


@pages
def test_a_page_links_only_to_what_the_sources_name(code: str) -> None:
    known = " ".join(SOURCES.values())
    for link in re.findall(r"https?://[^\s,;)]+", page(code)):
        address = link.rstrip(".:")
        assert (
            address in known or address == "https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc"
        )


@pages
def test_a_page_names_only_codes_that_exist(code: str) -> None:
    assert set(re.findall(r"FB\d+", page(code))) <= set(CODES)


@pages
def test_error_numbers_of_a_page_are_in_the_table(code: str) -> None:
    numbers = re.findall(r"\b[Ee]rror (\d+)\b", plain(code))
    assert {int(number) for number in numbers} <= set(ERRORS)


@pages
def test_ignore_rules_on_a_page_are_about_its_code_and_give_a_reason(code: str) -> None:
    for rule in re.findall(r'ignore = \["([^"]+)"\]', plain(code)):
        assert re.fullmatch(rf"{code}@\S+: \S.+", rule)


def test_only_notes_have_no_way_out() -> None:
    ways = ("ignore", "optional", "`ptx", "`driver`")
    for code, row in CODES.items():
        assert row.severity == "note" or any(way in plain(code) for way in ways), code


def test_every_code_that_is_given_exists_and_every_code_is_given() -> None:
    text = "".join(
        source.read_text(encoding="utf-8") for source in SOURCE_FILES if source.name != "codes.py"
    )
    assert set(re.findall(r'"(FB\d{3})"', text)) == set(CODES)


# Facts on pages -----------------------------------------------------------------------------------


def test_the_table_of_ptx_is_that_of_the_toolkits() -> None:
    table = [line.split() for line in page("FB204").splitlines() if line.startswith("    ")]
    cudas, isas, drivers = (
        line[len(head) :]
        for line, head in zip(table, (["CUDA"], ["PTX", "ISA"], ["driver"]), strict=True)
    )
    rows = {row.toolkit: (row.ptx_isa, str(row.driver_branch)) for row in TOOLKITS}
    assert [rows[cuda] for cuda in cudas] == list(zip(isas, drivers, strict=True))


def test_first_and_last_drivers_are_those_of_the_tables() -> None:
    found = re.search(
        r"12\.0 and 10\.0 from (\d+), 9\.0 and 8\.9 from (\d+), 8\.0 from (\d+)", plain("FB201")
    )
    assert found is not None
    for branch, numbers in zip(found.groups(), ((120, 100), (90, 89), (80,)), strict=True):
        assert {first_driver_of(ComputeCapability.of_sm(n)) for n in numbers} == {int(branch)}
    last = {row.generation: row.last_driver for row in ARCHITECTURES if row.last_driver is not None}
    found = re.search(
        r"(\d+) is the last for Fermi, (\d+) for Kepler, (\d+) for Maxwell, Pascal", plain("FB202")
    )
    assert found is not None
    assert [last[name] for name in ("Fermi", "Kepler", "Maxwell")] == [
        int(n) for n in found.groups()
    ]
    assert last["Pascal"] == last["Volta"] == last["Maxwell"]


def test_floors_are_those_of_the_tables() -> None:
    for floor in FLOORS:
        assert re.search(
            rf"\b{floor.major}\.x on {re.escape(floor.linux_driver)}\b", plain("FB203")
        )


def test_known_faults_are_told() -> None:
    text = plain("FB301")
    for row in KNOWN_BAD:
        remedy = row.remedy.replace("later built", "later, built")
        assert row.remedy in text or remedy in text
        assert any(SOURCES[source] in text for source in row.sources), row.id
    assert "ncclMaxSharedMem 82240 exceeds device/fn maxSharedMem 79856" in text


# Statements ---------------------------------------------------------------------------------------


def test_every_statement_has_sources_that_exist() -> None:
    for key, statement in STATEMENTS.items():
        assert _ID.fullmatch(key), key
        assert statement.sources, key
        assert set(statement.sources) <= set(SOURCES), key
        assert statement.text == statement.text.strip(" ."), key


def test_every_statement_that_the_code_names_exists() -> None:
    for source in SOURCE_FILES:
        assert ids_in(source) <= set(STATEMENTS), source.name


def test_every_statement_is_used() -> None:
    assert set().union(*map(ids_in, SOURCE_FILES)) == set(STATEMENTS)


def test_every_statement_is_told_on_a_page_and_no_other() -> None:
    told = set()
    for code in CODES:
        told |= {name for name in re.findall(r"`([^`]+)`", plain(code)) if _ID.fullmatch(name)}
    assert told == set(STATEMENTS)


@pages
def test_a_page_that_rests_on_doubtful_statements_says_so(code: str) -> None:
    text = plain(code)
    named = [STATEMENTS[name] for name in re.findall(r"`([^`]+)`", text) if name in STATEMENTS]
    if any(not statement.certain for statement in named):
        assert "Not certain" in text
