"""The manual page: what is in it, and that the programs that show it have nothing to say about it."""

from __future__ import annotations

import shutil
import subprocess

from support import ROOT, require

import fatbin
from fatbin.cli import exits
from fatbin.cli.main import build_parser

PAGE = ROOT / "docs" / "man" / "fatbin.1"


def shown(program: str, *options: str) -> subprocess.CompletedProcess[str]:
    found = shutil.which(program) or require(program, "not installed")
    return subprocess.run(
        [found, *options, str(PAGE)], check=False, capture_output=True, text=True, timeout=60
    )


def test_groff_has_no_complaint_and_shows_every_option() -> None:
    done = shown("groff", "-ww", "-man", "-Tascii", "-P-cbou", "-rLL=200n")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"fatbin {fatbin.__version__}" in done.stdout
    text = " ".join(done.stdout.split())
    (commands,) = (a.choices for a in build_parser()._actions if isinstance(a.choices, dict))
    for name, parser in commands.items():
        section = text.partition(f" fatbin {name} fatbin {name} ")[2]
        assert section, name
        for action in parser._actions:
            for option in set(action.option_strings) - {"-h", "--help"}:
                assert option in section, (name, option)
            if action.help and action.dest != "help":
                words = action.help.replace("%%", "%").split()
                assert " ".join(words)[1:] in section, (name, action.help)
    codes = text.partition("EXIT STATUS")[2]
    assert all(f" {value} " in codes for name, value in vars(exits).items() if name.isupper())


def test_mandoc_misses_only_the_date() -> None:
    done = shown("mandoc", "-T", "lint", "-W", "warning")
    complaints = [line for line in done.stdout.splitlines() if "missing date" not in line]
    assert complaints == []
    assert done.stderr == ""


def test_text_is_escaped() -> None:
    import man_page

    assert man_page._text("'a' .b -c \\d") == "\\&'a' .b \\-c \\ed"
    assert man_page._text(".SH") == "\\&.SH"
