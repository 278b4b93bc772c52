"""A scan of a file that is not in the page cache, with and without advice to read at random.

Before each run the file's pages are dropped. Without the advice the kernel reads ahead around every
header it is asked for. Memory and disk of a virtual machine may have caches below the kernel's: the
megabytes read are the surer figure.

Usage: python benchmarks/cold.py FILE...
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import measure

_SCAN = """\
import sys, time
import fatbin.scanning.source as source
if sys.argv[2] == "plain":
    source._RANDOM = None
from fatbin import scan
def read():
    with open("/proc/self/io") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes"))
before, begin = read(), time.perf_counter()
inventory = scan(sys.argv[1], linkage=False)
took = time.perf_counter() - begin
print(took, read() - before)
"""


def evict(path: str) -> None:
    """Drop a file's pages from the page cache."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


class ColdScan:
    """Scans a file in a child process after dropping its pages."""

    def __init__(self, path: str, advice: str) -> None:
        """Scan with ``random`` advice or ``plain``, without."""
        self.read_bytes = 0
        self._path = path
        self._advice = advice

    def __call__(self) -> float:
        """Return the seconds of the scan itself, without starting the interpreter."""
        evict(self._path)
        done = subprocess.run(
            [sys.executable, "-c", _SCAN, self._path, self._advice],
            env={**os.environ, "PYTHONPATH": str(measure.ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        took, read = re.findall(r"[\d.e-]+", done.stdout)
        self.read_bytes = int(read)
        return float(took)


def main(paths: list[str]) -> None:
    """Print one row for each file."""
    measure.say_where()
    rows = []
    for path in paths:
        random, plain = ColdScan(path, "random"), ColdScan(path, "plain")
        pair = measure.pairs(random, plain)
        rows.append(
            (
                f"{Path(path).name}, {Path(path).stat().st_size / 1e6:,.0f} MB",
                measure.ms(pair.first),
                measure.mb(random.read_bytes),
                measure.ms(pair.second),
                measure.mb(plain.read_bytes),
                measure.spread(pair),
            )
        )
    head = ("file", "random advice", "read", "no advice", "read", "times slower without")
    measure.table(head, rows)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(__doc__)
    main(sys.argv[1:])
