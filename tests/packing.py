"""Packages made in the test: wheels, zips, tar archives, conda packages."""

from __future__ import annotations

import io
import tarfile
import zipfile

from fatbin.format.layouts import ZIP_END, ZIP_LOCAL, ZIP_MEMBER

METADATA = b"Metadata-Version: 2.1\nName: some-package\nVersion: 1.2.3\n\nName: not this\n"
DIST_INFO = "some_package-1.2.3.dist-info/METADATA"
WHEEL = "some_package-1.2.3-py3-none-any.whl"


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            archive.writestr(info, data)
    return out.getvalue()


def wheel(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a wheel of these members and its metadata."""
    return zipped(
        ("pkg/__init__.py", b"import os\n"), *members, (DIST_INFO, METADATA), method=method
    )


def tarred(
    *members: tuple[str | tarfile.TarInfo, bytes] | tarfile.TarInfo,
    mode: str = "w",
    form: int = tarfile.PAX_FORMAT,
) -> bytes:
    """Return a tar archive of these members; a TarInfo by itself is one without content."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            name = member[0]
            info = tarfile.TarInfo(name) if isinstance(name, str) else name
            info.size = len(member[1])
            archive.addfile(info, io.BytesIO(member[1]))
    return out.getvalue()


FORMS_OF_HOLES = ("gnu", "0.0", "0.1", "1.0")


def with_holes(name: str, data: bytes, form: str) -> bytes:
    """Return a member of a tar archive without its blocks of zeros, in a form of GNU tar's."""
    pieces = _pieces(data)
    stored = b"".join(data[start : start + size] for start, size in pieces)
    info = tarfile.TarInfo(name)
    info.size = len(stored)
    if form == "gnu":
        return _old_header(info, pieces, len(data)) + _padded(stored)
    numbers = [(str(start), str(size)) for start, size in pieces]
    records = [("size", str(len(data)))]
    if form == "0.0":
        records += [pair for a, b in numbers for pair in (("offset", a), ("numbytes", b))]
    elif form == "0.1":
        records.append(("map", ",".join(number for pair in numbers for number in pair)))
    else:
        records = [("major", "1"), ("minor", "0"), ("name", name), ("realsize", str(len(data)))]
        lines = "\n".join([str(len(pieces)), *(n for pair in numbers for n in pair), ""])
        stored = _padded(lines.encode()) + stored
        info.size, info.name = len(stored), f"GNUSparseFile.0/{name}"
    extended = tarfile.TarInfo("PaxHeaders.0/x")
    extended.type = tarfile.XHDTYPE
    text = b"".join(_record(f"GNU.sparse.{key}", value) for key, value in records)
    extended.size = len(text)
    header = extended.tobuf(tarfile.USTAR_FORMAT) + _padded(text)
    return header + info.tobuf(tarfile.USTAR_FORMAT) + _padded(stored)


def _pieces(data: bytes) -> list[tuple[int, int]]:
    """Return where the blocks are that hold anything; the last piece ends the file."""
    pieces: list[tuple[int, int]] = []
    for start in range(0, len(data), 512):
        block = data[start : start + 512]
        if block.strip(b"\0"):
            before = pieces[-1] if pieces else (0, -1)
            if sum(before) == start:
                pieces[-1] = (before[0], before[1] + len(block))
            else:
                pieces.append((start, len(block)))
    return pieces if pieces and sum(pieces[-1]) == len(data) else [*pieces, (len(data), 0)]


def _old_header(info: tarfile.TarInfo, pieces: list[tuple[int, int]], size: int) -> bytes:
    info.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    fields = [b"%011o\0%011o\0" % piece for piece in pieces]
    rest = [fields[at : at + 21] for at in range(4, len(fields), 21)]
    header[386:495] = (
        b"".join(fields[:4]).ljust(96, b"\0") + bytes([bool(rest)]) + b"%011o\0" % size
    )
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    more = [
        b"".join(block).ljust(504, b"\0") + bytes([block is not rest[-1]]) + bytes(7)
        for block in rest
    ]
    return bytes(header) + b"".join(more)


def _record(key: str, value: str) -> bytes:
    text = f" {key}={value}\n".encode()
    length = len(text) + len(str(len(text)))
    return str(length + (len(str(length)) > len(str(len(text))))).encode() + text


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


def conda(*members: tuple[str, bytes]) -> bytes:
    """Return a conda package of the second format; needs zstandard."""
    import zstandard

    data = zstandard.ZstdCompressor().compress(tarred(*members))
    return zipped(
        ("metadata.json", b'{"conda_pkg_format_version": 2}'),
        ("pkg-some-1.2.3-0.tar.zst", data),
        method=zipfile.ZIP_STORED,
    )


def directory(data: bytes) -> tuple[int, int]:
    """Return offset and number of rows of a zip's directory; the zip has no comment."""
    fields = ZIP_END.named(ZIP_END.unpack_from(data, len(data) - ZIP_END.size))
    return fields["directory_offset"], fields["count"]


def rows(data: bytes) -> list[int]:
    """Return the offsets of the rows of a zip's directory."""
    position, count = directory(data)
    found = []
    for _ in range(count):
        found.append(position)
        row = ZIP_MEMBER.named(ZIP_MEMBER.unpack_from(data, position))
        position += (
            ZIP_MEMBER.size + row["name_length"] + row["extra_length"] + row["comment_length"]
        )
    return found


def patch_row(data: bytes, index: int, **values: int) -> bytes:
    """Return a zip with fields of one row of its directory changed."""
    position = rows(data)[index]
    row = ZIP_MEMBER.named(ZIP_MEMBER.unpack_from(data, position))
    row.update(values)
    packed = ZIP_MEMBER.struct.pack(*row.values())
    return data[:position] + packed + data[position + ZIP_MEMBER.size :]


def many_rows(count: int, last: bytes, name_length: int = 12) -> bytes:
    """Return a zip of many empty members and ``last`` as ``good.cubin``, made without zipfile."""
    import zlib

    body, listing = bytearray(), bytearray()
    for index in range(count + 1):
        name, data = f"{index:0{name_length}}".encode(), b""
        if index == count:
            name, data = b"good.cubin", last
        size = len(data)
        listing += ZIP_MEMBER.struct.pack(
            0x02014B50, 20, 20, 0, 0, 0, zlib.crc32(data), size, size, len(name), 0, 0, 0, 0, 0,
            len(body),
        ) + name  # fmt: skip
        body += ZIP_LOCAL.struct.pack(0x04034B50, bytes(22), len(name), 0) + name + data
    rows = (count + 1) & 0xFFFF
    return bytes(body + listing) + ZIP_END.struct.pack(
        0x06054B50, 0, 0, rows, rows, len(listing), len(body), 0
    )
