"""The walk: containers, entries, tails and groups, from headers alone.

A container is a 16-byte header and entries back to back; an entry is a 64-byte header, a tail
(identifier, options record, group members) and a payload. Nothing is decompressed here. Structural
damage becomes an error handed to ``report``; what was whole before it is kept, and the walk resumes
at the next container signature.
"""

from __future__ import annotations

from fatbin._record import Record

from fatbin.errors import (
    BadMagicError,
    FatbinError,
    FormatError,
    LimitExceededError,
    SizeMismatchError,
    TruncatedError,
    UnsupportedVersionError,
)
from fatbin.format.layouts import (
    CONTAINER_HEADER,
    ENTRY_HEADER,
    GROUP_HEADER,
    GROUP_MEMBER,
    OPTIONS_RECORD,
)
from fatbin.kinds import SASS_KINDS, Compression, EntryKind, compression_of, kind_label
from fatbin.limits import DEFAULT_LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fatbin.format.view import Buffer, View
    from fatbin.limits import Limits

    Report = Callable[[FatbinError], None]

MAGIC = 0xBA55ED50
MAGIC_BEFORE_CUDA_6 = 0x1EE55A01
"""Quoted publicly for older toolkits; no such file was seen."""
HEADER_SIZE = CONTAINER_HEADER.size
ENTRY_SIZE = ENTRY_HEADER.size
ENTRY_VERSION = 0x0101
_unpack_container = CONTAINER_HEADER.unpack_from
_unpack_entry = ENTRY_HEADER.unpack_from
_unpack_options = OPTIONS_RECORD.unpack_from
SIGNATURE = b"\x50\xed\x55\xba\x01\x00\x10\x00"
"""Magic, version 1 and header size 16: the first eight bytes of every container seen."""


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


class Container(Record):
    """One container: its header fields and its entries.

    Attributes:
        view: the bytes it was found in.
        offset: of its header, from the start of the library.
        version: field ``version`` of the header.
        size: bytes of header and entries together, as far as they are inside the file.
        whole: False when the walk could not reach the declared end.
        raw: the entry headers as tuples of integers, in the order of the layout.
    """

    view: View
    offset: int
    version: int
    size: int
    whole: bool
    raw: list[tuple[int, ...]]

    @property
    def headers(self) -> list[EntryHeader]:
        """The entry headers in file order; groups are not unfolded."""
        offset = self.offset + HEADER_SIZE
        headers = []
        for raw in self.raw:
            headers.append(EntryHeader(offset, *raw))
            offset += raw[2] + raw[3]
        return headers


def walk(
    view: View,
    *,
    limits: Limits = DEFAULT_LIMITS,
    report: Report | None = None,
) -> Iterator[Container]:
    """Yield every container of a view that should hold nothing else but zero padding.

    Args:
        view: the bytes of a section or of a bare file.
        limits: how many containers and entries at the most.
        report: gets an error for each damaged place; without it the first error is raised.

    Raises:
        FormatError: damage, when no ``report`` is given.
        LimitExceededError: too many containers or entries, when no ``report`` is given.
    """
    report = report or raise_error
    buffer, start, last = view.buffer, view.start, view.size - HEADER_SIZE
    position = containers = entries = 0
    most_containers, most_entries = limits.containers, limits.entries
    while True:
        if position > last or not buffer[start + position]:  # mostly the next container is here
            position = view.find_not_zero(position)
            if position > last:
                if position < view.size:
                    report(_junk(view, position))
                return
        if containers == most_containers or entries > most_entries:
            report(_too_many(view, position, limits, entries))
            return
        container, position = read_container(view, position, report)
        if container is not None:
            containers += 1
            entries += len(container.raw)
            yield container


def read_container(view: View, position: int, report: Report) -> tuple[Container | None, int]:
    """Read the container at an offset of the view.

    Returns:
        The container (None when its header is unusable) and where to go on: the offset behind it,
        or after damage the next signature, or the end of the view.
    """
    start = view.start + position
    if position + HEADER_SIZE > view.size:
        report(_junk(view, position))
        return None, view.size
    buffer = view.buffer
    magic, version, header_size, size = _unpack_container(buffer, start)
    if magic != MAGIC or header_size != HEADER_SIZE:
        report(_bad_header(view, position, magic, header_size))
        return None, _next_signature(view, position + 1)
    if version != 1:
        report(
            UnsupportedVersionError(
                f"container version {version} is not the known version 1; read as version 1",
                offset=view.report_offset(position + 4),
                field="version",
                expected="1",
                found=str(version),
                location=view.name,
            )
        )
    declared = start + HEADER_SIZE + size
    end = view.stop if declared > view.stop else declared
    offset = start - view.origin
    # The hot loop: entry headers until the end or the first that cannot be one.
    raw: list[tuple[int, ...]] = []
    reached = start + HEADER_SIZE
    last = end - ENTRY_SIZE
    while reached <= last:
        fields = _unpack_entry(buffer, reached)
        entry_header_size = fields[2]
        following = reached + entry_header_size + fields[3]
        if entry_header_size < ENTRY_SIZE or entry_header_size & 7 or following > end:
            break
        raw.append(fields)
        reached = following
    if reached == declared:
        return Container(view, offset, version, reached - start, True, raw), reached - view.start
    report(_damage(view, reached, declared))
    reached = _keep_straddling_entry(view, raw, reached)
    container = Container(view, offset, version, reached - start, False, raw)
    return container, _next_signature(view, reached - view.start)


def _keep_straddling_entry(view: View, raw: list[tuple[int, ...]], reached: int) -> int:
    """Keep an entry that is whole in the file though the container is declared too short for it."""
    if reached + ENTRY_SIZE > view.stop:
        return reached
    fields = ENTRY_HEADER.unpack_from(view.buffer, reached)
    following = reached + fields[2] + fields[3]
    if fields[1] != ENTRY_VERSION or fields[2] < ENTRY_SIZE or following > view.stop:
        return reached
    raw.append(fields)
    return following


def _next_signature(view: View, position: int) -> int:
    found = view.find(SIGNATURE, position)
    return view.size if found < 0 else found


def raise_error(error: FatbinError) -> None:
    """Raise what is reported: the strict way to walk."""
    raise error


def _bad_header(view: View, position: int, magic: int, header_size: int) -> FormatError:
    where = view.report_offset(position)
    if magic == MAGIC:
        return UnsupportedVersionError(
            f"container header size {header_size} is not the known size {HEADER_SIZE}",
            offset=where + 6,
            field="header_size",
            expected=str(HEADER_SIZE),
            found=str(header_size),
            location=view.name,
        )
    if magic == MAGIC_BEFORE_CUDA_6:
        return UnsupportedVersionError(
            f"container magic {magic:#x} is the format of toolkits before CUDA 6, not supported",
            offset=where,
            field="magic",
            expected=hex(MAGIC),
            found=hex(magic),
            location=view.name,
        )
    return BadMagicError(
        f"expected a container magic {MAGIC:#x}, found {magic:#x}",
        offset=where,
        field="magic",
        expected=hex(MAGIC),
        found=hex(magic),
        location=view.name,
    )


def _junk(view: View, position: int) -> FormatError:
    left = view.size - position
    return TruncatedError(
        f"expected a container header of {HEADER_SIZE} bytes or zero padding, found {left} bytes",
        offset=view.report_offset(position),
        field="container header",
        expected=f"{HEADER_SIZE} bytes",
        found=f"{left} bytes",
        location=view.name,
    )


def _too_many(view: View, position: int, limits: Limits, entries: int) -> LimitExceededError:
    limit, allowed, actual = "containers", limits.containers, limits.containers + 1
    if entries > limits.entries:
        limit, allowed, actual = "entries", limits.entries, entries
    return LimitExceededError(
        f"more than {allowed} {limit}; the rest of the file was not read",
        limit=limit,
        allowed=allowed,
        actual=actual,
        offset=view.report_offset(position),
        location=view.name,
    )


def _damage(view: View, reached: int, declared: int) -> FormatError:
    """Say what is wrong with the entry header at a buffer position."""
    end = min(declared, view.stop)
    offset = reached - view.origin
    cut = "the file" if declared > view.stop else "the container"
    left = end - reached
    if left < ENTRY_SIZE:
        if left == 0:
            return TruncatedError(
                f"container should go on to {declared - view.origin:#x} but {cut} ends here",
                offset=offset,
                field="size",
                expected=f"{declared - reached} more bytes",
                found="0 bytes",
                location=view.name,
            )
        return TruncatedError(
            f"entry header of {ENTRY_SIZE} bytes runs past the end of {cut} at "
            f"{end - view.origin:#x}",
            offset=offset,
            field="entry header",
            expected=f"{ENTRY_SIZE} bytes",
            found=f"{left} bytes",
            location=view.name,
        )
    fields = ENTRY_HEADER.unpack_from(view.buffer, reached)
    kind, arch, header_size, padded_size = fields[0], fields[8], fields[2], fields[3]
    what = f"entry ({kind_label(kind)}, SM {arch})"
    if header_size < ENTRY_SIZE:
        return SizeMismatchError(
            f"{what}: header size {header_size} is smaller than the fixed {ENTRY_SIZE} bytes",
            offset=offset + 4,
            field="header_size",
            expected=f"at least {ENTRY_SIZE}",
            found=str(header_size),
            location=view.name,
        )
    if header_size & 7:
        return SizeMismatchError(
            f"{what}: header size {header_size} is not a multiple of 8",
            offset=offset + 4,
            field="header_size",
            expected="a multiple of 8",
            found=str(header_size),
            location=view.name,
        )
    field, at = ("header_size", 4) if header_size > left else ("padded_size", 8)
    return TruncatedError(
        f"{what}: header of {header_size} and payload of {padded_size} bytes run past the end of "
        f"{cut} at {end - view.origin:#x}",
        offset=offset + at,
        field=field,
        expected=f"at most {left} bytes",
        found=f"{header_size + padded_size} bytes",
        location=view.name,
    )


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
        FormatError: the payload is not inside the file or does not inflate to its declared size.
        LimitExceededError: larger than ``limits`` allow.
        MissingDependencyError: LZ4 or zstd without cramjam.
    """
    from fatbin.format.codec import decompress  # noqa: PLC0415 - a header walk needs no codec

    compression = compression_of(header.flags)
    check_entry(view, header, limits, raise_error)
    if compression is Compression.NONE:
        return view.read(header.payload_offset, header.padded_size, "payload", limits.image_bytes)
    data = view.read(header.payload_offset, header.compressed_size, "payload", limits.image_bytes)
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
    return EntryHeader(offset, *ENTRY_HEADER.read(view, offset))


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
        view, header, "name_offset", header.name_offset, name_length, report
    ):
        begin = start + header.name_offset
        identifier = _text(view.buffer[begin : begin + name_length])
    if (
        at
        and header.kind != EntryKind.GROUP
        and _inside(view, header, "options_offset", at, OPTIONS_RECORD.size, report)
    ):
        data, length = _unpack_options(view.buffer, start + at)
        if data == 0 and length == 0:
            options = ""  # CUDA 11: a record without data
        elif _inside(view, header, "options data_offset", data, length, report):
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
    view: View, header: EntryHeader, field: str, offset: int, length: int, report: Report
) -> bool:
    if ENTRY_SIZE <= offset and offset + length <= header.header_size:
        return True
    report(
        TruncatedError(
            f"{field} {offset} with {length} bytes is not inside the entry's tail, "
            f"{ENTRY_SIZE} to {header.header_size}",
            offset=header.offset,
            field=field,
            expected=f"inside {ENTRY_SIZE} to {header.header_size}",
            found=f"{offset} to {offset + length}",
            location=view.name,
        )
    )
    return False


# Groups -----------------------------------------------------------------------------------------


def unfold(view: View, group: EntryHeader, report: Report) -> tuple[EntryHeader, ...]:
    """Return the headers of a group's images; damage goes to ``report``.

    A member's own length is not stored: it follows from its name and options record.
    ``view`` must be one whose offsets are the library's.
    """
    at = group.options_offset or ENTRY_SIZE
    if not _inside(view, group, "options_offset", at, GROUP_HEADER.size, report):
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
    members: list[EntryHeader] = []
    position = at + GROUP_HEADER.size
    for _ in range(min(count, max(0, room))):
        if position + GROUP_MEMBER.size > end:
            report(_member_error(view, group, position, end))
            break
        raw = GROUP_MEMBER.read(view, group.offset + position)
        member = _member(view, group, position, raw, report)
        if member is None:
            break
        members.append(member)
        position += member.header_size
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
    return EntryHeader(
        offset,
        kind,
        version,
        length,
        image_size,
        compressed_size,
        *raw[5:],
        image_offset=image_offset,
        group=group,
    )


def _member_error(view: View, group: EntryHeader, position: int, end: int) -> FormatError:
    return TruncatedError(
        f"group member header runs past the end of the tail at {group.offset + end:#x}",
        offset=group.offset + position,
        field="group member",
        expected=f"{GROUP_MEMBER.size} bytes or more",
        found=f"{max(0, end - position)} bytes",
        location=view.name,
    )
