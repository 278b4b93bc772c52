"""Draw what a terminal shows: ``python docs/pictures.py [--check]``.

Each picture is what a command really prints, in the colours that it has on a terminal, drawn by
rich as an SVG. With ``--check`` nothing is written; the exit code is 1 when a picture shows
something else than its command prints now. How it is drawn may change with rich, and is not
compared.
"""

from __future__ import annotations

import html
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "images"
PICTURES = {
    "terminal.svg": 'fatbin check fixtures/lib_3arch.so --gpu "A100, H100, RTX 5090"',
}
"""The command of each picture, run in the root of the repository."""

_WIDTH = 134
_AS_ON_A_TERMINAL = """
import sys
from fatbin.cli.main import main
sys.stdout.isatty = lambda: True
sys.exit(main(sys.argv[1:]))
"""
_FONT_OF_A_NETWORK = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_TEXT = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)


def printed(command: str) -> str:
    """Return what a command prints on a terminal, with its colours."""
    ours = ("FATBIN_", "CUDA_", "NO_COLOR")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(  # noqa: S603 - this project's own command
        [sys.executable, "-c", _AS_ON_A_TERMINAL, *shlex.split(command)[1:]],
        cwd=ROOT,
        env={**variables, "COLUMNS": str(_WIDTH), "TERM": "xterm-256color", "PYTHONUTF8": "1"},
        check=False,  # a check that fails is a picture worth having
        stdout=subprocess.PIPE,
    )
    return done.stdout.decode("utf-8")


def draw(command: str) -> str:
    """Return the picture of a command: an SVG that loads nothing."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO())
    console.print(Text.assemble(("$ ", "dim"), (command, "bold")), soft_wrap=True)
    console.print(Text.from_ansi(printed(command)), soft_wrap=True)
    svg = console.export_svg(title="fatbin", theme=MONOKAI, unique_id="fatbin")
    return _FONT_OF_A_NETWORK.sub("", svg).rstrip("\n") + "\n"


def shown(svg: str) -> str:
    """Return the text of a picture without its blanks, which rich divides as it likes."""
    return "".join(html.unescape("".join(_TEXT.findall(svg))).split())


def stale() -> list[str]:
    """Return the names of the pictures that show something else than their commands print."""
    return [
        name
        for name, command in PICTURES.items()
        if not (FOLDER / name).is_file()
        or shown((FOLDER / name).read_text(encoding="utf-8")) != shown(draw(command))
    ]


def main(arguments: list[str]) -> int:
    """Draw the pictures, or say which are stale."""
    names = stale()
    for name in names:
        if "--check" in arguments:
            print(f"docs/images/{name} is stale; run: python docs/pictures.py")
        else:
            (FOLDER / name).write_text(draw(PICTURES[name]), encoding="utf-8")
            print(f"docs/images/{name} drawn")
    return 1 if names and "--check" in arguments else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
