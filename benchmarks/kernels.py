"""Inside one process: the names of all kernels beside decompression alone.

Both read the same entries of the same open file. Decompression alone inflates into a buffer of the
declared size and looks at nothing; a plain payload is copied.

Usage: python benchmarks/kernels.py FILE...
"""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import cramjam
import measure

sys.path.insert(0, str(measure.ROOT))

import fatbin
from fatbin.kinds import Compression, Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from fatbin.scanning.opened import OpenEntry


def finished_cubins(file: fatbin.OpenFile) -> list[OpenEntry]:
    """Return the cubins that ``fatbin kernels`` opens."""
    return [
        entry
        for container in file.containers()
        for entry in container.entries
        if entry.facts.kind == "sass" and entry.facts.place is not Place.RELOCATABLE
    ]


def inflate(entries: list[OpenEntry]) -> int:
    """Inflate and forget; return the bytes."""
    total = 0
    for entry in entries:
        facts = entry.facts
        begin = entry._view.start + facts.offset + facts.header_size  # noqa: SLF001
        data = entry._view.buffer[begin : begin + facts.stored_size]  # noqa: SLF001
        buffer = bytearray(facts.size)
        if facts.compression is Compression.LZ4:
            cramjam.lz4.decompress_block_into(data, buffer, output_len=len(buffer))
        elif facts.compression is Compression.ZSTD:
            cramjam.zstd.decompress_into(data, buffer)
        else:
            buffer[:] = data
        total += len(buffer)
    return total


def names(entries: list[OpenEntry]) -> int:
    """Open each image for its kernels' names; return how many."""
    count = 0
    for entry in entries:
        image = entry.image()
        if isinstance(image, fatbin.Cubin):
            count += len(image.kernel_names)
    return count


def functions(entries: list[OpenEntry]) -> int:
    """Open each image for its functions with all resources; return how many."""
    count = 0
    for entry in entries:
        image = entry.image()
        if isinstance(image, fatbin.Cubin):
            count += len(image.functions)
    return count


def timed(call: Callable[[list[OpenEntry]], int], entries: list[OpenEntry]) -> float:
    """Return the seconds that a call takes."""
    begin = time.perf_counter()
    call(entries)
    return time.perf_counter() - begin


def main(paths: list[str]) -> None:
    """Print two rows for each file."""
    measure.say_where(3)
    rows = []
    for path in paths:
        with fatbin.open(path) as file:
            entries = finished_cubins(file)

            for what, call in (("names", names), ("all resources", functions)):
                pair = measure.pairs(
                    partial(timed, inflate, entries), partial(timed, call, entries), 3
                )
                rows.append(
                    (
                        path.rsplit("/", 1)[-1],
                        what,
                        f"{len(entries):,}",
                        f"{call(entries):,}",
                        measure.ms(pair.first),
                        measure.ms(pair.second),
                        measure.spread(pair),
                    )
                )
    measure.table(
        ("library", "what", "cubins", "found", "inflating alone", "fatbin", "ratio"), rows
    )


if __name__ == "__main__":
    main(sys.argv[1:])
