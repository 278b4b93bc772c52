"""One entry: its header, its tail, its payload, and the images of a group.

The walk of :mod:`fatbin.format.container` finds entries; what an entry says beyond its place is
read here, when it is asked for. Damage inside an entry does not end the walk.
"""

from __future__ import annotations

from fatbin._record import Record
from fatbin.errors import (
    FormatError,
    LimitExceededError,
    SizeMismatchError,
    TruncatedError,
    UnsupportedVersionError,
    raise_error,
)
from fatbin.format.layouts import ENTRY_HEADER, GROUP_HEADER, GROUP_MEMBER, OPTIONS_RECORD
from fatbin.kinds import SASS_KINDS, Compression, EntryFlags, EntryKind, compression_of
from fatbin.limits import DEFAULT_LIMITS, Tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.errors import Report
    from fatbin.format.view import Buffer, View
    from fatbin.limits import Limits

ENTRY_SIZE: int = ENTRY_HEADER.size
ENTRY_VERSION = 0x0101
_unpack_options = OPTIONS_RECORD.unpack_from


class EntryHeader(Record):
    """One entry header as it stands in the file, plus where it stands.

    Field names are those of the format reference; all are raw integers. ``offset`` counts from the
    start of the library. For an image inside a group, ``group`` is the group's header, ``offset``
    the place of the image's own header in the group's tail, ``header_size`` the bytes of that
    header with its tail, ``padded_size`` the image's plain bytes and ``image_offset`` its place in
    the inflated payload.
    """

    offset: int
    kind: int
    version: int
    header_size: int
    padded_size: int
    compressed_size: int
    options_offset: int
    minor: int
    major: int
    arch: int
    name_offset: int
    name_length: int
    flags: int
    key: int
    uncompressed_size: int
    image_offset: int = 0
    group: EntryHeader | None = None

    @property
    def payload_offset(self) -> int:
        """Where the payload starts, from the start of the library."""
        return self.offset + self.header_size

    @property
    def size(self) -> int:
        """Bytes of the payload when inflated; of a plain one with its padding of up to 7 bytes."""
        return self.uncompressed_size if self.compressed_size else self.padded_size


def check_entry(view: View, header: EntryHeader, limits: Limits, report: Report) -> None:
    """Report sizes that contradict each other or only a bomb would declare."""
    compression = compression_of(header.flags)
    stored, padded = header.compressed_size, header.padded_size
    problem = ""
    if stored > padded:
        problem = f"compressed size {stored} is larger than the padded size {padded}"
    elif stored and compression is Compression.NONE:
        problem = f"compressed size {stored} without a compression flag"
    elif not stored and compression is not Compression.NONE and header.group is None:
        problem = f"compressed size 0 with the flag for {compression}"
    if problem:
        report(
            SizeMismatchError(
                problem,
                offset=header.offset + 16,
                field="compressed_size",
                expected=f"1 to {padded}" if compression is not Compression.NONE else "0",
                found=str(stored),
                location=view.name,
            )
        )
    elif stored:
        try:
            limits.check_inflated(stored, header.uncompressed_size, header.offset)
        except LimitExceededError as exc:
            exc.location = view.name
            report(exc)


def read_payload(
    view: View, header: EntryHeader, limits: Limits = DEFAULT_LIMITS
) -> bytes | bytearray:
    """Return the inflated payload of an entry (not of an image of a group), within the limits.

    Of a plain payload the up to 7 bytes of padding are included: their number is not stored.
    ``view`` must be one whose offsets are the library's.

    Raises:
        FormatError: the payload is not inside the file or does not inflate to its declared size;
            UnsupportedVersionError for obfuscated LTO-IR.
        LimitExceededError: larger than ``limits`` allow.
        MissingDependencyError: LZ4 or zstd without cramjam.
    """
    from fatbin.format.codec import decompress  # noqa: PLC0415 - a header walk needs no codec

    compression = compression_of(header.flags)
    if header.flags & EntryFlags.OBFUSCATED and compression is not Compression.NONE:
        msg = "payload is obfuscated LTO-IR, whose scheme is not public; it cannot be inflated"
        raise UnsupportedVersionError(
            msg,
            offset=header.offset,
            field="flags",
            expected=f"bit {int(EntryFlags.OBFUSCATED):#x} clear",
            found=hex(header.flags),
            location=view.name,
            hint="nvcc and nvFatbin store LTO-IR plain when compression is off",
        )
    check_entry(view, header, limits, raise_error)
    if compression is Compression.NONE:
        return view.read(
            header.payload_offset, header.padded_size, "payload", limits.image_bytes, "image_bytes"
        )
    data = view.read(
        header.payload_offset, header.compressed_size, "payload", limits.image_bytes, "image_bytes"
    )
    return decompress(
        data,
        compression,
        header.uncompressed_size,
        limits=limits,
        offset=header.offset,
        location=view.name,
    )


def entry_header_at(view: View, offset: int) -> EntryHeader:
    """Read one entry header again, by its offset in the library.

    Raises:
        TruncatedError: it is not inside the file.
    """
    return EntryHeader._make((offset, *ENTRY_HEADER.read(view, offset), 0, None))


# Tails ------------------------------------------------------------------------------------------


class Tail(Record):
    """What stands between the fixed 64 bytes and the payload.

    Attributes:
        identifier: usually the source file's name; empty when there is none.
        options: the command line for ptxas or the options of LTO-IR; None when there is no record.
        compat: the copy of the cubin's ``.nv.compat`` section (SM 100 and later); empty if none.
    """

    identifier: str = ""
    options: str | None = None
    compat: bytes = b""


NO_TAIL = Tail()


def read_tail(view: View, header: EntryHeader, report: Report) -> Tail:
    """Read identifier and options record of an entry; damage goes to ``report``.

    ``view`` must be one whose offsets are the library's, and ``header`` one that the walk has found
    to be inside it.
    """
    name_length, at, end = header.name_length, header.options_offset, header.header_size
    identifier = ""
    options: str | None = None
    compat = b""
    start = view.start + header.offset
    if name_length and _inside(
        view, header, "name_offset", 32, header.name_offset, name_length, report
    ):
        begin = start + header.name_offset
        identifier = _text(view.buffer[begin : begin + name_length])
    if (
        at
        and header.kind != EntryKind.GROUP
        and _inside(view, header, "options_offset", 20, at, OPTIONS_RECORD.size, report)
    ):
        data, length = _unpack_options(view.buffer, start + at)
        if data == 0 and length == 0:
            options = ""  # CUDA 11: a record without data
        elif _inside(view, header, "data_offset", at, data, length, report):
            content = view.buffer[start + data : start + end]
            if header.kind in SASS_KINDS:
                # A cubin's record is an empty command line (one NUL), then .nv.compat.
                options, compat = "", bytes(content[1 : 1 + length])
            else:
                options = _text(content[:length])
    return Tail(identifier, options, compat)


def _text(data: Buffer) -> str:
    return bytes(data).rstrip(b"\0").decode("utf-8", "backslashreplace")


def _inside(
    view: View,
    header: EntryHeader,
    field: str,
    field_at: int,
    offset: int,
    length: int,
    report: Report,
) -> bool:
    """Check that what a field of the header, or of its tail, points at lies in the tail."""
    if offset >= ENTRY_SIZE and offset + length <= header.header_size:
        return True
    report(
        TruncatedError(
            f"{field} {offset} with {length} bytes is not inside the entry's tail, "
            f"{ENTRY_SIZE} to {header.header_size}",
            offset=header.offset + field_at,
            field=field,
            expected=f"inside {ENTRY_SIZE} to {header.header_size}",
            found=f"{offset} to {offset + length}",
            location=view.name,
        )
    )
    return False


# Groups -----------------------------------------------------------------------------------------


def unfold(
    view: View, group: EntryHeader, report: Report, tally: Tally | None = None
) -> tuple[EntryHeader, ...]:
    """Return the headers of a group's images; damage goes to ``report``.

    A member's own length is not stored: it follows from its name and options record.
    ``view`` must be one whose offsets are the library's. The images are counted in ``tally``.
    """
    tally = tally or Tally()
    at = group.options_offset or ENTRY_SIZE
    if not _inside(view, group, "options_offset", 20, at, GROUP_HEADER.size, report):
        return ()
    count, tail_length = GROUP_HEADER.read(view, group.offset + at)
    end = min(group.header_size, at + tail_length)
    room = (end - at - GROUP_HEADER.size) // GROUP_MEMBER.size
    if count > room:
        report(
            SizeMismatchError(
                f"group count {count} does not fit a tail of {tail_length} bytes, "
                f"which has room for {max(0, room)}",
                offset=group.offset + at,
                field="count",
                expected=f"at most {max(0, room)}",
                found=str(count),
                location=view.name,
            )
        )
    count = min(count, max(0, room))
    if count > tally.entries_left:
        count = tally.entries_left
        report(tally.too_many("entries", view.name, group.offset + at))
    members: list[EntryHeader] = []
    position = at + GROUP_HEADER.size
    for _ in range(count):
        if position + GROUP_MEMBER.size > end:
            report(_member_error(view, group, position, end))
            break
        raw = GROUP_MEMBER.read(view, group.offset + position)
        member = _member(view, group, position, raw, report)
        if member is None:
            break
        members.append(member)
        position += member.header_size
    tally.entries += len(members)
    return tuple(members)


def _member(
    view: View, group: EntryHeader, position: int, raw: tuple[int, ...], report: Report
) -> EntryHeader | None:
    kind, version, image_offset, image_size, compressed_size = raw[:5]
    options_offset, name_offset, name_length = raw[5], raw[9], raw[10]
    offset = group.offset + position
    room = group.header_size - position
    problem: FormatError | None = None
    if kind == EntryKind.GROUP:
        problem = FormatError(
            "a group inside a group is not allowed",
            offset=offset,
            field="kind",
            expected="an image",
            found="kind 256",
            location=view.name,
        )
    elif image_offset + image_size > group.size:
        problem = TruncatedError(
            f"image of {image_size} bytes at {image_offset} of the group runs past its "
            f"{group.size} bytes",
            offset=offset + 4,
            field="image_offset",
            expected=f"at most {group.size}",
            found=str(image_offset + image_size),
            location=view.name,
        )
    if problem is not None:
        report(problem)
        return None
    length = GROUP_MEMBER.size
    if name_length:
        length = max(length, name_offset + name_length + 1)
    if options_offset and options_offset + OPTIONS_RECORD.size <= room:
        data, size = OPTIONS_RECORD.read(view, offset + options_offset)
        length = max(length, options_offset + OPTIONS_RECORD.size)
        if data:
            length = max(length, data + size + 1)
    length = (length + 7) & ~7
    if length > room:
        report(_member_error(view, group, position, group.header_size))
        return None
    fields = (kind, version, length, image_size, compressed_size, *raw[5:])
    return EntryHeader._make((offset, *fields, image_offset, group))


def _member_error(view: View, group: EntryHeader, position: int, end: int) -> FormatError:
    return TruncatedError(
        f"group member header runs past the end of the tail at {group.offset + end:#x}",
        offset=group.offset + position,
        field="group member",
        expected=f"{GROUP_MEMBER.size} bytes or more",
        found=f"{max(0, end - position)} bytes",
        location=view.name,
    )
