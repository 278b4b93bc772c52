"""Sections of a PE file, read by LIEF from the header bytes alone."""

from __future__ import annotations

from fatbin.errors import TruncatedError
from fatbin.scanning import lief_bridge
from fatbin.scanning.coff import CODE, MACHINES, NO_BYTES
from fatbin.scanning.host import Host, HostSection, clipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.errors import Report
    from fatbin.format.view import View

_POINTER_AT = 0x3C  # e_lfanew
_OPTIONAL_AT = 24
_SECTION_SIZE = 40
_MOST_HEADERS = 1 << 20


def header_bytes(view: View) -> bytes:
    """Return the bytes from the start of a PE file to the end of its section table.

    Raises:
        TruncatedError: the file ends before.
        LimitExceededError: the headers claim more than a megabyte.
    """
    signature = int.from_bytes(view.read(_POINTER_AT, 4, "e_lfanew"), "little")
    head = view.read(signature, _OPTIONAL_AT, "PE header")
    if head[:4] != b"PE\0\0":
        raise TruncatedError(
            f"expected a PE signature, found {head[:4]!r}",
            offset=signature,
            field="signature",
            expected="50 45 00 00",
            found=head[:4].hex(" "),
            location=view.name,
        )
    count = int.from_bytes(head[6:8], "little")
    optional = int.from_bytes(head[20:22], "little")
    size = signature + _OPTIONAL_AT + optional + count * _SECTION_SIZE
    return view.read(0, size, "PE headers", _MOST_HEADERS)


def read_pe_host(view: View, report: Report) -> Host:
    """Read the section table of a PE file.

    The raw size of a section is rounded up to the file alignment; its virtual size is the true one
    and the smaller of the two counts.

    Raises:
        FormatError: no usable headers.
        MissingDependencyError: without LIEF.
    """
    headers = lief_bridge.pe_headers(header_bytes(view), view.name)
    sections = []
    for name, address, virtual_size, offset, raw_size, characteristics in headers.sections:
        if characteristics & NO_BYTES and not raw_size:
            continue
        size = min(virtual_size or raw_size, raw_size)
        size = clipped(view, name, offset, size, report)
        code = bool(characteristics & CODE)
        sections.append(HostSection(name, offset, size, address, not code, code))
    return Host(
        format="pe",
        machine=MACHINES.get(headers.machine, hex(headers.machine)),
        linked=True,
        sections=tuple(sections),
        image_base=headers.image_base,
    )
