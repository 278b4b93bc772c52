"""Inside one process: the header walk beside the barest walk that Python can do.

Both read the same map of the same file and start from the same section offsets. The bare walk
unpacks every entry header into a tuple and checks nothing.

Usage: python benchmarks/walk.py FILE...
"""

from __future__ import annotations

import mmap
import struct
import sys
import time
from pathlib import Path

import measure

sys.path.insert(0, str(measure.ROOT))

from fatbin.format.container import Container, walk
from fatbin.format.elf import read_elf_header, read_sections
from fatbin.format.view import View
from fatbin.limits import DEFAULT_LIMITS

_NAMES = (".nv_fatbin", "__nv_relfatbin")
_REPEATS = 5
_CONTAINER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
Ranges = list[tuple[int, int]]
Raw = list[tuple[int, ...]]


def bare_walk(data: mmap.mmap, ranges: Ranges) -> list[Raw]:
    """Return the entry headers of each container."""
    containers = []
    for start, stop in ranges:
        position = start
        while position + 16 <= stop:
            if not data[position]:
                position += 8
                continue
            size = _CONTAINER.unpack_from(data, position)[3]
            position += 16
            end = position + size
            entries = []
            while position < end:
                fields = _ENTRY.unpack_from(data, position)
                entries.append(fields)
                position += fields[2] + fields[3]
            containers.append(entries)
    return containers


def checked_walk(view: View, ranges: Ranges) -> list[Container]:
    """Return the containers."""
    return [
        container for start, stop in ranges for container in walk(view.window(start, stop - start))
    ]


def main(paths: list[str]) -> None:
    """Print one row for each file."""
    measure.say_where()
    rows = []
    for path in paths:
        with (
            Path(path).open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            view = View(data, path)
            sections = read_sections(view, read_elf_header(view), DEFAULT_LIMITS)
            ranges = [(s.offset, s.offset + s.size) for s in sections if s.name in _NAMES]

            def bare(data: mmap.mmap = data, ranges: Ranges = ranges) -> float:
                begin = time.perf_counter()
                for _ in range(_REPEATS):
                    bare_walk(data, ranges)
                return (time.perf_counter() - begin) / _REPEATS

            def checked(view: View = view, ranges: Ranges = ranges) -> float:
                begin = time.perf_counter()
                for _ in range(_REPEATS):
                    checked_walk(view, ranges)
                return (time.perf_counter() - begin) / _REPEATS

            def described(view: View = view, ranges: Ranges = ranges) -> float:
                begin = time.perf_counter()
                for _ in range(_REPEATS):
                    for container in checked_walk(view, ranges):
                        _ = container.headers
                return (time.perf_counter() - begin) / _REPEATS

            entries = sum(map(len, bare_walk(data, ranges)))
            plain, named = measure.pairs(bare, checked), measure.pairs(bare, described)
            rows.append(
                (
                    Path(path).name,
                    f"{entries:,}",
                    measure.ms(plain.first),
                    measure.ms(plain.second),
                    measure.spread(plain),
                    measure.ms(named.second),
                    measure.spread(named),
                )
            )
    head = ("file", "entries", "bare walk", "checked walk", "ratio", "with named fields", "ratio")
    measure.table(head, rows)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(__doc__)
    main(sys.argv[1:])
