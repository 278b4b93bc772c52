"""Device code as plain data."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from hosts import Section, elf
from patching import patched
from support import FIXTURES, require

import fatbin
from fatbin.format.build import EntrySpec, build
from fatbin.format.layouts import ELF64_HEADER, ELF_IDENT
from fatbin.format.view import View
from fatbin.scanning import embedded, needles

BLOB = build([EntrySpec(kind=2, payload=b"\x7fELF" + bytes(60), arch=90)])
CUBIN = (FIXTURES / "saxpy_90a.cubin").read_bytes()
PTX = (FIXTURES / "saxpy_80.ptx").read_bytes()


def found(data: bytes, limits: fatbin.Limits | None = None) -> list[tuple[str, str, int, int]]:
    inventory = fatbin.scan_bytes(
        elf(Section(".rodata", data, align=1)), "lib", limits=limits or fatbin.Limits()
    )
    base = elf(Section(".rodata", data, align=1)).index(data)
    return [
        (m.form, str(m.entries[0].arch), m.offset - base, m.size)
        for m in inventory.libraries[0].modules
    ]


def test_containers_cubins_and_texts_side_by_side() -> None:
    data = b"abc\0" + BLOB + b"\0xyz" + CUBIN + b"\0" + PTX + b"\0tail"
    first = 4
    second = first + len(BLOB) + 4
    third = second + len(CUBIN) + 1
    assert found(data) == [
        ("container", "sm_90", first, len(BLOB)),
        ("cubin", "sm_90a", second, len(CUBIN)),
        ("ptx", "compute_80", third, len(PTX)),
    ]


@pytest.fixture(params=["bytes", "plain", "native"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The three ways to search: in memory, through a file with bytes.find, and with memmem."""
    name: str = request.param
    monkeypatch.setattr(needles, "PLAIN_WINDOW", 1000)
    monkeypatch.setattr(embedded, "PLAIN_WINDOW", 1000)
    monkeypatch.setattr(embedded, "NATIVE_WINDOW", 1000)
    if name == "native":
        if needles.native_memmem() is None:
            require("memmem", "the C library is not known to have a fast one")
        monkeypatch.setattr(embedded, "WORTH_NATIVE", 0)
    return name


def forms(data: bytes, way: str, path: Path) -> list[tuple[str, int, int]]:
    host = elf(Section(".rodata", data, align=1))
    base = host.index(data)
    if way == "bytes":
        (library,) = fatbin.scan_bytes(host).libraries
    else:
        path.write_bytes(host)
        (library,) = fatbin.scan(path, linkage=False).libraries
    assert not library.issues
    return [(m.form, m.offset - base, m.size) for m in library.modules]


@pytest.mark.parametrize("thing", ["container", "cubin", "ptx"])
def test_finds_across_the_edges_of_windows(way: str, thing: str, tmp_path: Path) -> None:
    """Needles that begin in one window and end in the next are found once."""
    data = {"container": BLOB, "cubin": CUBIN, "ptx": PTX}[thing]
    for lead in (*range(880, 1020), *range(1890, 1960)):
        got = forms(bytes(lead) + data + bytes(100), way, tmp_path / "lib.so")
        assert got == [(thing, lead, len(data))], lead


def test_many_finds_in_order(way: str, tmp_path: Path) -> None:
    pieces = [("container", BLOB), ("cubin", CUBIN), ("ptx", PTX), ("container", BLOB)] * 25
    data, expected = b"", []
    for index, (form, piece) in enumerate(pieces):
        expected.append((form, len(data), len(piece)))
        data += piece + bytes(1 + index % 13 + 900 * (index % 3))
    assert forms(data, way, tmp_path / "lib.so") == expected


def test_a_search_that_is_given_up_ends_its_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    monkeypatch.setattr(embedded, "WORTH_NATIVE", 0)
    path = tmp_path / "lib.so"
    path.write_bytes(elf(Section(".rodata", (BLOB + bytes(9)) * 50)))
    before = threading.active_count()
    with fatbin.open(path) as file:
        assert next(file.containers()).facts.form == "container"
    del file
    gc.collect()
    assert threading.active_count() == before


def test_a_file_that_shrinks_is_told(tmp_path: Path) -> None:
    window = needles.Window(100, None)
    path = tmp_path / "short"
    path.write_bytes(b"x")
    with open(path, "rb") as file:
        view = View(bytes(200), "short", descriptor=file.fileno())
        with pytest.raises(fatbin.FormatError, match="cut while it was read"):
            window.load(view, 100)


def test_host_code_and_linker_tables_are_not_searched() -> None:
    for section in (Section(".text", BLOB, executable=True), Section(".debug_info", BLOB)):
        inventory = fatbin.scan_bytes(elf(section))
        assert not inventory.libraries[0].modules
        assert not inventory.all_issues


def test_what_is_inside_a_find_is_not_found_again() -> None:
    holder = build(
        [EntrySpec(kind=2, payload=CUBIN, arch=90), EntrySpec(kind=1, payload=PTX + b"\0", arch=80)]
    )
    assert [form for form, *_ in found(b"x" + holder)] == ["container"]
    debug = (FIXTURES / "debug_80.cubin").read_bytes()
    assert b".target sm_80" in debug
    assert [form for form, *_ in found(b"x" + debug)] == ["cubin"]


def test_templates_of_code_generators_are_no_ptx() -> None:
    for text in (
        b".version %d.%d\n.target sm_%d\n",
        b"use .target sm_80 here",
        b".version 8.0\nfoo\n.target sm_80\n",
    ):
        assert found(text) == []


def test_comments_before_an_embedded_text_belong_to_it() -> None:
    text = b"// compiled by hand\n.version 8.0\n.target sm_80\n.address_size 64\n"
    assert found(b"\0\0" + text + b"\0more") == [("ptx", "compute_80", 2, len(text))]
    assert found(b"other text \n.version 8.0\n.target sm_80\n\0") == [("ptx", "compute_80", 12, 27)]


def test_a_damaged_cubin_is_told_and_does_not_end_the_search() -> None:
    broken = CUBIN[:40] + b"\xff" * 8 + CUBIN[48:]
    inventory = fatbin.scan_bytes(elf(Section(".rodata", broken + CUBIN)), "lib")
    assert [m.form for m in inventory.libraries[0].modules] == ["cubin"]
    assert inventory.all_issues[0].message.startswith("embedded cubin: section header table")


def test_limits_of_the_search() -> None:
    data = elf(Section(".rodata", (BLOB + b"\1" * 8) * 20))
    inventory = fatbin.scan_bytes(data, limits=fatbin.Limits(containers=5))
    assert len(inventory.libraries[0].modules) == 5
    assert inventory.all_issues[-1].code == "LimitExceeded"
    long = b".version 8.0\n.target sm_80\n" + b"x" * 1000
    inventory = fatbin.scan_bytes(
        elf(Section(".rodata", long)), limits=fatbin.Limits(text_bytes=500)
    )
    assert inventory.all_issues[0].field == "text_bytes"
    assert len(list(inventory.entries)) == 1


def test_candidates_that_share_a_section_table_are_given_up_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedded, "_LEAST_TABLES", 0)
    head = patched(CUBIN[:64], ELF64_HEADER, ELF_IDENT.size, shoff=1 << 40, shnum=500)
    inventory = fatbin.scan_bytes(elf(Section(".rodata", head * 200)))
    last = inventory.all_issues[-1]
    assert (last.code, last.field) == ("LimitExceeded", "header_bytes")
    assert len(inventory.all_issues) <= 2


def test_gaps() -> None:
    assert embedded.gaps([], 10) == [(0, 10)]
    assert embedded.gaps([(2, 4), (3, 6), (8, 10)], 10) == [(0, 2), (6, 8)]
    assert embedded.gaps([(0, 10)], 10) == []
    assert embedded.gaps([(5, 50)], 10) == [(0, 5)]
