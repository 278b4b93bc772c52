"""The head of a cubin: which architecture, which toolkit, executable or relocatable.

The variant of the architecture stands in three places, by age (evidence: built with the toolkits
11.8 to 13.5 and compared):

* ELF ABI 7 (toolkits up to 12.9, SM below 100): ``e_flags`` bit 0x800 is ``a``;
* ELF ABI 8 by 12.8 and 12.9: ``e_flags`` bit 0x8 is ``a``;
* ELF ABI 8 by 13.0 and later: attribute 9 of section ``.nv.compat`` is 1 for ``a``.

Nothing marks ``f`` but the command line in ``.note.nv.tkinfo``; without that note a cubin for
SM 100 or later is of unknown variant.
"""

from __future__ import annotations

import re

from fatbin._record import Record
from fatbin.arch import Architecture, architecture
from fatbin.errors import FormatError, LimitExceededError
from fatbin.format.attributes import attributes, fastpath_finalize
from fatbin.format.elf import (
    ELF_MAGIC,
    EM_CUDA,
    ET_REL,
    SHT_NOBITS,
    ElfSection,
    elf_extent,
    read_elf_header,
    read_section_rows,
)
from fatbin.format.layouts import NOTE_HEADER
from fatbin.format.strings import StringTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.format.elf import ElfHeader
    from fatbin.format.view import View
    from fatbin.limits import Limits

COMPAT_SECTION = ".nv.compat"
TKINFO_SECTION = ".note.nv.tkinfo"
CUINFO_SECTION = ".note.nv.cuinfo"
_HEAD_NAMES = tuple(
    name.encode() + b"\0" for name in (COMPAT_SECTION, TKINFO_SECTION, CUINFO_SECTION)
)
CUDA_ACCELERATOR_TARGET = 9
NOTE_TKINFO = 2000
NOTE_CUINFO = 1000
_OLD_ABI = 7
_FIRST_FAMILY_SM = 100
_TKINFO_HEADER = 24
_ARCH_OPTION = rb"-arch[ =](?:sm|compute)_(\d+)([af]?)"
_TOOL_VERSION = rb"release (\d+\.\d+)"


class CubinHead(Record):
    """What a cubin says of itself before any kernel is looked at.

    Attributes:
        arch: real architecture; None when the number is no SM number.
        virtual_sm: SM number of the PTX it was compiled from (ELF ABI 7 only), else 0.
        relocatable: True for input of a device link (``e_type`` 1).
        abi: ELF ABI version, 7 or 8.
        toolkit: such as ``12.4``; empty when the file does not tell.
        size: bytes of the image, from its tables.
        fastpath_finalize: attribute 0x0B of ``.nv.compat``; None where there is none.
    """

    arch: Architecture | None
    virtual_sm: int
    relocatable: bool
    abi: int
    toolkit: str
    size: int
    fastpath_finalize: int | None = None


class ToolNote(Record):
    """What one tool wrote into ``.note.nv.tkinfo``; linked images have several.

    Attributes:
        tool: such as ``ptxas``.
        version: its whole version text.
        branch: of its sources.
        command_line: the options it ran with.
    """

    tool: str
    version: str
    branch: str
    command_line: str


def is_cubin(data: bytes) -> bool:
    """Tell whether 20 or more bytes begin a 64-bit CUDA ELF image."""
    return data[:4] == ELF_MAGIC and data[4:6] == b"\2\1" and data[18:20] == b"\xbe\0"


def read_cubin_head(
    view: View,
    limits: Limits,
    header: ElfHeader | None = None,
    sections: tuple[ElfSection, ...] | None = None,
) -> CubinHead:
    """Read the head of the cubin at the start of a view; tables read before can be given.

    Raises:
        FormatError: not a CUDA ELF image, or its tables are not inside the view.
        LimitExceededError: a table is larger than ``limits.header_bytes``.
    """
    header = header or read_elf_header(view)
    if header.machine != EM_CUDA:
        raise FormatError(
            f"expected a CUDA ELF image (e_machine {EM_CUDA}), found e_machine {header.machine}",
            offset=view.report_offset(18),
            field="machine",
            expected=str(EM_CUDA),
            found=str(header.machine),
            location=view.name,
        )
    if sections is None:
        by_name, ends = _head_sections(view, header, limits)
    else:
        by_name = {section.name: section for section in sections}
        ends = [section.offset + section.file_size for section in sections]
    notes = read_notes(view, by_name, limits)
    relocatable = header.type == ET_REL
    size = elf_extent(view, header, ends)
    mask = None
    if header.abi_version <= _OLD_ABI:
        number, virtual_sm = header.flags & 0xFF, header.flags >> 16 & 0xFF
        variant = "a" if header.flags & 0x800 else ""
        toolkit = f"{header.version // 10}.{header.version % 10}"
    else:
        number, virtual_sm = header.flags >> 8 & 0xFF, 0
        compat = _section_bytes(view, by_name.get(COMPAT_SECTION), limits)
        variant = _new_variant(header, compat, notes, number)
        toolkit = _toolkit(notes)
        mask = fastpath_finalize(compat)
    arch = architecture(number, variant, virtual=False)
    return CubinHead(arch, virtual_sm, relocatable, header.abi_version, toolkit, size, mask)


def _head_sections(
    view: View, header: ElfHeader, limits: Limits
) -> tuple[dict[str, ElfSection], list[int]]:
    """Return the sections that the head is read from, and where each section ends.

    Other names are not looked at: cubins have dozens of sections, and packages thousands of cubins.
    """
    rows, table = read_section_rows(view, header, limits)
    table += b"\0"
    found = {}
    ends = []
    for row in rows:
        ends.append(row[4] if row[1] == SHT_NOBITS else row[4] + row[5])
        if table.startswith(_HEAD_NAMES, row[0]):
            name = table[row[0] : table.index(b"\0", row[0])].decode()
            found[name] = ElfSection(name, *row[1:8])
    return found, ends


def read_compat(view: View, limits: Limits) -> bytes:
    """Return the bytes of the cubin's ``.nv.compat`` section; empty when it has none.

    Raises:
        FormatError: not an ELF image, or its section table is not inside the view.
    """
    sections, _ = _head_sections(view, read_elf_header(view), limits)
    return _section_bytes(view, sections.get(COMPAT_SECTION), limits)


def tool_notes(notes: list[tuple[int, bytes]]) -> tuple[ToolNote, ...]:
    """Return what the notes of type 2000 say.

    A note is a version word, five offsets into the string area behind them, and that area; the
    first string is empty (evidence: bytes).
    """
    found = []
    for type_, desc in notes:
        if type_ != NOTE_TKINFO or len(desc) < _TKINFO_HEADER:
            continue
        area = StringTable(desc[_TKINFO_HEADER:])
        texts = [area.at(int.from_bytes(desc[at : at + 4], "little")) for at in (8, 12, 16, 20)]
        found.append(ToolNote(*texts))
    return tuple(found)


def read_notes(
    view: View, sections: dict[str, ElfSection], limits: Limits
) -> list[tuple[int, bytes]]:
    """Return ``(type, description)`` of NVIDIA's notes; several may stand in one section."""
    return list(_notes(view, sections, limits))


def _new_variant(
    header: ElfHeader, compat: bytes, notes: list[tuple[int, bytes]], number: int
) -> str:
    if header.flags & 0x8:
        return "a"
    for _, ident, value, _ in attributes(compat):
        if ident == CUDA_ACCELERATOR_TARGET and value & 0xFF == 1:
            return "a"
    if number < _FIRST_FAMILY_SM:
        return ""
    for type_, text in notes:
        if type_ == NOTE_TKINFO:
            for match in re.finditer(_ARCH_OPTION, text):
                if int(match[1]) == number:
                    return match[2].decode()
    return "?"


def _toolkit(notes: list[tuple[int, bytes]]) -> str:
    for type_, desc in notes:
        if type_ == NOTE_TKINFO and (match := re.search(_TOOL_VERSION, desc)):
            return match[1].decode()
    for type_, desc in notes:
        if type_ == NOTE_CUINFO and len(desc) >= 6:  # noqa: PLR2004 - version, SM, toolkit
            number = int.from_bytes(desc[4:6], "little")
            return f"{number // 10}.{number % 10}"
    return ""


def _notes(
    view: View, sections: dict[str, ElfSection], limits: Limits
) -> Iterator[tuple[int, bytes]]:
    """Yield ``(type, description)`` of NVIDIA's notes; several may stand in one section."""
    for name in (TKINFO_SECTION, CUINFO_SECTION):
        data = _section_bytes(view, sections.get(name), limits)
        position = 0
        while position + NOTE_HEADER.size <= len(data):
            name_size, desc_size, type_ = NOTE_HEADER.unpack_from(data, position)
            position += NOTE_HEADER.size + (name_size + 3 & ~3)
            yield type_, data[position : position + desc_size]
            position += desc_size + 3 & ~3


def _section_bytes(view: View, section: ElfSection | None, limits: Limits) -> bytes:
    """Return a small section's bytes; nothing when there is none or it is not inside the image."""
    if section is None:
        return b""
    try:
        return view.read(section.offset, section.file_size, section.name, limits.header_bytes)
    except (FormatError, LimitExceededError):
        return b""  # the variant then is unknown, which is what it says
