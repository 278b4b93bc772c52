"""Every command and snippet that the documentation shows does what is shown; what it lends is whole."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from documents import DOCS, FENCE, PAGES, README, page_name, run_python, text_of
from support import ROOT, require

from fatbin.cli.main import build_parser
from fatbin.judge.policy import Policy
from fatbin.judge.policy_file import PolicyFile, read_policy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PYTHON = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


# Examples -----------------------------------------------------------------------------------------


def _console_blocks() -> list[tuple[str, str, str]]:
    """Return name, text and policy of each block: the policy shown last before it on its page.

    Left out are those that say why they are not run, and generated ones, which are run elsewhere.
    """
    blocks = []
    for page in PAGES:
        text = text_of(page)
        policy = ""
        for number, match in enumerate(FENCE.finditer(text), 1):
            language, body = match.groups()
            if language == "toml" and body.startswith("# fatbin.toml\n"):
                policy = body
            if language == "console" and not _EXCUSED.search(text, 0, match.start()):
                blocks.append((f"{page_name(page)}[{number}]", body, policy))
    return blocks


_EXCUSED = re.compile(r"<!-- (?:output: [^\n]+|not run: \w[^\n]+) -->\n\Z")
"""What stands before a block that is not run here: where it is made, or why it cannot be."""


def test_every_command_with_output_is_a_console_block() -> None:
    for page in PAGES:
        for language, body in FENCE.findall(text_of(page)):
            shows = re.search(r"^\$ ", body, re.MULTILINE) is not None
            assert shows == (language == "console"), f"{page_name(page)}: {body}"


def test_a_reason_not_to_run_stands_before_a_console_block() -> None:
    for page in PAGES:
        behind = re.findall(r"<!-- not run\b.*?-->\n(.*)", text_of(page))
        assert set(behind) <= {"```console"}, page_name(page)


def _typed() -> list[Any]:
    """Return the commands of ours in blocks without output, as a reader would type them."""
    found = []
    for page in PAGES:
        for language, body in FENCE.findall(text_of(page)):
            if language == "sh":
                for line in body.replace("\\\n", " ").splitlines():
                    for part in re.split(r"\s(?:\||&&)\s", line):
                        called = re.search(r"(?:^|[\s/])fatbin ((?!-)\w+ .*|\w+$)", part)
                        if called and "pip install" not in part:
                            found.append(
                                pytest.param(called[1], id=f"{page_name(page)}: {called[1]}")
                            )
    return found


@pytest.mark.parametrize("command", _typed())
def test_commands_to_type_are_understood(command: str) -> None:
    words = shlex.split(command, comments=True)
    for sign in (">", ">>", "<", "|"):
        words = words[: words.index(sign)] if sign in words else words
    assert build_parser().parse_args(words).command == words[0]


def _snippets() -> list[tuple[str, str, str]]:
    return [
        (f"{page_name(page)}[{number}]", code, output)
        for page in PAGES
        for number, (code, output) in enumerate(_PYTHON.findall(text_of(page)), 1)
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
    done = run_python(*command, cwd=folder, env=environment)
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
    done = run_python("-c", code)
    assert done.stdout + done.stderr == output
    assert done.returncode == 0


def test_every_snippet_shows_its_output() -> None:
    for page in PAGES:
        languages = [language for language, _ in FENCE.findall(text_of(page))]
        assert languages.count("python") == len(_PYTHON.findall(text_of(page))), page_name(page)


# Files of others ----------------------------------------------------------------------------------


def _blocks(language: str) -> list[Any]:
    return [
        pytest.param(body, id=f"{page_name(page)}[{number}]")
        for page in PAGES
        for number, (found, body) in enumerate(FENCE.findall(text_of(page)), 1)
        if found == language
    ]


def _options(text: str) -> set[str]:
    """Return the long options that commands of ours are given in a text."""
    joined = text.replace("\\\n", " ")
    lines = [line for line in joined.split("\n") if re.search(r"\bfatbin (check|inspect)\b", line)]
    return {option for line in lines for option in re.findall(r"(?<= )--[a-z-]+", line)}


def _known_options() -> set[str]:
    parser = build_parser()
    choices = next(a.choices for a in parser._actions if a.dest == "command")
    assert isinstance(choices, dict)
    return {option for found in choices.values() for option in found._option_string_actions}


@pytest.mark.parametrize("block", _blocks("yaml"))
def test_yaml_is_whole_and_its_options_exist(block: str) -> None:
    document = yaml.safe_load(block)
    assert isinstance(document, dict | list)
    assert _options("\n".join(_strings(document))) <= _known_options()


def test_pipelines_of_others_are_shown() -> None:
    text = text_of(DOCS / "how-to" / "gate.md")
    shown = "".join(body for language, body in FENCE.findall(text) if language == "yaml")
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
    match = re.search(rf"<!-- {marker} -->\n```\w+\n(.+)\n```\n", text_of(README))
    assert match is not None, f"README.md has no block marked {marker}"
    return match[1]


def test_readme_has_the_two_commands() -> None:
    assert _marked("run").startswith("python3 -m venv .venv && .venv/bin/pip install . && ")
    _, _, run = _marked("run").rpartition(" && ")
    program, command, target, *options = shlex.split(run)
    assert (program, command) == (".venv/bin/fatbin", "check")
    assert (ROOT / target).is_file()
    assert options[0] == "--gpu"
    assert _marked("tests").endswith(" && .venv/bin/python -m pytest -n auto --dist worksteal")


@pytest.mark.parametrize(
    ("marker", "variable"), [("run", "run_command"), ("tests", "test_command")]
)
def test_continuous_integration_takes_the_commands_from_the_readme(
    marker: str, variable: str
) -> None:
    bash = shutil.which("bash") or require("bash", "not installed")
    script = text_of(ROOT / ".ci" / "run")
    assert f"{variable}=$(readme {marker})" in script
    assert f'eval "${variable}"' in script
    function = re.search(r"^readme\(\) \{.*?^\}$", script, re.MULTILINE | re.DOTALL)
    assert function is not None
    command = f"{function[0]}\nreadme {marker}"
    taken = subprocess.run([bash, "-c", command], cwd=ROOT, check=True, capture_output=True)
    assert taken.stdout.decode().strip() == _marked(marker)
