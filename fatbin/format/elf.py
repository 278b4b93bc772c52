"""ELF headers, section and segment tables: of host files and of cubins alike.

Little-endian, 32 and 64 bit. Only tables are read; what they point at is checked against the file
by whoever reads it.
"""

from __future__ import annotations

from fatbin._record import Record
from fatbin.errors import (
    BadMagicError,
    LimitExceededError,
    SizeMismatchError,
    UnsupportedVersionError,
)
from fatbin.format.layouts import (
    ELF32_HEADER,
    ELF32_SECTION,
    ELF32_SEGMENT,
    ELF64_HEADER,
    ELF64_SECTION,
    ELF64_SEGMENT,
    ELF_IDENT,
)
from fatbin.format.strings import StringTable
from fatbin.limits import DEFAULT_LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.format.layout import Layout
    from fatbin.format.view import View
    from fatbin.limits import Limits

ELF_MAGIC = b"\x7fELF"
EM_CUDA = 190
ET_REL = 1
SHT_NOBITS = 8
SHF_EXECINSTR = 4
PT_LOAD = 1
PT_DYNAMIC = 2
PT_NOTE = 4
PF_X = 1
_EXTENDED = 0xFFFF  # SHN_XINDEX and PN_XNUM: the number stands in section 0
_MACHINES = {
    3: "x86",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    190: "cuda",
    243: "riscv64",
    21: "ppc64",
}


class ElfHeader(Record):
    """The fields of an ELF header that matter here; names are the specification's."""

    bits: int
    os_abi: int
    abi_version: int
    type: int
    machine: int
    version: int
    phoff: int
    shoff: int
    flags: int
    phentsize: int
    phnum: int
    shentsize: int
    shnum: int
    shstrndx: int

    @property
    def machine_name(self) -> str:
        """The machine as ``uname -m`` prints it, or ``e_machine 123``."""
        return _MACHINES.get(self.machine, f"e_machine {self.machine}")


class ElfSection(Record):
    """One section header with its name resolved; offsets and sizes in bytes."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int

    @property
    def file_size(self) -> int:
        """Bytes in the file: 0 for NOBITS sections."""
        return 0 if self.type == SHT_NOBITS else self.size


class ElfSegment(Record):
    """One program header; offsets and sizes in bytes."""

    type: int
    flags: int
    offset: int
    address: int
    file_size: int


def read_elf_header(view: View) -> ElfHeader:
    """Read the ELF header at the start of a view.

    Raises:
        BadMagicError: not an ELF file.
        UnsupportedVersionError: neither 32 nor 64 bit, or big-endian.
        TruncatedError: the view ends inside the header.
    """
    magic, elf_class, data, _, os_abi, abi_version, _, type_, machine, version = ELF_IDENT.read(
        view, 0
    )
    if magic.to_bytes(4, "little") != ELF_MAGIC:
        raise BadMagicError(
            f"expected an ELF magic, found {magic:#x}",
            offset=view.report_offset(0),
            field="magic",
            expected="7F 45 4C 46",
            found=hex(magic),
            location=view.name,
        )
    if elf_class not in (1, 2) or data != 1:
        raise UnsupportedVersionError(
            f"expected a little-endian ELF of class 1 or 2, found class {elf_class}, data {data}",
            offset=view.report_offset(4),
            field="elf_class",
            expected="class 1 or 2, data 1",
            found=f"class {elf_class}, data {data}",
            location=view.name,
        )
    layout = ELF32_HEADER if elf_class == 1 else ELF64_HEADER
    _, phoff, shoff, flags, _, phentsize, phnum, shentsize, shnum, shstrndx = layout.read(
        view, ELF_IDENT.size
    )
    return ElfHeader(
        32 * elf_class,
        os_abi,
        abi_version,
        type_,
        machine,
        version,
        phoff,
        shoff,
        flags,
        phentsize,
        phnum,
        shentsize,
        shnum,
        shstrndx,
    )


def read_sections(
    view: View, header: ElfHeader, limits: Limits = DEFAULT_LIMITS
) -> tuple[ElfSection, ...]:
    """Read the section table with names; empty when the file has none.

    Raises:
        TruncatedError: the table or the name section is not inside the view.
        SizeMismatchError: the headers are smaller than the specification's.
        LimitExceededError: more than ``limits.sections``, or a table larger than
            ``limits.header_bytes``.
    """
    rows, table = read_section_rows(view, header, limits)
    names = StringTable(table, view.name)
    return tuple(
        ElfSection(names.at(row[0]), row[1], row[2], row[3], row[4], row[5], row[6], row[7])
        for row in rows
    )


def read_section_rows(
    view: View, header: ElfHeader, limits: Limits = DEFAULT_LIMITS
) -> tuple[list[tuple[int, ...]], bytes]:
    """Read the section table as it stands, and the bytes of its names; see :func:`read_sections`.

    The columns are those of the layout: name, type, flags, address, offset, size, link, info, ...

    Raises as :func:`read_sections` does.
    """
    if header.shoff == 0:
        return [], b""
    layout = ELF32_SECTION if header.bits == 32 else ELF64_SECTION  # noqa: PLR2004
    count, names_index = header.shnum, header.shstrndx
    _check_entry_size(view, "shentsize", header.shentsize, layout)
    if count == 0 or names_index == _EXTENDED:
        first = layout.read(view, header.shoff)
        count = count or first[5]
        names_index = first[6] if names_index == _EXTENDED else names_index
    if count > limits.sections:
        raise LimitExceededError(
            f"{count} sections are more than the limit of {limits.sections}",
            limit="sections",
            allowed=limits.sections,
            actual=count,
            offset=view.report_offset(header.shoff),
            location=view.name,
        )
    raw = view.read(
        header.shoff, count * header.shentsize, "section header table", limits.header_bytes
    )
    if header.shentsize == layout.size:
        rows = list(layout.struct.iter_unpack(raw))
    else:
        rows = [layout.unpack_from(raw, i * header.shentsize) for i in range(count)]
    table = b""
    if 0 < names_index < count and rows[names_index][1] != SHT_NOBITS:
        table = view.read(
            rows[names_index][4], rows[names_index][5], "section name table", limits.header_bytes
        )
    return rows, table


def read_segments(
    view: View, header: ElfHeader, limits: Limits = DEFAULT_LIMITS
) -> tuple[ElfSegment, ...]:
    """Read the program headers; empty when the file has none.

    Raises:
        TruncatedError: the table is not inside the view.
        SizeMismatchError: the headers are smaller than the specification's.
    """
    if header.phoff == 0 or header.phnum == 0:
        return ()
    layout = ELF32_SEGMENT if header.bits == 32 else ELF64_SEGMENT  # noqa: PLR2004
    _check_entry_size(view, "phentsize", header.phentsize, layout)
    size = header.phnum * header.phentsize
    raw = view.read(header.phoff, size, "program header table", limits.header_bytes)
    segments = []
    for i in range(header.phnum):
        named = layout.named(layout.unpack_from(raw, i * header.phentsize))
        segments.append(
            ElfSegment(
                named["type"], named["flags"], named["offset"], named["vaddr"], named["filesz"]
            )
        )
    return tuple(segments)


def elf_extent(view: View, header: ElfHeader, ends: list[int]) -> int:
    """Return how many bytes an ELF file inside a larger view takes, from its tables.

    The section table is not always last: executable cubins have program headers behind it.

    Args:
        view: that the file begins.
        header: of the file.
        ends: of its sections.
    """
    tables = (
        header.shoff + len(ends) * header.shentsize,
        header.phoff + header.phnum * header.phentsize,
    )
    return min(max(*tables, *ends), view.size)


def _check_entry_size(view: View, field: str, size: int, layout: Layout) -> None:
    if size < layout.size:
        raise SizeMismatchError(
            f"{field} {size} is smaller than a header of {layout.size} bytes",
            offset=view.report_offset(0),
            field=field,
            expected=f"at least {layout.size}",
            found=str(size),
            location=view.name,
        )
