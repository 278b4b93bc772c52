"""Whole processes: ``fatbin size FILE`` beside ``cubloaty FILE``.

The two answer different questions: cubloaty always inflates every image and attributes bytes to
kernels, which is what ``--by kernel`` does; both modes are timed.

Usage: python benchmarks/size.py FILE...
"""

from __future__ import annotations

import sys
from pathlib import Path

import measure

ROUNDS = 3
_MODES = ("arch", "kernel")


def main(paths: list[str]) -> None:
    """Print one row for each file and mode."""
    cubloaty = measure.find_script("cubloaty")
    if cubloaty is None:
        sys.exit("cubloaty is not installed beside this interpreter")
    measure.say_where(ROUNDS)
    rows = []
    for path in paths:
        name = f"{Path(path).name}, {Path(path).stat().st_size / 1e6:,.0f} MB"
        for mode in _MODES:
            ours = [sys.executable, "-m", "fatbin", "size", "--by", mode, path]
            theirs = [str(cubloaty), "--format", "json", path]
            pair = measure.pairs(measure.process(*ours), measure.process(*theirs), ROUNDS)
            rows.append(
                (
                    name,
                    f"--by {mode}",
                    measure.ms(pair.first),
                    measure.ms(pair.second),
                    measure.spread(pair),
                    measure.mb(measure.memory(ours).private),
                    measure.mb(measure.memory(theirs).private),
                )
            )
    head = (
        "file",
        "mode",
        "fatbin size",
        "cubloaty",
        "times faster",
        "fatbin private",
        "cubloaty private",
    )
    measure.table(head, rows)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(__doc__)
    main(sys.argv[1:])
