"""The dynamic section as LIEF reads it, and what a loader makes of its paths."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import lief
import pytest
from support import FIXTURES, require

import fatbin
from fatbin.format.elf import read_elf_header, read_segments
from fatbin.format.view import View
from fatbin.limits import Limits
from fatbin.scanning.dynamic import Dynamic, read_dynamic

LIBRARIES = sorted({*FIXTURES.glob("*.so"), *FIXTURES.glob("exe_*")} - {FIXTURES / "truncated.so"})
LOADED = sorted(
    {
        str(module.__file__)
        for module in list(sys.modules.values())
        if str(getattr(module, "__file__", "")).endswith(".so")
    }
)
"""Extension modules that this very Python runs with."""


def dynamic(data: bytes, limits: Limits = Limits()) -> Dynamic:  # noqa: B008 - never changed
    view = View(data, "x.so")
    header = read_elf_header(view)
    return read_dynamic(view, header, read_segments(view, header, limits), limits)


def as_lief_reads_it(path: Path) -> Dynamic:
    binary = lief.ELF.parse(path)
    assert isinstance(binary, lief.ELF.Binary)
    tags = lief.ELF.DynamicEntry.TAG
    found: dict[object, list[str]] = {tags.SONAME: [], tags.RPATH: [], tags.RUNPATH: []}
    for entry in binary.dynamic_entries:
        if isinstance(entry, lief.ELF.DynamicSharedObject):
            found[entry.tag].append(str(entry.name))
        elif isinstance(entry, lief.ELF.DynamicEntryRpath | lief.ELF.DynamicEntryRunPath):
            found[entry.tag] += [str(folder) for folder in entry.paths]
    return Dynamic(
        soname="".join(found[tags.SONAME]),
        needed=tuple(str(name) for name in binary.libraries),
        rpath=tuple(found[tags.RPATH]),
        runpath=tuple(found[tags.RUNPATH]),
    )


@pytest.mark.parametrize("path", LIBRARIES, ids=lambda path: path.name)
def test_fixtures_say_what_lief_says(path: Path) -> None:
    assert dynamic(path.read_bytes()) == as_lief_reads_it(path)


def test_what_runs_here_says_what_lief_says() -> None:
    if not LOADED or sys.platform != "linux":
        require("extensions", "no ELF extension module is loaded")
    for name in LOADED:
        assert dynamic(Path(name).read_bytes()) == as_lief_reads_it(Path(name)), name
    assert any(dynamic(Path(name).read_bytes()).needed for name in LOADED)


def test_there_are_libraries_to_compare() -> None:
    assert len(LIBRARIES) >= 5


TAGS = {"needed": 1, "soname": 14, "rpath": 15, "runpath": 29}
STRINGS = b"\0lib.so\0x:y\0\xff.so\0"


def library(*tags: tuple[str, int], strings: bytes = STRINGS, size: int | None = None) -> bytes:
    """An ELF file with these tags."""
    at = 64 + 3 * 56
    count = len(tags) + 3
    where = at + count * 16
    pairs = [
        (5, where),
        (10, len(strings) if size is None else size),
        *((TAGS[name], value) for name, value in tags),
        (0, 0),
    ]
    table = b"".join(struct.pack("<QQ", *pair) for pair in pairs)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0)
    rows = b"".join(
        struct.pack("<IIQQQQQQ", kind, 4, offset, offset, 0, length, length, 1)
        for kind, offset, length in (
            (1, at, len(table)),
            (1, where, len(strings)),
            (2, at, len(table)),
        )
    )
    return ident + head + rows + table + strings


def test_the_paths_are_told_apart() -> None:
    found = dynamic(library(("needed", 1), ("rpath", 8), ("runpath", 1), ("soname", 1)))
    assert found == Dynamic("lib.so", ("lib.so",), ("x", "y"), ("lib.so",))


def test_a_name_of_other_bytes_is_kept() -> None:
    assert dynamic(library(("needed", 12))).needed == ("\\xff.so",)


def test_a_name_without_an_end_goes_to_the_end_of_the_table() -> None:
    assert dynamic(library(("needed", 1), strings=b"\0ab")).needed == ("ab",)


def test_a_name_beyond_the_table_says_where() -> None:
    with pytest.raises(fatbin.FormatError, match="string table of 17 bytes, found 17") as caught:
        dynamic(library(("needed", 1), ("runpath", len(STRINGS))))
    assert (caught.value.offset, caught.value.field) == (64 + 3 * 56 + 3 * 16, "DT_RUNPATH")


def test_a_table_that_is_not_in_the_file() -> None:
    with pytest.raises(fatbin.TruncatedError, match="dynamic string table"):
        dynamic(library(("needed", 1), size=1 << 20))
    with pytest.raises(fatbin.LimitExceededError):
        dynamic(library(("needed", 1)), Limits(header_bytes=8))


def test_a_damaged_section_leaves_the_device_code(tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(library(("needed", 99)))
    (found,) = fatbin.scan(path, linkage=True).libraries
    assert found.linkage is None
    assert [issue.code for issue in found.issues] == ["Format"]
