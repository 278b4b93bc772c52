"""Each fixture's inventory, written as cuobjdump's listings, against what cuobjdump 13.5 printed.

Where cuobjdump fails or is wrong, the table says why and what the file holds in truth.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import pytest
from cuobjdump_listing import LELF, LELF_ALL, LPTX, render, render_headers
from support import FIXTURES, manifest

import fatbin
from fatbin import EntryFlags, EntryKind

_ROWS = {row["file"]: row for row in manifest()}
_LISTINGS = {"lelf_all": LELF_ALL, "lelf": LELF, "lptx": LPTX}


class Truth(NamedTuple):
    """What a file holds where cuobjdump does not say so."""

    reason: str
    entries: tuple[str, ...]
    issues: tuple[str, ...] = ()


_RDC_OBJECT = ("embedded sass sm_80", "embedded ptx compute_80", "embedded sass sm_100f")
_MULTI = ("sass sm_75", "sass sm_90a", "ptx compute_90a", "sass sm_100f", "ptx compute_100f")
_SM_80 = ("bare sass sm_80",)
_COFF = "reads no COFF on Linux"
_RDC_COFF = ("relocatable sass sm_80", "relocatable ptx compute_80", "relocatable sass sm_100f")
_TEXT = "says that text holds no device code"
_BITCODE = "says that LTO-IR holds no device code"
_INVALID_ELF = "refuses a wrong sh_link of relocation sections, as toolkits 12.0 to 12.2 write it"
_REMOVED = "gives up at the first image below SM 50"
_NAMES_MEMBERS = "names archive members without device code, of which an inventory has none"
_DAMAGED = "gives up on a damaged file; what is whole in it is kept"

DISAGREEMENTS = {
    "saxpy_80.ptx": Truth(_TEXT, ("bare ptx compute_80",)),
    "saxpy_90a.ptx": Truth(_TEXT, ("bare ptx compute_90a",)),
    "debug_80.ptx": Truth(_TEXT, ("bare ptx compute_80",)),
    "saxpy.ltoir": Truth(_BITCODE, ("bare ltoir None",)),
    "ptxas12.0_sm90.cubin": Truth(_INVALID_ELF, ("bare sass sm_90",)),
    "ptxas12.1_sm90.cubin": Truth(_INVALID_ELF, ("bare sass sm_90",)),
    "invalid_elf_midway.fatbin": Truth(
        _INVALID_ELF, ("bare sass sm_75", "bare sass sm_80", "bare sass sm_90", "bare sass sm_80")
    ),
    "ptxas11.8_sm35.cubin": Truth(_REMOVED, ("bare sass sm_35",)),
    "sm35_first.fatbin": Truth(_REMOVED, ("bare sass sm_35", "bare sass sm_80")),
    "sm35_last.fatbin": Truth(_REMOVED, ("bare sass sm_80", "bare sass sm_35")),
    "host_1arch.obj": Truth(_COFF, ("loadable sass sm_80",)),
    "host_rdc.obj": Truth(_COFF, _RDC_COFF),
    "coff.lib": Truth(_COFF, ("loadable sass sm_80", *_RDC_COFF)),
    "lib_rdc.debug": Truth(
        "calls the missing bytes of a debug file damage", (), ("Format", "Format")
    ),
    "noshdr.so": Truth(
        "finds nothing without section headers",
        (*_RDC_OBJECT, *_RDC_OBJECT, "embedded sass sm_80", "embedded sass sm_100f"),
    ),
    "truncated.so": Truth(
        "finds nothing without section headers, which stood at the lost end",
        (*_RDC_OBJECT, *_RDC_OBJECT),
        ("Truncated",) * 4,
    ),
    "embedded_rodata.o": Truth(
        "does not look into data sections", tuple(f"embedded {image}" for image in _MULTI)
    ),
    "libmixed.a": Truth(
        "passes over members that are no objects; names members without device code",
        ("loadable sass sm_80", *(f"bare {image}" for image in _MULTI), "bare sass sm_80"),
    ),
    "libnocuda.a": Truth(_NAMES_MEMBERS, ()),
    "truncated.fatbin": Truth(_DAMAGED, ("bare sass sm_75",), ("Truncated",)),
    "hostile_hs0_psz0.fatbin": Truth(_DAMAGED, (), ("SizeMismatch",)),
    "hostile_hs0.fatbin": Truth(_DAMAGED, (), ("SizeMismatch",)),
    "hostile_psz_huge.fatbin": Truth(_DAMAGED, (), ("Truncated",)),
    "hostile_psz_wrap.fatbin": Truth(_DAMAGED, (), ("Truncated",)),
    "hostile_csz_gt_psz.fatbin": Truth(_DAMAGED, _SM_80, ("SizeMismatch",)),
    "hostile_usz_huge.fatbin": Truth(
        "allocates the claimed size; the header is read all the same", _SM_80, ("LimitExceeded",)
    ),
    "hostile_usz_small.fatbin": Truth(
        "inflates to list; the header is read all the same", _SM_80, ("Decompression",)
    ),
    "hostile_container_huge.fatbin": Truth(_DAMAGED, _SM_80, ("Truncated",)),
    "hostile_container_short.fatbin": Truth(_DAMAGED, _SM_80, ("Truncated",)),
    "hostile_concat_count.fatbin": Truth(
        _DAMAGED, ("bare group None", "bare sass sm_80"), ("SizeMismatch",)
    ),
    "hostile_concat_nested.fatbin": Truth(
        "refuses a group inside a group, as we do", ("bare group None",), ("Format",)
    ),
    "hostile_name_oob.fatbin": Truth(_DAMAGED, _SM_80, ("Truncated",)),
    "hostile_bomb64m.fatbin": Truth(
        "inflates to list; the header is read all the same", _SM_80, ("LimitExceeded",)
    ),
}
"""What cuobjdump 13.5 does, and what the file holds."""

HIDDEN = {
    "lto.fatbin": ("ltoir compute_80",),
    "lto_100f.fatbin": ("ltoir compute_80", "ltoir compute_100f"),
    "lto_plain.fatbin": ("ltoir compute_80",),
    "host_dlto.o": ("ltoir compute_80",),
    "host_lto_only.o": ("ltoir compute_80",),
    "host_lto_sass.o": ("ltoir compute_80",),
    "saxpy.ltoir": ("ltoir None",),
    "unknown_kind.fatbin": ("unknown-512 sm_80",),
}
"""Entries that neither -lelf nor -lptx mentions; the exit code stays 0."""

HEADERS_ONLY = {
    "cuda11_ptxhdr72.fatbin": "prints no options line for CUDA 11's record without data",
}
"""Where the listings agree and the listing of headers does not."""


def _scan(name: str, *, verify: bool = False) -> fatbin.Inventory:
    return fatbin.scan(os.fspath(FIXTURES / name), verify=verify)


def _cached(name: str, key: str) -> dict[str, Any]:
    cached: dict[str, Any] = _ROWS[name]["cuobjdump"][key]
    return cached


def test_every_row_names_a_file_and_every_exception_a_row() -> None:
    assert len(_ROWS) >= 146
    assert [name for name in _ROWS if not (FIXTURES / name).is_file()] == []
    assert {*DISAGREEMENTS, *HIDDEN, *HEADERS_ONLY} <= set(_ROWS)


@pytest.mark.parametrize("name", sorted(set(_ROWS) - set(DISAGREEMENTS)))
def test_listings_are_those_of_cuobjdump(name: str) -> None:
    inventory = _scan(name)
    for key, listing in _LISTINGS.items():
        assert render(inventory, listing) == _cached(name, key)["stdout"], key
    assert inventory.all_issues == ()
    # 255 is "does not contain device code".
    found = any(library.modules for library in inventory.libraries)
    assert _cached(name, "lelf_all")["rc"] == (0 if found else 255)


@pytest.mark.parametrize("name", sorted(set(_ROWS) - set(DISAGREEMENTS) - set(HEADERS_ONLY)))
def test_headers_are_those_of_cuobjdump(name: str) -> None:
    assert render_headers(_scan(name)) == _cached(name, "dump")["stdout"]


@pytest.mark.parametrize("name", sorted(HEADERS_ONLY))
def test_headers_really_differ(name: str) -> None:
    ours = render_headers(_scan(name))
    cached = _cached(name, "dump")["stdout"]
    assert ours != cached
    assert [line for line in ours if line != "ptxasOptions = "] == cached


@pytest.mark.parametrize("name", sorted(DISAGREEMENTS))
def test_truth_where_cuobjdump_fails(name: str) -> None:
    truth = DISAGREEMENTS[name]
    inventory = _scan(name, verify=True)
    assert (
        tuple(f"{entry.place} {entry.kind} {entry.arch}" for entry in inventory.entries)
        == truth.entries
    )
    codes = tuple(issue.code for issue in inventory.all_issues)
    assert set(codes) == set(truth.issues)
    assert len(codes) >= len(truth.issues)


@pytest.mark.parametrize("name", sorted(DISAGREEMENTS))
def test_cuobjdump_really_differs(name: str) -> None:
    inventory = _scan(name)
    differs = any(
        render(inventory, listing) != _cached(name, key)["stdout"]
        for key, listing in _LISTINGS.items()
    )
    failed = _cached(name, "lelf_all")["rc"] != 0 or _cached(name, "lptx")["rc"] != 0
    assert differs or failed


@pytest.mark.parametrize("name", sorted(_ROWS))
def test_what_the_listings_hide(name: str) -> None:
    shown = {"sass", "ptx", "relocatable-ptx", "group"}
    hidden = tuple(
        f"{entry.kind} {entry.arch}" for entry in _scan(name).entries if entry.kind not in shown
    )
    assert hidden == HIDDEN.get(name, ())


class _Header(NamedTuple):
    """What an entry's header says, of images of groups aside."""

    kind: int
    flags: int
    arch: int
    code_version: str
    header_size: int
    stored: int
    inflated: int


def _parsed(row: dict[str, Any]) -> list[_Header]:
    """Return the entry headers of the walk that the manifest remembers, of whole files only."""
    containers = [item for part in row.get("parsed", ()) for item in part["containers"]]
    if not all(item.get("exact", item.get("zero")) for item in containers):
        return []
    return [
        _Header(
            kind=entry["kind"],
            flags=int(entry["flags"], 16),
            arch=entry["arch"],
            code_version=f"{entry['major']}.{entry['minor']}",
            header_size=entry["hs"],
            stored=entry["csz"] or entry["psz"],
            inflated=entry["usz"] or entry["psz"],
        )
        for item in containers
        for entry in item.get("entries", ())
    ]


_WALKED = sorted(name for name, row in _ROWS.items() if _parsed(row))


def test_another_reader_has_walked_most_files() -> None:
    assert len(_WALKED) >= 90


@pytest.mark.parametrize("name", _WALKED)
def test_entry_headers_are_those_of_another_reader(name: str) -> None:
    found = [
        _Header(
            kind=entry.kind_number,
            flags=entry.flags,
            arch=entry.arch.number if entry.arch else 0,
            code_version=entry.code_version,
            header_size=entry.header_size,
            stored=entry.stored_size,
            inflated=entry.size,
        )
        for entry in _scan(name).entries
        if entry.group < 0
    ]
    assert found == _parsed(_ROWS[name])


_FAMILY = EntryFlags.FAMILY


def test_lelf_hides_the_family_suffix_and_the_inventory_does_not() -> None:
    marked = [
        name
        for name in _WALKED
        if any(
            header.kind == EntryKind.ELF and header.flags & _FAMILY
            for header in _parsed(_ROWS[name])
        )
    ]
    assert len(marked) >= 10
    for name in marked:
        images = _scan(name).entries
        assert any(entry.kind == "sass" and str(entry.arch).endswith("f") for entry in images)
        assert not any("f.cubin" in line for line in _cached(name, "lelf_all")["stdout"])
