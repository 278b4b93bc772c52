"""Rows of the manifest can be measured again, and come out as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import recording
from rebuilding import ASKED
from support import FIXTURES, manifest

_SOME = (
    "multi.fatbin",
    "saxpy_100a.cubin",
    "lib_rdc.so",
    "libmixed.a",
    "truncated.fatbin",
    "noshdr.so",
    "embedded_rodata.o",
    "padded_containers.fatbin",
)


def test_the_manifest_is_written_as_it_is_read(tmp_path: Path) -> None:
    recording.write_manifest(tmp_path, recording.read_manifest(FIXTURES))
    assert (tmp_path / "manifest.json").read_bytes() == (FIXTURES / "manifest.json").read_bytes()


@pytest.mark.parametrize(
    "row", [r for r in manifest() if r["file"] in _SOME], ids=lambda r: r["file"]
)
def test_a_row_comes_out_as_it_is(cuobjdump: Path, row: dict[str, Any]) -> None:
    assert recording.record(row, FIXTURES, cuobjdump) == row


def test_every_variable_of_a_command_has_a_value() -> None:
    document = recording.read_manifest(FIXTURES)
    known = {*document["variables"], "TMP"}
    assert set(ASKED) <= known
    for row in document["fixtures"]:
        used = {part.split()[0].strip("\"';") for part in row["command"].split("$")[1:]}
        assert {name.partition("/")[0] for name in used} <= known, row["file"]


def test_every_source_and_script_of_a_command_is_there() -> None:
    for row in manifest():
        for word in row["command"].replace("'", " ").split():
            if word.startswith("src/"):
                assert (FIXTURES / word).is_file(), row["file"]
