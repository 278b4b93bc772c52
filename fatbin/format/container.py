"""The walk: containers and their entry headers.

A container is a 16-byte header and entries back to back; an entry is a 64-byte header, a tail and a
payload. Nothing is decompressed here. Structural damage becomes an error handed to ``report``; what
was whole before it is kept, and the walk resumes at the next container signature.
"""

from __future__ import annotations

from itertools import repeat

from fatbin._record import Record
from fatbin.errors import (
    BadMagicError,
    FormatError,
    SizeMismatchError,
    TruncatedError,
    UnsupportedVersionError,
    raise_error,
)
from fatbin.format.entry import ENTRY_SIZE, ENTRY_VERSION, EntryHeader
from fatbin.format.layouts import CONTAINER_HEADER, ENTRY_HEADER
from fatbin.kinds import kind_label
from fatbin.limits import DEFAULT_LIMITS, Tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.limits import Limits

MAGIC = 0xBA55ED50
MAGIC_BEFORE_CUDA_6 = 0x1EE55A01
"""Quoted publicly for older toolkits; no such file was seen."""
HEADER_SIZE: int = CONTAINER_HEADER.size
_unpack_container = CONTAINER_HEADER.unpack_from
_unpack_entry = ENTRY_HEADER.unpack_from
SIGNATURE = b"\x50\xed\x55\xba\x01\x00\x10\x00"
"""Magic, version 1 and header size 16: the first eight bytes of every container seen."""


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
            headers.append(EntryHeader._make((offset, *raw, 0, None)))
            offset += raw[2] + raw[3]
        return headers


def walk(
    view: View,
    *,
    limits: Limits = DEFAULT_LIMITS,
    report: Report | None = None,
    tally: Tally | None = None,
) -> Iterator[Container]:
    """Yield every container of a view that should hold nothing else but zero padding.

    Args:
        view: the bytes of a section or of a bare file.
        limits: how many containers and entries at the most.
        report: gets an error for each damaged place; without it the first error is raised.
        tally: what other sections of the library have taken of the limits, which are its own then.

    Raises:
        FormatError: damage, when no ``report`` is given.
        LimitExceededError: too many containers or entries, when no ``report`` is given.
    """
    report = report or raise_error
    tally = tally or Tally(limits)
    buffer, start, last = view.buffer, view.start, view.size - HEADER_SIZE
    position = 0
    while not tally.full:
        if position > last or not buffer[start + position]:  # mostly the next container is here
            position = view.find_not_zero(position)
            if position > last:
                if position < view.size:
                    report(_junk(view, position))
                return
        error = tally.stop(view.name, view.report_offset(position))
        if error is not None:
            report(error)
            return
        container, position = read_container(view, position, report, tally)
        if container is not None:
            yield container


def read_container(
    view: View, position: int, report: Report, tally: Tally
) -> tuple[Container | None, int]:
    """Read the container at an offset of the view, and count it and its entries.

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
    reached = start + HEADER_SIZE
    end = declared = reached + size
    end = min(end, view.stop)
    # The hot loop: entry headers until the end or the first that cannot be one.
    raw: list[tuple[int, ...]] = []
    last = end - ENTRY_SIZE
    for _ in repeat(None, tally.entries_left):
        if reached > last:
            break
        fields = _unpack_entry(buffer, reached)
        entry_header_size = fields[2]
        following = reached + entry_header_size + fields[3]
        if entry_header_size < ENTRY_SIZE or entry_header_size & 7 or following > end:
            break
        raw.append(fields)
        reached = following
    whole = reached == declared
    offset = start - view.origin
    tally.containers += 1
    tally.entries += len(raw)
    if whole:
        return Container(view, offset, version, reached - start, whole, raw), reached - view.start
    if not tally.entries_left and reached <= last:
        report(tally.too_many("entries", view.name, reached - view.origin))
        return Container(view, offset, version, reached - start, whole, raw), view.size
    report(_damage(view, reached, declared))
    kept = len(raw)
    reached = _keep_straddling_entry(view, raw, reached)
    tally.entries += len(raw) - kept
    container = Container(view, offset, version, reached - start, whole, raw)
    return container, _next_signature(view, reached - view.start)


def _keep_straddling_entry(view: View, raw: list[tuple[int, ...]], reached: int) -> int:
    """Keep an entry that is whole in the file though the container is declared too short for it."""
    if reached + ENTRY_SIZE > view.stop:
        return reached
    fields = _unpack_entry(view.buffer, reached)
    header_size = fields[2]
    following = reached + header_size + fields[3]
    if fields[1] != ENTRY_VERSION or header_size < ENTRY_SIZE or header_size & 7:
        return reached
    if following > view.stop:
        return reached
    raw.append(fields)
    return int(following)


def _next_signature(view: View, position: int) -> int:
    found = view.find(SIGNATURE, position)
    return view.size if found < 0 else found


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
