"""Whole processes: ``fatbin list FILE`` beside ``cuobjdump -all FILE`` and ``cubloaty FILE``.

Usage: python benchmarks/list.py FILE...
"""

from __future__ import annotations

import sys
from pathlib import Path

import measure


def main(paths: list[str]) -> None:
    """Print one row for each file and each other program."""
    measure.say_where()
    bare = measure.bare_python()
    others: list[tuple[str, list[str]]] = []
    cuobjdump = measure.find_cuobjdump()
    if cuobjdump is not None:
        others.append(("cuobjdump -all", [str(cuobjdump), "-all"]))
    cubloaty = measure.find_script("cubloaty")
    if cubloaty is not None:
        others.append(("cubloaty", [str(cubloaty), "--format", "json"]))
    ours = [sys.executable, "-m", "fatbin", "list"]
    rows = []
    for path in paths:
        name = f"{Path(path).name}, {Path(path).stat().st_size / 1e6:,.0f} MB"
        own = measure.memory([*ours, path])
        for other, command in others:
            pair = measure.pairs(measure.process(*ours, path), measure.process(*command, path))
            used = measure.memory([*command, path])
            rows.append(
                (
                    name,
                    other,
                    measure.ms(pair.first),
                    measure.ms(pair.second),
                    measure.spread(pair),
                    measure.mb(own.private - bare.private),
                    measure.mb(own.resident - bare.resident),
                    measure.mb(used.private),
                    measure.mb(used.resident),
                )
            )
    head = (
        "file",
        "beside",
        "fatbin list",
        "other",
        "times faster",
        "fatbin private",
        "fatbin resident",
        "other private",
        "other resident",
    )
    measure.table(head, rows)
    print("\nMemory of fatbin is above that of an interpreter that does nothing:")
    print(f"{measure.mb(bare.private)} private, {measure.mb(bare.resident)} resident.")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(__doc__)
    main(sys.argv[1:])
