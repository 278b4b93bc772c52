"""The documentation says what the code does, and every command shown prints what is shown."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support import ROOT, require

import fatbin
from fatbin.cli import exits
from fatbin.cli.main import build_parser
from fatbin.format.schema import LAYOUTS
from fatbin.judge.policy import Policy
from fatbin.judge.policy_file import PolicyFile, read_policy

if TYPE_CHECKING:
    from collections.abc import Iterator
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


def _run(
    *command: str, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=env,
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
    text = "".join(_text(DOCS / "reference" / page) for page in pages.split())
    assert sorted(re.findall(rf"<!-- {kind}: ([\w.]+) -->", text)) == names


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


def _console_blocks() -> list[tuple[str, str, str]]:
    """Return name, text and policy of each block: the policy shown last before it on its page."""
    blocks = []
    for page in EXECUTED:
        policy = ""
        for number, (language, body) in enumerate(_FENCE.findall(_text(page)), 1):
            if language == "toml" and body.startswith("# fatbin.toml\n"):
                policy = body
            if language == "console":
                blocks.append((f"{_name(page)}[{number}]", body, policy))
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


def _execute(line: str, folder: Path) -> tuple[int, str]:
    """Run a line as a shell would; variables before it and ``> FILE`` behind it are understood."""
    words = shlex.split(line)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("FATBIN_", "CUDA_"))}
    while re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    target = words[-1] if words[-2:-1] == [">"] else None
    program, *arguments = words[:-2] if target else words
    assert program in {"fatbin", "python"}, f"cannot be executed: {line}"
    command = [*(["-m", "fatbin"] if program == "fatbin" else []), *arguments]
    done = _run(*command, cwd=folder, env=environment)
    if target:
        (folder / target).write_text(done.stdout, encoding="utf-8")
    return done.returncode, done.stderr if target else done.stdout + done.stderr


@pytest.mark.parametrize(
    ("block", "policy"),
    [pytest.param(body, policy, id=name) for name, body, policy in _console_blocks()],
)
def test_console_blocks_print_what_they_show(block: str, policy: str, tmp_path: Path) -> None:
    for name in ("cli.py", "docs", "fatbin", "fixtures"):  # a checkout that commands may write into
        (tmp_path / name).symlink_to(ROOT / name)
    if policy:
        (tmp_path / "fatbin.toml").write_text(policy, encoding="utf-8")
    exit_code = 0
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        if line == "echo $?":
            assert shown.strip() == str(exit_code)
            continue
        exit_code, printed = _execute(line, tmp_path)
        assert _matches(shown, printed), line


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


# Files of others ----------------------------------------------------------------------------------


def _blocks(language: str) -> list[Any]:
    return [
        pytest.param(body, id=f"{_name(page)}[{number}]")
        for page in PAGES
        for number, (found, body) in enumerate(_FENCE.findall(_text(page)), 1)
        if found == language
    ]


def _options(text: str) -> set[str]:
    """Return the long options that commands of ours are given in a text."""
    joined = text.replace("\\\n", " ")
    lines = [line for line in joined.split("\n") if re.search(r"\bfatbin (check|inspect)\b", line)]
    return {option for line in lines for option in re.findall(r"(?<= )--[a-z-]+", line)}


def _known_options() -> set[str]:
    return {option for parser in _commands().values() for option in parser._option_string_actions}


@pytest.mark.parametrize("block", _blocks("yaml"))
def test_yaml_is_whole_and_its_options_exist(block: str) -> None:
    document = yaml.safe_load(block)
    assert isinstance(document, dict | list)
    assert _options("\n".join(_strings(document))) <= _known_options()


def test_pipelines_of_others_are_shown() -> None:
    text = _text(DOCS / "how-to" / "gate.md")
    shown = "".join(body for language, body in _FENCE.findall(text) if language == "yaml")
    assert shown.count("fatbin check") == 4
    assert _options(shown) == {"--verify", "--format"}


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("block", _blocks("dockerfile"))
def test_dockerfiles_are_whole_and_their_options_exist(block: str) -> None:
    joined = re.sub(r"\\\n", " ", block)
    words = [line.split() for line in joined.splitlines() if line and line[0] != "#"]
    assert {line[0] for line in words} <= {"FROM", "COPY", "RUN", "ARG", "ENV"}
    stages = {line[3] for line in words if line[0] == "FROM" and len(line) == 4}
    used = set(re.findall(r"--from=(\S+)", joined))
    assert used <= stages
    assert used, "a stage that no other copies from is not built"
    assert "fatbin check" in joined
    assert _options(joined) <= _known_options()


@pytest.mark.parametrize("block", _blocks("toml"))
def test_policies_can_be_read(block: str, tmp_path: Path) -> None:
    name = re.match(r"# (fatbin\.toml|pyproject\.toml)\n", block)
    assert name is not None, "a policy begins with the name of its file"
    path = tmp_path / name[1]
    path.write_text(block, encoding="utf-8")
    assert read_policy(path) != PolicyFile(Policy(), path=str(path))


# Set-up commands ----------------------------------------------------------------------------------


def _marked(marker: str) -> str:
    match = re.search(rf"<!-- {marker} -->\n```\w+\n(.+)\n```\n", _text(README))
    assert match is not None, f"README.md has no block marked {marker}"
    return match[1]


def test_readme_has_the_two_commands() -> None:
    assert _marked("run").startswith("python3 -m venv .venv && .venv/bin/pip install . && ")
    _, _, run = _marked("run").rpartition(" && ")
    program, command, target, *options = shlex.split(run)
    assert (program, command) == (".venv/bin/fatbin", "check")
    assert (ROOT / target).is_file()
    assert options[0] == "--gpu"
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
