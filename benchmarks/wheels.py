"""Wheels: scanning one beside inflating it, and a second scan of a directory beside the first.

For each wheel two sides run by turns in processes of their own: ``fatbin inspect``, and Python's
zipfile reading every member from front to back and forgetting it. The ratio says what finding
device code costs on top of what nobody can leave out. Wheels and directories are scanned without
and with what the cache remembers.

Usage: python benchmarks/wheels.py WHEEL_OR_DIRECTORY...
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import measure

ROUNDS = 3
_INFLATE = """
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    for info in archive.infolist():
        with archive.open(info) as member:
            while member.read(1 << 20):
                pass
"""


def main(paths: list[str]) -> None:
    """Print a row for each wheel, then one for each directory."""
    measure.say_where(ROUNDS)
    wheels = [path for path in paths if Path(path).is_file()]
    rows = []
    for path in wheels:
        ours = [sys.executable, "-m", "fatbin", "inspect", "--format", "json", path]
        inflate = [sys.executable, "-c", _INFLATE, path]
        with tempfile.TemporaryDirectory() as cache:
            os.environ["FATBIN_CACHE_DIR"] = cache
            first = measure.process(*ours, "--no-cache")
            pair = measure.pairs(measure.process(*inflate), first, ROUNDS)
            again = measure.pairs(first, measure.process(*ours), ROUNDS)
        rows.append(
            (
                f"{Path(path).name.split('-')[0]}, {Path(path).stat().st_size / 1e6:,.0f} MB",
                measure.ms(pair.first),
                measure.ms(pair.second),
                measure.spread(pair),
                measure.ms(again.second),
                measure.mb(measure.memory([*ours, "--no-cache"]).private),
            )
        )
    head = ("wheel", "zipfile", "fatbin inspect", "times as long", "remembered", "fatbin private")
    measure.table(head, rows)
    directories = []
    for path in (path for path in paths if Path(path).is_dir()):
        with tempfile.TemporaryDirectory() as cache:
            os.environ["FATBIN_CACHE_DIR"] = cache
            listing = [sys.executable, "-m", "fatbin", "list", "--format", "json", path]
            pair = measure.pairs(
                measure.process(*listing, "--no-cache"), measure.process(*listing), ROUNDS
            )
        directories.append(
            (path, measure.ms(pair.first), measure.ms(pair.second), measure.spread(pair))
        )
    measure.table(("directory", "read", "remembered", "times as long"), directories)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(__doc__)
    main(sys.argv[1:])
