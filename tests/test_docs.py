"""The documentation says what the code does: generated blocks, links, options, variables."""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import json
import re
from typing import TYPE_CHECKING

import pictures
import pytest
from documents import DOCS, FENCE, LINK, PAGES, README, anchors, page_name, text_of
from support import ROOT

import fatbin
import fatbin.survey
from fatbin.cli import exits
from fatbin.cli.main import build_parser
from fatbin.format.schema import LAYOUTS
from fatbin.judge.codes import CODES

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


# Generated blocks ---------------------------------------------------------------------------------


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_blocks_are_current() -> None:
    assert list(_generator().stale()) == [], "run: python docs/generate.py"


def test_a_changed_block_is_stale() -> None:
    generate = _generator()
    page = "<!-- layout: WRAPPER -->\nold\n<!-- end -->\n"
    assert generate.rewrite(page) != page
    assert generate.rewrite(generate.rewrite(page)) == generate.rewrite(page)


def test_the_layout_of_help_is_no_change_and_its_words_are() -> None:
    settled = _generator().settled
    page = "<!-- output: fatbin x --help -->\n  -o DIR, --output DIR  folder\n<!-- end -->\n  a b\n"
    later = page.replace("-o DIR, --output DIR  folder", "-o, --output DIR\n       folder")
    assert settled(page) == settled(later)
    assert settled(page) != settled(page.replace("folder", "file"))
    assert settled(page) != settled(page.replace("  a b", " a b"))


@pytest.mark.parametrize(
    ("pages", "kind", "names"),
    [
        ("format.md cubin.md", "layout", sorted(LAYOUTS)),
        ("cubin.md", "attributes", ["COMPAT_NAMES", "INFO_NAMES"]),
        ("format.md", "words", ["Compression", "EntryFlags", "EntryKind"]),
        ("api.md", "api", sorted(set(fatbin.__all__) - {"__version__"})),
        ("codes/index.md", "codes", ["1", "2", "3", "4", "5"]),
        ("exit-codes.md", "epilogs", ["fatbin"]),
        ("inventory.md", "record", ["Entry", "Inventory", "Issue", "Library", "Linkage", "Module"]),
        ("inventory.md", "words", ["Compression", "Place"]),
        ("policy.md", "policy", ["KEYS"]),
        (
            "architectures.md",
            "facts",
            ["ARCHITECTURES", "ERRORS", "FLOORS", "GPUS", "KNOWN_BAD", "SOURCES", "TOOLKITS"],
        ),
        (
            "verdict.md",
            "record",
            [
                f"fatbin.judge.verdict.{name}"
                for name in (
                    "Answer",
                    "Coverage",
                    "Evidence",
                    "Finding",
                    "IgnoredFinding",
                    "LibraryVerdict",
                    "Verdict",
                )
            ],
        ),
        (
            "differences.md",
            "differences",
            ["LIEF", "cubloaty", "cuobjdump", "nvFatbin", "pyelftools", "versions"],
        ),
        ("symptoms.md", "symptoms", ["effect", "likely", "possible", "sources", "texts"]),
        ("verdict.md", "words", [f"fatbin.judge.verdict.{w}" for w in ("Outcome", "Severity")]),
    ],
)
def test_every_name_has_a_generated_block(pages: str, kind: str, names: list[str]) -> None:
    text = "".join(text_of(DOCS / "reference" / page) for page in pages.split())
    assert sorted(re.findall(rf"<!-- {kind}: ([\w.]+) -->", text)) == names


def test_every_survey_is_documented() -> None:
    text = text_of(DOCS / "reference" / "surveys.md")
    named = set(re.findall(r"<!-- api: ([\w.]+) -->", text))
    assert {f"fatbin.survey.{name}" for name in fatbin.survey.__all__} <= named
    documented = {
        f"{getattr(fatbin.survey, name.rpartition('.')[2]).__module__}.{name.rpartition('.')[2]}"
        if name.rpartition(".")[0] == "fatbin.survey"
        else name
        for name in named
    }
    public = set()
    for module in {name.rpartition(".")[0] for name in documented}:
        source = ROOT / f"{module.replace('.', '/')}.py"
        for node in ast.parse(source.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                public.add(f"{module}.{node.name}")
    assert public - documented == {
        "fatbin.node.diagnosis.Symptom",  # a row of the table of symptoms
        "fatbin.survey.folder.TakenError",  # a FatbinError
        "fatbin.survey.folder.UnwritableError",  # likewise
        "fatbin.survey.kernel_sizes.library_kernels",  # takes what only a scan holds
        "fatbin.survey.kernel_sizes.open_cubin",  # likewise
    }


# The command line ---------------------------------------------------------------------------------


def _commands() -> dict[str, argparse.ArgumentParser]:
    for action in build_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError


@pytest.mark.parametrize("command", sorted(_commands()))
def test_every_command_and_option_has_help_and_a_place(command: str) -> None:
    parser = _commands()[command]
    text = text_of(DOCS / "reference" / "cli.md")
    assert parser.description
    assert f"\n## `fatbin {command}`\n" in text
    assert f"<!-- output: fatbin {command} --help -->" in text
    section = text.split(f"\n## `fatbin {command}`\n")[1].split("\n## ")[0]
    prose = re.sub(r"<!-- output.*?<!-- end -->", "", section, flags=re.DOTALL)
    for action in parser._actions:
        assert action.help
        for option in action.option_strings:
            assert option in {"-h", "--help"} or f"`{option}`" in prose, option


def test_exit_codes_are_those_of_the_code() -> None:
    table = text_of(DOCS / "reference" / "exit-codes.md")
    rows = {m[2]: int(m[1]) for m in re.finditer(r"^\| (\d+) \| `(\w+)` \|", table, re.MULTILINE)}
    assert rows == {name: value for name, value in vars(exits).items() if name.isupper()}
    readme = re.search(r"^\| exit code \|.*?\n\n", text_of(README), re.MULTILINE | re.DOTALL)
    assert readme is not None
    assert {int(n) for n in re.findall(r"^\| (\d+) \|", readme[0], re.MULTILINE)} == set(
        rows.values()
    )


# Links --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(FENCE.sub("", text_of(page))):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_is_linked_from_the_index_of_its_folder() -> None:
    for index in DOCS.rglob("index.md"):
        linked = {
            (index.parent / link.partition("#")[0]).resolve()
            for link in LINK.findall(text_of(index))
        }
        assert {page for page in index.parent.glob("*.md") if page != index} <= linked, index


def test_every_code_has_a_page_in_the_index() -> None:
    index = text_of(DOCS / "reference" / "codes" / "index.md")
    assert re.findall(r"^\| \[(FB\d+)\]\(\1\.md\)", index, re.MULTILINE) == list(CODES)
    pages = {page.stem for page in (DOCS / "reference" / "codes").glob("FB*.md")}
    assert pages == set(CODES)


def test_code_pages_that_are_missing_or_too_many_are_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate = _generator()
    folder = tmp_path / "docs" / "reference" / "codes"
    folder.mkdir(parents=True)
    (folder / "FB999.md").write_text("gone")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    stale = generate.stale()
    assert stale["docs/reference/codes/FB999.md"] == ""
    assert stale["docs/reference/codes/FB101.md"].startswith("<!-- code: FB101 -->\n# FB101: ")
    pages = [name for name in stale if name.endswith(".md")]  # completions are missing there too
    assert len(pages) == len(CODES) + 1


def test_pictures_show_what_commands_print() -> None:
    assert pictures.stale() == [], "run: python docs/pictures.py"


def test_a_picture_of_something_else_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    name, picture = next(iter(pictures.PICTURES)), pictures.FOLDER / "terminal.svg"
    assert pictures.stale() == [name]
    current = text_of(DOCS / "images" / name)
    picture.write_text(current.replace("FAIL", "PASS"), encoding="utf-8")
    assert pictures.stale() == [name]


# Environment variables ----------------------------------------------------------------------------

_NO_VARIABLE = re.compile(
    r"CUDA_(ERROR_\w+|SUCCESS)|DT_\w+|O_\w+|MADV_\w+|SC_\w+|KNOWN_BAD|MOST_EVIDENCE|PATH"
)
"""Constants in capitals that are something else: codes, flags, sections of a table, metavariables."""


def _variables() -> set[str]:
    """Return the names of variables that stand in the code."""
    found = set()
    for path in (ROOT / "fatbin").rglob("*.py"):
        if path.parent.name in {"format", "facts"}:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                names = re.fullmatch(
                    r"[A-Z]+(_[A-Z]+)+|CI|HOME|IMAGE|PATH|RANK|TERM|TMPDIR", node.value
                )
                if names and not _NO_VARIABLE.fullmatch(node.value):
                    found.add(node.value)
    return found


def test_every_variable_is_documented() -> None:
    text = text_of(DOCS / "reference" / "environment.md")
    cells = re.findall(r"^\| (`[A-Z].*?) \|", text, re.MULTILINE)
    documented = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert documented == _variables() | {"NO_COLOR"}  # which rich reads


def test_the_page_of_performance_is_made_of_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    rendering = importlib.import_module("rendering")
    found = json.loads(rendering.RESULTS.read_text(encoding="utf-8"))
    assert rendering.page(found) == rendering.PAGE.read_text(encoding="utf-8")
