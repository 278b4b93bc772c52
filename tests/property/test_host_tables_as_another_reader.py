"""Tables of host files, whole or with bytes changed: what another reader reads, or an error of ours.

ELF files are compared with pyelftools. Where both read tables, they are the same, but for what the table of differences says: program
headers at offset 0, and names without a name table. Where ours raises, so does pyelftools, unless
the names alone are lost. pyelftools raises more often: it looks at contents of sections too.

PE files are compared with pefile, which sorts sections by address.
"""

from __future__ import annotations

import io
from pathlib import Path

import pefile
import pytest
from elftools.common.exceptions import ELFError
from host_tables import Tables, our_dynamic, our_pe, ours, pefile_tables, pyelftools
from hosts import Section, elf, pe
from hypothesis import given, settings
from hypothesis import strategies as st
from support import FIXTURES

from fatbin.errors import FatbinError
from fatbin.format.elf import read_elf_header
from fatbin.format.view import View

_WHOLE = (
    (FIXTURES / "lib_1arch.so").read_bytes(),
    (FIXTURES / "host_1arch.o").read_bytes(),
    (FIXTURES / "saxpy_80.cubin").read_bytes(),
)
_NAMES = st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=20)
_SECTIONS = st.builds(
    Section,
    _NAMES,
    st.binary(max_size=60),
    executable=st.booleans(),
    nobits=st.booleans(),
    align=st.sampled_from((1, 8)),
)
_MADE = st.builds(
    lambda sections, bits, kind: elf(*sections, bits=bits, kind=kind),
    st.lists(_SECTIONS, max_size=6),
    st.sampled_from((32, 64)),
    st.sampled_from((1, 2, 3)),
)
_FILES = _MADE | st.sampled_from(_WHOLE)
_PLACES = st.tuples(st.sampled_from(("header", "segments", "sections")), st.integers(0, 511))
_CHANGES = st.lists(st.tuples(_PLACES, st.integers(0, 255)), min_size=1, max_size=3)


def _theirs(data: bytes) -> Tables | None:
    try:
        return pyelftools(io.BytesIO(data))
    except (ELFError, OverflowError):  # a number that Python cannot seek to
        return None


def _changed(data: bytes, changes: list[tuple[tuple[str, int], int]]) -> bytes:
    header = read_elf_header(View(data))
    starts = {"header": 16, "segments": header.phoff, "sections": header.shoff}
    out = bytearray(data)
    for (place, offset), value in changes:
        size = 48 if place == "header" else len(out)
        at = starts[place] + offset % size
        if at < len(out):
            out[at] = value
    return bytes(out)


def _comparable(data: bytes, tables: Tables) -> Tables:
    """Leave out what the table of differences has, and names that are no ASCII."""
    header = read_elf_header(View(data))
    index = header.shstrndx
    named = 0 < index < len(tables.sections) and tables.sections[index][1] != 8
    return Tables(
        [(s[0] if named and s[0].isascii() else "", *s[1:]) for s in tables.sections],
        tables.segments if header.phoff else [],
    )


@given(_FILES)
def test_whole_files(data: bytes) -> None:
    assert ours(data) == _theirs(data)


@given(_FILES, _CHANGES)
def test_changed_files(data: bytes, changes: list[tuple[tuple[str, int], int]]) -> None:
    damaged = _changed(data, changes)
    theirs = _theirs(damaged)
    try:
        mine = ours(damaged)
    except FatbinError as error:
        assert theirs is None or "name table" in str(error)
        return
    if theirs is not None:
        left, right = _comparable(damaged, mine), _comparable(damaged, theirs)
        assert left.segments == right.segments
        for one, other in zip(left.sections, right.sections, strict=True):
            assert one[1:] == other[1:]
            assert one[0] == other[0] or not (one[0] and other[0])


@given(_CHANGES)
def test_damaged_dynamic_sections_are_survived(
    changes: list[tuple[tuple[str, int], int]],
) -> None:
    data = _changed(_WHOLE[0], changes)
    try:
        found = our_dynamic(data)
    except FatbinError:
        return
    for text in (found.soname, *found.needed, *found.rpath, *found.runpath):
        assert text.encode() in data or "\\x" in text


_PE_PARTS = {"machine": (0x44, 2), "optional header": (0x58, 240), "sections": (0x148, 160)}
_PE_CHANGES = st.lists(
    st.tuples(st.sampled_from(sorted(_PE_PARTS)), st.integers(0, 239), st.integers(0, 255)),
    max_size=3,
)


@pytest.fixture(scope="module")
def dll(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pe") / "made.dll"


@settings(max_examples=max(20, settings().max_examples // 10))  # pefile takes 60 ms a file
@given(sizes=st.lists(st.integers(0, 3000), min_size=1, max_size=4), changes=_PE_CHANGES)
def test_pe_files(dll: Path, sizes: list[int], changes: list[tuple[str, int, int]]) -> None:
    data = bytearray(pe(*(Section(f".s{i}", bytes(size)) for i, size in enumerate(sizes))))
    for part, offset, value in changes:
        start, size = _PE_PARTS[part]
        data[start + offset % size] = value
    dll.write_bytes(data)
    try:
        theirs = pefile_tables(dll)
    except pefile.PEFormatError:
        with pytest.raises(FatbinError):
            our_pe(dll)
        return
    mine = our_pe(dll)
    assert (mine.machine, mine.imports) == (theirs.machine, theirs.imports)
    assert sorted(mine.sections) == sorted(theirs.sections)
