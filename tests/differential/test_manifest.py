"""Each fixture's inventory, written as cuobjdump's listings, against what cuobjdump 13.5 printed.

Where they differ, the table of differences has it, and what the file holds in truth stands here.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import pytest
from cuobjdump_answers import EXTRACTIONS, LISTED_KINDS, OPTIONS, Answer, respects
from differences import expected
from support import FIXTURES, manifest

import fatbin
from fatbin import EntryFlags, EntryKind

_ROWS = {row["file"]: row for row in manifest()}
RECORDED = "13.5.37"
"""The version whose answers the manifest has."""


class Truth(NamedTuple):
    """What a file holds where cuobjdump does not say so; why it does not is in the table."""

    entries: tuple[str, ...]
    issues: tuple[str, ...] = ()


_RDC_OBJECT = ("embedded sass sm_80", "embedded ptx compute_80", "embedded sass sm_100f")
_MULTI = ("sass sm_75", "sass sm_90a", "ptx compute_90a", "sass sm_100f", "ptx compute_100f")
_SM_80 = ("bare sass sm_80",)
_RDC_COFF = ("relocatable sass sm_80", "relocatable ptx compute_80", "relocatable sass sm_100f")

TRUTHS = {
    "saxpy_80.ptx": Truth(("bare ptx compute_80",)),
    "saxpy_90a.ptx": Truth(("bare ptx compute_90a",)),
    "debug_80.ptx": Truth(("bare ptx compute_80",)),
    "saxpy.ltoir": Truth(("bare ltoir None",)),
    "ptxas12.0_sm90.cubin": Truth(("bare sass sm_90",)),
    "ptxas12.1_sm90.cubin": Truth(("bare sass sm_90",)),
    "invalid_elf_midway.fatbin": Truth(
        ("bare sass sm_75", "bare sass sm_80", "bare sass sm_90", "bare sass sm_80")
    ),
    "ptxas11.8_sm35.cubin": Truth(("bare sass sm_35",)),
    "sm35_first.fatbin": Truth(("bare sass sm_35", "bare sass sm_80")),
    "sm35_last.fatbin": Truth(("bare sass sm_80", "bare sass sm_35")),
    "host_1arch.obj": Truth(("loadable sass sm_80",)),
    "host_rdc.obj": Truth(_RDC_COFF),
    "coff.lib": Truth(("loadable sass sm_80", *_RDC_COFF)),
    "lib_rdc.debug": Truth((), ("Format", "Format")),
    "noshdr.so": Truth(
        (*_RDC_OBJECT, *_RDC_OBJECT, "embedded sass sm_80", "embedded sass sm_100f"),
    ),
    "truncated.so": Truth(
        (*_RDC_OBJECT, *_RDC_OBJECT),
        ("Truncated",) * 4,
    ),
    "embedded_rodata.o": Truth(tuple(f"embedded {image}" for image in _MULTI)),
    "libmixed.a": Truth(
        ("loadable sass sm_80", *(f"bare {image}" for image in _MULTI), "bare sass sm_80"),
    ),
    "libnocuda.a": Truth(()),
    "truncated.fatbin": Truth(("bare sass sm_75",), ("Truncated",)),
    "hostile_hs0_psz0.fatbin": Truth((), ("SizeMismatch",)),
    "hostile_hs0.fatbin": Truth((), ("SizeMismatch",)),
    "hostile_psz_huge.fatbin": Truth((), ("Truncated",)),
    "hostile_psz_wrap.fatbin": Truth((), ("Truncated",)),
    "hostile_csz_gt_psz.fatbin": Truth(_SM_80, ("SizeMismatch",)),
    "hostile_usz_huge.fatbin": Truth(_SM_80, ("LimitExceeded",)),
    "hostile_usz_small.fatbin": Truth(_SM_80, ("Decompression",)),
    "hostile_container_huge.fatbin": Truth(_SM_80, ("Truncated",)),
    "hostile_container_short.fatbin": Truth(_SM_80, ("Truncated",)),
    "hostile_concat_count.fatbin": Truth(("bare group None", "bare sass sm_80"), ("SizeMismatch",)),
    "hostile_concat_nested.fatbin": Truth(("bare group None",), ("Format",)),
    "hostile_name_oob.fatbin": Truth(_SM_80, ("Truncated",)),
    "hostile_bomb64m.fatbin": Truth(_SM_80, ("LimitExceeded",)),
}
"""Of each file on which the exit codes or the images differ: what it holds."""

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


def _scan(name: str, *, verify: bool = False) -> fatbin.Inventory:
    return fatbin.scan(os.fspath(FIXTURES / name), verify=verify)


def _recorded(name: str) -> dict[str, Answer]:
    recorded = _ROWS[name]["cuobjdump"]
    return {key: Answer(recorded[key]["rc"], recorded[key]["stdout"]) for key in OPTIONS}


def _differing(*words: str) -> set[str]:
    return {name for name in _ROWS if expected("cuobjdump", RECORDED, name) & set(words)}


def test_every_row_names_a_file_and_every_exception_a_row() -> None:
    assert len(_ROWS) >= 146
    assert [name for name in _ROWS if not (FIXTURES / name).is_file()] == []
    assert {*TRUTHS, *HIDDEN} <= set(_ROWS)
    assert _differing("exit", "place", "-all -lelf") == set(TRUTHS)
    assert _differing("kind") == set(HIDDEN)


@pytest.mark.parametrize("name", sorted(_ROWS))
def test_the_differences_are_those_of_the_table(name: str) -> None:
    """Not one more, and not one less: where the table says nothing, cuobjdump says the same."""
    inventory = _scan(name)
    assert respects(inventory, _recorded(name)) == expected("cuobjdump", RECORDED, name) - set(
        EXTRACTIONS
    )
    if name not in TRUTHS:
        assert inventory.all_issues == ()


@pytest.mark.parametrize("name", sorted(TRUTHS))
def test_truth_where_cuobjdump_fails(name: str) -> None:
    truth = TRUTHS[name]
    inventory = _scan(name, verify=True)
    assert (
        tuple(f"{entry.place} {entry.kind} {entry.arch}" for entry in inventory.entries)
        == truth.entries
    )
    codes = tuple(issue.code for issue in inventory.all_issues)
    assert set(codes) == set(truth.issues)
    assert len(codes) >= len(truth.issues)


@pytest.mark.parametrize("name", sorted(_ROWS))
def test_what_the_listings_hide(name: str) -> None:
    hidden = tuple(
        f"{entry.kind} {entry.arch}"
        for entry in _scan(name).entries
        if entry.kind not in LISTED_KINDS
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


def test_lelf_hides_the_family_suffix_and_the_inventory_does_not() -> None:
    marked = [
        name
        for name in _WALKED
        if any(
            header.kind == EntryKind.ELF and header.flags & EntryFlags.FAMILY
            for header in _parsed(_ROWS[name])
        )
    ]
    assert len(marked) >= 10
    for name in marked:
        images = _scan(name).entries
        assert any(entry.kind == "sass" and str(entry.arch).endswith("f") for entry in images)
        assert not any("f.cubin" in line for line in _recorded(name)["lelf_all"].lines)
