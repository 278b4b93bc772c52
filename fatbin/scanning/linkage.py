"""How a host library hangs together with others: soname, needed libraries, CUDA runtime, version.

LIEF reads the dynamic section and the import directory. It would read the whole file into memory;
it is given a small file that holds the header and those tables alone, at new offsets.
"""

from __future__ import annotations

import re

from fatbin.errors import FormatError, LimitExceededError, MissingDependencyError
from fatbin.format.elf import PT_DYNAMIC, PT_LOAD, PT_NOTE, read_elf_header, read_segments
from fatbin.format.layouts import (
    ELF32_DYNAMIC,
    ELF32_HEADER,
    ELF32_SEGMENT,
    ELF64_DYNAMIC,
    ELF64_HEADER,
    ELF64_SEGMENT,
    ELF_IDENT,
    NOTE_HEADER,
)
from fatbin.inventory import Linkage
from fatbin.scanning import lief_bridge
from fatbin.scanning.pe import header_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.format.elf import ElfHeader, ElfSegment
    from fatbin.format.view import View
    from fatbin.limits import Limits
    from fatbin.scanning.host import Host
    from fatbin.scanning.lief_bridge import ElfDynamic

_DT_STRTAB = 5
_DT_STRSZ = 10
_NT_GNU_BUILD_ID = 3
_PAGE = 4096
_NOTE_BYTES = 1 << 16

STATIC_RUNTIME_MARK = b"cudaErrorCudartUnloading"
"""An error name that only the CUDA runtime's own table holds. Evidence: in every library seen that
links the runtime statically (toolkits 11.8 to 13.4), in none that needs libcudart."""

VERSION_MARKS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    # NCCL prints this line under NCCL_DEBUG=VERSION; seen in 2.26.2 to 2.32.3.
    ("nccl", re.compile(rb"NCCL version (\d+\.\d+\.\d+\+cuda\d+\.\d+)")),
)
"""Library name part, and the pattern of the version string that it holds."""

_READ_ONLY_DATA = (".rodata", ".rdata", ".lrodata", "segment")


def read_linkage(view: View, host: Host, limits: Limits) -> Linkage:
    """Read the linkage of a linked ELF or PE file.

    Raises:
        FormatError: the tables are not inside the file.
        MissingDependencyError: a PE file without LIEF.
    """
    soname = build_id = ""
    needed: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    if host.format == "elf":
        header = read_elf_header(view)
        segments = read_segments(view, header, limits)
        build_id = _build_id(view, segments, limits)
        small = compact_elf(view, header, segments, limits)
        dynamic = _dynamic(small, limits) if small else None
        if dynamic is not None:
            soname, needed, runpath = dynamic.soname, dynamic.needed, dynamic.runpath
    elif host.format == "pe":
        needed = _pe_imports(view, host, limits)
    return Linkage(
        soname=soname,
        needed=needed,
        runpath=runpath,
        cuda_runtime=_cuda_runtime(view, host, soname, needed),
        build_id=build_id,
        version=_version(view, host, soname),
    )


def _dynamic(small: bytes, limits: Limits) -> ElfDynamic | None:
    """Ask LIEF; where it is not installed, read what is needed here."""
    try:
        return lief_bridge.elf_dynamic(small)
    except MissingDependencyError:
        from fatbin.scanning.dynamic import plain_dynamic  # noqa: PLC0415 - LIEF is the rule

        return plain_dynamic(small, limits)


def compact_elf(
    view: View, header: ElfHeader, segments: tuple[ElfSegment, ...], limits: Limits
) -> bytes:
    """Return a small ELF file with the dynamic section and its strings; empty without one.

    Addresses are kept, file offsets are new: header, program headers, then one page-aligned piece
    each for the dynamic section and the string table.
    """
    dynamic = next((s for s in segments if s.type == PT_DYNAMIC and s.file_size), None)
    if dynamic is None:
        return b""
    wide = header.bits == 64  # noqa: PLR2004
    table = view.read(dynamic.offset, dynamic.file_size, "dynamic section", limits.header_bytes)
    tags = _dynamic_tags(table, wide=wide)
    address, size = tags.get(_DT_STRTAB, 0), tags.get(_DT_STRSZ, 0)
    load = next(
        (
            s
            for s in segments
            if s.type == PT_LOAD and s.address <= address < s.address + s.file_size
        ),
        None,
    )
    if load is None or not size:
        return b""
    strings_at = load.offset + address - load.address
    strings = view.read(strings_at, size, "dynamic string table", limits.header_bytes)
    segment_layout = ELF64_SEGMENT if wide else ELF32_SEGMENT
    header_layout = ELF64_HEADER if wide else ELF32_HEADER
    head_size = ELF_IDENT.size + header_layout.size
    table_at = _PAGE
    strings_at = table_at + (len(table) + _PAGE - 1) // _PAGE * _PAGE
    rows = [
        (PT_LOAD, table_at, dynamic.address, len(table)),
        (PT_LOAD, strings_at, address, len(strings)),
        (PT_DYNAMIC, table_at, dynamic.address, len(table)),
    ]
    ident = view.read(0, ELF_IDENT.size, "ELF header")
    out = bytearray(ident)
    out += header_layout.struct.pack(
        0, head_size, 0, 0, head_size, segment_layout.size, len(rows), 0, 0, 0
    )
    for type_, offset, where, length in rows:
        named = {
            "type": type_, "flags": 4, "offset": offset, "vaddr": where, "paddr": where,
            "filesz": length, "memsz": length, "align": 1,
        }  # fmt: skip
        out += segment_layout.struct.pack(*(named[field] for field in segment_layout.fields))
    out = out.ljust(table_at, b"\0") + table
    return bytes(out.ljust(strings_at, b"\0") + strings)


def _dynamic_tags(table: bytes, *, wide: bool) -> dict[int, int]:
    layout = ELF64_DYNAMIC if wide else ELF32_DYNAMIC
    tags: dict[int, int] = {}
    for offset in range(0, len(table) - layout.size + 1, layout.size):
        tag, value = layout.unpack_from(table, offset)
        if tag == 0:
            break
        tags.setdefault(tag, value)
    return tags


def _build_id(view: View, segments: tuple[ElfSegment, ...], limits: Limits) -> str:
    left = view.size + _NOTE_BYTES  # what more is there overlaps
    for segment in segments:
        if segment.type != PT_NOTE:
            continue
        data = view.peek(segment.offset, min(segment.file_size, _NOTE_BYTES))
        left -= len(data)
        if left < 0:
            msg = "the note segments overlap: together they are larger than the file"
            raise FormatError(msg, offset=segment.offset, field="note", location=view.name)
        late = limits.late(view.name)
        if late is not None:
            raise late
        position = 0
        while position + NOTE_HEADER.size <= len(data):
            name_size, desc_size, type_ = NOTE_HEADER.unpack_from(data, position)
            position += NOTE_HEADER.size
            name = data[position : position + name_size]
            position += name_size + 3 & ~3
            if type_ == _NT_GNU_BUILD_ID and name == b"GNU\0":
                return data[position : position + desc_size].hex()
            position += desc_size + 3 & ~3
    return ""


def _pe_imports(view: View, host: Host, limits: Limits) -> tuple[str, ...]:
    """Give LIEF the headers and the pages from the import directory to its section's end."""
    headers = header_bytes(view)
    facts = lief_bridge.pe_headers(headers, view.name)
    names: dict[str, None] = {}
    for address in sorted({facts.imports_at, facts.delay_imports_at} - {0}):
        section = next(
            (s for s in host.sections if s.address <= address < s.address + s.size), None
        )
        if section is None:
            continue
        begin = address - address % _PAGE
        offset = section.offset + max(0, begin - section.address)
        begin = max(begin, section.address)
        size = min(section.address + section.size - begin, limits.header_bytes)
        data = view.read(offset, size, "import directory", limits.header_bytes)
        names |= dict.fromkeys(lief_bridge.pe_imports(_compact_pe(headers, begin, data)))
    return tuple(names)


def _compact_pe(headers: bytes, address: int, data: bytes) -> bytes:
    """Return a PE file with one section: ``data`` at ``address``."""
    signature = int.from_bytes(headers[0x3C:0x40], "little")
    optional = int.from_bytes(headers[signature + 20 : signature + 22], "little")
    table = signature + 24 + optional
    start = (table + 40 + _PAGE - 1) // _PAGE * _PAGE
    section = b".rdata\0\0"
    for value in (len(data), address, len(data), start, 0, 0, 0, 0x40000040):
        section += value.to_bytes(4, "little")
    one = headers[:table] + section
    one = one[: signature + 6] + (1).to_bytes(2, "little") + one[signature + 8 :]
    return one.ljust(start, b"\0") + data


def _cuda_runtime(view: View, host: Host, soname: str, needed: tuple[str, ...]) -> str:
    for name in needed:
        if name.lower().startswith(("libcudart.so", "cudart64_", "cudart32_", "cudart.dll")):
            return name
    if soname.startswith("libcudart"):
        return ""
    return "static" if _search(view, host, re.compile(STATIC_RUNTIME_MARK)) else ""


def _version(view: View, host: Host, soname: str) -> str:
    name = (soname or view.name.replace("\\", "/").rpartition("/")[2]).lower()
    for part, pattern in VERSION_MARKS:
        if part in name:
            match = _search(view, host, pattern)
            if match:
                return match[1].decode()
    return ""


def _search(view: View, host: Host, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
    """Search the read-only data; what several sections claim is searched once."""
    reached = 0
    # The offset is what the header says, and may be larger than any index.
    for start, stop in sorted(
        (min(section.offset, view.size), min(section.offset + section.size, view.size))
        for section in host.sections
        if section.name.startswith(_READ_ONLY_DATA)
    ):
        if stop > reached:
            begin = view.start + max(start, reached)
            match = pattern.search(view.buffer, begin, view.start + stop)
            if match:
                return match
            reached = stop
    return None


LINKAGE_ERRORS = (FormatError, LimitExceededError, MissingDependencyError)
"""What :func:`read_linkage` raises; device code can be read all the same."""
