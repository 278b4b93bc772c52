"""How long judging takes: 20,000 modules for eight GPUs, and the inventory of a real library.

``python benchmarks/judge.py [FILE...]`` prints seconds for a synthetic library whose modules are all
alike, for one whose modules all differ, and for each file the time of scanning and of judging.
"""

from __future__ import annotations

import sys
import time

import fatbin
from fatbin.arch import Architecture
from fatbin.inventory import Entry, Inventory, Library, Module
from fatbin.kinds import Place

GPUS = "7.5 8.0 8.6 8.9 9.0 10.0 12.0 12.1"
MODULES = 20_000
SASS = (75, 80, 86, 89, 90, 100, 120)


def module(index: int, *, alike: bool) -> Module:
    """Make a module of seven cubins and a PTX; of modules that differ the toolkit does too."""
    entries = [
        Entry(
            place=Place.LOADABLE,
            kind="sass",
            arch=Architecture(number),
            toolkit="" if alike else f"12.{index}",
            offset=index,
        )
        for number in SASS
    ]
    entries.append(
        Entry(
            place=Place.LOADABLE,
            kind="ptx",
            arch=Architecture(120, virtual=True),
            isa_version="8.8",
            offset=index,
        )
    )
    return Module(place=Place.LOADABLE, form="container", entries=tuple(entries))


def judged(inventory: Inventory) -> float:
    """Return the seconds that judging takes."""
    start = time.perf_counter()
    fatbin.check(inventory, gpus=GPUS, driver="580")
    return time.perf_counter() - start


def main(files: list[str]) -> None:
    """Print a line for each case."""
    print(f"{MODULES:,} modules of 8 entries, 8 GPUs")
    for alike in (True, False):
        modules = tuple(module(i, alike=alike) for i in range(MODULES))
        library = Library(location="made", format="elf", modules=modules)
        times = sorted(judged(Inventory(libraries=(library,))) for _ in range(3))
        print(f"  {'alike' if alike else 'all different':14} {times[0]:6.2f} s (best of 3)")
    for path in files:
        start = time.perf_counter()
        inventory = fatbin.scan(path)
        scanned = time.perf_counter() - start
        number = sum(len(library.modules) for library in inventory.libraries)
        print(
            f"{path}\n  {number:,} modules: scan {scanned:.2f} s, judge {judged(inventory):.2f} s"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
