"""ELF, PE, COFF and archives: where device code lies in them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hosts import Section, archive, elf, pe
from patching import patched
from support import FIXTURES

import fatbin
from fatbin.errors import raise_error
from fatbin.format.build import EntrySpec, build
from fatbin.format.layouts import COFF_HEADER, ELF64_HEADER, ELF64_SECTION, ELF_IDENT
from fatbin.format.view import View
from fatbin.inventory import Inventory
from fatbin.scanning.archives import Members

BLOB = build([EntrySpec(kind=2, payload=b"\x7fELF" + bytes(60), arch=90)])


def kinds(inventory: Inventory) -> Counter[tuple[str, str, str]]:
    return Counter((e.place.value, e.kind, str(e.arch)) for e in inventory.entries)


def scan(name: str) -> Inventory:
    return fatbin.scan(FIXTURES / name, linkage=False)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("align", [1, 8, 256])
def test_elf_of_both_classes_and_any_alignment(bits: int, align: int) -> None:
    data = elf(
        Section(".text", b"\x90" * 5, executable=True),
        Section(".nv_fatbin", BLOB, align=align),
        bits=bits,
    )
    inventory = fatbin.scan_bytes(data)
    assert kinds(inventory) == {("loadable", "sass", "sm_90"): 1}
    assert inventory.libraries[0].modules[0].section == ".nv_fatbin"
    assert not inventory.all_issues


def test_a_library_with_both_places_like_nccl() -> None:
    inventory = scan("lib_rdc.so")
    assert kinds(inventory) == {
        ("loadable", "sass", "sm_80"): 1,
        ("loadable", "sass", "sm_100f"): 1,
        ("relocatable", "sass", "sm_80"): 2,
        ("relocatable", "sass", "sm_100f"): 2,
        ("relocatable", "ptx", "compute_80"): 2,
    }
    (library,) = inventory.libraries
    assert [m.wrapper for m in library.modules] == [1, 1, 2]
    assert {str(a) for a in library.sass} == {"sm_80", "sm_100f"}
    assert library.ptx == frozenset()
    assert library.architectures("ptx", place=fatbin.Place.RELOCATABLE)


def test_stripping_changes_nothing() -> None:
    assert kinds(scan("stripped.so")) == kinds(scan("lib_rdc.so"))


def test_without_section_headers_the_search_finds_everything() -> None:
    whole, bare = scan("lib_rdc.so"), scan("noshdr.so")
    assert not bare.all_issues
    assert Counter((e.kind, e.arch) for e in bare.entries) == Counter(
        (e.kind, e.arch) for e in whole.entries
    )
    assert {e.place for e in bare.entries} == {fatbin.Place.EMBEDDED}


def test_a_renamed_section_is_found_with_its_wrapper() -> None:
    (library,) = scan("renamed.so").libraries
    (module,) = library.modules
    assert (module.place, module.section, module.wrapper) == (fatbin.Place.EMBEDDED, ".foo", 1)


def test_a_debug_file_says_where_the_code_is() -> None:
    inventory = scan("lib_rdc.debug")
    assert not list(inventory.entries)
    assert len(inventory.all_issues) == 2
    assert all("NOBITS" in issue.message for issue in inventory.all_issues)


def test_a_cut_library_gives_what_is_whole() -> None:
    inventory = scan("truncated.so")
    assert kinds(inventory) == {
        ("embedded", "sass", "sm_80"): 2,
        ("embedded", "sass", "sm_100f"): 2,
        ("embedded", "ptx", "compute_80"): 2,
    }
    issues = inventory.all_issues
    assert issues[0].code == "Truncated"
    assert "section header table" in issues[0].message
    assert all(issue.offset >= 0 and issue.expected and issue.found for issue in issues)


def test_a_section_across_the_end_of_the_file() -> None:
    data = elf(Section(".nv_fatbin", BLOB))
    header = ELF64_HEADER.named(ELF64_HEADER.unpack_from(data, ELF_IDENT.size))
    row = header["shoff"] + ELF64_SECTION.size
    inventory = fatbin.scan_bytes(patched(data, ELF64_SECTION, row, size=1 << 40))
    assert kinds(inventory)["loadable", "sass", "sm_90"] == 1
    assert "section .nv_fatbin of 1099511627776 bytes" in inventory.all_issues[0].message


def test_sections_that_overlap_are_read_once() -> None:
    data = elf(Section(".nv_fatbin", BLOB), Section(".nv_fatbin", b""))
    header = ELF64_HEADER.named(ELF64_HEADER.unpack_from(data, ELF_IDENT.size))
    row = header["shoff"] + 64
    twice = data[: row + 64] + data[row : row + 64] + data[row + 128 :]
    inventory = fatbin.scan_bytes(twice)
    assert len(inventory.libraries[0].modules) == 1
    assert "overlaps" in inventory.all_issues[0].message


@pytest.mark.parametrize(
    "fields",
    [{"shoff": 1 << 60}, {"shnum": 0xFFF0}, {"shentsize": 3}, {"shoff": 0, "shnum": 0}],
)
def test_broken_section_tables_do_not_hide_device_code(fields: dict[str, int]) -> None:
    data = patched(elf(Section(".nv_fatbin", BLOB)), ELF64_HEADER, ELF_IDENT.size, **fields)
    inventory = fatbin.scan_bytes(data)
    assert kinds(inventory) == {("embedded", "sass", "sm_90"): 1}
    assert bool(inventory.all_issues) == (fields != {"shoff": 0, "shnum": 0})


def test_a_big_endian_file_is_told() -> None:
    data = bytearray(elf(Section(".nv_fatbin", BLOB)))
    data[5] = 2
    (issue,) = fatbin.scan_bytes(bytes(data)).all_issues
    assert "little-endian" in issue.message


def test_pe_uses_the_virtual_size() -> None:
    data = pe(
        Section(".text", b"\x90", executable=True), Section(".nv_fatb", BLOB + bytes(8) + BLOB)
    )
    inventory = fatbin.scan_bytes(data)
    assert kinds(inventory) == {("loadable", "sass", "sm_90"): 2}
    (library,) = inventory.libraries
    assert (library.format, library.machine) == ("pe", "x86_64")
    assert not inventory.all_issues


def test_pe_headers_that_cannot_be_read() -> None:
    for data in (b"MZ", b"MZ" + bytes(100), pe(Section(".nv_fatb", BLOB))[:0x80]):
        inventory = fatbin.scan_bytes(data)
        assert inventory.all_issues[0].code in ("Truncated", "Format")
        assert not list(inventory.entries)


@pytest.mark.parametrize("name", ["host_1arch", "host_rdc"])
def test_coff_objects_hold_what_elf_objects_hold(name: str) -> None:
    """The .obj files are the .o files converted by objcopy, long section names included."""
    assert kinds(scan(f"{name}.obj")) == kinds(scan(f"{name}.o"))
    assert [lib.format for lib in scan(f"{name}.obj").libraries] == ["coff"]


def test_coff_with_a_string_table_that_lies() -> None:
    data = (FIXTURES / "host_1arch.obj").read_bytes()
    inventory = fatbin.scan_bytes(patched(data, COFF_HEADER, 0, symbol_offset=1 << 30))
    assert inventory.all_issues[0].code == "Truncated"
    assert kinds(inventory) == {("embedded", "sass", "sm_80"): 1}


def test_members_of_archives_have_locations() -> None:
    for name, members in {
        "libstatic.a": ["host_rdc.o", "host_rdc2.o"],
        "libmixed.a": ["host_1arch.o", "multi.fatbin", "saxpy_80.cubin"],
        "libthin.a": ["host_1arch.o"],
        "coff.lib": ["host_1arch.obj", "host_rdc.obj"],
        "libnocuda.a": [],
    }.items():
        path = str(FIXTURES / name)
        assert [lib.location for lib in scan(name).libraries] == [f"{path}::{m}" for m in members]
        assert not scan(name).all_issues


def test_a_thin_archive_whose_member_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "libthin.a"
    path.write_bytes((FIXTURES / "libthin.a").read_bytes())
    inventory = fatbin.scan(path)
    (issue,) = inventory.issues
    assert issue.code == "Source"
    assert issue.location == f"{path}::host_1arch.o"


def test_a_cut_archive_gives_what_is_whole() -> None:
    data = (FIXTURES / "libstatic.a").read_bytes()
    inventory = fatbin.scan_bytes(data[: len(data) - 3000], "lib.a")
    assert inventory.libraries[0].location == "lib.a::host_rdc.o"
    assert any("runs past the end of the archive" in issue.message for issue in inventory.issues)


def test_a_member_header_that_is_none() -> None:
    data = archive(("a.o", elf(Section(".nv_fatbin", BLOB)))) + b"this is no member header" * 4
    inventory = fatbin.scan_bytes(data, "lib.a")
    assert len(inventory.libraries) == 1
    assert "archive member header" in inventory.issues[0].message


def test_bsd_names_and_the_member_limit() -> None:
    name = b"a long name of BSD.o"
    body = name + BLOB
    data = (
        b"!<arch>\n"
        + f"#1/{len(name):<13}{0:<12}{0:<6}{0:<6}{0:<8}{len(body):<10}`\n".encode()
        + body
    )
    assert [m.name for m in Members(fatbin.Limits(), raise_error).of(View(data))] == [name.decode()]
    many = archive(*((f"{i}.o", b"x") for i in range(9)))
    errors: list[fatbin.FatbinError] = []
    assert len(list(Members(fatbin.Limits(members=4), errors.append).of(View(many)))) == 4
    assert isinstance(errors[0], fatbin.LimitExceededError)


def test_a_name_table_without_end_is_refused_in_bounded_memory() -> None:
    data = elf(*(Section(f".s{i}", b"") for i in range(3000)))
    header = ELF64_HEADER.named(ELF64_HEADER.unpack_from(data, ELF_IDENT.size))
    shoff, last = header["shoff"], header["shstrndx"]
    table = b"x" * (1 << 20)
    grown = data[:shoff] + table + data[shoff:]
    grown = patched(grown, ELF64_HEADER, ELF_IDENT.size, shoff=shoff + len(table))
    rows = shoff + len(table)
    for index in range(1, 3000):
        grown = patched(grown, ELF64_SECTION, rows + 64 * index, name=index)
    grown = patched(grown, ELF64_SECTION, rows + 64 * last, offset=shoff, size=len(table))
    (issue, *_) = fatbin.scan_bytes(grown).all_issues
    assert issue.code == "LimitExceeded"
