"""Tables of real libraries are those that pyelftools, LIEF and pefile read."""

from __future__ import annotations

import mmap
from pathlib import Path

import corpus
import expected
import pytest
from host_tables import (
    our_dynamic,
    our_pe,
    ours,
    pefile_tables,
    pyelftools,
    pyelftools_dynamic,
)

pytestmark = pytest.mark.real

_ELF = {
    f"{case.wheel.name}-{case.wheel.version}/{Path(case.member).name}": case
    for case in expected.ALL
    if case.format == "elf"
}
_PE = {Path(case.member).name: case for case in expected.ALL if case.format == "pe"}


@pytest.mark.parametrize("name", _ELF)
def test_pyelftools_reads_the_same(name: str) -> None:
    path = corpus.library(_ELF[name].wheel, _ELF[name].member)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        tables = ours(data)
        assert tables == pyelftools(file)
        assert len(tables.sections) > 20
        theirs = pyelftools_dynamic(file)
        assert theirs.soname or theirs.needed
        assert our_dynamic(data) == theirs


@pytest.mark.parametrize("name", _PE)
def test_pefile_reads_the_same(name: str) -> None:
    path = corpus.library(_PE[name].wheel, _PE[name].member)
    tables = our_pe(path)
    assert tables == pefile_tables(path)
    assert tables.imports == _PE[name].needed
