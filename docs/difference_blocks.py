"""Generated blocks about other tools: the table of differences that the tests ask for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from judge_blocks import table

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "differential"))

from differences import DIFFERENCES, VERSIONS

if TYPE_CHECKING:
    from differences import Difference


def differences(tool: str) -> str:
    """Return the rows of one tool, or the ``versions`` of all that were tried."""
    if tool == "versions":
        return table(
            ["tool", "versions tried"],
            [(name, ", ".join(versions)) for name, versions in VERSIONS.items()],
        )
    rows = [row for row in DIFFERENCES if row.tool == tool]
    return table(
        ["what it does", "versions", "who is right", "why", "how that is known", "seen on"],
        [(r.what, _versions(r), r.right, r.why, r.evidence, _files(r)) for r in rows],
    )


def _versions(row: Difference) -> str:
    """Return the versions that show a difference: all, or the first and the last of them."""
    tried = VERSIONS[row.tool]
    showing = [v for v in tried if any(case.holds(v) for case in row.cases)]
    if showing == list(tried):
        return "all tried"
    if showing[-1] == tried[-1]:
        return f"{showing[0]} and later"
    if showing[0] == tried[0]:
        return f"up to {showing[-1]}"
    return f"{showing[0]} to {showing[-1]}"


def _files(row: Difference) -> str:
    patterns = dict.fromkeys(pattern for case in row.cases for pattern in case.files)
    return ", ".join(p if p.startswith("made: ") else f"`{p}`" for p in patterns)
