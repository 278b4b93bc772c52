"""How time and memory grow with what a file holds, and with the number of files.

Usage: python benchmarks/growth.py

Each row is one scan in a process of its own, by processor time; bytes of padding are there to be
searched, entries are headers of one cubin, files are that cubin again and again.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import measure

if TYPE_CHECKING:
    from collections.abc import Iterator

_CUBIN = measure.ROOT / "fixtures" / "saxpy_80.cubin"
_SIZES = (16 << 20, 64 << 20, 256 << 20, 1 << 30)
_ENTRIES = (1_000, 10_000, 100_000)
_FILES = (100, 1_000, 10_000)
_SCAN = """\
import os, sys
import fatbin
def used():
    return sum(os.times()[:4])  # with that of child processes
begin = used()
inventory = fatbin.scan(sys.argv[1])
print(used() - begin, sum(1 for _ in inventory.entries), len(inventory.all_issues))
"""


class Point(NamedTuple):
    """One measurement.

    Attributes:
        kind: ``bytes``, ``entries`` or ``files``.
        number: of them.
        seconds: of processor time, the least of three scans.
        private: bytes of memory above the interpreter's.
    """

    kind: str
    number: int
    seconds: float
    private: int


def points() -> Iterator[Point]:
    """Measure every size."""
    bare = measure.bare_python().private
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for size in _SIZES:
            yield _point("bytes", size, _padded(place / "padded.so", size), 1, bare)
        for count in _ENTRIES:
            yield _point("entries", count, _filled(place / "entries.fatbin", count), count, bare)
        for count in _FILES:
            yield _point("files", count, _folder(place / f"files{count}", count), count, bare)


def _point(kind: str, count: int, path: Path, entries: int, bare: int) -> Point:
    command = [sys.executable, "-c", _SCAN, str(path)]
    seconds = []
    for _ in range(3):
        done = subprocess.run(
            command, env=measure.environment(), capture_output=True, text=True, check=True
        )
        took, found, issues = done.stdout.split()
        if (int(found), int(issues)) != (entries, 0):
            msg = f"{path.name}: expected {entries} entries, found {found}, and {issues} issues"
            raise SystemExit(msg)
        seconds.append(float(took))
    return Point(kind, count, min(seconds), measure.memory(command).private - bare)


def _container(images: int) -> bytes:
    from fatbin.format.build import EntrySpec, build  # noqa: PLC0415 - of the tree beside this

    return build([EntrySpec.cubin(_CUBIN.read_bytes()) for _ in range(images)])


def _padded(path: Path, size: int) -> Path:
    """Write a library with one small container, and zeros that have to be searched."""
    sys.path.insert(0, str(measure.ROOT / "tests"))
    from hosts import Section, elf  # noqa: PLC0415

    with path.open("wb") as file:
        file.write(elf(Section(".nv_fatbin", _container(1)), Section(".data", bytes(size))))
    return path


def _filled(path: Path, count: int) -> Path:
    """Write one container after another, of a hundred entries each."""
    with path.open("wb") as file:
        hundred = _container(100)
        for _ in range(count // 100):
            file.write(hundred)
    return path


def _folder(path: Path, count: int) -> Path:
    path.mkdir()
    data = _CUBIN.read_bytes()
    for number in range(count):
        (path / f"{number}.cubin").write_bytes(data)
    return path


def rows(found: list[Point]) -> list[tuple[str, ...]]:
    """Return a row for each point: what, how many, time, time for each, memory."""
    table: list[tuple[str, ...]] = []
    for point in found:
        if point.kind == "bytes":
            mebibytes = point.number >> 20
            number, each = f"{mebibytes:,} MiB", f"{point.seconds / mebibytes * 1e6:,.0f} µs a MiB"
        else:
            one = {"entries": "an entry", "files": "a file"}[point.kind]
            number = f"{point.number:,}"
            each = f"{point.seconds / point.number * 1e6:,.0f} µs {one}"
        table.append(
            (point.kind, number, measure.ms(point.seconds), each, measure.mb(point.private))
        )
    return table


HEAD = ("growing", "to", "processor time", "for each", "memory")


def main() -> None:
    """Print one row for each size."""
    measure.say_where(3)
    measure.table(HEAD, rows(list(points())))


if __name__ == "__main__":
    main()
