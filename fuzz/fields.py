"""Where the fields of a binary file stand, so that mutations hit them and not code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fatbin.format import layouts
from fatbin.format.container import HEADER_SIZE, SIGNATURE
from fatbin.format.entry import ENTRY_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fatbin.format.layout import Layout

Field = tuple[int, int]
"""Offset and size in bytes."""
_MOST = 400


def of_layout(layout: Layout, offset: int, size: int) -> Iterator[Field]:
    """Yield the fields of one structure that are inside the file."""
    at = offset
    for width in _widths(layout):
        if at >= 0 and at + width <= size:
            yield at, width
        at += width


def _widths(layout: Layout) -> list[int]:
    sizes = {"B": 1, "H": 2, "L": 4, "Q": 8}
    found, digits = [], ""
    for code in layout.struct.format.lstrip("<"):
        if code.isdigit():
            digits += code
            continue
        found.append(int(digits) if code == "s" else sizes[code])
        digits = ""
    return found


def number(data: bytes, offset: int, size: int) -> int:
    """Return a little-endian number; 0 behind the end."""
    return int.from_bytes(data[offset : offset + size], "little")


def of_containers(data: bytes) -> list[Field]:
    """Return the fields of all containers, entries, records and group members."""
    found: list[Field] = []
    at = data.find(SIGNATURE[:5])
    while at >= 0 and len(found) < _MOST:
        found += of_layout(layouts.CONTAINER_HEADER, at, len(data))
        entry, end = at + HEADER_SIZE, at + HEADER_SIZE + number(data, at + 8, 8)
        while entry + ENTRY_SIZE <= min(end, len(data)) and len(found) < _MOST:
            found += of_layout(layouts.ENTRY_HEADER, entry, len(data))
            options = number(data, entry + 20, 4)
            if options:
                found += of_layout(layouts.GROUP_HEADER, entry + options, len(data))
                found += of_layout(layouts.GROUP_MEMBER, entry + options + 8, len(data))
            step = number(data, entry + 4, 4) + number(data, entry + 8, 8)
            found.append((entry + number(data, entry + 4, 4), 8))
            entry += max(step, 8)
        at = data.find(SIGNATURE[:5], at + 1)
    return found


def of_elf(data: bytes) -> list[Field]:
    """Return the fields of ELF headers, of the section and segment tables, of notes and symbols."""
    wide = data[4:5] != b"\1"
    head = layouts.ELF64_HEADER if wide else layouts.ELF32_HEADER
    row = layouts.ELF64_SECTION if wide else layouts.ELF32_SECTION
    segment = layouts.ELF64_SEGMENT if wide else layouts.ELF32_SEGMENT
    found = [*of_layout(layouts.ELF_IDENT, 0, len(data))]
    found += of_layout(head, layouts.ELF_IDENT.size, len(data))
    fields = head.named(head.struct.unpack(data[24 : 24 + head.size].ljust(head.size, b"\0")))
    for index in range(min(fields["phnum"], 16)):
        found += of_layout(segment, fields["phoff"] + index * segment.size, len(data))
    for index in range(min(fields["shnum"], 64)):
        at = fields["shoff"] + index * row.size
        found += of_layout(row, at, len(data))
        raw = data[at : at + row.size]
        if len(raw) < row.size:
            continue
        named = row.named(row.struct.unpack(raw))
        for inside in range(named["offset"], named["offset"] + min(named["size"], 96), 4):
            if inside + 4 <= len(data):
                found.append((inside, 4))
    return found


def of_pe(data: bytes) -> list[Field]:
    """Return the fields of the headers and sections of a PE file or COFF object."""
    at = 0
    found: list[Field] = []
    if data[:2] == b"MZ":
        at = number(data, 60, 4) + 4
        found.append((60, 4))
    found += of_layout(layouts.COFF_HEADER, at, len(data))
    optional, sections = number(data, at + 16, 2), number(data, at + 2, 2)
    table = at + layouts.COFF_HEADER.size
    found += [(i, 4) for i in range(table, min(table + optional, len(data) - 4), 4)]
    for index in range(min(sections, 32)):
        offset = table + optional + index * layouts.COFF_SECTION.size
        found += of_layout(layouts.COFF_SECTION, offset, len(data))
    return found


def of_archive(data: bytes) -> list[Field]:
    """Return the fields of the member headers of a static archive, and those of its members."""
    found: list[Field] = []
    at = 8
    while at + layouts.AR_MEMBER.size <= len(data) and len(found) < _MOST:
        found += of_layout(layouts.AR_MEMBER, at, len(data))
        start = at + layouts.AR_MEMBER.size
        digits = data[at + 48 : at + 58].strip()
        size = int(digits) if digits.isdigit() else 0
        found += [(start + offset, width) for offset, width in of_any(data[start : start + size])]
        at = start + size + (size & 1)
    return found


def of_zip(data: bytes) -> list[Field]:
    """Return the fields of the end records, rows and local headers of a zip."""
    found: list[Field] = []
    for magic, layout in (
        (b"PK\5\6", layouts.ZIP_END),
        (b"PK\6\7", layouts.ZIP64_LOCATOR),
        (b"PK\6\6", layouts.ZIP64_END),
        (b"PK\1\2", layouts.ZIP_MEMBER),
        (b"PK\3\4", layouts.ZIP_LOCAL),
    ):
        at = data.find(magic)
        while at >= 0 and len(found) < _MOST:
            found += of_layout(layout, at, len(data))
            at = data.find(magic, at + 1)
    return found


def of_any(data: bytes) -> list[Field]:
    """Return the fields of a file by its first bytes; those of containers in it too."""
    readers: tuple[tuple[bytes, Callable[[bytes], list[Field]]], ...] = (
        (b"\x7fELF", of_elf),
        (b"MZ", of_pe),
        (b"\x64\x86", of_pe),
        (b"!<", of_archive),
        (b"PK", of_zip),
    )
    found = of_containers(data)
    for magic, read in readers:
        if data.startswith(magic):
            found += read(data)
    return found
