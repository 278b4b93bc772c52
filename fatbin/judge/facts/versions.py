"""Versions in texts of files that anybody may have made."""

from __future__ import annotations

__all__ = ["version_numbers"]

_MOST_DIGITS = 9
"""Of one number; what has more is no version, and Python refuses to read some thousands."""


def version_numbers(text: str) -> tuple[int, ...]:
    """Return a version as numbers; empty when the text is none."""
    parts = text.split(".")
    read = all(p.isascii() and p.isdigit() and len(p) <= _MOST_DIGITS for p in parts)
    return tuple(map(int, parts)) if read else ()
