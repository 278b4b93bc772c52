"""Fuzz: ``python -m fuzz TARGET|all --seconds N [--jobs J] [--record]``."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.history import record
from fuzz.session import HEAD, Result, fuzz
from fuzz.target import HERE
from fuzz.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Sequence

_CORPUS = HERE / ".corpus"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; exit 1 when something was found, 2 without atheris."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    names = ["all", *TARGETS]
    parser.add_argument("target", nargs="+", choices=names, metavar="TARGET", help=", ".join(names))
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default 60)")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time (default 1)")
    parser.add_argument("--memory", type=int, default=1024, help="MiB of a process (default 1024)")
    parser.add_argument("--timeout", type=int, default=30, help="seconds of an input (default 30)")
    parser.add_argument(
        "--corpus", type=Path, default=_CORPUS, help="inputs and finds are kept here"
    )
    parser.add_argument("--record", action="store_true", help="add rows to fuzz/HISTORY.md")
    options = parser.parse_args(argv)
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: pip install -e '.[fuzz]' (Linux x86_64)", file=sys.stderr)
        return 2
    wanted = list(TARGETS) if "all" in options.target else list(dict.fromkeys(options.target))

    def one(name: str) -> Result:
        found = fuzz(
            TARGETS[name], options.corpus, options.seconds, options.memory, options.timeout
        )
        print(found.line(), flush=True)
        if options.record:
            record(found)
        return found

    print(HEAD, flush=True)
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        results = list(pool.map(one, wanted))
    finds = [path for result in results for path in result.finds]
    for path in finds:
        print(f"find: {path}")
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
