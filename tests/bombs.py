"""Files made to exhaust memory or time, each written to a folder without much of either."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zipfile
import zlib
from typing import TYPE_CHECKING

from hosts import Section, elf
from packing import many_rows
from support import FIXTURES

from fatbin import Limits
from fatbin.format.codec import compress
from fatbin.format.layouts import (
    CONTAINER_HEADER,
    ELF64_HEADER,
    ELF64_SECTION,
    ELF64_SEGMENT,
    ELF_IDENT,
    ENTRY_HEADER,
    GROUP_HEADER,
    GROUP_MEMBER,
)
from fatbin.kinds import Compression, EntryKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_MAGIC = 0xBA55ED50
_ZEROS = bytes(1 << 20)
CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
ZSTD = 0x8000
MANY = 500_000


def container(entries: bytes) -> bytes:
    """Return a container with these entries."""
    return CONTAINER_HEADER.struct.pack(_MAGIC, 1, 16, len(entries)) + entries


def entry(payload: bytes = b"", tail: bytes = b"", **fields: int) -> bytes:
    """Return an entry; fields not given are those of an empty cubin for SM 80."""
    values = dict.fromkeys(ENTRY_HEADER.fields, 0) | {
        "kind": 2, "version": 0x0101, "arch": 80, "header_size": 64 + len(tail),
        "padded_size": len(payload),
    }  # fmt: skip
    values |= fields
    return ENTRY_HEADER.struct.pack(*values.values()) + tail + payload


def empty_entries() -> bytes:
    """One container of half a million entries without anything in them."""
    return container(entry() * MANY)


def embedded_entries() -> bytes:
    """The same as data of a library, where it is found by the search."""
    return elf(Section(".data", container(entry() * MANY)))


def group_members() -> bytes:
    """One group of half a million images without anything in them."""
    fields = dict.fromkeys(GROUP_MEMBER.fields, 0) | {"kind": 2, "version": 0x0101, "arch": 80}
    members = GROUP_MEMBER.struct.pack(*fields.values()) * MANY
    tail = GROUP_HEADER.struct.pack(MANY, 8 + len(members)) + members
    return container(entry(tail=tail, kind=int(EntryKind.GROUP), options_offset=64))


def declared_huge() -> bytes:
    """A zstd payload that declares a terabyte."""
    data = compress(b"x" * 1000, Compression.ZSTD)
    return container(
        entry(data + bytes(-len(data) % 8), flags=ZSTD, compressed_size=len(data),
              uncompressed_size=1 << 40)
    )  # fmt: skip


def zeros_within_limits() -> bytes:
    """A zstd payload that declares what is just allowed, and more than there is memory for."""
    data = compress(b"x", Compression.ZSTD).ljust((1 << 20) + 8, b"\0")
    return container(
        entry(data + bytes(-len(data) % 8), flags=ZSTD, compressed_size=len(data),
              uncompressed_size=1000 << 20)
    )  # fmt: skip


def many_sections() -> bytes:
    """An ELF file with more sections than are read, all of them read-only data of the whole file."""
    return _sections(200_001)


def overlapping_sections() -> bytes:
    """An ELF file with thousands of sections, each of them read-only data of the whole file."""
    return _sections(30_000)


def _sections(count: int) -> bytes:
    shoff = ELF_IDENT.size + ELF64_HEADER.size
    names = b"\0.rodata\0"
    end = shoff + (count + 1) * ELF64_SECTION.size
    first = ELF64_SECTION.struct.pack(0, 0, 0, 0, 0, count + 1, 0, 0, 0, 0)
    table = ELF64_SECTION.struct.pack(1, 3, 0, 0, end, len(names), 0, 0, 1, 0)
    row = ELF64_SECTION.struct.pack(1, 1, 2, 0, 0, end, 0, 0, 1, 0)
    rows = first + table + row * (count - 1)
    return _elf_head(shoff=shoff, shentsize=ELF64_SECTION.size, shstrndx=1) + rows + names


def overlapping_notes() -> bytes:
    """A library whose 60,000 note segments are all the same 64 KiB of empty notes."""
    count, size = 60_000, 1 << 16
    phoff = ELF_IDENT.size + ELF64_HEADER.size
    at = phoff + count * ELF64_SEGMENT.size
    row = ELF64_SEGMENT.struct.pack(4, 4, at, 0, 0, size, size, 4)
    load = ELF64_SEGMENT.struct.pack(1, 4, 0, 0, 0, at + size, at + size, 4096)
    head = _elf_head(phoff=phoff, phentsize=ELF64_SEGMENT.size, phnum=count)
    return head + load + row * (count - 1) + bytes(size)


def _elf_head(**fields: int) -> bytes:
    values = dict.fromkeys(ELF64_HEADER.fields, 0) | {"ehsize": 64} | fields
    ident = ELF_IDENT.struct.pack(0x464C457F, 2, 1, 1, 0, 0, bytes(7), 3, 62, 1)
    return ident + ELF64_HEADER.struct.pack(*values.values())


def _zeros(magic: bytes, mebibytes: int) -> Iterator[bytes]:
    yield magic + _ZEROS[len(magic) :]
    for _ in range(mebibytes - 1):
        yield _ZEROS


def zip_of_zeros() -> bytes:
    """A zip whose one member is 100 MiB of zeros behind the magic of a library."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open("a.so", "w") as member,
    ):
        for piece in _zeros(b"\x7fELF\2\1\1", 100):
            member.write(piece)
    return out.getvalue()


def tar_of_zeros(mebibytes: int = 100) -> bytes:
    """A tar.gz whose one member is 100 MiB of zeros behind the magic of a library."""
    info = tarfile.TarInfo("a.so")
    info.size = mebibytes << 20
    packer = zlib.compressobj(9, wbits=31)
    pieces = [packer.compress(info.tobuf())]
    pieces += [packer.compress(piece) for piece in _zeros(b"\x7fELF\2\1\1", mebibytes)]
    return b"".join([*pieces, packer.compress(bytes(1024)), packer.flush()])


def layer_of_zeros() -> bytes:
    """A container image whose one layer is such an archive."""
    from images_made import docker_archive

    return docker_archive(tar_of_zeros())


def empty_gzip() -> bytes:
    """A tar.gz of 40 MB of gzip members that hold nothing."""
    return gzip.compress(b"", 1, mtime=0) * 2_000_000


def empty_bzip2() -> bytes:
    """A tar.bz2 of 40 MB of bzip2 streams that hold nothing."""
    return bz2.compress(b"") * 2_900_000


def many_in_a_zip() -> bytes:
    """A zip of 100,000 members, the last of which is a cubin."""
    return many_rows(100_000, CUBIN)


def many_in_a_tar() -> bytes:
    """A tar archive of 100,000 members, the last of which is a cubin."""
    head = tarfile.TarInfo("some/file").tobuf()
    last = tarfile.TarInfo("good.cubin")
    last.size = len(CUBIN)
    return head * 100_000 + last.tobuf() + CUBIN + bytes(-len(CUBIN) % 512) + bytes(1024)


def many_in_an_archive() -> bytes:
    """A static archive of more members than are read."""
    return b"!<arch>\n" + f"{'a/':<16}{0:<12}{0:<6}{0:<6}{'644':<8}{0:<10}`\n".encode() * 100_001


def archives_in_archives() -> bytes:
    """A static archive in a static archive, a hundred deep."""
    data = CUBIN
    for _ in range(100):
        head = f"{'a.o/':<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(data):<10}`\n".encode()
        data = b"!<arch>\n" + head + data + b"\n" * (len(data) & 1)
    return data


def false_signatures() -> bytes:
    """A library full of the first bytes of containers."""
    return elf(Section(".data", b"\x50\xed\x55\xba\x01\0\x10\0" * 20_000))


def directives() -> bytes:
    """A library full of PTX directives that begin no text."""
    return elf(Section(".data", b".target sm_80\n" * MANY))


def deep_document() -> bytes:
    """An inventory of brackets."""
    return b'{"schema_version": 1, "targets": [], "libraries": ' + b"[" * 5_000_000


def huge_document() -> bytes:
    """A document that takes 25 times its size in memory."""
    return b'{"schema_version": 1, "targets": [], "libraries": [' + b"[]," * (6 << 20)


BOMBS: tuple[Callable[[], bytes], ...] = (
    empty_entries, embedded_entries, group_members, declared_huge, zeros_within_limits,
    many_sections, overlapping_sections, overlapping_notes, zip_of_zeros, tar_of_zeros,
    layer_of_zeros, empty_gzip, empty_bzip2, many_in_a_zip, many_in_a_tar, many_in_an_archive,
    archives_in_archives, false_signatures, directives, deep_document, huge_document,
)  # fmt: skip


LIMITS = {
    "embedded_entries": Limits(entries=20_000),
    "group_members": Limits(entries=20_000),
    "many_in_an_archive": Limits(members=20_000),
    "huge_document": Limits(document_bytes=16 << 20),
}
"""Lower limits for some, to save time: the first bomb is held to the defaults."""


def write(make: Callable[[], bytes], folder: Path) -> Path:
    """Write a bomb to a folder."""
    path = folder / make.__name__
    path.write_bytes(make())
    return path
