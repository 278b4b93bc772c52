"""Fixtures against one cuobjdump, by the table of differences that the tests use."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

import fatbin

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "differential"))

from cuobjdump_answers import EXTRACTIONS, ask, images, our_images, respects
from differences import expected


class Found(NamedTuple):
    """How the table fails on one file; each a list of respects.

    Attributes:
        file: its name.
        undocumented: differences that are not in the table.
        gone: differences that are in the table and do not show.
    """

    file: str
    undocumented: list[str]
    gone: list[str]


def compare(path: Path, name: str, cuobjdump: Path, version: str, folder: Path) -> Found:
    """Compare what fatbin and a cuobjdump make of a file.

    Args:
        path: the file.
        name: under which the table knows it.
        cuobjdump: to ask.
        version: of that one.
        folder: an empty one, for images.
    """
    seen = respects(fatbin.scan(os.fspath(path)), ask(cuobjdump, path))
    for option in EXTRACTIONS:
        theirs, ours = images(cuobjdump, option, path, folder), our_images(option, path)
        if theirs != ours:
            seen.add(option)
        if not theirs <= ours:
            seen.add(f"{option} (images that fatbin does not find)")
    known = expected("cuobjdump", version, name)
    return Found(name, sorted(seen - known), sorted(known - seen))
