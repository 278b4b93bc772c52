"""Inventories made by hand: modules and libraries of a few words."""

from __future__ import annotations

from typing import Any

from fatbin.arch import Architecture
from fatbin.inventory import Entry, Inventory, Library, Linkage, Module
from fatbin.kinds import Compression, Place

_PLACES = {"loadable": Place.LOADABLE, "relocatable": Place.RELOCATABLE}


def entry(text: str, place: Place = Place.LOADABLE, **more: Any) -> Entry:  # noqa: ANN401 - fields of a record
    """Make an entry of ``sm_90a``, ``compute_90``, or ``compute_90 8.2`` with its ISA version."""
    arch_text, _, isa = text.partition(" ")
    if arch_text.startswith("lto_"):
        kind, arch = "ltoir", Architecture.parse(arch_text)
    else:
        arch = Architecture.parse(arch_text)
        kind = "ptx" if arch.virtual else "sass"
    made = Entry(
        place=place,
        kind=kind,
        arch=arch,
        isa_version=(isa or "7.0") if kind == "ptx" else "",
        stored_size=100_000,
        size=2000,
    )
    return made._replace(**more)


def module(*texts: str, place: str = "loadable", wrapper: int = 1, **more: Any) -> Module:  # noqa: ANN401
    """Make a container of entries."""
    where = _PLACES[place]
    return Module(
        place=where,
        form="container",
        section=".nv_fatbin",
        wrapper=wrapper,
        entries=tuple(entry(text, where, **more) for text in texts),
    )


def library(*modules: Module, name: str = "libx.so", version: str = "", **more: Any) -> Library:  # noqa: ANN401
    """Make an ELF library that needs nothing."""
    return Library(
        location=f"/lib/{name}",
        format="elf",
        machine="x86_64",
        size=100_000,
        modules=modules,
        linkage=Linkage(soname=name, version=version, **more),
    )


def inventory(*libraries: Library) -> Inventory:
    """Make an inventory of libraries."""
    return Inventory(libraries=libraries, targets=tuple(lib.location for lib in libraries))


def example(rows: list[dict[str, Any]]) -> Module:
    """Make a module of the entries of a worked example."""
    entries = []
    for row in rows:
        target = str(row["target"])
        isa = row.get("isa")
        built = row.get("built")
        mask = row.get("mask")
        entries.append(
            entry(
                target,
                isa_version="{}.{}".format(*isa) if isinstance(isa, list) else "",
                toolkit="{}.{}".format(*built) if isinstance(built, list) else "",
                fastpath_finalize=_mask(mask) if isinstance(mask, list) else None,
                compression=Compression(row.get("compression", "none")),
            )
        )
    return Module(place=Place.LOADABLE, form="container", wrapper=1, entries=tuple(entries))


def _mask(capabilities: list[list[int]]) -> int:
    bits = {(10, 0): 0x01, (10, 3): 0x08, (12, 0): 0x10, (12, 1): 0x40}
    return sum(bits[major, minor] for major, minor in capabilities)
