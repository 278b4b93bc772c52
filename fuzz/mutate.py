"""Mutations that know what they change: fields, members, sizes, what is compressed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import warnings
import zipfile
import zlib
from typing import TYPE_CHECKING

from fatbin.format.container import HEADER_SIZE, SIGNATURE
from fatbin.format.entry import ENTRY_SIZE
from fuzz.fields import number, of_any
from fuzz.mutate_text import mutate_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

_CODECS = (
    (b"\x1f\x8b", lambda d: gzip.compress(d, 1, mtime=0), gzip.decompress),
    (b"BZh", bz2.compress, bz2.decompress),
    (b"\xfd7zXZ", lambda d: lzma.compress(d, preset=0), lzma.decompress),
)
# What unpackers say of damage; zipfile says NotImplementedError of methods it does not know.
_DAMAGE = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile,
           tarfile.TarError, NotImplementedError, RuntimeError, KeyError, OverflowError)  # fmt: skip
_BLOCK = 512


def mutate_bytes(data: bytes, rng: Random) -> bytes:
    """Change bytes that nothing is known of."""
    blob = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(blob) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            blob[at : at + 1] = bytes((rng.randrange(256),))
        elif kind == 1:
            del blob[at : at + rng.choice((1, 2, 8, 64, 512))]
        elif kind == 2:
            blob[at:at] = rng.randbytes(rng.choice((1, 2, 8, 64)))
        elif kind == 3:
            size = rng.choice((1, 8, 64, 512))
            blob[at:at] = blob[at : at + size]
        else:
            del blob[at:]
        blob = blob or bytearray(b"\0")
    return bytes(blob)


def mutate_fields(data: bytes, rng: Random) -> bytes:
    """Change fields of the structures of a file."""
    places = of_any(data)
    if not places:
        return mutate_bytes(data, rng)
    blob = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        offset, size = rng.choice(places)
        value = _value(data, size, rng, places)
        blob[offset : offset + size] = value
    return bytes(blob)


def _value(data: bytes, size: int, rng: Random, places: list[tuple[int, int]]) -> bytes:
    if size > 8:
        return rng.choice((
            str(rng.choice((0, 1, len(data), 1 << 31, 10**9))).encode().ljust(size)[:size],
            rng.randbytes(size),
            b"/0".ljust(size),
            b"//".ljust(size),
            b"#1/20".ljust(size),
        ))  # fmt: skip
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(size)
    if kind == 1:
        other, width = rng.choice(places)
        value = number(data, other, min(width, 8))
    elif kind == 2:
        value = rng.choice((len(data), len(data) // 2, rng.randrange(len(data) + 1)))
    else:
        bits = 8 * size
        value = rng.choice((0, 1, 2, 4, 7, 8, 16, 64, 255, 256, 4096, 65535, (1 << bits) - 1,
                            (1 << bits) - 8, 1 << (bits - 1), 1 << 20, 1 << 31))  # fmt: skip
    value += rng.choice((0, 0, 0, 1, -1, 8, -8))
    return (value % (1 << 8 * size)).to_bytes(size, "little")


def mutate_entries(data: bytes, rng: Random) -> bytes:
    """Take an entry out of a container, or put one in again, and repair the container's size."""
    at = data.find(SIGNATURE)
    if at < 0:
        return mutate_fields(data, rng)
    size = number(data, at + 8, 8)
    end = min(at + HEADER_SIZE + size, len(data))
    pieces, reached = [], at + HEADER_SIZE
    while reached + ENTRY_SIZE <= end:
        step = number(data, reached + 4, 4) + number(data, reached + 8, 8)
        if step < ENTRY_SIZE or reached + step > end:
            break
        pieces.append(data[reached : reached + step])
        reached += step
    if not pieces:
        return mutate_fields(data, rng)
    index = rng.randrange(len(pieces))
    if rng.randrange(2):
        del pieces[index]
    else:
        pieces[index:index] = [pieces[rng.randrange(len(pieces))]] * rng.choice((1, 1, 2, 5))
    body = b"".join(pieces)
    head = data[:at] + data[at : at + 8] + len(body).to_bytes(8, "little")
    return head + body + data[end:]


def mutate_device(data: bytes, rng: Random) -> bytes:
    """Change a file with device code in one of the ways above."""
    return rng.choice((mutate_fields, mutate_fields, mutate_fields, mutate_entries, mutate_bytes))(
        data, rng
    )


def mutate_codec(data: bytes, rng: Random) -> bytes:
    """Change how, how large, or what is inflated."""
    if len(data) < 6 or not rng.randrange(3):
        return mutate_bytes(data, rng)
    head, body = data[:5], data[5:]
    if rng.randrange(2):
        size = number(data, 1, 4) + rng.choice((1, -1, 100, -100, 1 << 20))
        return head[:1] + (size % (1 << 32)).to_bytes(4, "little") + body
    return head + mutate_bytes(body, rng)


def mutate_packed(data: bytes, rng: Random) -> bytes:
    """Change an archive: what it holds, its headers, or the compressed bytes themselves."""
    if not rng.randrange(8):
        return mutate_bytes(data, rng)
    for magic, pack, unpack in _CODECS:
        if data.startswith(magic):
            return _inside(data, rng, pack, unpack)
    return _plain(data, rng)


def _inside(
    data: bytes, rng: Random, pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes]
) -> bytes:
    try:
        return pack(mutate_packed(unpack(data)[: 1 << 20], rng))
    except _DAMAGE:
        return mutate_bytes(data, rng)


def _plain(data: bytes, rng: Random) -> bytes:
    if data.startswith(b"PK"):
        return rng.choice((mutate_fields, _zip_members, _zip_members))(data, rng)
    if data[257:262] == b"ustar":
        return rng.choice((_tar_headers, _tar_blocks, _tar_members, _tar_members))(data, rng)
    if data[:1] in b"{[":
        return mutate_json(data, rng)
    return mutate_device(data, rng)


def _zip_members(data: bytes, rng: Random) -> bytes:
    """Change the content of one member and write the zip again, with right sizes and sums."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as source:
            members = [(info, source.read(info)) for info in source.infolist()[:64]]
        if not members:
            return mutate_fields(data, rng)
        index = rng.randrange(len(members))
        info, content = members[index]
        action = rng.randrange(4)
        if action == 0:
            members.append(members[index])
        elif action == 1:
            info.filename = rng.choice(("a/b.so", "x.dist-info/METADATA", "é\0b", "../../x", ""))
        else:
            members[index] = info, mutate_packed(content, rng)
        out = io.BytesIO()
        with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as target:
            warnings.simplefilter("ignore")  # a name twice is what was asked for
            for info, content in members:
                fresh = zipfile.ZipInfo(info.filename or "x")
                fresh.compress_type = rng.choice((0, 8, 8, 12))
                target.writestr(fresh, content)
        return out.getvalue()
    except _DAMAGE:
        return mutate_fields(data, rng)


def _tar_headers(data: bytes, rng: Random) -> bytes:
    """Change a field of a header, and its sum mostly too."""
    blob = bytearray(data)
    heads = [at for at in range(0, len(blob), _BLOCK) if blob[at + 257 : at + 262] == b"ustar"]
    at = rng.choice(heads[:64])
    offset, size = rng.choice(
        ((0, 100), (100, 8), (124, 12), (124, 12), (124, 12), (156, 1), (156, 1), (157, 100),
         (257, 8), (345, 155), (148, 8))
    )  # fmt: skip
    value = rng.choice((
        b"%o" % rng.choice((0, 1, 511, 512, 513, len(data), 1 << 33)),
        b"\x80" + rng.choice((0, 1, 1 << 40, 1 << 62)).to_bytes(11, "big"),
        b"\xff" * 12,
        rng.choice((b"0", b"1", b"2", b"5", b"x", b"g", b"L", b"K", b"S", b"\0", b"7")),
        rng.choice((b"a/.wh.b", b".wh..wh..opq", b"../x", b"/", b"manifest.json", b"index.json")),
        rng.randbytes(4),
    ))  # fmt: skip
    blob[at + offset : at + offset + size] = value.ljust(size, b"\0")[:size]
    if rng.randrange(5):
        blob[at + 148 : at + 156] = b" " * 8
        blob[at + 148 : at + 156] = b"%06o\0 " % sum(blob[at : at + _BLOCK])
    return bytes(blob)


def _tar_blocks(data: bytes, rng: Random) -> bytes:
    """Take blocks out, or put some in again."""
    at = rng.randrange(0, max(1, len(data) // _BLOCK)) * _BLOCK
    size = rng.choice((1, 1, 2, 4)) * _BLOCK
    if rng.randrange(2):
        return data[:at] + data[at + size :]
    other = rng.randrange(0, max(1, len(data) // _BLOCK)) * _BLOCK
    return data[:at] + data[other : other + size] + data[at:]


def _tar_members(data: bytes, rng: Random) -> bytes:
    """Change the content, name or kind of one member and write the archive again."""
    try:
        members = []
        with tarfile.open(fileobj=io.BytesIO(data)) as source:
            for info in source:
                file = source.extractfile(info) if info.isreg() else None
                members.append((info, file.read() if file else b""))
                if len(members) == 64:
                    break
        if not members:
            return _tar_blocks(data, rng)
        index = rng.randrange(len(members))
        info, content = members[index]
        action = rng.randrange(6)
        if action == 0:
            members.insert(rng.randrange(len(members)), members[index])
        elif action == 1:
            del members[index]
        elif action == 2:
            info.name = rng.choice(
                ("a/b", "a/.wh.b", "a/.wh..wh..opq", "../x", "manifest.json", "a" * 300, "é\n")
            )
        elif action == 3:
            info.type = rng.choice((b"0", b"1", b"2", b"3", b"5", b"6"))
            info.linkname = rng.choice((rng.choice(members)[0].name, "..", "x" * 200, "/"))
        else:
            members[index] = info, mutate_packed(content, rng)
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=rng.randrange(3)) as target:
            for info, content in members:
                info.size = len(content) if info.isreg() else 0
                target.addfile(info, io.BytesIO(content) if info.isreg() else None)
        return out.getvalue()
    except _DAMAGE:
        return _tar_blocks(data, rng)
