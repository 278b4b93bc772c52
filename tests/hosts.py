"""Small host files made in the test: ELF of both classes, PE, archives."""

from __future__ import annotations

from typing import NamedTuple

from fatbin.format.elf import SHF_EXECINSTR, SHT_NOBITS
from fatbin.format.layouts import (
    ELF32_HEADER,
    ELF32_SECTION,
    ELF64_HEADER,
    ELF64_SECTION,
    ELF_IDENT,
)


class Section(NamedTuple):
    """A section to write."""

    name: str
    data: bytes
    executable: bool = False
    nobits: bool = False
    align: int = 8


def elf(
    *sections: Section, bits: int = 64, kind: int = 3, machine: int = 62, table: bool = True
) -> bytes:
    """Return an ELF file with these sections; ``table=False`` leaves the section headers out."""
    header_layout = ELF64_HEADER if bits == 64 else ELF32_HEADER
    section_layout = ELF64_SECTION if bits == 64 else ELF32_SECTION
    body = bytearray(ELF_IDENT.size + header_layout.size)
    names = b"\0"
    rows = [dict.fromkeys(section_layout.fields, 0)]
    for section in (*sections, Section(".shstrtab", b"")):
        data = section.data
        if section.name == ".shstrtab":
            data = names + b".shstrtab\0"
        body += bytes(-len(body) % section.align)
        rows.append(
            {
                "name": len(names),
                "type": SHT_NOBITS if section.nobits else 1,
                "flags": SHF_EXECINSTR if section.executable else 2,
                "addr": 0x10000 + len(body) if kind != 1 else 0,
                "offset": len(body),
                "size": len(data),
                "link": 0,
                "info": 0,
                "addralign": section.align,
                "entsize": 0,
            }
        )
        names += section.name.encode() + b"\0"
        if not section.nobits:
            body += data
    body += bytes(-len(body) % 8)
    shoff = len(body) if table else 0
    ident = ELF_IDENT.struct.pack(0x464C457F, bits // 32, 1, 1, 0, 0, bytes(7), kind, machine, 1)
    header = header_layout.struct.pack(
        0, 0, shoff, 0, ELF_IDENT.size + header_layout.size, 0, 0,
        section_layout.size if table else 0,
        len(rows) if table else 0, len(rows) - 1 if table else 0,
    )  # fmt: skip
    body[: len(ident) + len(header)] = ident + header
    if table:
        for row in rows:
            body += section_layout.struct.pack(*(row[field] for field in section_layout.fields))
    return bytes(body)


def pe(*sections: Section, extra: int = 0) -> bytes:
    """Return a PE32+ file; raw sizes are rounded up to 512, ``extra`` is added to the first."""
    optional = bytearray(240)
    optional[0:2] = (0x20B).to_bytes(2, "little")
    optional[24:32] = (0x180000000).to_bytes(8, "little")  # image base
    optional[32:36] = (0x1000).to_bytes(4, "little")  # section alignment
    optional[36:40] = (0x200).to_bytes(4, "little")  # file alignment
    optional[60:64] = (0x400).to_bytes(4, "little")  # size of headers
    optional[108:112] = (16).to_bytes(4, "little")  # data directories
    dos = b"MZ" + bytes(58) + (0x40).to_bytes(4, "little")
    coff = (
        (0x8664).to_bytes(2, "little")
        + len(sections).to_bytes(2, "little")
        + bytes(12)
        + len(optional).to_bytes(2, "little")
        + (0x2022).to_bytes(2, "little")
    )
    table, body = b"", b""
    address = 0x1000
    for index, section in enumerate(sections):
        raw = len(section.data) + (-len(section.data) % 512) + (extra if index == 0 else 0)
        table += section.name.encode()[:8].ljust(8, b"\0")
        flags = 0x60000020 if section.executable else 0x40000040
        for value in (len(section.data), address, raw, 0x400 + len(body), 0, 0, 0, flags):
            table += value.to_bytes(4, "little")
        body += section.data.ljust(raw, b"\0")
        address += (raw + 0xFFF) & ~0xFFF
    return (dos + b"PE\0\0" + coff + bytes(optional) + table).ljust(0x400, b"\0") + body


def archive(*members: tuple[str, bytes]) -> bytes:
    """Return a GNU archive; names longer than 15 characters go to the name member."""
    names = b""
    out = b"!<arch>\n"
    headers = []
    for name, data in members:
        field = f"{name}/"
        if len(field) > 16:
            field = f"/{len(names)}"
            names += name.encode() + b"/\n"
        headers.append((field, data))
    if names:
        headers.insert(0, ("//", names))
    for field, data in headers:
        out += f"{field:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data
        out += b"\n" * (len(data) & 1)
    return out
