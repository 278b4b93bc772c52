"""Whatever the bytes: each is counted exactly once, and a file is no different from itself."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hosts import Section, archive, elf, pe
from hypothesis import given, settings
from hypothesis import strategies as st
from images_made import docker_archive, file, tar
from packing import tarred, wheel
from strategies import containers
from support import FIXTURES

import fatbin
from fatbin.format.build import EntrySpec, build
from fatbin.survey.diff import compare
from fatbin.survey.extract import Extraction, Form
from fatbin.survey.folder import Folder
from fatbin.survey.kernel_sizes import kernel_sizes
from fatbin.survey.kernels import kernels
from fatbin.survey.sizes import Account, account

LIMITS = fatbin.Limits(image_bytes=1 << 20)
NAMES = (".nv_fatbin", "__nv_relfatbin", ".data", ".text", ".rodata", ".nv_fatb")
SEEDS = sorted(
    path
    for path in FIXTURES.iterdir()
    if path.is_file() and path.suffix != ".json" and path.stat().st_size < 30_000
)


def of_bytes(data: bytes, read: Callable[[Path], object]) -> None:
    """Let a function read a file with these bytes; a FatbinError is an answer too."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        try:
            read(path)
        except fatbin.FatbinError as exc:
            assert "\n" not in str(exc)


def add_up(path: Path) -> Account:
    found = account(path, limits=LIMITS)
    assert found.size == path.stat().st_size
    assert found.size == found.archive + sum(library.size for library in found.libraries)
    assert found.archive >= 0
    for library in found.libraries:
        assert sum(library.parts.values()) == library.size
        overhead = (library.headers, library.padding, library.gaps, library.unread)
        assert min(*library.parts.values(), *overhead) >= 0
        assert min((piece.stored for piece in library.device), default=0) >= 0
    return found


def survey(path: Path) -> None:
    """Run everything that opens images; what it says must hang together."""
    add_up(path)
    for library in kernel_sizes(path, LIMITS):
        assert library.duplicate_code <= library.code
        assert all(kernel.images > kernel.duplicates for kernel in library.kernels)
    diff = compare(path, path, kernels=True, limits=LIMITS)
    assert diff.libraries == ()
    assert diff.mirrored() == diff


@st.composite
def hosts(draw: st.DrawFn) -> bytes:
    """A host file with containers in any section, zero bytes and junk between them."""
    sections = []
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=4)):
        pieces = [build(entries) for entries in draw(containers)]
        fill = draw(st.sampled_from([b"", bytes(8), bytes(240), b"junk", b"\x50\xed\x55\xba"]))
        sections.append(Section(name, fill.join(pieces) + fill, executable=name == ".text"))
    kind = draw(st.sampled_from(["elf64", "elf32", "object", "headless", "pe"]))
    if kind == "pe":
        return pe(*sections)
    return elf(
        *sections,
        bits=32 if kind == "elf32" else 64,
        kind=1 if kind == "object" else 3,
        table=kind != "headless",
    )


@given(hosts())
def test_hosts(data: bytes) -> None:
    of_bytes(data, add_up)


@given(hosts(), st.data())
def test_damaged_hosts(whole: bytes, data: st.DataObject) -> None:
    of_bytes(_damaged(whole, data), add_up)


@given(st.lists(hosts(), max_size=3), st.data())
def test_archives(members: list[bytes], data: st.DataObject) -> None:
    whole = archive(*((f"member{i}", member) for i, member in enumerate(members)))
    of_bytes(whole, add_up)
    of_bytes(_damaged(whole, data), add_up)


@given(containers, st.data())
def test_damaged_containers(wanted: list[list[EntrySpec]], data: st.DataObject) -> None:
    whole = b"".join(build(entries) for entries in wanted) or b"\x50\xed\x55\xba"
    of_bytes(_damaged(whole, data), survey)


@settings(max_examples=max(5, settings().max_examples // 16))  # for each of 150 files
@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.name)
@given(data=st.data())
def test_damaged_fixtures(path: Path, data: st.DataObject) -> None:
    of_bytes(_damaged(path.read_bytes(), data), survey)


PACKAGES = [
    wheel(("a.so", (FIXTURES / "lib_3arch.so").read_bytes()), ("b.a", (FIXTURES / "libmixed.a").read_bytes())),
    tarred(("a.fatbin", (FIXTURES / "multi.fatbin").read_bytes()), mode="w:gz"),
    docker_archive(tar(file("a.so", (FIXTURES / "lib_rdc.so").read_bytes()))),
]  # fmt: skip


def survey_package(path: Path) -> None:
    """Run everything that opens what is in packages; what it says must hang together."""
    found = account(path, limits=LIMITS)
    assert found.size == found.archive + sum(library.size for library in found.libraries)
    assert found.archive >= 0
    for library in found.libraries:
        assert sum(library.parts.values()) == library.size
    kernel_sizes(path, LIMITS)
    diff = compare(path, path, kernels=True, limits=LIMITS)
    assert diff.libraries == ()
    assert diff.summary.gained == diff.summary.lost == ()
    errors: list[fatbin.FatbinError] = []
    rows = list(kernels(path, limits=LIMITS, report=errors.append))
    extraction = Extraction(Folder("unused"), form=Form(write=False), limits=LIMITS)
    files = list(extraction.run(str(path)))
    assert {row.location for row in rows} <= {library.location for library in found.libraries}
    assert {image.library for image in files} <= {library.location for library in found.libraries}
    if not found.all_issues:
        assert not [error for error in errors if "::" not in error.location]


@given(st.sampled_from(PACKAGES), st.data())
def test_damaged_packages(whole: bytes, data: st.DataObject) -> None:
    of_bytes(_damaged(whole, data), survey_package)


def _damaged(whole: bytes, data: st.DataObject) -> bytes:
    blob = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(blob) - 1))
        size = data.draw(st.sampled_from([1, 2, 4, 8]))
        value = data.draw(st.sampled_from([0, 1, 0x7F, 0xFF, 1 << 31]) | st.integers(0, 1 << 64))
        blob[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(blob[: data.draw(st.integers(1, len(blob)))] if data.draw(st.booleans()) else blob)
