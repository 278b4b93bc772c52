"""How long judging takes: 20,000 modules for eight GPUs, and the inventory of a real library.

``python benchmarks/judge.py [FILE...]`` prints seconds for a made library whose modules are all
alike, for one with every combination of its architectures, and for each file the time of scanning
and of judging.
"""

from __future__ import annotations

import sys
import time

import fatbin
from fatbin.arch import architecture
from fatbin.inventory import Entry, Inventory, Library, Module
from fatbin.kinds import Place

GPUS = "7.5 8.0 8.6 8.9 9.0 10.0 12.0 12.1"
MODULES = 20_000
SASS = (75, 80, 86, 89, 90, 100, 120)


def module(index: int, *, alike: bool) -> Module:
    """Make a module of seven cubins and a PTX, or of some of them."""
    picked = [*SASS, 0] if alike else [n for bit, n in enumerate((*SASS, 0)) if index >> bit & 1]
    return Module(
        place=Place.LOADABLE,
        form="container",
        entries=tuple(
            Entry(
                place=Place.LOADABLE,
                kind="sass" if number else "ptx",
                arch=architecture(number or 120, "", virtual=not number),
                isa_version="" if number else "8.8",
                offset=index,
            )
            for number in picked
        ),
    )


def judged(inventory: Inventory) -> float:
    """Return the seconds that judging takes."""
    start = time.perf_counter()
    fatbin.check(inventory, gpus=GPUS, driver="580")
    return time.perf_counter() - start


def main(files: list[str]) -> None:
    """Print a line for each case."""
    print(f"{MODULES:,} modules of up to 8 entries, 8 GPUs")
    for alike in (True, False):
        modules = tuple(module(i, alike=alike) for i in range(MODULES))
        library = Library(location="made", format="elf", modules=modules)
        times = sorted(judged(Inventory(libraries=(library,))) for _ in range(3))
        print(f"  {'alike' if alike else 'combinations':12} {times[0]:6.2f} s (best of 3)")
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
