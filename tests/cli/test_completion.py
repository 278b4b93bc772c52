"""Shells complete what the parser knows: each is really asked."""

from __future__ import annotations

import os
import re
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from support import ROOT, require

from fatbin.cli import exits, main
from fatbin.cli.check import FORMATS
from fatbin.cli.completion import SHELLS
from fatbin.cli.main import COMMANDS, build_parser
from fatbin.judge.codes import CODES

Ask = Callable[[Path, list[str]], list[set[str]]]
END = "-- end --"


def shipped(shell: str) -> Path:
    return ROOT / "fatbin" / "cli" / "completions" / f"fatbin.{shell}"


def program(shell: str) -> str:
    return shutil.which(shell) or require(shell, "not installed")


def run(folder: Path, *command: str) -> list[set[str]]:
    """Run a script that prints the words of each line, and ``END`` behind them."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent), "TERM": "dumb"},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return [set(part.splitlines()) - {""} for part in done.stdout.split(f"{END}\n")[:-1]]


BASH = """
source {shipped}
function=$(complete -p fatbin | sed 's/.*-F \\([^ ]*\\).*/\\1/')
for line in {lines}; do
  read -r -a COMP_WORDS <<< "$line"
  case $line in *" ") COMP_WORDS+=("") ;; esac
  COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
  "$function" fatbin
  printf '%s\\n' "${{COMPREPLY[@]}}" "{END}"
done
"""
FISH = """
source {shipped}
for line in {lines}
  complete -C $line
  echo "{END}"
end
"""
ZSH = """
PS1='' PS2='' RPS1=''
autoload -Uz compinit && compinit -u -D
eval "$(cat {shipped})"
compadd() {{ # also tells which words it was given
  if [[ " $* " != *" -"[OAD]" "* ]]; then
    local -a words
    builtin compadd -A words "$@"
    print -rl -- $words >> {out}
  fi
  builtin compadd "$@"
}}
ask() {{
  zle list-choices
  print -r -- "{END}" >> {out}
}}
zle -N ask
bindkey '^T' ask
"""


def script(shell: str, template: str, lines: Iterable[str] = (), out: str = "") -> str:
    return template.format(
        shipped=shlex.quote(str(shipped(shell))), lines=shlex.join(lines), END=END, out=out
    )


def bash(folder: Path, lines: list[str]) -> list[set[str]]:
    return run(folder, program("bash"), "--norc", "--noprofile", "-c", script("bash", BASH, lines))


def fish(folder: Path, lines: list[str]) -> list[set[str]]:
    found = run(folder, program("fish"), "--no-config", "-c", script("fish", FISH, lines))
    return [{row.partition("\t")[0].rstrip("/") for row in rows} for rows in found]


def zsh(folder: Path, lines: list[str]) -> list[set[str]]:
    """Type the lines in an interactive shell on a terminal, and list the choices of each."""
    import pty  # only POSIX has it

    found = program("zsh")
    start, out = folder.parent / "start.zsh", folder.parent / "out"
    start.write_text(script("zsh", ZSH, out=shlex.quote(str(out))))
    out.touch()
    terminal, inner = pty.openpty()
    shell = subprocess.Popen(
        [found, "-f", "-i"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(folder.parent)},
        stdin=inner,
        stdout=inner,
        stderr=inner,
        start_new_session=True,
    )
    os.close(inner)
    try:
        os.write(terminal, f"source {start}\n".encode())
        for number, line in enumerate(lines, 1):
            os.write(terminal, line.encode() + b"\x14")  # ^T
            wait_for(terminal, out, number)
            os.write(terminal, b"\x15")  # ^U
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)
    return [set(part.splitlines()) - {""} for part in out.read_text().split(f"{END}\n")[:-1]]


def wait_for(terminal: int, out: Path, answers: int) -> None:
    """Read what the terminal shows until there are so many answers."""
    shown = b""
    end = time.monotonic() + 60
    while out.read_text().count(END) < answers:
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 0.02)[0]:
            shown += os.read(terminal, 65536)


ASK: dict[str, Ask] = {"bash": bash, "zsh": zsh, "fish": fish}
LINES: dict[str, tuple[set[str], set[str]]] = {
    "fatbin ": ({command.name for command in COMMANDS}, {"FB101", "libone.so"}),
    "fatbin check --format ": (set(FORMATS), {"csv", "libone.so", "check"}),
    "fatbin check --al": ({"--allow-empty"}, {"--format", "libone.so"}),
    "fatbin check lib": ({"libone.so", "libfolder"}, {"other.so", "check"}),
    "fatbin check --policy lib": ({"libone.so", "libfolder"}, {"other.so", "check"}),
    "fatbin check --gpu H": ({"H100", "H200"}, {"A100", "libone.so"}),
    "fatbin diff libone.so oth": ({"other.so"}, {"libone.so"}),
    "fatbin explain FB1": ({code for code in CODES if code.startswith("FB1")}, {"FB201"}),
    "fatbin extract -o lib": ({"libfolder"}, {"libone.so"}),
    "fatbin completion ": (set(SHELLS), {"list"}),
}
"""What is typed: the words that must be offered, and some that must not."""


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes(shell: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "libfolder").mkdir(parents=True)
    (folder / "libone.so").touch()
    (folder / "other.so").touch()
    found = dict(zip(LINES, ASK[shell](folder, list(LINES)), strict=True))
    missing = {line: wanted - found[line] for line, (wanted, _) in LINES.items()}
    assert not {line: words for line, words in missing.items() if words}, found
    extra = {line: unwanted & found[line] for line, (_, unwanted) in LINES.items()}
    assert not {line: words for line, words in extra.items() if words}, found


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_prints_what_is_shipped(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == exits.PASS
    assert capsys.readouterr().out == shipped(shell).read_text(encoding="utf-8")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_long_option_is_there(shell: str) -> None:
    text = shipped(shell).read_text(encoding="utf-8")
    (commands,) = (a.choices for a in build_parser()._actions if isinstance(a.choices, dict))
    for name, parser in commands.items():
        assert re.search(rf"\b{name}\b", text)
        for option in parser._option_string_actions:
            dashes = "" if shell == "fish" and option.startswith("--") else "-"
            assert f"{dashes}{option.lstrip('-')}" in text, (name, option)
