"""What device code takes in the files, by kind and architecture, as bars of SVG."""

from __future__ import annotations

import re
from html import escape

from fatbin.errors import printable
from fatbin.report.table import size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fatbin.judge.verdict import LibraryVerdict

_MOST_BARS = 40
_ROW, _BAR, _TEXT = 34, 10, 14
_KINDS = {"sass": "SASS", "ptx": "PTX", "relocatable-ptx": "relocatable PTX", "ltoir": "LTO-IR"}


def total_sizes(libraries: Iterable[LibraryVerdict]) -> dict[str, int]:
    """Return the bytes of all libraries together: SASS first, then PTX, by architecture."""
    found: dict[str, int] = {}
    for library in libraries:
        for what, size in library.code_sizes:
            found[what] = found.get(what, 0) + size
    return dict(sorted(found.items(), key=lambda item: _order(item[0])))


def _order(what: str) -> tuple[int, str, int, str]:
    kind, _, arch = what.partition(" ")
    number = re.search(r"[0-9]{1,9}", arch)
    rank = list(_KINDS).index(kind) if kind in _KINDS else len(_KINDS)
    return rank, kind, int(number[0]) if number else 0, arch


def chart(libraries: Iterable[LibraryVerdict]) -> str:
    """Return the chart; empty when there is nothing to draw.

    Widths are shares of the page, so that words keep their size on a telephone.
    """
    sizes = total_sizes(libraries)
    if not sizes:
        return ""
    shown = sizes
    if len(sizes) > _MOST_BARS:
        kept = sorted(sizes, key=sizes.__getitem__, reverse=True)[: _MOST_BARS - 1]
        shown = {what: size for what, size in sizes.items() if what in kept}
        rest = sum(sizes.values()) - sum(shown.values())
        shown[f"{len(sizes) - len(kept):,} others"] = rest
    total, most = sum(sizes.values()), max(1, *shown.values())
    rows = [
        _bar(number, what, size, share=size / (total or 1), width=size / most)
        for number, (what, size) in enumerate(shown.items())
    ]
    return (
        f"<section><h2>Device code by architecture <small>{size_text(total)} stored</small></h2>"
        f'<svg class="chart" role="group" aria-label="Device code by architecture" '
        f'width="100%" height="{len(rows) * _ROW}">{"".join(rows)}</svg></section>'
    )


def _bar(number: int, what: str, size: int, *, share: float, width: float) -> str:
    kind, _, arch = what.partition(" ")
    shown = f"{_KINDS[kind]} {arch}" if kind in _KINDS else what
    label = escape(printable(shown)).encode("ascii", "xmlcharrefreplace").decode()
    base = number * _ROW + _TEXT
    tone = "sass" if kind == "sass" else "ptx"
    return (
        f'<text x="0" y="{base}">{label}</text>'
        f'<text x="100%" y="{base}" text-anchor="end">{size_text(size)} ({share:.1%})</text>'
        f'<rect class="rail" x="0" y="{base + 4}" width="100%" height="{_BAR}" rx="2"/>'
        f'<rect class="{tone}" x="0" y="{base + 4}" width="{max(width, 0.002):.2%}" '
        f'height="{_BAR}" rx="2"/>'
    )
