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
    *members: tuple[str, bytes] | tarfile.TarInfo, mode: str = "w", form: int = tarfile.PAX_FORMAT
) -> bytes:
    """Return a tar archive of these members; a TarInfo is one without content."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size = len(member[1])
            archive.addfile(info, io.BytesIO(member[1]))
    return out.getvalue()


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
    fields = ZIP_END.named(ZIP_END.read_bytes(data, len(data) - ZIP_END.size))
    return fields["directory_offset"], fields["count"]


def rows(data: bytes) -> list[int]:
    """Return the offsets of the rows of a zip's directory."""
    position, count = directory(data)
    found = []
    for _ in range(count):
        found.append(position)
        row = ZIP_MEMBER.named(ZIP_MEMBER.read_bytes(data, position))
        position += (
            ZIP_MEMBER.size + row["name_length"] + row["extra_length"] + row["comment_length"]
        )
    return found


def patch_row(data: bytes, index: int, **values: int) -> bytes:
    """Return a zip with fields of one row of its directory changed."""
    position = rows(data)[index]
    row = ZIP_MEMBER.named(ZIP_MEMBER.read_bytes(data, position))
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
