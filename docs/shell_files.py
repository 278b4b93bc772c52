"""Files made from the parser of the command line: completions of shells, and the manual page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import shtab
from man_page import man_page

from fatbin.cli.completion import SHELLS
from fatbin.cli.main import build_parser
from fatbin.cli.preflight import STAGES
from fatbin.judge.codes import CODES
from fatbin.judge.facts.gpus import GPUS
from fatbin.kinds import Place
from fatbin.limits import Limits
from fatbin.survey.selection import KINDS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

PATHS = {
    "A": shtab.FILE,
    "B": shtab.FILE,
    "DIR": shtab.DIRECTORY,
    "FILE": shtab.FILE,
    "LOG": shtab.FILE,
    "PATH": shtab.FILE,
    "PROGRAM": shtab.FILE,
    "TARGET": shtab.FILE,
}
"""By what stands for the value in the help."""
_ONE_WORD_GPUS = sorted({row.name for row in GPUS if " " not in row.name and row.certain})
WORDS: dict[str, list[str]] = {
    "CODE": list(CODES),
    "GPU": _ONE_WORD_GPUS,
    "GPUS": _ONE_WORD_GPUS,
    "NAME=VALUE": [f"{field}=" for field in Limits._fields],
    "NAMES": list(STAGES),
    "--kind LIST": list(KINDS),
    "--place LIST": [place.value for place in Place],
}
"""Likewise; of several, the first can be completed."""
FREE = {
    *("ARCH", "ARCHS", "--arch LIST", "BYTES", "GLOB", "N", "NUMBER", "OS/ARCH", "REASON", "RULE"),
    *("SECONDS", "SHARE", "VERSION"),
}
"""What nobody can guess."""


def completion(shell: str) -> str:
    """Return the completions of a shell."""
    parser = build_parser()
    for inner in commands(parser).values():
        for action in inner._actions:  # noqa: SLF001 - argparse has no other list of them
            _describe(action)
    text: str = shtab.complete(parser, shell)
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n")) + "\n"


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the commands."""
    found: list[Any] = [a.choices for a in parser._actions if isinstance(a.choices, dict)]  # noqa: SLF001
    return dict(found[0])


def _describe(action: Any) -> None:  # noqa: ANN401 - argparse's, with an attribute of shtab's
    """Say what an argument can be.

    Raises:
        LookupError: a value of which nothing is said here.
    """
    if action.nargs == 0 or action.choices:
        return
    long = [option for option in action.option_strings if option.startswith("--")]
    for name in (f"{long[0]} {action.metavar}" if long else "", action.metavar):
        if name in PATHS:
            action.complete = PATHS[name]
            return
        if name in WORDS:
            action.choices = WORDS[name]
            return
        if name in FREE:
            return
    raise LookupError(f"say in {__file__} what {action.metavar} of {long or action.dest} can be")


def shell_files(exits: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return what each file should hold, by its path from the root of the repository.

    Args:
        exits: the exit codes and their meanings.
    """
    completions = {f"fatbin/cli/completions/fatbin.{s}": completion(s) for s in SHELLS}
    return {**completions, "docs/man/fatbin.1": man_page(exits)}
