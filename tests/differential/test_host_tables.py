"""Host tables are those that pyelftools, LIEF and pefile read, but for what the table says."""

from __future__ import annotations

import io
import struct
from importlib.metadata import version
from pathlib import Path

import pefile
import pytest
from differences import VERSIONS, expected, unused
from elftools.common.exceptions import ELFError
from host_tables import (
    Tables,
    lief_coff,
    lief_tables,
    our_coff,
    our_dynamic,
    our_pe,
    ours,
    pefile_tables,
    pyelftools,
    pyelftools_dynamic,
)
from hosts import Section, elf, pe
from support import FIXTURES, require

import fatbin

_FILES = {
    path.name: path.read_bytes()
    for path in sorted(FIXTURES.iterdir())
    if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"
}
_OBJECTS = sorted(path.name for path in FIXTURES.glob("*.obj"))
_PHOFF, _SHOFF, _PHNUM, _SHSTRNDX = 32, 40, 56, 62
_SECTION = 64
_TYPE, _SIZE, _ENTSIZE = 4, 32, 56


def _with(form: str, offset: int, value: int, data: bytes) -> bytes:
    out = bytearray(data)
    struct.pack_into(form, out, offset, value)
    return bytes(out)


def _section_at(data: bytes, index: int) -> int:
    return int(struct.unpack_from("<Q", data, _SHOFF)[0]) + index * _SECTION


def _made() -> dict[str, bytes]:
    plain = elf(Section(".a", b"x" * 24), Section(".b", b"", nobits=True))
    names = struct.unpack_from("<H", plain, _SHSTRNDX)[0]
    symbols = _with("<I", _section_at(plain, 1) + _TYPE, 2, plain)
    symbols = _with("<Q", _section_at(plain, 1) + _ENTSIZE, 24, symbols)
    return {
        "made: plain": plain,
        "made: 32 bits": elf(Section(".a", b"x" * 24), bits=32),
        "made: program headers at 0": _with("<H", _PHNUM, 2, _with("<H", 54, 56, plain)),
        "made: no name table": _with("<H", _SHSTRNDX, 0, plain),
        "made: name table without bytes": _with("<I", _section_at(plain, names) + _TYPE, 8, plain),
        "made: odd symbol table": _with("<Q", _section_at(plain, 1) + _SIZE, 23, symbols),
    }


_MADE = _made()


def _tables(data: bytes) -> Tables | None:
    try:
        return ours(data)
    except fatbin.FatbinError:
        return None


def _respects(mine: Tables | None, theirs: Tables | None) -> set[str]:
    if mine is None or theirs is None:
        return set() if mine is theirs else {"refused"}
    found = set()
    if mine.segments != theirs.segments:
        found.add("segments")
    if [s[0] for s in mine.sections] != [s[0] for s in theirs.sections]:
        found.add("names")
    if [s[1] for s in mine.sections] != [s[1] for s in theirs.sections]:
        found.add("types")
    if [s[2:] for s in mine.sections] != [s[2:] for s in theirs.sections]:
        found.add("sections")
    return found


def test_every_pattern_of_the_table_names_a_file() -> None:
    for tool in ("pyelftools", "LIEF"):
        assert unused(tool, {*_FILES, *_MADE}) == []
    assert len(_FILES) >= 59


@pytest.mark.parametrize("name", [*_FILES, *_MADE])
def test_pyelftools_reads_the_same(name: str) -> None:
    data = _FILES.get(name) or _MADE[name]
    try:
        theirs = pyelftools(io.BytesIO(data))
    except ELFError:
        theirs = None
    found = _respects(_tables(data), theirs)
    assert found == expected("pyelftools", VERSIONS["pyelftools"][-1], name)


@pytest.mark.parametrize("name", _FILES)
def test_lief_reads_the_same(name: str) -> None:
    if version("lief") not in VERSIONS["LIEF"]:
        require("lief", f"the table knows {VERSIONS['LIEF']}, installed is {version('lief')}")
    theirs = lief_tables(FIXTURES / name)
    assert theirs is not None
    if name == "truncated.so":
        assert theirs.sections == []
        return
    assert _respects(ours(_FILES[name]), theirs) == expected("LIEF", VERSIONS["LIEF"][-1], name)


@pytest.mark.parametrize("name", sorted(set(_FILES) - {"truncated.so"}))
def test_dynamic_sections_are_the_same(name: str) -> None:
    assert our_dynamic(_FILES[name]) == pyelftools_dynamic(io.BytesIO(_FILES[name]))


def test_some_dynamic_sections_were_compared() -> None:
    found = [our_dynamic(data) for name, data in _FILES.items() if name != "truncated.so"]
    assert sum(one.needed != () for one in found) >= 3


@pytest.mark.parametrize("sections", [1, 3, 9])
def test_pefile_reads_the_same(sections: int, tmp_path: Path) -> None:
    parts = [Section(f".s{i}", bytes([i]) * (100 + 700 * i), i % 2 == 0) for i in range(sections)]
    path = tmp_path / "made.dll"
    path.write_bytes(pe(*parts))
    assert our_pe(path) == pefile_tables(path)


def test_pefile_refuses_what_fatbin_refuses(tmp_path: Path) -> None:
    path = tmp_path / "made.dll"
    path.write_bytes(pe(Section(".a", b"a"))[:0x50])
    with pytest.raises(fatbin.FatbinError):
        our_pe(path)
    with pytest.raises(pefile.PEFormatError):
        pefile_tables(path)


@pytest.mark.parametrize("name", _OBJECTS)
def test_lief_reads_the_same_objects(name: str) -> None:
    found = our_coff((FIXTURES / name).read_bytes())
    assert found == lief_coff(FIXTURES / name)
    assert {".nv_fatbin", "__nv_relfatbin"} & {section for section, _, _ in found}
