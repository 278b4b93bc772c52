"""The directory of zip files: wheels, conda packages, plain zips.

Source: PKWARE's APPNOTE 6.3. The standard library's zipfile keeps every member in memory and fails
as a whole; this reader walks the directory in place, tells damage member by member, and reads no
byte of the file for two members.
"""

from __future__ import annotations

from fatbin._record import Record
from fatbin.errors import FormatError, SizeMismatchError, TruncatedError
from fatbin.format.layouts import ZIP64_END, ZIP64_LOCATOR, ZIP_END, ZIP_LOCAL, ZIP_MEMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.limits import Limits

_END_MAGIC = b"PK\5\6"
_END64_MAGIC = 0x06064B50
_LOCATOR_MAGIC = 0x07064B50
_MEMBER_MAGIC = 0x02014B50
_MAX32 = 0xFFFFFFFF
_MAX16 = 0xFFFF
_UTF8 = 0x800
_NAME_BYTES = 4096  # the longest path of Linux; every name is cut there


class ZipMember(Record):
    """One row of a zip's directory.

    Attributes:
        name: as the directory spells it, cut at 4096 bytes.
        flags: raw flags.
        method: of compression.
        crc: of the inflated bytes.
        stored: bytes in the file.
        size: bytes inflated, as declared.
        offset: of the local header in the view.
        end: the first byte that is not the member's, at most.
    """

    name: str
    flags: int
    method: int
    crc: int
    stored: int
    size: int
    offset: int
    end: int


class _Directory(Record):
    start: int
    stop: int
    shift: int
    rows: int


def read_zip(view: View, limits: Limits, report: Report) -> Iterator[ZipMember]:
    """Yield the members by offset, without folders.

    Rows that overlap an earlier member are reported and left out, as is what follows a damaged row.

    Raises:
        FormatError: there is no directory, or it is not where the end record says.
    """
    directory = _find_directory(view)
    places: list[tuple[int, int]] = []
    position = directory.start
    ordered = True
    while position < directory.stop:
        try:
            row = _row(view, position)
        except FormatError as exc:
            report(exc)
            break
        offset = _member(view, position, row, directory).offset
        ordered = ordered and (not places or offset >= places[-1][0])
        places.append((offset, position))
        position += ZIP_MEMBER.size + row[9] + row[10] + row[11]
        if len(places) > limits.archive_members:  # who reads them counts, and stops before
            break
    else:
        if len(places) & _MAX16 != directory.rows & _MAX16:
            report(_count_differs(view, directory, len(places)))
    if not ordered:
        places.sort()
    reached = 0
    for offset, position in places:
        member = _member(view, position, _row(view, position), directory)
        if offset < reached:
            report(_overlap(view, member))
            continue
        reached = max(reached, member.end)
        if not member.name.endswith("/"):
            yield member


def _find_directory(view: View) -> _Directory:
    tail_size = min(view.size, ZIP_END.size + _MAX16)
    tail = view.peek(view.size - tail_size, tail_size)
    at = _find_end(tail)
    if at < 0:
        msg = "expected the end record of a zip, found none: the file is cut off"
        raise TruncatedError(
            msg,
            offset=view.report_offset(view.size),
            field="zip end magic",
            expected="50 4b 05 06",
            location=view.name,
        )
    end = view.size - tail_size + at
    _, _, _, _, count, size, offset, _ = ZIP_END.read(view, end)
    stop = end
    locator = end - ZIP64_LOCATOR.size
    if locator >= 0:
        magic, _, end64, _ = ZIP64_LOCATOR.read(view, locator)
        if magic == _LOCATOR_MAGIC:
            stop, count, size, offset = _end64(view, end64, locator)
    start = stop - size
    shift = start - offset  # bytes that were put before the zip
    if start < 0 or shift < 0:
        raise TruncatedError(
            f"the directory of {size} bytes at {offset:#x} runs past the end record at {end:#x}",
            offset=view.report_offset(end),
            field="directory_size",
            expected=f"at most {stop - offset} bytes",
            found=f"{size} bytes",
            location=view.name,
        )
    return _Directory(start, stop, shift, count)


def _find_end(tail: bytes) -> int:
    """Return where the end record stands: the last one whose comment ends the file, or the last."""
    last = at = tail.rfind(_END_MAGIC)
    while at >= 0:
        size = len(tail) - at - ZIP_END.size
        if size >= 0:
            if int.from_bytes(tail[at + 20 : at + 22], "little") == size:
                return at
            last = max(last, at) if last + ZIP_END.size <= len(tail) else at
        at = tail.rfind(_END_MAGIC, 0, at)
    return last if last + ZIP_END.size <= len(tail) else -1


def _end64(view: View, claimed: int, locator: int) -> tuple[int, int, int, int]:
    """Return where the directory stops, its count, size and offset, of the zip64 end record."""
    for position in (locator - ZIP64_END.size, claimed):
        if 0 <= position <= locator - ZIP64_END.size:
            fields = ZIP64_END.read(view, position)
            if fields[0] == _END64_MAGIC:
                return position, fields[7], fields[8], fields[9]
    raise FormatError(
        f"expected a zip64 end record before {locator:#x}, found none",
        offset=view.report_offset(locator),
        field="zip64 end magic",
        location=view.name,
    )


def _row(view: View, position: int) -> tuple[int, ...]:
    row = ZIP_MEMBER.read(view, position)
    if row[0] != _MEMBER_MAGIC:
        found = view.peek(position, 4).hex(" ")
        raise FormatError(
            f"expected a row of the directory, found bytes {found}; the rest was not read",
            offset=view.report_offset(position),
            field="zip member magic",
            expected="50 4b 01 02",
            found=found,
            location=view.name,
        )
    return row


def _member(view: View, position: int, row: tuple[int, ...], directory: _Directory) -> ZipMember:
    _, _, _, flags, method, _, crc, stored, size, name_length, extra_length, *_, offset = row
    raw = view.peek(position + ZIP_MEMBER.size, min(name_length, _NAME_BYTES))
    if _MAX32 in (stored, size, offset):
        extra = view.peek(position + ZIP_MEMBER.size + name_length, extra_length)
        size, stored, offset = _wide(extra, size, stored, offset)
    name = raw.decode("utf-8" if flags & _UTF8 else "cp437", "backslashreplace")
    offset += directory.shift
    # The name may be longer in the local header; what overlaps by that is found when it is read.
    return ZipMember(
        name, flags, method, crc, stored, size, offset,
        offset + ZIP_LOCAL.size + name_length + stored,
    )  # fmt: skip


def _wide(extra: bytes, *values: int) -> list[int]:
    """Return the values with those that stand in the zip64 extra field taken from there."""
    position = 0
    found = list(values)
    while position + 4 <= len(extra):
        tag = int.from_bytes(extra[position : position + 2], "little")
        size = int.from_bytes(extra[position + 2 : position + 4], "little")
        position += 4
        if tag == 1:
            at = position
            for index, value in enumerate(values):
                if value == _MAX32 and at + 8 <= position + size:
                    found[index] = int.from_bytes(extra[at : at + 8], "little")
                    at += 8
            break
        position += size
    return found


def _count_differs(view: View, directory: _Directory, count: int) -> SizeMismatchError:
    return SizeMismatchError(
        f"the directory has {count} members, the end record says {directory.rows}",
        offset=view.report_offset(directory.start),
        field="count",
        expected=str(directory.rows),
        found=str(count),
        location=view.name,
    )


def _overlap(view: View, member: ZipMember) -> FormatError:
    return FormatError(
        "the member overlaps another one; not read",
        offset=view.report_offset(member.offset),
        field="offset",
        location=f"{view.name}::{member.name}",
    )
