"""What starting costs, beside an interpreter that does nothing.

Usage: python benchmarks/startup.py
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import measure

_ROUNDS = 15
_IMPORTS = ("dataclasses", "typing", "argparse", "json", "construct", "lief", "rich.console")


def main() -> None:
    """Print one row for each thing that can be started."""
    measure.say_where(_ROUNDS)
    python = sys.executable
    bare = (python, "-c", "pass")
    cases: list[tuple[str, tuple[str, ...]]] = [
        ("`import fatbin`", (python, "-c", "import fatbin")),
        ("`from fatbin import scan`", (python, "-c", "from fatbin import scan")),
        ("`fatbin --help`", (python, "-m", "fatbin", "--help")),
        ("`fatbin --version`", (python, "-m", "fatbin", "--version")),
    ]
    cases += [
        (f"`import {name}`", (python, "-c", f"import {name}"))
        for name in _IMPORTS
        if find_spec(name.partition(".")[0]) is not None
    ]
    rows = []
    for name, command in cases:
        pair = measure.pairs(measure.process(*bare), measure.process(*command), _ROUNDS)
        rows.append(measure.beside(name, pair))
    measure.table(("what", "whole process", "`python -c pass`", "difference", "ratio"), rows)


if __name__ == "__main__":
    main()
