"""Sections of a COFF object, the member format of Windows ``.lib`` archives.

Source: Microsoft's PE Format specification. Names longer than eight characters stand in the string
table behind the symbols.
"""

from __future__ import annotations

from fatbin.errors import LimitExceededError, TruncatedError
from fatbin.format.layouts import COFF_HEADER, COFF_SECTION
from fatbin.format.strings import StringTable
from fatbin.scanning.host import Host, HostSection, clipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.limits import Limits

MACHINES = {0x8664: "x86_64", 0xAA64: "aarch64", 0x14C: "x86"}
_SYMBOL_SIZE = 18
CODE = 0x20 | 0x20000000
NO_BYTES = 0x80


def is_coff(view: View) -> bool:
    """Tell whether a view begins like a COFF object: known machine, sections that fit."""
    if view.size < COFF_HEADER.size:
        return False
    header = COFF_HEADER.named(COFF_HEADER.read(view, 0))
    end = COFF_HEADER.size + header["section_count"] * COFF_SECTION.size
    return (
        header["machine"] in MACHINES
        and header["optional_size"] == 0
        and header["section_count"] > 0
        and end <= view.size
    )


def read_coff_host(view: View, limits: Limits, report: Report) -> Host:
    """Read the section table of a COFF object.

    Raises:
        FormatError: the tables are not inside the view.
        LimitExceededError: names that overlap without end.
    """
    header = COFF_HEADER.named(COFF_HEADER.read(view, 0))
    strings = _string_table(view, header, limits, report)
    sections = []
    for index in range(header["section_count"]):
        offset = COFF_HEADER.size + header["optional_size"] + index * COFF_SECTION.size
        row = COFF_SECTION.read(view, offset)
        name = _name(bytes(row[0]), strings)
        raw_size, raw_offset, characteristics = row[3], row[4], row[9]
        if characteristics & NO_BYTES or not raw_offset:
            continue
        size = clipped(view, name, raw_offset, raw_size, report)
        code = bool(characteristics & CODE)
        sections.append(HostSection(name, raw_offset, size, 0, not code, code))
    return Host(
        format="coff",
        machine=MACHINES.get(header["machine"], hex(header["machine"])),
        linked=False,
        sections=tuple(sections),
    )


def _string_table(
    view: View, header: dict[str, int], limits: Limits, report: Report
) -> StringTable:
    start = header["symbol_offset"] + header["symbol_count"] * _SYMBOL_SIZE
    if not header["symbol_offset"]:
        return StringTable(b"")
    try:
        size = int.from_bytes(view.read(start, 4, "string table size"), "little")
        return StringTable(view.read(start, size, "string table", limits.header_bytes), view.name)
    except (TruncatedError, LimitExceededError) as exc:
        report(exc)
        return StringTable(b"")


def _name(raw: bytes, strings: StringTable) -> str:
    text = raw.rstrip(b"\0")
    if text[:1] == b"/" and text[1:].isdigit():
        offset = int(text[1:])
        return strings.at(offset) or text.decode()
    return text.decode("utf-8", "backslashreplace")
