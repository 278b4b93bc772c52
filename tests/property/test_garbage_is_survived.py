"""Whatever the bytes: a result or a FatbinError, and every accessor of the result works."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import containers
from support import FIXTURES

import fatbin
from fatbin.format.build import EntrySpec, build
from fatbin.inventory import Inventory

LIMITS = fatbin.Limits(image_bytes=1 << 20, ratio=1000)
SEEDS = sorted(
    path
    for path in FIXTURES.iterdir()
    if path.is_file() and path.suffix != ".json" and path.stat().st_size < 30_000
)
MAGICS = st.sampled_from(
    [b"\x50\xed\x55\xba\x01\0\x10\0", b"\x7fELF\2\1\1", b"\x7fELF\1\1\1", b"MZ", b"!<arch>\n",
     b"!<thin>\n", b"\xed\x43\x4e\x7f", b".version 8.0\n.target sm_80\n", b"\x64\x86\1\0"]
)  # fmt: skip


def touch(data: bytes) -> Inventory | None:
    """Scan, verify, print, and go through JSON; only FatbinError may come out."""
    try:
        inventory = fatbin.scan_bytes(data, "seed", limits=LIMITS, verify=True)
    except fatbin.FatbinError as exc:
        assert "\n" not in str(exc)
        assert not str(exc).endswith(".")
        return None
    for issue in inventory.all_issues:
        assert "\n" not in str(issue)
        assert issue.offset <= max(len(data), 1 << 65)
    for library in inventory.libraries:
        assert library.sass is not None
        assert library.ptx is not None
        for entry in library.entries:
            assert str(entry.arch)
    assert Inventory.from_json(json.dumps(inventory.to_dict())) == inventory
    return inventory


def touch_file(data: bytes) -> None:
    """Scan a file, which also is read through a descriptor and has a linkage."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "seed")
        path.write_bytes(data)
        try:
            inventory = fatbin.scan(path, limits=LIMITS)
        except fatbin.FatbinError as exc:
            assert "\n" not in str(exc)
            return
    assert Inventory.from_json(inventory.to_json()) == inventory


@given(MAGICS, st.binary(max_size=600))
def test_garbage_behind_a_magic(magic: bytes, data: bytes) -> None:
    touch(magic + data)


@given(st.binary(max_size=200))
def test_garbage(data: bytes) -> None:
    touch(data)


@given(containers, st.data())
def test_damaged_containers(wanted: list[list[EntrySpec]], data: st.DataObject) -> None:
    blob = bytearray(b"".join(build(entries) for entries in wanted) or b"\x50\xed\x55\xba")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(blob) - 1))
        blob[at] = data.draw(st.integers(0, 255))
    touch(bytes(blob[: data.draw(st.integers(1, len(blob)))]))


@settings(max_examples=max(10, settings().max_examples // 8))  # for each of 150 files
@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.name)
@given(data=st.data())
def test_damaged_fixtures(path: Path, data: st.DataObject) -> None:
    blob = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(blob) - 1))
        size = data.draw(st.sampled_from([1, 2, 4, 8]))
        value = data.draw(
            st.sampled_from([0, 1, 0x7F, 0x80, 0xFF, 0xFFFFFFFF, 1 << 31]) | st.integers(0, 1 << 64)
        )
        blob[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")
    if data.draw(st.booleans()):
        del blob[data.draw(st.integers(1, len(blob))) :]
    touch(bytes(blob))
    touch_file(bytes(blob))
