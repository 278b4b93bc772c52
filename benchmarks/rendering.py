"""The page and the picture of ``benchmarks/run.py``, made of the numbers that it wrote down."""

from __future__ import annotations

import json
from typing import Any

import growth
import measure

RESULTS = measure.ROOT / "benchmarks" / "results.json"
PAGE = measure.ROOT / "docs" / "reference" / "performance.md"
PICTURE = measure.ROOT / "docs" / "images" / "performance.svg"

_HEAD = """\
# Performance

What the commands cost on real libraries, beside the two programs that read the same files:
cuobjdump of the CUDA toolkit and cubloaty. Made by `python benchmarks/run.py`; how it measures
stands in `benchmarks/README.md`.

"""
_READING = """
The two sides of a row run by turns, as whole processes with the start of Python in them. Each pair
gives one ratio; the table has the median of the ratios with the smallest and the largest, so their
distance is the noise of this machine. *Cold* means that the pages of the file were dropped before
each run. Memory is private memory (the largest `RssAnon`); pages of mapped files are the page
cache's.

The programs do different work. `cuobjdump -all` lists headers, as `fatbin list` does, but does not
look outside the named sections, where `fatbin list` does. `fatbin check` counts kernels and judges
besides. `cubloaty` inflates every image to tell kernels apart; `fatbin size` inflates nothing
unless it is asked for kernels. cuobjdump is faster on a small library, where starting Python takes
as long as it takes for everything; on cuFFT, which holds 17,860 containers of one image each; and
for the resources of kernels.

![Seconds of each program by library, smaller is better](../images/performance.svg)
"""


def write() -> None:
    """Write page and picture."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(page(found), encoding="utf-8")
    _plot(found)


def page(found: dict[str, Any]) -> str:
    """Return the page as Markdown."""
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    low, high = found["load"]
    where = (
        f"{found['date']}, a shared virtual machine: {found['machine']}, load {low} before and "
        f"{high} after; {versions}. {found['rounds']} pairs a row, 3 where a process takes more "
        f"than 2 s and one where it takes more than 20 s; {2 * found['rounds']} for starts.\n"
    )
    parts = [_HEAD, where, _READING]
    parts += ["\n## Beside other programs\n\n", _table(_FILES_HEAD, _files(found))]
    bare = found["bare"]["private"]
    parts.append(
        f"\nAn interpreter that does nothing takes {measure.mb(bare)} of private memory; it is in "
        "the figures of fatbin and cubloaty.\n"
    )
    parts += ["\n## Starts\n\n", _table(_STARTS_HEAD, _starts(found))]
    points = [growth.Point(**point) for point in found["growth"]]
    parts += ["\n## Growth\n\n", _table(growth.HEAD, growth.rows(points))]
    parts.append(
        "\nBytes are padding in a data section, which is searched for containers; entries are in "
        "containers of a hundred; files are cubins in a folder. Processor time of the scan, with "
        "that of its child processes and without the start, the least of three; memory is above "
        "that of an interpreter that does nothing.\n"
    )
    return "".join(parts)


_FILES_HEAD = (
    "library",
    "fatbin",
    "beside",
    "fatbin takes",
    "other takes",
    "times faster",
    "memory",
    "other's memory",
)
_STARTS_HEAD = ("start", "whole process", "`python -c pass`", "difference")


def _files(found: dict[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for file in found["files"]:
        for row in file["rows"]:
            own, other = row["memory"]
            rows.append(
                (
                    f"{file['name']}, {file['bytes'] / 1e6:,.0f} MB",
                    f"`{row['ours']}`" + (", cold" if row["cold"] else ""),
                    f"`{row['theirs']}`",
                    measure.ms(row["first"]),
                    measure.ms(row["second"]),
                    f"{row['ratio']:.1f} ({row['least']:.1f} to {row['most']:.1f})",
                    measure.mb(own["private"]),
                    measure.mb(other["private"]),
                )
            )
    return rows


def _starts(found: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            f"`{start['name']}`",
            measure.ms(start["second"]),
            measure.ms(start["first"]),
            measure.ms(start["difference"]),
        )
        for start in found["starts"]
    ]


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _plot(found: dict[str, Any]) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - only the picture needs it
    import matplotlib.pyplot as plt  # noqa: PLC0415

    mpl.rcParams.update({"svg.hashsalt": "fatbin", "svg.fonttype": "none", "font.size": 10})
    names = [f"{file['name']}\n{file['bytes'] / 1e6:,.0f} MB" for file in found["files"]]
    series: dict[str, list[float]] = {}
    for file in found["files"]:
        warm = [row for row in file["rows"] if not row["cold"]]
        seconds = {f"fatbin {row['ours']}": row["first"] for row in warm}
        seconds |= {row["theirs"]: row["second"] for row in warm}
        for name, value in seconds.items():
            series.setdefault(name, []).append(value)
    colours = ("#0b6e4f", "#3fa34d", "#83c5be", "#bfd8bd", "#9a3b3b", "#d17a22", "#6b4c9a")
    figure, axes = plt.subplots(figsize=(9, 4.2), layout="constrained")
    width = 0.8 / len(series)
    for number, (name, values) in enumerate(sorted(series.items(), key=lambda one: one[0])):
        at = [index + (number - (len(series) - 1) / 2) * width for index in range(len(values))]
        axes.bar(at, values, width, label=name, color=colours[number % len(colours)])
    axes.set_yscale("log")
    axes.set_ylabel("seconds, whole process (log)")
    axes.set_xticks(range(len(names)), names)
    axes.legend(ncols=3, frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, metadata={"Date": None, "Creator": "benchmarks/run.py"})
