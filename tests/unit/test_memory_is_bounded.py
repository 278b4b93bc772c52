"""Files made to exhaust memory end in a result or an error, in a process that has little of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import bombs
import pytest
from support import FIXTURES, ROOT, require

ALLOWED_MEBIBYTES = 400
"""Beyond what the interpreter has with all modules, and beyond the file itself."""
HOSTILE = sorted(FIXTURES.glob("hostile_*.fatbin"))
WANTED = {
    "empty_entries": "entries: more than 200000 entries",
    "embedded_entries": "entries: more than 20000 entries",
    "group_members": "entries: more than 20000 entries",
    "declared_huge": "image_bytes: declared size of 1099511627776 bytes",
    "zeros_within_limits": "image_bytes: there is no memory for an image of 1048576000 bytes",
    "many_sections": "sections: 200002 sections are more than the limit",
    "overlapping_sections": "",
    "overlapping_notes": "note: the note segments overlap",
    "zip_of_zeros": "member_ratio: ",
    "tar_of_zeros": "member_ratio: ",
    "layer_of_zeros": "member_ratio: ",
    "empty_gzip": "streams: more than ",
    "empty_bzip2": "streams: more than ",
    "many_in_a_zip": "",
    "many_in_a_tar": "",
    "many_in_an_archive": "members: more than 20000 members",
    "archives_in_archives": "depth: archives are nested more than 4 deep",
    "false_signatures": "header_size: ",
    "directives": "containers: more than 200000 PTX directives",
    "deep_document": "expected an inventory as JSON, found: ",
    "huge_document": "(limit document_bytes)",
}
"""How the first thing that is told begins, or what it holds; nothing for files that are read whole."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return what a process with little memory says of each file."""
    if sys.platform != "linux":
        require("starved", "the limit on address space is Linux's")
    folder = tmp_path_factory.mktemp("bombs")
    paths = [bombs.write(make, folder) for make in bombs.BOMBS]
    good = FIXTURES / "lib_3arch.so"
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/starved.py"), str(ALLOWED_MEBIBYTES),
         *map(str, (good, *HOSTILE, *paths))],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    for path in paths:
        path.unlink()
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["file"]: row for row in rows}


def test_every_bomb_has_its_row() -> None:
    assert [make.__name__ for make in bombs.BOMBS] == list(WANTED)


@pytest.mark.parametrize("name", WANTED)
def test_a_bomb_ends_within_the_memory(told: dict[str, dict[str, Any]], name: str) -> None:
    row = told[name]
    assert row["error"] in {"", "InventoryError", "LimitExceededError"}
    if not WANTED[name]:
        assert row["issues"] == []
        return
    assert WANTED[name] in row["issues"][0]
    # What is not whole never passes: damage is FB501.
    assert row["outcome"] in {"", "FAIL"}
    assert bool(row["error"]) == (row["outcome"] == "")


def test_members_behind_many_others_are_found(told: dict[str, dict[str, Any]]) -> None:
    for name in ("many_in_a_zip", "many_in_a_tar"):
        assert told[name]["entries"] == 1
        assert told[name]["outcome"] == "PASS"


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.stem)
def test_a_hostile_fixture_ends_within_the_memory(
    told: dict[str, dict[str, Any]], path: Path
) -> None:
    row = told[path.name]
    assert row["error"] in {"", "UnknownFormatError"}
    assert row["issues"] or row["entries"]


def test_with_no_memory_at_all_the_test_would_fail(tmp_path: Path) -> None:
    if sys.platform != "linux":
        require("starved", "the limit on address space is Linux's")
    bomb = bombs.write(bombs.empty_entries, tmp_path)
    good = FIXTURES / "lib_3arch.so"
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/starved.py"), "4", str(good), str(bomb)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert "MemoryError" in done.stdout + done.stderr
