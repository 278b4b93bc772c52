"""What the guard costs a process, the first time and afterwards.

Usage: python benchmarks/guard.py LIBRARY
"""

from __future__ import annotations

import os
import sys
import tempfile

import measure

_ROUNDS = 15
_IMPORT = "import fatbin"
_GUARD = "import fatbin; fatbin.guard([{!r}], gpus='9.0', mode='warn')"


def main() -> None:
    """Print one row for each state of the cache, beside ``import fatbin`` alone."""
    (library,) = sys.argv[1:]
    measure.say_where(_ROUNDS)
    python = sys.executable
    guard = measure.process(python, "-c", _GUARD.format(os.path.abspath(library)))
    bare = measure.process(python, "-c", _IMPORT)
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for name, place in (("remembered", cache), ("judged each time", os.devnull)):
            os.environ["XDG_CACHE_HOME"] = place
            pair = measure.pairs(bare, guard, _ROUNDS)
            rows.append(measure.beside(name, pair))
    measure.table(("guard", "whole process", "`import fatbin`", "difference", "ratio"), rows)


if __name__ == "__main__":
    main()
