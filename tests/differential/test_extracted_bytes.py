"""Extracted images are, byte for byte, those that cuobjdump extracts."""

from __future__ import annotations

from pathlib import Path

import pytest
from cuobjdump_answers import EXTRACTIONS, images, our_images
from differences import expected
from support import FIXTURES, manifest

_NAMES = sorted(row["file"] for row in manifest())


@pytest.mark.parametrize("option", EXTRACTIONS)
@pytest.mark.parametrize("name", _NAMES)
def test_the_same_bytes(cuobjdump: Path, name: str, option: str, tmp_path: Path) -> None:
    theirs = images(cuobjdump, option, FIXTURES / name, tmp_path)
    ours = our_images(option, FIXTURES / name)
    assert theirs <= ours
    assert (theirs != ours) == (option in expected("cuobjdump", "13.5.37", name))


def test_most_fixtures_can_be_compared(cuobjdump: Path, tmp_path: Path) -> None:
    found = [images(cuobjdump, "-xelf", FIXTURES / name, tmp_path) for name in _NAMES]
    assert sum(bool(one) for one in found) >= 90


def test_images_of_one_name_are_written_over_each_other(cuobjdump: Path, tmp_path: Path) -> None:
    path = FIXTURES / "concat_ident.fatbin"
    assert images(cuobjdump, "-xelf", path, tmp_path).total() == 5
    assert our_images("-xelf", path).total() == 6
