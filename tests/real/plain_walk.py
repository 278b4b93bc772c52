"""A second reader, written without the library: what device code an ELF or PE file holds.

It looks for the first eight bytes of a container everywhere in the file and takes what walks
exactly to its declared end. It knows sections by their headers and nothing else.
"""

from __future__ import annotations

import mmap
import struct
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_SIGNATURE = bytes.fromhex("50ED55BA01001000")
_PLACES = {".nv_fatbin": "loadable", ".nv_fatb": "loadable", "__nv_relfatbin": "relocatable"}
_WRAPPER_SECTIONS = (".nvFatBinSegment", ".nvFatBi")
_WRAPPER_MAGIC = 0x466243B1
_KINDS = {1: "ptx", 2: "sass", 8: "ltoir"}
_PREFIXES = {1: "compute_", 2: "sm_", 8: "compute_"}


class Walked(NamedTuple):
    """What the walk found.

    Attributes:
        containers: how many.
        entries: how many of each ``(place kind, architecture)``.
        isa: how many PTX texts of each ``(place, version)``.
        wrappers: how many of each version.
        alignment: the largest power of two, at most 256, that all containers' addresses share.
    """

    containers: int
    entries: Counter[tuple[str, str]]
    isa: Counter[tuple[str, str]]
    wrappers: Counter[int]
    alignment: int


class _Section(NamedTuple):
    name: str
    offset: int
    size: int


def walk(path: Path) -> Walked:
    """Read a file."""
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        sections = _pe_sections(data) if data[:2] == b"MZ" else _elf_sections(data)
        containers = 0
        together = 256
        entries: Counter[tuple[str, str]] = Counter()
        isa: Counter[tuple[str, str]] = Counter()
        position = data.find(_SIGNATURE)
        while position >= 0:
            headers = _container(data, position)
            if headers is None:
                position = data.find(_SIGNATURE, position + 1)
                continue
            containers += 1
            together |= position
            place = next(
                (
                    _PLACES[section.name]
                    for section in sections
                    if section.name in _PLACES
                    and section.offset <= position < section.offset + section.size
                ),
                "embedded",
            )
            for kind, major, minor, arch, flags in headers:
                suffix = "a" if flags & 0x100000 else "f" if flags & 0x200000 else ""
                entries[f"{place} {_KINDS[kind]}", f"{_PREFIXES[kind]}{arch}{suffix}"] += 1
                if kind == 1:
                    isa[place, f"{major}.{minor}"] += 1
            (size,) = struct.unpack_from("<Q", data, position + 8)
            position = data.find(_SIGNATURE, position + 16 + size)
        return Walked(containers, entries, isa, _wrappers(data, sections), together & -together)


def _container(data: mmap.mmap, start: int) -> list[tuple[int, int, int, int, int]] | None:
    """Return kind, version, architecture and flags of each entry; None when it does not add up."""
    (size,) = struct.unpack_from("<Q", data, start + 8)
    end = start + 16 + size
    position = start + 16
    headers = []
    while position < end:
        if position + 64 > min(end, len(data)):
            return None
        kind, _, header_size, padded = struct.unpack_from("<HHIQ", data, position)
        minor, major, arch = struct.unpack_from("<HHI", data, position + 24)
        (flags,) = struct.unpack_from("<Q", data, position + 40)
        headers.append((kind, major, minor, arch, flags))
        position += header_size + padded
    return headers if position == end else None


def _wrappers(data: mmap.mmap, sections: list[_Section]) -> Counter[int]:
    versions: Counter[int] = Counter()
    for section in sections:
        if section.name in _WRAPPER_SECTIONS:
            for at in range(section.offset, section.offset + section.size - 23, 24):
                magic, version = struct.unpack_from("<II", data, at)
                if magic == _WRAPPER_MAGIC:
                    versions[version] += 1
    return versions


def _elf_sections(data: mmap.mmap) -> list[_Section]:
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQ", data, table + size * i) for i in range(count)]
    base = rows[names][4]
    return [
        _Section(data[base + row[0] : data.find(b"\0", base + row[0])].decode(), row[4], row[5])
        for row in rows
        if row[1] != 8  # NOBITS
    ]


def _pe_sections(data: mmap.mmap) -> list[_Section]:
    (header,) = struct.unpack_from("<I", data, 0x3C)
    count, optional = struct.unpack_from("<2xH12xH", data, header + 4)
    sections = []
    for i in range(count):
        at = header + 24 + optional + 40 * i
        name, virtual, _, raw, offset = struct.unpack_from("<8sIIII", data, at)
        sections.append(_Section(name.rstrip(b"\0").decode(), offset, min(virtual, raw)))
    return sections
