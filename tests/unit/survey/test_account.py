"""The account of a file: exact sums, known figures, and what overlaps counted once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hosts import Section, archive, elf, pe
from support import FIXTURES

import fatbin
from fatbin.format.build import EntrySpec, build
from fatbin.format.container import HEADER_SIZE
from fatbin.survey.grouping import rows
from fatbin.survey.sizes import Account, LibrarySize, account

FILES = sorted(p for p in FIXTURES.iterdir() if p.is_file() and p.suffix != ".json")
CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()


def checked(found: Account) -> Account:
    """Return an account of which everything adds up."""
    assert found.size == found.archive + sum(library.size for library in found.libraries)
    for library in found.libraries:
        assert sum(library.parts.values()) == library.size
        pieces = [library.headers, library.padding, library.gaps, library.unread, found.archive]
        assert min(*library.parts.values(), *pieces) >= 0
        assert all(piece.stored >= 0 for piece in library.device)
    return found


def only(path: Path) -> LibrarySize:
    found = checked(account(path))
    assert found.archive == 0
    (library,) = found.libraries
    return library


def written(folder: Path, data: bytes) -> Path:
    path = folder / "file"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_byte_of_every_fixture_is_counted_once(path: Path) -> None:
    found = checked(account(path))
    if path.name != "libthin.a":
        assert found.size == path.stat().st_size


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_undamaged_account_agrees_with_the_inventory(path: Path) -> None:
    inventory = fatbin.scan(path, linkage=False)
    found = account(path)
    assert found.all_issues == inventory.all_issues
    if inventory.all_issues:
        return
    for library, known in zip(found.libraries, inventory.libraries, strict=True):
        entries = list(known.entries)
        containers = sum(module.form == "container" for module in known.modules)
        outer = [entry for entry in entries if entry.group < 0]
        headers = HEADER_SIZE * containers + sum(entry.header_size for entry in outer)
        assert library.location == known.location
        assert sum(piece.entries for piece in library.device) == len(entries)
        assert sum(piece.stored for piece in library.device) == sum(e.stored_size for e in entries)
        assert sum(piece.inflated for piece in library.device) == sum(e.size for e in entries)
        assert (library.headers, library.unread) == (headers, 0)


def test_a_device_linked_library() -> None:
    library = only(FIXTURES / "lib_rdc.so")
    assert library.parts == {
        "host_code": 2_934,  # readelf -SW, sections with flag X: 23 + 304 + 8 + 2,590 + 9
        "host_data": 16_106,
        "device": 15_976,
        "leftovers": 5_554,
        "overhead": 782,
    }
    assert {piece.place for piece in library.leftovers} == {fatbin.Place.RELOCATABLE}
    assert (library.headers, library.padding, library.gaps) == (768, 14, 0)


@pytest.mark.parametrize("name", ["host_rdc.o", "rdc.fatbin", "lib_relonly.so"])
def test_input_of_a_link_that_was_not_done_is_no_leftover(name: str) -> None:
    assert only(FIXTURES / name).leftovers == ()


def test_a_group_is_counted_once_and_its_images_by_inflated_size_only() -> None:
    library = only(FIXTURES / "concat.fatbin")
    groups = [piece for piece in library.device if piece.kind == "group"]
    images = [piece for piece in library.device if piece.in_group]
    assert [(piece.stored, piece.entries) for piece in groups] == [(1_450, 1)]
    assert {(str(piece.arch), piece.stored, piece.entries) for piece in images} == {
        ("sm_80", 0, 1),
        ("sm_90a", 0, 1),
    }
    assert sum(piece.inflated for piece in images) == groups[0].inflated == 7_088


def test_zero_bytes_between_containers_are_gaps() -> None:
    path = FIXTURES / "padded_containers.fatbin"
    library = only(path)
    modules = fatbin.scan(path).libraries[0].modules
    assert library.gaps == library.size - sum(module.size for module in modules) > 0


def test_what_is_behind_damage_is_unread(tmp_path: Path) -> None:
    container = build([EntrySpec.cubin(CUBIN)])
    library = only(written(tmp_path, container + bytes(32) + b"junk that is no container"))
    assert (library.gaps, library.unread) == (32, 25)
    assert library.issues


def test_members_of_an_archive_and_the_rest_of_it(tmp_path: Path) -> None:
    fatbins = (FIXTURES / "multi.fatbin").read_bytes()
    text = b"text, no member to count"
    path = written(tmp_path, archive(("a", fatbins), ("readme", text), ("b", CUBIN)))
    found = checked(account(path))
    assert [library.size for library in found.libraries] == [len(fatbins), len(CUBIN)]
    assert found.archive == 8 + 3 * 60 + 24


def test_a_thin_archive_is_counted_with_the_files_it_names() -> None:
    path = FIXTURES / "libthin.a"
    found = checked(account(path))
    assert found.libraries
    assert found.archive == path.stat().st_size
    assert found.size > path.stat().st_size


def test_sections_that_overlap_are_counted_once(tmp_path: Path) -> None:
    container = build([EntrySpec.cubin(CUBIN).compressed("zstd")])
    whole = elf(Section(".nv_fatbin", container), Section(".text", bytes(64), executable=True))
    # The executable section is made to begin in the middle of the device code.
    table = int.from_bytes(whole[40:48], "little")
    moved = bytearray(whole)
    device = int.from_bytes(whole[table + 64 + 24 : table + 64 + 32], "little")
    moved[table + 128 + 24 : table + 128 + 32] = (device + 16).to_bytes(8, "little")
    moved[table + 128 + 32 : table + 128 + 40] = len(container).to_bytes(8, "little")
    library = only(written(tmp_path, bytes(moved)))
    assert library.host_code == 16
    assert sum(library.parts[part] for part in ("device", "overhead")) == len(container)


def test_a_container_that_reaches_into_another_is_cut(tmp_path: Path) -> None:
    inner = build([EntrySpec.cubin(CUBIN)])
    outer = bytearray(build([EntrySpec(kind=2, payload=bytes(64) + inner, arch=80)]))
    data = elf(Section(".data", bytes(outer[: 16 + 64 + 64])), Section(".nv_fatbin", inner))
    library = only(written(tmp_path, data))
    # What stands in the named section is read first; the embedded entry gets what is before it.
    places = {piece.place: piece.stored for piece in library.device}
    assert places[fatbin.Place.LOADABLE] == len(CUBIN) + -len(CUBIN) % 8
    assert 0 < places[fatbin.Place.EMBEDDED] < len(inner)


def test_a_pe_file(tmp_path: Path) -> None:
    container = build([EntrySpec.cubin(CUBIN)])
    library = only(
        written(
            tmp_path,
            pe(Section(".text", bytes(100), executable=True), Section(".nv_fatb", container)),
        )
    )
    assert library.host_code == 100
    assert library.parts["device"] + library.overhead == len(container)


def test_a_file_without_device_code_is_all_host() -> None:
    library = only(FIXTURES / "host_nocuda.o")
    assert library.device == ()
    assert library.host_code + library.host_data == library.size


def test_an_unusable_header_leaves_host_data_and_an_issue(tmp_path: Path) -> None:
    library = only(written(tmp_path, b"\x7fELF\2\2\1" + bytes(100)))
    assert library.host_data == library.size == 107
    assert [issue.code for issue in library.issues] == ["UnsupportedVersion"]


@pytest.mark.parametrize("by", ["arch", "kind", "place", "library"])
def test_rows_add_up_to_the_device_code(by: str) -> None:
    found = account(FIXTURES / "libmixed.a")
    added = rows(found.libraries, by)
    parts = [library.parts for library in found.libraries]
    assert sum(row.stored for row in added) == sum(p["device"] + p["leftovers"] for p in parts)
    assert sum(row.entries for row in added) == sum(
        piece.entries for library in found.libraries for piece in library.device
    )


def test_rows_are_the_largest_first_and_leftovers_last() -> None:
    added = rows(account(FIXTURES / "lib_rdc.so").libraries, "arch")
    assert [(row.part, row.name, row.stored) for row in added] == [
        ("device", "sm_100f", 9_792),
        ("device", "sm_80", 6_184),
        ("leftovers", "sm_100f", 2_928),
        ("leftovers", "sm_80", 1_935),
        ("leftovers", "compute_80", 691),
    ]


def test_what_cannot_be_read_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(fatbin.SourceError):
        account(tmp_path / "missing")
    with pytest.raises(fatbin.UnknownFormatError):
        account(written(tmp_path, b"text"))


def test_paths_may_be_of_any_kind() -> None:
    path = FIXTURES / "multi.fatbin"
    assert account(os.fspath(path)) == account(path)
