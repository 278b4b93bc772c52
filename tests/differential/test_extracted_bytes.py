"""Extracted images are, byte for byte, those that cuobjdump extracts."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest
from support import FIXTURES, manifest

from fatbin.survey.extract import Extraction, Form
from fatbin.survey.folder import Folder
from fatbin.survey.selection import select

_KINDS = {"-xelf": "sass", "-xptx": "ptx,relocatable-ptx"}
_NAMES = sorted(row["file"] for row in manifest())

OVERWRITTEN = {("concat_ident.fatbin", "-xelf"): "two images go to same.sm_100.cubin"}
"""Where it writes fewer files than it says: equal identifiers give equal names."""
NOT_SEEN = {
    "libmixed.a": "members that are fatbins or cubins",
    "libthin.a": "members are looked for beside the caller, not beside the archive",
}
"""What cuobjdump passes over, besides files on which it fails or sees no device code."""


def _theirs(cuobjdump: Path, option: str, name: str, folder: Path) -> tuple[int, Counter[str]]:
    done = subprocess.run(
        [cuobjdump, "-all", option, "all", FIXTURES / name],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return done.returncode, Counter(
        sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()
    )


def _ours(option: str, name: str) -> Counter[str]:
    extraction = Extraction(Folder(os.devnull), select(_KINDS[option]), Form(write=False))
    return Counter(file.sha256 for file in extraction.run(os.fspath(FIXTURES / name)))


@pytest.mark.parametrize("option", _KINDS)
@pytest.mark.parametrize("name", _NAMES)
def test_the_same_bytes(cuobjdump: Path, name: str, option: str, tmp_path: Path) -> None:
    code, theirs = _theirs(cuobjdump, option, name, tmp_path)
    ours = _ours(option, name)
    if (name, option) in OVERWRITTEN:
        assert (theirs.total(), ours.total()) == (5, 6)
        assert theirs < ours
    elif code or name in NOT_SEEN:
        assert theirs <= ours
    else:
        assert ours == theirs


def test_most_fixtures_can_be_compared(cuobjdump: Path, tmp_path: Path) -> None:
    whole = 0
    for index, name in enumerate(_NAMES):
        folder = tmp_path / str(index)
        folder.mkdir()
        code, theirs = _theirs(cuobjdump, "-xelf", name, folder)
        whole += not code and bool(theirs)
    assert whole >= 90
