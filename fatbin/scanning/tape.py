"""Tar headers, one after the other, from anything that reads forward: of packages, images, layers.

The standard library's reader allocates what a header claims, keeps every member and takes a damaged
header for the end of the archive; here names and extended headers are bounded as Go's
``archive/tar`` bounds them, nothing is kept, and damage is an error.

Source: POSIX.1-2017 ``pax`` for ustar and extended headers, the GNU tar manual for ``L``, ``K``,
``S`` and the ``GNU.sparse`` records.
"""

from __future__ import annotations

from zlib import adler32

from fatbin._record import Record
from fatbin.errors import BadMagicError, FormatError, LimitExceededError, TruncatedError
from fatbin.format.layouts import TAR_HEADER
from fatbin.scanning.holes import PREFIX, REPEATED, number_of, old_holes, pax_holes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from fatbin.scanning.holes import Holes

    class Source(Protocol):
        """What a tar archive is read from."""

        @property
        def position(self) -> int:
            """Bytes from the first header."""

        def read(self, size: int, /) -> bytes:
            """Return so many bytes, fewer only at the end."""

        def skip(self, size: int, /) -> None:
            """Pass over so many bytes, or to the end."""


BLOCK = TAR_HEADER.size
EXTENDED_BYTES = 1 << 20
"""The longest extended header or long name that is read; the bound of Go's ``archive/tar``."""
_ZEROS = bytes(BLOCK)
_BLANKS = b" \0"
_ADLER = 65521
_CHECKSUM_BLANK = 8 * 0x20
FILE, HARD_LINK, SYMBOLIC_LINK, DIRECTORY, OTHER = "file", "hard link", "symlink", "dir", "other"
_KINDS = {
    b"0": FILE,
    b"\0": FILE,
    b"7": FILE,
    b"S": FILE,
    b"1": HARD_LINK,
    b"2": SYMBOLIC_LINK,
    b"5": DIRECTORY,
}
_OTHERS = frozenset((b"3", b"4", b"6", b"D", b"N", b"V"))
"""Devices, FIFOs, what GNU tar notes of itself; types that nobody knows are files to readers."""
_WITHOUT_DATA = frozenset((b"1", b"2", b"3", b"4", b"5", b"6"))
_LONG_NAME, _LONG_LINK, _GLOBAL = b"L", b"K", b"g"
_EXTENDED = frozenset((b"x", b"X"))  # Solaris wrote X
_SPECIAL = frozenset((_LONG_NAME, _LONG_LINK, _GLOBAL, *_EXTENDED))


class TarEntry(Record):
    """One member.

    Attributes:
        name: as the archive spells it; bytes that are no UTF-8 as surrogates.
        kind: ``file``, ``hard link``, ``symlink``, ``dir`` or ``other`` (devices, FIFOs).
        size: of the data that follows.
        link: what a link names.
        holes: of a file of which only pieces are stored; None for others.
    """

    name: str
    kind: str
    size: int
    link: str
    holes: Holes | None = None


def read_entries(source: Source, location: str) -> Iterator[TarEntry]:
    """Yield the members; between two, up to ``size`` bytes of the source may be read.

    Raises:
        FormatError: a header that is none, or an archive that ends early.
        LimitExceededError: an extended header that no honest archive has.
    """
    extended: dict[str, str] = {}
    pending = 0  # bytes of extended headers that wait for their entry
    while True:
        start = source.position
        block = source.read(BLOCK)
        if block == _ZEROS:
            _check_end(source, location)
            return
        if len(block) < BLOCK:
            msg = "expected another header or a block of zeros, found the end of the archive"
            raise TruncatedError(
                msg,
                offset=start,
                field="header",
                expected=f"{BLOCK} bytes",
                found=f"{len(block)} bytes",
                location=location,
            )
        fields = _fields(block)
        if not _checksum_holds(block, fields[5]):
            msg = "expected a tar header with its checksum, found something else"
            raise BadMagicError(msg, offset=start, field="checksum", location=location)
        flag = fields[6]
        size = _number(fields[3], start, location)
        if flag in _SPECIAL:
            pending += size
            data = _special(source, size, pending, start, location)
            if flag in _EXTENDED:
                extended.update(_records(data, start, location))
            elif flag != _GLOBAL:
                extended["path" if flag == _LONG_NAME else "linkpath"] = _text(data)
            continue
        holes = old_holes(block, source) if flag == b"S" else None
        entry = _entry(fields, size, extended, start, location)
        after = source.position + entry.size + (-entry.size) % BLOCK
        if extended and any(key.startswith(PREFIX) for key in extended):
            holes, used = pax_holes(extended, source, entry.size)
            name = extended.get(f"{PREFIX}name", entry.name)
            entry = entry._replace(name=name, size=entry.size - used)
        extended, pending = {}, 0
        yield entry._replace(holes=holes) if holes else entry
        source.skip(after - source.position)


def _check_end(source: Source, location: str) -> None:
    """Refuse a header behind a single block of zeros: engines differ in whether they read on."""
    start = source.position
    block = source.read(BLOCK)
    if len(block) == BLOCK and block != _ZEROS and is_tar(block):
        msg = "expected two blocks of zeros at the end of the archive, found a header behind one"
        raise BadMagicError(msg, offset=start, field="header", location=location)


def is_tar(head: bytes) -> bool:
    """Tell whether a file begins with a tar header: its checksum says so."""
    if len(head) < BLOCK or not head[0]:
        return False
    block = head[:BLOCK]
    return _checksum_holds(block, _fields(block)[5])


def printable_path(path: str) -> str:
    """Return a path in which bytes that are no UTF-8 are written out."""
    if path.isascii():
        return path
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _fields(block: bytes) -> tuple[bytes, ...]:
    fields: tuple[bytes, ...] = TAR_HEADER.unpack_from(block)
    return fields


def _entry(
    fields: tuple[bytes, ...], size: int, extended: dict[str, str], start: int, location: str
) -> TarEntry:
    field, _, _, _, _, _, flag, target, magic, _, prefix, _ = fields
    name = extended.get("path")
    if name is None:
        name = _text(field)
        if magic[:6] == b"ustar\0" and prefix[0]:
            name = f"{_text(prefix)}/{name}"
    kind = _KINDS.get(flag) or (OTHER if flag in _OTHERS else FILE)
    link = ""
    if kind in (HARD_LINK, SYMBOLIC_LINK):
        link = extended["linkpath"] if "linkpath" in extended else _text(target)
    elif flag == b"\0" and name.endswith("/"):
        kind = DIRECTORY
    if "size" in extended:
        size = _decimal(extended["size"], start, location)
    if flag in _WITHOUT_DATA:
        size = 0
    return TarEntry(name, kind, size, link)


def _checksum_holds(block: bytes, field: bytes) -> bool:
    try:
        expected = int(field.strip(_BLANKS), 8)
    except ValueError:
        return False
    # Adler-32 adds up bytes, modulo a prime, much quicker than a loop does.
    quick = adler32(block, 0) & 0xFFFF
    if (quick - sum(field) + _CHECKSUM_BLANK - expected) % _ADLER == 0:
        return True
    found = sum(block) - sum(field) + _CHECKSUM_BLANK
    # Some old programs added up signed bytes.
    return found - 256 * (_high(block) - _high(field)) == expected


def _high(data: bytes) -> int:
    return sum(byte >> 7 for byte in data)


def _number(field: bytes, start: int, location: str) -> int:
    value = number_of(field)
    if not 0 <= value < 1 << 63:
        raise FormatError(
            f"expected a size of no less than 0, found the bytes {field.hex(' ')}",
            offset=start + 124,
            field="size",
            found=field.hex(" "),
            location=location,
        )
    return value


def _decimal(text: str, start: int, location: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):  # noqa: PLR2004 - of 63 bits
        raise FormatError(
            f"expected a size in decimal digits, found {text[:40]!r}",
            offset=start,
            field="size",
            location=location,
        )
    return int(text)


def _special(source: Source, size: int, pending: int, start: int, location: str) -> bytes:
    if pending > EXTENDED_BYTES:
        raise LimitExceededError(
            f"an extended header of {size} bytes, {pending} with those before it, is larger than "
            f"{EXTENDED_BYTES} bytes",
            limit="header_bytes",
            allowed=EXTENDED_BYTES,
            actual=pending,
            offset=start,
            location=location,
        )
    data = source.read(size)
    source.skip(-size % BLOCK)
    if len(data) < size:
        raise TruncatedError(
            f"an extended header of {size} bytes runs past the end of the archive",
            offset=start,
            field="size",
            expected=f"{size} bytes",
            found=f"{len(data)} bytes",
            location=location,
        )
    return data


def _records(data: bytes, start: int, location: str) -> dict[str, str]:
    """Read the records ``length key=value`` of an extended header."""
    found: dict[str, str] = {}
    position = 0
    while position < len(data):
        blank = data.find(b" ", position, position + 20)
        digits = data[position:blank]
        if blank < 0 or not digits.isdigit():
            break
        stop = position + int(digits)
        key, equals, value = data[blank + 1 : stop - 1].partition(b"=")
        if stop <= blank + 1 or stop > len(data) or data[stop - 1] != 0x0A or not equals:  # noqa: PLR2004 - newline
            break
        word, text = key.decode("utf-8", "replace"), value.decode("utf-8", "surrogateescape")
        found[word] = f"{found[word]},{text}" if word in REPEATED and word in found else text
        position = stop
    if data[position:].strip(b"\0"):
        raise FormatError(
            f"expected records of an extended header, found {data[position : position + 16]!r}",
            offset=start,
            field="extended header",
            location=location,
        )
    return found


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
