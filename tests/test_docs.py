"""The documentation says what the code does, and every command shown prints what is shown."""

from __future__ import annotations

import argparse
import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support import ROOT, require

import fatbin
from fatbin.cli import exits
from fatbin.cli.main import build_parser
from fatbin.format.schema import LAYOUTS

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
EXECUTED = [README, DOCS / "tutorial.md", *sorted((DOCS / "how-to").glob("*.md"))]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def _run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


# Generated blocks ---------------------------------------------------------------------------------


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_blocks_are_current() -> None:
    assert _generator().stale() == [], "run: python docs/generate.py"


def test_a_changed_block_is_stale() -> None:
    generate = _generator()
    page = "<!-- layout: WRAPPER -->\nold\n<!-- end -->\n"
    assert generate.rewrite(page) != page
    assert generate.rewrite(generate.rewrite(page)) == generate.rewrite(page)


@pytest.mark.parametrize(
    ("pages", "kind", "names"),
    [
        ("format.md cubin.md", "layout", sorted(LAYOUTS)),
        ("cubin.md", "attributes", ["COMPAT_NAMES", "INFO_NAMES"]),
        ("format.md", "words", ["Compression", "EntryFlags", "EntryKind"]),
        ("api.md", "api", sorted(set(fatbin.__all__) - {"__version__"})),
        ("inventory.md", "record", ["Entry", "Inventory", "Issue", "Library", "Linkage", "Module"]),
        ("inventory.md", "words", ["Compression", "Place"]),
        (
            "architectures.md",
            "facts",
            ["ARCHITECTURES", "ERRORS", "FLOORS", "GPUS", "KNOWN_BAD", "SOURCES", "TOOLKITS"],
        ),
    ],
)
def test_every_name_has_a_generated_block(pages: str, kind: str, names: list[str]) -> None:
    text = "".join(_text(DOCS / "reference" / page) for page in pages.split())
    assert sorted(re.findall(rf"<!-- {kind}: (\w+) -->", text)) == names


# The command line ---------------------------------------------------------------------------------


def _commands() -> dict[str, argparse.ArgumentParser]:
    for action in build_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError


@pytest.mark.parametrize("command", sorted(_commands()))
def test_every_command_and_option_has_help_and_a_place(command: str) -> None:
    parser = _commands()[command]
    text = _text(DOCS / "reference" / "cli.md")
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
    text = _text(DOCS / "reference" / "cli.md")
    table = text.split("## Exit codes")[1]
    rows = {m[2]: int(m[1]) for m in re.finditer(r"^\| (\d+) \| `(\w+)` \|", table, re.MULTILINE)}
    assert rows == {name: value for name, value in vars(exits).items() if name.isupper()}
    readme = re.search(r"^\| exit code \|.*?\n\n", _text(README), re.MULTILINE | re.DOTALL)
    assert readme is not None
    assert {int(n) for n in re.findall(r"^\| (\d+) \|", readme[0], re.MULTILINE)} == set(
        rows.values()
    )


# Links --------------------------------------------------------------------------------------------


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    text = _FENCE.sub("", _text(page))
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 0
        while (f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(f"{slug}-{number}" if number else slug)
    return found


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in _LINK.findall(_FENCE.sub("", _text(page))):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_is_linked_from_the_index() -> None:
    index = _text(DOCS / "index.md")
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in _LINK.findall(index)}
    assert {page for page in DOCS.rglob("*.md") if page.name != "index.md"} <= linked


# Examples -----------------------------------------------------------------------------------------


def _console_blocks() -> list[tuple[str, str]]:
    blocks = []
    for page in EXECUTED:
        for number, (language, body) in enumerate(_FENCE.findall(_text(page)), 1):
            if language == "console":
                blocks.append((f"{_name(page)}[{number}]", body))
    return blocks


def _snippets() -> list[tuple[str, str, str]]:
    return [
        (f"{_name(page)}[{number}]", code, output)
        for page in EXECUTED
        for number, (code, output) in enumerate(_PYTHON.findall(_text(page)), 1)
    ]


def _matches(shown: str, printed: str) -> bool:
    """Compare; `` ...`` at the end of a shown line stands for the rest, the words of a library."""
    pattern = r" .*\n".join(re.escape(part) for part in shown.split(" ...\n"))
    return re.fullmatch(pattern, printed) is not None


@pytest.mark.parametrize("block", [pytest.param(body, id=name) for name, body in _console_blocks()])
def test_console_blocks_print_what_they_show(block: str, tmp_path: Path) -> None:
    for name in ("cli.py", "fatbin", "fixtures"):  # a checkout that commands may write into
        (tmp_path / name).symlink_to(ROOT / name)
    exit_code = 0
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        words = shlex.split(line)
        if line == "echo $?":
            assert shown.strip() == str(exit_code)
            continue
        program, *arguments = words
        assert program in {"fatbin", "python"}, f"cannot be executed: {line}"
        done = _run(*(["-m", "fatbin"] if program == "fatbin" else []), *arguments, cwd=tmp_path)
        exit_code = done.returncode
        assert _matches(shown, done.stdout + done.stderr), line


@pytest.mark.parametrize(
    ("code", "output"), [pytest.param(code, out, id=name) for name, code, out in _snippets()]
)
def test_snippets_print_what_they_show(code: str, output: str) -> None:
    done = _run("-c", code)
    assert done.stdout + done.stderr == output
    assert done.returncode == 0


def test_every_snippet_shows_its_output() -> None:
    for page in EXECUTED:
        languages = [language for language, _ in _FENCE.findall(_text(page))]
        assert languages.count("python") == len(_PYTHON.findall(_text(page))), _name(page)


# Set-up commands ----------------------------------------------------------------------------------


def _marked(marker: str) -> str:
    match = re.search(rf"<!-- {marker} -->\n```\w+\n(.+)\n```\n", _text(README))
    assert match is not None, f"README.md has no block marked {marker}"
    return match[1]


def test_readme_has_the_two_commands() -> None:
    assert _marked("run").startswith("python3 -m venv .venv && .venv/bin/pip install . && ")
    assert (ROOT / _marked("run").split()[-1]).is_file()
    assert _marked("tests").endswith(" && .venv/bin/python -m pytest")


@pytest.mark.parametrize(
    ("marker", "variable"), [("run", "run_command"), ("tests", "test_command")]
)
def test_continuous_integration_takes_the_commands_from_the_readme(
    marker: str, variable: str
) -> None:
    bash = shutil.which("bash") or require("bash", "not installed")
    script = _text(ROOT / ".ci" / "run")
    assert f"{variable}=$(readme {marker})" in script
    assert f'eval "${variable}"' in script
    function = re.search(r"^readme\(\) \{.*?^\}$", script, re.MULTILINE | re.DOTALL)
    assert function is not None
    command = f"{function[0]}\nreadme {marker}"
    taken = subprocess.run([bash, "-c", command], cwd=ROOT, check=True, capture_output=True)
    assert taken.stdout.decode().strip() == _marked(marker)
