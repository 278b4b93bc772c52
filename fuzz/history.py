"""The table of runs in ``fuzz/HISTORY.md``."""

from __future__ import annotations

import platform
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from fuzz.target import HERE

if TYPE_CHECKING:
    from pathlib import Path

    from fuzz.session import Result

HISTORY = HERE / "HISTORY.md"
_END = "<!-- end of runs -->"


def record(result: Result, path: Path = HISTORY) -> None:
    """Add the row of a target that ran."""
    day = datetime.now(tz=timezone.utc).date().isoformat()
    python = ".".join(platform.python_version_tuple()[:2])
    row = (
        f"| {day} | {python} | {result.target} | {result.seconds:,} | {result.executions:,} "
        f"| {result.edges:,} | {result.corpus:,} | {len(result.finds)} |\n"
    )
    text = path.read_text("utf-8")
    if _END not in text:
        msg = f"{path}: expected the line {_END}, found none"
        raise ValueError(msg)
    path.write_text(text.replace(_END, row + _END), "utf-8")
