"""How a host library hangs together with others: soname, needed libraries, CUDA runtime, version.

LIEF reads the import directory of a PE file. It would read the whole file into memory; it is given
a small one that holds the headers and that directory alone, at new offsets.
"""

from __future__ import annotations

import re

from fatbin.errors import FormatError, LimitExceededError, MissingDependencyError
from fatbin.format.elf import PT_NOTE, read_elf_header, read_segments
from fatbin.format.layouts import NOTE_HEADER
from fatbin.inventory import Linkage
from fatbin.scanning import lief_bridge
from fatbin.scanning.dynamic import Dynamic, read_dynamic
from fatbin.scanning.pe import header_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.format.elf import ElfSegment
    from fatbin.format.view import View
    from fatbin.limits import Limits
    from fatbin.scanning.host import Host

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
    build_id = ""
    dynamic = Dynamic()
    if host.format == "elf":
        header = read_elf_header(view)
        segments = read_segments(view, header, limits)
        build_id = _build_id(view, segments, limits)
        dynamic = read_dynamic(view, header, segments, limits)
    elif host.format == "pe":
        dynamic = Dynamic(needed=_pe_imports(view, host, limits))
    return Linkage(
        soname=dynamic.soname,
        needed=dynamic.needed,
        runpath=dynamic.runpath,
        cuda_runtime=_cuda_runtime(view, host, dynamic.soname, dynamic.needed),
        build_id=build_id,
        version=_version(view, host, dynamic.soname),
        rpath=dynamic.rpath,
    )


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
