"""Sections of an ELF host file, and what stands in when there is no section table."""

from __future__ import annotations

from fatbin.errors import FormatError, LimitExceededError
from fatbin.format.elf import (
    ET_REL,
    PF_X,
    PT_LOAD,
    SHF_EXECINSTR,
    SHT_NOBITS,
    read_elf_header,
    read_sections,
    read_segments,
)
from fatbin.scanning.host import PLACES, Host, HostSection, clipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.errors import Report
    from fatbin.format.elf import ElfHeader
    from fatbin.format.view import View
    from fatbin.limits import Limits

_TABLE_TYPES = frozenset((2, 3, 4, 5, 6, 9, 11, 0x6FFFFFF6, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF))
"""SYMTAB, STRTAB, RELA, HASH, DYNAMIC, REL, DYNSYM, GNU_HASH and the GNU version tables."""

_TABLE_NAMES = (".debug_", ".zdebug_", ".eh_frame", ".gcc_except_table")


def read_elf_host(view: View, limits: Limits, report: Report) -> Host:
    """Read the tables of an ELF host file.

    A section table that cannot be read is reported; then, and where there is none, the segments
    stand in without names, none of them called executable: linkers before ``-z separate-code``
    put read-only data and code into one segment.

    Raises:
        FormatError: the ELF header itself is not usable.
    """
    header = read_elf_header(view)
    try:
        sections = _sections(view, header, limits, report)
    except (FormatError, LimitExceededError) as exc:
        report(exc)
        sections = ()
    if not sections:
        sections = _segments(view, header, limits, report)
    return Host(
        format="elf",
        machine=header.machine_name,
        linked=header.type != ET_REL,
        sections=sections,
    )


def _sections(
    view: View, header: ElfHeader, limits: Limits, report: Report
) -> tuple[HostSection, ...]:
    found = []
    for section in read_sections(view, header, limits):
        if section.type == SHT_NOBITS:
            if section.name in PLACES and section.size:
                report(_stripped(view, section.name, section.offset, section.size))
            continue
        size = clipped(view, section.name, section.offset, section.size, report)
        code = bool(section.flags & SHF_EXECINSTR)
        searched = not (
            code or section.type in _TABLE_TYPES or section.name.startswith(_TABLE_NAMES)
        )
        found.append(
            HostSection(section.name, section.offset, size, section.address, searched, code)
        )
    return tuple(found)


def _segments(
    view: View, header: ElfHeader, limits: Limits, report: Report
) -> tuple[HostSection, ...]:
    try:
        segments = read_segments(view, header, limits)
    except (FormatError, LimitExceededError) as exc:
        report(exc)
        return ()
    return tuple(
        HostSection(
            "code segment" if segment.flags & PF_X else "segment",
            segment.offset,
            max(0, min(segment.file_size, view.size - segment.offset)),
            segment.address,
            code=bool(segment.flags & PF_X),
        )
        for segment in segments
        if segment.type == PT_LOAD
    )


def _stripped(view: View, name: str, offset: int, size: int) -> FormatError:
    return FormatError(
        f"section {name} of {size} bytes has no bytes in this file (NOBITS): a debug file, "
        "whose device code is in the library it was split from",
        offset=offset,
        field="type",
        expected="bytes in the file",
        found="NOBITS",
        location=view.name,
        hint="scan the library itself, not its debug file",
    )
