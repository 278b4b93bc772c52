"""Host tables as pyelftools, LIEF and pefile read them, in the shape of ours."""

from __future__ import annotations

import io
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, NamedTuple

import lief
import pefile
from elftools.elf.elffile import ELFFile

from fatbin.errors import raise_error
from fatbin.format.elf import read_elf_header, read_sections, read_segments
from fatbin.format.view import View
from fatbin.limits import DEFAULT_LIMITS, Limits
from fatbin.scanning.coff import read_coff_host
from fatbin.scanning.dynamic import Dynamic, read_dynamic
from fatbin.scanning.lief_bridge import pe_headers
from fatbin.scanning.linkage import read_linkage
from fatbin.scanning.pe import header_bytes, read_pe_host

_TAGS = ("DT_NEEDED", "DT_SONAME", "DT_RPATH", "DT_RUNPATH")


class Tables(NamedTuple):
    """What the tables of an ELF file say.

    Attributes:
        sections: ``(name, type, flags, address, offset, size, link, info)`` of each.
        segments: ``(type, flags, offset, address, size in the file)`` of each.
    """

    sections: list[tuple[str, int, int, int, int, int, int, int]]
    segments: list[tuple[int, int, int, int, int]]


def ours(data: bytes | mmap, limits: Limits = DEFAULT_LIMITS) -> Tables:
    """Read with fatbin.

    Raises:
        FormatError: not an ELF file that it reads, or damaged.
        LimitExceededError: a table is too large.
    """
    view = View(data, "file")
    header = read_elf_header(view)
    return Tables(
        [tuple(section) for section in read_sections(view, header, limits)],  # type: ignore[misc]
        [tuple(segment) for segment in read_segments(view, header, limits)],  # type: ignore[misc]
    )


def our_dynamic(data: bytes | mmap) -> Dynamic:
    """Read the dynamic section with fatbin; empty where there is none.

    Raises:
        FormatError: it is damaged.
    """
    view = View(data, "file")
    header = read_elf_header(view)
    return read_dynamic(view, header, read_segments(view, header), DEFAULT_LIMITS)


def pyelftools(file: io.BufferedIOBase) -> Tables:
    """Read with pyelftools; numbers stand where it has names."""
    elf = ELFFile(file)
    sections, segments = elf.structs.Elf_Shdr, elf.structs.Elf_Phdr
    return Tables(
        [
            (
                section.name,
                _number(sections, "sh_type", section["sh_type"]),
                section["sh_flags"],
                section["sh_addr"],
                section["sh_offset"],
                section["sh_size"],
                section["sh_link"],
                section["sh_info"],
            )
            for section in elf.iter_sections()
        ],
        [
            (
                _number(segments, "p_type", segment["p_type"]),
                segment["p_flags"],
                segment["p_offset"],
                segment["p_vaddr"],
                segment["p_filesz"],
            )
            for segment in elf.iter_segments()
        ],
    )


def pyelftools_dynamic(file: io.BufferedIOBase) -> Dynamic:
    """Read the dynamic segment with pyelftools; empty where there is none."""
    elf = ELFFile(file)
    for segment in elf.iter_segments():
        if segment["p_type"] != "PT_DYNAMIC" or not segment["p_filesz"]:
            continue
        found: dict[str, list[str]] = {tag: [] for tag in _TAGS}
        for tag in segment.iter_tags():
            kind = tag.entry.d_tag
            if kind in found:
                found[kind].append(getattr(tag, kind.removeprefix("DT_").lower()))
        rpath, runpath = (
            tuple(part for path in found[tag] for part in path.split(":"))
            for tag in ("DT_RPATH", "DT_RUNPATH")
        )
        soname = "".join(found["DT_SONAME"][-1:])
        return Dynamic(soname, tuple(found["DT_NEEDED"]), rpath, runpath)
    return Dynamic()


def lief_tables(path: Path) -> Tables | None:
    """Read a whole file with LIEF; None when it takes it for something else."""
    binary: Any = lief.ELF.parse(str(path))
    if binary is None:
        return None
    return Tables(
        [
            (
                str(section.name),
                int(section.type) & 0xFFFFFFFF,
                int(section.flags),
                section.virtual_address,
                section.file_offset,
                section.size,
                section.link,
                section.information,
            )
            for section in binary.sections
        ],
        [
            (
                int(segment.type) & 0xFFFFFFFF,
                int(segment.flags),
                segment.file_offset,
                segment.virtual_address,
                segment.physical_size,
            )
            for segment in binary.segments
        ],
    )


class Pe(NamedTuple):
    """What the tables of a PE file say.

    Attributes:
        machine: number of the header.
        sections: ``(name, address, virtual size, offset, raw size, characteristics)`` of each.
        imports: names of DLLs, delayed ones last.
    """

    machine: int
    sections: tuple[tuple[str, int, int, int, int, int], ...]
    imports: tuple[str, ...]


def our_pe(path: Path) -> Pe:
    """Read with fatbin.

    Raises:
        FormatError: not a PE file that it reads.
    """
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        view = View(data, path.name)
        headers = pe_headers(header_bytes(view), path.name)
        linkage = read_linkage(view, read_pe_host(view, raise_error), DEFAULT_LIMITS)
    return Pe(headers.machine, headers.sections, linkage.needed)


def our_coff(data: bytes) -> list[tuple[str, int, int]]:
    """Return name, offset and size of each section with bytes of a COFF object, by fatbin."""
    host = read_coff_host(View(data, "file"), DEFAULT_LIMITS, raise_error)
    return [(section.name, section.offset, section.size) for section in host.sections]


def lief_coff(path: Path) -> list[tuple[str, int, int]]:
    """Return the same by LIEF."""
    binary: Any = lief.COFF.parse(str(path))
    return [
        (
            str(section.coff_string or section.name),
            section.pointerto_raw_data,
            section.sizeof_raw_data,
        )
        for section in binary.sections
        if section.pointerto_raw_data
    ]


def pefile_tables(path: Path) -> Pe:
    """Read with pefile."""
    with pefile.PE(str(path), fast_load=True) as pe:
        names = ("IMAGE_DIRECTORY_ENTRY_IMPORT", "IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT")
        pe.parse_data_directories([pefile.DIRECTORY_ENTRY[name] for name in names])
        entries = [
            *getattr(pe, "DIRECTORY_ENTRY_IMPORT", ()),
            *getattr(pe, "DIRECTORY_ENTRY_DELAY_IMPORT", ()),
        ]
        return Pe(
            pe.FILE_HEADER.Machine,
            tuple(
                (
                    section.Name.partition(b"\0")[0].decode("utf-8", "backslashreplace"),
                    section.VirtualAddress,
                    section.Misc_VirtualSize,
                    section.PointerToRawData,
                    section.SizeOfRawData,
                    section.Characteristics,
                )
                for section in pe.sections
            ),
            tuple(dict.fromkeys(entry.dll.decode() for entry in entries)),
        )


def _number(layout: Any, field: str, value: int | str) -> int:  # noqa: ANN401 - construct's
    if isinstance(value, int):
        return value
    coder = next(sub for sub in layout.subcons if sub.name == field)
    encoding: dict[str, int] = coder.encoding
    return encoding[value]
