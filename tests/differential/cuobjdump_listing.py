"""An inventory, written the way cuobjdump 13.5 writes its listings.

The rules are those of the format reference: what is counted, how images are named and numbered,
which suffix is shown. They are written from the inventory alone, so a listing that agrees with
cuobjdump's says that the inventory holds the same facts in the same order.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from fatbin import Compression, EntryFlags, EntryKind, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin import Entry, Inventory, Library, Module

_ELF_KINDS = frozenset((EntryKind.ELF, EntryKind.ELF_16))
_PTX_KINDS = frozenset((EntryKind.PTX, EntryKind.RELOCATABLE_PTX))
_DUMP_NAMES = {
    EntryKind.PTX: "ptx",
    EntryKind.ELF: "elf",
    EntryKind.LEGACY_CUBIN: "cubin",
    EntryKind.LTOIR: "nvvm",
    EntryKind.INDEX: "index",
    EntryKind.RELOCATABLE_PTX: "relocatable ptx",
    EntryKind.TILE_IR: "tile ir",
    EntryKind.GROUP: "concatenated entry",
}
_OPTION_NAMES = {
    EntryKind.PTX: "ptxasOptions",
    EntryKind.RELOCATABLE_PTX: "ptxasOptions",
    EntryKind.LTOIR: "nvvmOptions",
}


class Listing(NamedTuple):
    """Which of cuobjdump's listings to write."""

    kinds: frozenset[EntryKind]
    word: str
    suffix: str
    variants: str
    everything: bool


LELF = Listing(_ELF_KINDS, "ELF", "cubin", "af", everything=False)
"""``cuobjdump -lelf``."""
LELF_ALL = LELF._replace(everything=True)
"""``cuobjdump -all -lelf``: relocatable images as well."""
LPTX = Listing(_PTX_KINDS, "PTX", "ptx", "af", everything=False)
"""``cuobjdump -lptx``."""


def render(inventory: Inventory, listing: Listing) -> list[str]:
    """Return the lines that cuobjdump would print for a file."""
    path = inventory.targets[0]
    stem = _stem(path)
    lines: list[str] = []
    number = 0
    for library in inventory.libraries:
        heading, readable = _member(path, library)
        if not readable:
            continue
        lines += heading
        for module in counted(library, everything=listing.everything):
            for entry in _listed(module, listing):
                number += 1
                name = _name(entry, stem if module.form == "cubin" else f"{stem}.{number}")
                assert entry.arch is not None
                variant = _shown(entry.arch.variant, listing.variants)
                lines.append(
                    f"{listing.word} file {number:4}: "
                    f"{name}.sm_{entry.arch.number}{variant}.{listing.suffix}"
                )
    return lines


def render_headers(inventory: Inventory, variants: str = "af") -> list[str]:
    """Return the lines of ``cuobjdump FILE`` without options: the headers of each entry."""
    path = inventory.targets[0]
    lines: list[str] = []
    for library in inventory.libraries:
        heading, readable = _member(path, library)
        if not readable:
            continue
        lines += heading
        for module in counted(library, everything=False):
            if module.form == "container":
                for entry in module.entries:
                    indent = "\t" if entry.group >= 0 else ""
                    lines += [indent + line for line in _header(entry, variants)]
    return lines


def _member(path: str, library: Library) -> tuple[list[str], bool]:
    """Return the heading of an archive's member, and whether cuobjdump looks into it."""
    _, is_member, member = library.location.partition("::")
    if not is_member:
        return [], True
    return [f"member {os.path.basename(path)}:{member}:"], library.format == "elf"


def counted(library: Library, *, everything: bool) -> Iterator[Module]:
    """Yield the modules that cuobjdump counts: loadable, else relocatable, else by wrapper."""
    loadable = [m for m in library.modules if m.place in (Place.LOADABLE, Place.BARE)]
    relocatable = [m for m in library.modules if m.place is Place.RELOCATABLE]
    if loadable or relocatable:
        yield from loadable
        if everything or not loadable:
            yield from relocatable
    else:
        yield from (m for m in library.modules if m.wrapper)


def _listed(module: Module, listing: Listing) -> Iterator[Entry]:
    for entry in module.entries:
        if module.form == "cubin":
            if EntryKind.ELF in listing.kinds:
                yield entry
        elif module.form == "container" and entry.kind_number in listing.kinds:
            yield entry


def _shown(variant: str, variants: str) -> str:
    return variant if variant in variants else ""


def _name(entry: Entry, numbered: str) -> str:
    return _stem(entry.identifier) if entry.identifier else numbered


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _header(entry: Entry, variants: str) -> Iterator[str]:
    kind = EntryKind(entry.kind_number)
    flags = EntryFlags(entry.flags)
    title = f"Fatbin {_DUMP_NAMES.get(kind, '<unknown kind>')} code:"
    yield title
    yield "=" * (len(title))
    if entry.arch is not None:
        yield f"arch = sm_{entry.arch.number}{_shown(entry.arch.variant, variants)}"
    yield f"code version = [{entry.code_version.replace('.', ',')}]"
    host = "windows" if EntryFlags.HOST_WINDOWS in flags else ""
    host = host or ("mac" if EntryFlags.HOST_MAC in flags else "linux")
    yield f"host = {host}"
    yield f"compile_size = {64 if EntryFlags.BITS_64 in flags else 32}bit"
    if EntryFlags.DEBUG in flags:
        yield "has debug info"
    if entry.compression is not Compression.NONE:
        yield "compressed"
    if entry.identifier:
        yield f"identifier = {entry.identifier}"
    if kind in _OPTION_NAMES and entry.options is not None:
        yield f"{_OPTION_NAMES[kind]} = {entry.options}"
