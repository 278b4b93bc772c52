"""The table of runs in ``fuzz/HISTORY.md``."""

from __future__ import annotations

import platform
import re
from datetime import datetime, timezone
from threading import Lock
from typing import TYPE_CHECKING

from fuzz.target import HERE

if TYPE_CHECKING:
    from pathlib import Path

    from fuzz.session import Result

HISTORY = HERE / "HISTORY.md"
_END = "<!-- end of runs -->\n"
_TOTALS, _END_OF_TOTALS = "<!-- totals -->\n", "<!-- end of totals -->\n"
_ROW = re.compile(
    r"^\| \S+ \| \S+ \| (\w+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| [\d,]+ \| (\d+) \|$",
    re.MULTILINE,
)
_AIM = 3600
_CLASSES = dict.fromkeys(("host", "archive", "package", "image"), "readers")
"""Targets that are one class: they read what device code lies in. Every other is one of its own."""
_LOCK = Lock()


def record(result: Result, path: Path = HISTORY) -> None:
    """Add the row of a target that ran, and add all rows up again.

    Raises:
        ValueError: the file lacks a line that tells where.
    """
    day = datetime.now(tz=timezone.utc).date().isoformat()
    python = ".".join(platform.python_version_tuple()[:2])
    row = (
        f"| {day} | {python} | {result.target} | {result.seconds:,} | {result.executions:,} "
        f"| {result.edges:,} | {result.corpus:,} | {len(result.finds)} |\n"
    )
    with _LOCK:  # targets can run side by side
        text = path.read_text("utf-8")
        for line in (_END, _TOTALS, _END_OF_TOTALS):
            if line not in text:
                msg = f"{path}: expected the line {line.strip()}, found none"
                raise ValueError(msg)
        text = text.replace(_END, row + _END)
        head, _, rest = text.partition(_TOTALS)
        _, _, tail = rest.partition(_END_OF_TOTALS)
        path.write_text(f"{head}{_TOTALS}{totals(text)}{_END_OF_TOTALS}{tail}", "utf-8")


def totals(text: str) -> str:
    """Return the tables of what the rows of all runs come to, for each target and each class."""
    rows = _ROW.findall(text)
    classes = [(_CLASSES.get(name, name), *numbers) for name, *numbers in rows]
    return f"{_table('target', rows)}\n{_table('class', classes)}"


def _table(what: str, found: list[tuple[str, ...]]) -> str:
    sums: dict[str, list[int]] = {}
    for name, *numbers in found:
        seconds, executions, edges, finds = (int(n.replace(",", "")) for n in numbers)
        one = sums.setdefault(name, [0, 0, 0, 0])
        one[0] += seconds
        one[1] += executions
        one[2] = max(one[2], edges)
        one[3] += finds
    rows = [
        f"| {name} | {seconds:,} | {100 * seconds // _AIM} % | {executions:,} | {edges:,} | {finds} |"
        for name, (seconds, executions, edges, finds) in sums.items()
    ]
    all_of = [sum(one[i] for one in sums.values()) for i in (0, 1, 3)]
    share = 100 * all_of[0] // (_AIM * max(1, len(sums)))
    rows.append(f"| all | {all_of[0]:,} | {share} % | {all_of[1]:,} | | {all_of[2]} |")
    return "\n".join(
        [
            f"| {what} | seconds | of an hour | executions | most edges | finds |",
            "|---" * 6 + "|",
            *rows,
            "",
        ]
    )
