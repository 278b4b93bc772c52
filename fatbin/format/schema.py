"""Every layout of the format, declared once with construct.

The structs hold raw integers only: no enums or flag sets, which would drop unknown bits, and no
payloads, which would be copied. Each field's comment is its meaning and its evidence, and becomes
the table of the format reference:

* *bytes*: read from real files; *built*: made with NVIDIA's tools and compared;
* *oracle*: learned by changing one field and watching what cuobjdump 13.5 prints;
* *gABI*, *PE/COFF*: the public specifications of the host formats;
* *inferred*: a conclusion, not an experiment.

Importing construct takes longer than walking a library. The hot walk therefore uses
:mod:`fatbin.format.layouts`, generated from here by ``python -m fatbin.format.schema`` and proved
equal by a test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from construct import Bytes, Int8ul, Int16ul, Int32ul, Int64ul, Renamed, Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTAINER_HEADER: Struct = Struct(
    "magic" / Int32ul * "0xBA55ED50 (bytes, oracle)",
    "version" / Int16ul * "1 in every file; cuobjdump ignores other values (bytes, oracle)",
    "header_size" / Int16ul * "16 in every file; cuobjdump refuses 0 and 64 (bytes, oracle)",
    "size" / Int64ul * "bytes of all entries, without this header; a multiple of 8 (bytes)",
)

ENTRY_HEADER: Struct = Struct(
    "kind" / Int16ul * "what the payload is, see the table of kinds (bytes, oracle)",
    "version" / Int16ul * "0x0101 in every file; cuobjdump ignores it (bytes, oracle)",
    "header_size" / Int32ul * "from the entry's start to its payload: 64 + tail (bytes, oracle)",
    "padded_size" / Int64ul * "bytes of payload in the file, rounded up to 8 (bytes)",
    "compressed_size" / Int32ul * "bytes of the compressed stream, 0 when plain (bytes)",
    "options_offset" / Int32ul * "from the entry's start to the options record, 0 = none (bytes)",
    "minor" / Int16ul * "code version: of a cubin's ABI, of PTX's .version (bytes)",
    "major" / Int16ul * "code version, see minor (bytes)",
    "arch" / Int32ul * "SM number in decimal, 0 for a group (bytes, oracle)",
    "name_offset" / Int32ul * "from the entry's start to the identifier (bytes, built)",
    "name_length" / Int32ul * "of the identifier without its NUL, 0 = none (bytes, built)",
    "flags" / Int64ul * "see the table of flags (built, oracle)",
    "key" / Int64ul * "obfuscation seed of compressed LTO-IR, else 0 (built)",
    "uncompressed_size" / Int64ul * "bytes after inflating, 0 when plain (bytes)",
)

OPTIONS_RECORD: Struct = Struct(
    "data_offset" / Int32ul * "from the entry's start to the data; 0 in CUDA 11 PTX (bytes, built)",
    "length" / Int32ul * "bytes of data, without the NUL (bytes, built)",
)

GROUP_HEADER: Struct = Struct(
    "count" / Int32ul * "number of images (built)",
    "tail_length" / Int32ul * "bytes of the tail, these 8 included (built)",
)

GROUP_MEMBER: Struct = Struct(
    "kind" / Int16ul * "as in an entry (built)",
    "version" / Int16ul * "as in an entry (built)",
    "image_offset" / Int32ul * "from the start of the inflated payload to the image (built)",
    "image_size" / Int64ul * "plain bytes of the image (built)",
    "compressed_size" / Int32ul * "0: the group is compressed as a whole (built)",
    "options_offset" / Int32ul * "from this header's start, 0 = none (built)",
    "minor" / Int16ul * "as in an entry (built)",
    "major" / Int16ul * "as in an entry (built)",
    "arch" / Int32ul * "SM number in decimal (built)",
    "name_offset" / Int32ul * "from this header's start (built)",
    "name_length" / Int32ul * "as in an entry (built)",
    "flags" / Int64ul * "as in an entry, without compression bits (built)",
    "key" / Int64ul * "as in an entry (inferred)",
    "uncompressed_size" / Int64ul * "0 (built)",
)

WRAPPER: Struct = Struct(
    "magic" / Int32ul * "0x466243B1 (bytes)",
    "version" / Int32ul * "1, or 2 for the output of a device link (bytes, built)",
    "data" / Int64ul * "address of the container (bytes)",
    "prelinked" / Int64ul * "version 2: address of the list of relocatable containers (bytes)",
)

ATTRIBUTE: Struct = Struct(
    "format" / Int8ul * "1 none, 2 byte, 3 half word, 4 sized data behind it (bytes, oracle)",
    "id" / Int8ul * "which attribute (bytes, oracle)",
    "value" / Int16ul * "the value, or the bytes of data that follow (bytes, oracle)",
)

NOTE_HEADER: Struct = Struct(
    "name_size" / Int32ul * "bytes of the name with its NUL (gABI)",
    "desc_size" / Int32ul * "bytes of the description (gABI)",
    "type" / Int32ul * "1000 .note.nv.cuinfo, 2000 .note.nv.tkinfo (bytes)",
)

ELF_IDENT: Struct = Struct(
    "magic" / Int32ul * "0x464C457F, bytes 7F 45 4C 46 (gABI)",
    "elf_class" / Int8ul * "1 = 32-bit, 2 = 64-bit (gABI)",
    "data" / Int8ul * "1 = little-endian (gABI)",
    "ident_version" / Int8ul * "1 (gABI)",
    "os_abi" / Int8ul * "cubin: 0x33 up to toolkit 12.9, 0x41 after (bytes)",
    "abi_version" / Int8ul * "cubin: 7 old, 8 new (bytes)",
    "padding" / Bytes(7) * "zero (gABI)",
    "type" / Int16ul * "1 relocatable, 2 executable, 3 shared (gABI)",
    "machine" / Int16ul * "190 = CUDA (gABI)",
    "version" / Int32ul * "cubin ABI 7: the toolkit, 0x7C = 12.4; else 1 (bytes)",
)

ELF32_HEADER: Struct = Struct(
    "entry" / Int32ul * "entry point (gABI)",
    "phoff" / Int32ul * "offset of the program headers (gABI)",
    "shoff" / Int32ul * "offset of the section headers (gABI)",
    "flags" / Int32ul * "cubin: SM number and variant (bytes, built)",
    "ehsize" / Int16ul * "size of this header (gABI)",
    "phentsize" / Int16ul * "size of a program header (gABI)",
    "phnum" / Int16ul * "number of program headers (gABI)",
    "shentsize" / Int16ul * "size of a section header (gABI)",
    "shnum" / Int16ul * "number of section headers (gABI)",
    "shstrndx" / Int16ul * "section with the section names (gABI)",
)

ELF64_HEADER: Struct = Struct(
    "entry" / Int64ul * "entry point (gABI)",
    "phoff" / Int64ul * "offset of the program headers (gABI)",
    "shoff" / Int64ul * "offset of the section headers (gABI)",
    "flags" / Int32ul * "cubin: SM number and variant (bytes, built)",
    "ehsize" / Int16ul * "size of this header (gABI)",
    "phentsize" / Int16ul * "size of a program header (gABI)",
    "phnum" / Int16ul * "number of program headers (gABI)",
    "shentsize" / Int16ul * "size of a section header (gABI)",
    "shnum" / Int16ul * "number of section headers (gABI)",
    "shstrndx" / Int16ul * "section with the section names (gABI)",
)

ELF32_SECTION: Struct = Struct(
    "name" / Int32ul * "offset of the name in the name section (gABI)",
    "type" / Int32ul * "8 = NOBITS: no bytes in the file (gABI)",
    "flags" / Int32ul * "4 = executable (gABI)",
    "addr" / Int32ul * "address in memory (gABI)",
    "offset" / Int32ul * "offset in the file (gABI)",
    "size" / Int32ul * "bytes (gABI)",
    "link" / Int32ul * "another section; wrong in cubins of toolkits 12.0 to 12.2 (gABI, bytes)",
    "info" / Int32ul * "depends on the type (gABI)",
    "addralign" / Int32ul * "alignment (gABI)",
    "entsize" / Int32ul * "size of a table entry (gABI)",
)

ELF64_SECTION: Struct = Struct(
    "name" / Int32ul * "offset of the name in the name section (gABI)",
    "type" / Int32ul * "8 = NOBITS: no bytes in the file (gABI)",
    "flags" / Int64ul * "4 = executable (gABI)",
    "addr" / Int64ul * "address in memory (gABI)",
    "offset" / Int64ul * "offset in the file (gABI)",
    "size" / Int64ul * "bytes (gABI)",
    "link" / Int32ul * "another section; wrong in cubins of toolkits 12.0 to 12.2 (gABI, bytes)",
    "info" / Int32ul * "depends on the type (gABI)",
    "addralign" / Int64ul * "alignment (gABI)",
    "entsize" / Int64ul * "size of a table entry (gABI)",
)

ELF32_SEGMENT: Struct = Struct(
    "type" / Int32ul * "1 load, 2 dynamic, 4 note (gABI)",
    "offset" / Int32ul * "offset in the file (gABI)",
    "vaddr" / Int32ul * "address in memory (gABI)",
    "paddr" / Int32ul * "unused (gABI)",
    "filesz" / Int32ul * "bytes in the file (gABI)",
    "memsz" / Int32ul * "bytes in memory (gABI)",
    "flags" / Int32ul * "1 = executable (gABI)",
    "align" / Int32ul * "alignment (gABI)",
)

ELF64_SEGMENT: Struct = Struct(
    "type" / Int32ul * "1 load, 2 dynamic, 4 note (gABI)",
    "flags" / Int32ul * "1 = executable (gABI)",
    "offset" / Int64ul * "offset in the file (gABI)",
    "vaddr" / Int64ul * "address in memory (gABI)",
    "paddr" / Int64ul * "unused (gABI)",
    "filesz" / Int64ul * "bytes in the file (gABI)",
    "memsz" / Int64ul * "bytes in memory (gABI)",
    "align" / Int64ul * "alignment (gABI)",
)

ELF32_SYMBOL: Struct = Struct(
    "name" / Int32ul * "offset of the name in the string table (gABI)",
    "value" / Int32ul * "offset in its section (gABI)",
    "size" / Int32ul * "bytes (gABI)",
    "info" / Int8ul * "low four bits: 2 = function (gABI)",
    "other" / Int8ul * "cubin: bit 0x10 marks a kernel (bytes)",
    "shndx" / Int16ul * "index of its section (gABI)",
)

ELF64_SYMBOL: Struct = Struct(
    "name" / Int32ul * "offset of the name in the string table (gABI)",
    "info" / Int8ul * "low four bits: 2 = function (gABI)",
    "other" / Int8ul * "cubin: bit 0x10 marks a kernel (bytes)",
    "shndx" / Int16ul * "index of its section (gABI)",
    "value" / Int64ul * "offset in its section (gABI)",
    "size" / Int64ul * "bytes (gABI)",
)

ELF32_DYNAMIC: Struct = Struct(
    "tag" / Int32ul * "5 string table, 10 its size (gABI)",
    "value" / Int32ul * "address or number (gABI)",
)

ELF64_DYNAMIC: Struct = Struct(
    "tag" / Int64ul * "5 string table, 10 its size (gABI)",
    "value" / Int64ul * "address or number (gABI)",
)

COFF_HEADER: Struct = Struct(
    "machine" / Int16ul * "0x8664 x86-64, 0xAA64 Arm64 (PE/COFF)",
    "section_count" / Int16ul * "number of section headers (PE/COFF)",
    "timestamp" / Int32ul * "of the build (PE/COFF)",
    "symbol_offset" / Int32ul * "offset of the symbol table (PE/COFF)",
    "symbol_count" / Int32ul * "number of symbols of 18 bytes (PE/COFF)",
    "optional_size" / Int16ul * "bytes of the optional header (PE/COFF)",
    "characteristics" / Int16ul * "flags (PE/COFF)",
)

COFF_SECTION: Struct = Struct(
    "name" / Bytes(8) * "name, or /n: offset n of the string table (PE/COFF)",
    "virtual_size" / Int32ul * "bytes in memory, 0 in an object (PE/COFF)",
    "virtual_address" / Int32ul * "address in memory (PE/COFF)",
    "raw_size" / Int32ul * "bytes in the file, rounded up in an image (PE/COFF)",
    "raw_offset" / Int32ul * "offset in the file (PE/COFF)",
    "relocation_offset" / Int32ul * "offset of the relocations (PE/COFF)",
    "line_offset" / Int32ul * "unused (PE/COFF)",
    "relocation_count" / Int16ul * "number of relocations (PE/COFF)",
    "line_count" / Int16ul * "unused (PE/COFF)",
    "characteristics" / Int32ul * "0x20 code, 0x80 no bytes in the file (PE/COFF)",
)

AR_MEMBER: Struct = Struct(
    "name" / Bytes(16) * "name/, or /n: offset n of the long-name member (ar)",
    "date" / Bytes(12) * "decimal text (ar)",
    "uid" / Bytes(6) * "decimal text (ar)",
    "gid" / Bytes(6) * "decimal text (ar)",
    "mode" / Bytes(8) * "octal text (ar)",
    "size" / Bytes(10) * "decimal text: bytes of the member (ar)",
    "end" / Bytes(2) * "bytes 60 0A (ar)",
)

ZIP_END: Struct = Struct(
    "magic" / Int32ul * "bytes 50 4B 05 06 (ZIP)",
    "disk" / Int16ul * "number of this volume, 0 (ZIP)",
    "directory_disk" / Int16ul * "volume of the directory, 0 (ZIP)",
    "disk_count" / Int16ul * "members of this volume (ZIP)",
    "count" / Int16ul * "members, 0xFFFF with zip64 (ZIP)",
    "directory_size" / Int32ul * "bytes of the directory, 0xFFFFFFFF with zip64 (ZIP)",
    "directory_offset" / Int32ul * "of the directory, 0xFFFFFFFF with zip64 (ZIP)",
    "comment_size" / Int16ul * "bytes behind (ZIP)",
)

ZIP64_LOCATOR: Struct = Struct(
    "magic" / Int32ul * "bytes 50 4B 06 07, right before the end record (ZIP)",
    "disk" / Int32ul * "volume of the zip64 end record, 0 (ZIP)",
    "end_offset" / Int64ul * "of the zip64 end record (ZIP)",
    "disks" / Int32ul * "volumes, 1 (ZIP)",
)

ZIP64_END: Struct = Struct(
    "magic" / Int32ul * "bytes 50 4B 06 06 (ZIP)",
    "size" / Int64ul * "bytes behind this field (ZIP)",
    "made_by" / Int16ul * "unused (ZIP)",
    "needed" / Int16ul * "unused (ZIP)",
    "disk" / Int32ul * "number of this volume, 0 (ZIP)",
    "directory_disk" / Int32ul * "volume of the directory, 0 (ZIP)",
    "disk_count" / Int64ul * "members of this volume (ZIP)",
    "count" / Int64ul * "members (ZIP)",
    "directory_size" / Int64ul * "bytes of the directory (ZIP)",
    "directory_offset" / Int64ul * "of the directory (ZIP)",
)

ZIP_MEMBER: Struct = Struct(
    "magic" / Int32ul * "bytes 50 4B 01 02 (ZIP)",
    "made_by" / Int16ul * "unused (ZIP)",
    "needed" / Int16ul * "unused (ZIP)",
    "flags" / Int16ul * "1 encrypted, 0x800 name in UTF-8 (ZIP)",
    "method" / Int16ul * "0 stored, 8 deflate, 12 bzip2 (ZIP)",
    "time" / Int32ul * "unused (ZIP)",
    "crc" / Int32ul * "CRC-32 of the inflated bytes (ZIP)",
    "stored" / Int32ul * "bytes in the file, 0xFFFFFFFF with zip64 (ZIP)",
    "size" / Int32ul * "bytes inflated, 0xFFFFFFFF with zip64 (ZIP)",
    "name_length" / Int16ul * "bytes of the name behind (ZIP)",
    "extra_length" / Int16ul * "bytes of the extra fields behind the name (ZIP)",
    "comment_length" / Int16ul * "bytes of the comment behind the extra fields (ZIP)",
    "disk" / Int16ul * "volume, 0 (ZIP)",
    "internal" / Int16ul * "unused (ZIP)",
    "external" / Int32ul * "unused (ZIP)",
    "offset" / Int32ul * "of the local header, 0xFFFFFFFF with zip64 (ZIP)",
)

ZIP_LOCAL: Struct = Struct(
    "magic" / Int32ul * "bytes 50 4B 03 04 (ZIP)",
    "unused" / Bytes(22) * "what the directory says too (ZIP)",
    "name_length" / Int16ul * "bytes of the name behind (ZIP)",
    "extra_length" / Int16ul * "bytes of the extra fields; the content follows (ZIP)",
)

TAR_HEADER: Struct = Struct(
    "name" / Bytes(100) * "path, ended by NUL where it is shorter (POSIX)",
    "mode" / Bytes(8) * "octal text (POSIX)",
    "owner" / Bytes(16) * "octal text, two numbers (POSIX)",
    "size" / Bytes(12) * "octal text, or binary after a byte 0x80 (POSIX, GNU)",
    "time" / Bytes(12) * "octal text (POSIX)",
    "checksum" / Bytes(8) * "octal text: sum of all bytes, these taken as blanks (POSIX)",
    "type"
    / Bytes(1)
    * "0 or NUL file, 1 hard link, x and g PAX, L and K GNU names, S sparse (POSIX, GNU)",
    "link" / Bytes(100) * "target of a link (POSIX)",
    "magic" / Bytes(8) * "ustar (POSIX)",
    "names" / Bytes(80) * "owner, group and device (POSIX)",
    "prefix" / Bytes(155) * "path before the name (POSIX); of sparse GNU files their map (GNU)",
    "rest" / Bytes(12) * "unused (POSIX)",
)

LAYOUTS: dict[str, Any] = {
    name: value
    for name, value in list(globals().items())
    if name.isupper() and isinstance(value, Struct)
}
"""Every declaration above by name, in order."""


def members(layout: Any) -> Iterator[tuple[str, str, int, str]]:  # noqa: ANN401 - construct is untyped
    """Yield ``(name, struct code, bytes, comment)`` of each field of a declaration."""
    for member in layout.subcons:
        assert isinstance(member, Renamed)  # noqa: S101 - a declaration without names is a bug here
        inner: Any = member.subcon
        while isinstance(inner, Renamed):
            inner = inner.subcon
        size = inner.sizeof()
        code = f"{size}s" if isinstance(inner, type(Bytes(1))) else inner.fmtstr[-1]
        yield str(member.name), code, size, str(member.docs)


def struct_code(layout: Any) -> str:  # noqa: ANN401
    """Return the :mod:`struct` code of a declaration, little-endian: ``<IHHQ``."""
    return "<" + "".join(code for _, code, _, _ in members(layout))


def render_layouts() -> str:
    """Return the text of ``layouts.py``."""
    lines = [
        '"""The layouts of the schema as struct codes.',
        "",
        "Generated by ``python -m fatbin.format.schema``; a test says that this file is what the",
        "schema gives. Do not edit.",
        '"""',
        "",
        "from fatbin.format.layout import Layout",
        "",
    ]
    for name, layout in LAYOUTS.items():
        words = name.lower().replace("_", " ").replace("elf", "ELF").replace("coff", "COFF")
        fields = [field for field, _, _, _ in members(layout)]
        lines += [f"{name} = Layout(", f'    "{words}",', f'    "{struct_code(layout)}",']
        half = (len(fields) + 1) // 2
        joined = " ".join(fields)
        if len(joined) <= 88:  # noqa: PLR2004 - what fits a line of 100
            lines.append(f'    "{joined}",')
        else:
            lines.append(f'    "{" ".join(fields[:half])} "')
            lines.append(f'    "{" ".join(fields[half:])}",')
        lines.append(")")
    return "\n".join(lines) + "\n"


def markdown_table(layout: Any) -> str:  # noqa: ANN401
    """Return the reference table of a declaration: offset, size, name, meaning, evidence."""
    rows = ["| offset | size | name | meaning | evidence |", "|---|---|---|---|---|"]
    offset = 0
    for name, _, size, comment in members(layout):
        meaning, _, evidence = comment.rpartition(" (")
        rows.append(f"| {offset} | {size} | `{name}` | {meaning} | {evidence.rstrip(')')} |")
        offset += size
    return "\n".join(rows)


if __name__ == "__main__":  # pragma: no cover - a generator for maintainers
    import sys

    sys.stdout.write(render_layouts())
