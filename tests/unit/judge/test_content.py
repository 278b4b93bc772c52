"""What a library names, as the lines of a report."""

from __future__ import annotations

from fatbin import Architecture
from fatbin.inventory import Entry, Library, Module
from fatbin.judge.content import code_sizes, content_of, ptx_named, sass_named
from fatbin.kinds import Place


def entry(kind: str, arch: str, isa: str = "", size: int = 1) -> Entry:
    return Entry(
        place=Place.LOADABLE,
        kind=kind,
        arch=Architecture.parse(arch) if arch else None,
        isa_version=isa,
        stored_size=size,
    )


def library(*modules: tuple[Place, int, tuple[Entry, ...]]) -> Library:
    made = tuple(
        Module(place=place, form="container", wrapper=wrapper, entries=entries)
        for place, wrapper, entries in modules
    )
    return Library("x.so", "elf", "x86_64", 1000, made)


LOADED = (entry("sass", "sm_80"), entry("ptx", "compute_80", "8.0"))
POOL = (
    entry("sass", "sm_75"),
    entry("ptx", "compute_80", "8.0"),
    entry("ptx", "compute_90", "8.2"),
)


def test_relocatable_ptx_counts_where_a_device_link_needs_it() -> None:
    pool = (Place.RELOCATABLE, 0, POOL)
    plain = content_of(library((Place.LOADABLE, 1, LOADED), pool))
    assert ptx_named(plain) == ("compute_80 (8.0)",)
    linked = content_of(library((Place.LOADABLE, 2, LOADED), pool))
    assert ptx_named(linked) == ("compute_80 (8.0)", "compute_90 (8.2), relocatable")
    alone = content_of(library(pool))
    assert ptx_named(alone) == (
        "compute_80 (8.0), relocatable",
        "compute_90 (8.2), relocatable",
    )
    assert (sass_named(plain), sass_named(alone)) == (("sm_80",), ("sm_75",))


def test_sizes_are_in_order() -> None:
    entries = (
        entry("ltoir", "compute_90", size=7),
        entry("ltoir", "", size=6),
        entry("ptx", "compute_80", "8.0", 5),
        entry("sass", "sm_100", size=4),
        entry("sass", "sm_90", size=3),
        entry("sass", "sm_90", size=2),
    )
    assert code_sizes(library((Place.LOADABLE, 1, entries))) == (
        ("sass sm_90", 5),
        ("sass sm_100", 4),
        ("ptx compute_80", 5),
        ("ltoir", 6),
        ("ltoir compute_90", 7),
    )
