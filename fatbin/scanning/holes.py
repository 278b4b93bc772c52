"""Files with holes in tar archives: the map of what is stored, and the content with zeros between.

A map that cannot be read is told when the content is wanted: the archive goes on behind the member
all the same.

Source: the GNU tar manual, "Storing Sparse Files": the old format (type ``S``) and the PAX formats
0.0, 0.1 and 1.0.
"""

from __future__ import annotations

from fatbin._record import Record
from fatbin.errors import FormatError
from fatbin.format.layouts import TAR_HEADER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fatbin.scanning.spool import Stream
    from fatbin.scanning.tape import Source

_BLOCK = TAR_HEADER.size
MAP_BYTES = 1 << 20
"""The longest map that is read; what is longer is no map of an honest file."""
PREFIX = "GNU.sparse."
REPEATED = frozenset((f"{PREFIX}offset", f"{PREFIX}numbytes"))
"""Records that stand once for each piece in format 0.0; their values are joined with commas."""
_PIECE = 1 << 20
_BLANKS = b" \0"
_NUMBER = 12
_IN_HEADER, _IN_BLOCK = (386, 4, 482), (0, 21, 504)  # where pieces begin, how many, whether more
_REAL_SIZE = 483
_DIGITS = 18


class Holes(Record):
    """What of a file is stored; the rest of it is zeros.

    Attributes:
        size: bytes of the file; -1 where the map cannot be read.
        pieces: offset in the file and bytes of each, in order.
    """

    size: int
    pieces: tuple[tuple[int, int], ...] = ()


UNREADABLE = Holes(-1)


def number_of(field: bytes) -> int:
    """Read octal digits, or the binary numbers that GNU tar writes for large ones; else -1."""
    if field[0] & 0x80:
        if field[0] & 0x40:
            return -1  # negative
        return int.from_bytes(field, "big") & ~(0x80 << (8 * len(field) - 8))
    digits = field.strip(_BLANKS)
    if digits.startswith((b"-", b"+")) or b"_" in digits:
        return -1
    try:
        return int(digits, 8) if digits else 0
    except ValueError:
        return -1


def old_holes(header: bytes, source: Source) -> Holes:
    """Read the map of a header of type ``S`` and of the blocks that go on with it."""
    pieces = list(_pieces(header, *_IN_HEADER[:2]))
    more = header[_IN_HEADER[2]]
    blocks = 0
    while more:
        block = source.read(_BLOCK)
        if len(block) < _BLOCK:
            return UNREADABLE  # the end of the archive is told by the next read
        blocks += 1
        if blocks * _BLOCK <= MAP_BYTES:
            pieces += _pieces(block, *_IN_BLOCK[:2])
        more = block[_IN_BLOCK[2]]
    if blocks * _BLOCK > MAP_BYTES:
        return UNREADABLE
    return Holes(number_of(header[_REAL_SIZE : _REAL_SIZE + _NUMBER]), tuple(pieces))


def _pieces(block: bytes, start: int, count: int) -> Iterator[tuple[int, int]]:
    for at in range(start, start + 2 * _NUMBER * count, 2 * _NUMBER):
        offset, size = block[at : at + _NUMBER], block[at + _NUMBER : at + 2 * _NUMBER]
        if not offset[0]:
            return
        yield number_of(offset), number_of(size)


def pax_holes(records: Mapping[str, str], source: Source, size: int) -> tuple[Holes, int]:
    """Read the map that PAX records name or hold.

    Args:
        records: of the extended header.
        source: at the data, where a map of format 1.0 begins.
        size: bytes of the data.

    Returns:
        The map, and how many bytes of the data it took.
    """
    get = records.get
    if f"{PREFIX}major" in records:
        if (get(f"{PREFIX}major"), get(f"{PREFIX}minor")) != ("1", "0"):
            return UNREADABLE, 0
        numbers, used = _leading_map(source, size)
        return _holes(get(f"{PREFIX}realsize", ""), numbers), used
    if f"{PREFIX}map" in records:
        numbers = list(map(_decimal, records[f"{PREFIX}map"].split(",")))
    else:
        offsets = get(f"{PREFIX}offset", "").split(",")
        sizes = get(f"{PREFIX}numbytes", "").split(",")
        if len(offsets) != len(sizes):
            return UNREADABLE, 0
        numbers = [_decimal(text) for pair in zip(offsets, sizes, strict=True) for text in pair]
    return _holes(get(f"{PREFIX}size", ""), numbers), 0


def _leading_map(source: Source, size: int) -> tuple[list[int], int]:
    """Read the numbers before the data: how many pieces, then offset and size of each."""
    if size < _BLOCK:
        return [-1], 0
    blocks = [source.read(_BLOCK)]
    first, newline, _ = blocks[0].partition(b"\n")
    pieces = _decimal(first.decode("latin-1")) if newline else -1
    wanted, seen = 1 + 2 * pieces, blocks[0].count(b"\n")
    most = min(size, MAP_BYTES) // _BLOCK
    while pieces >= 0 and seen < wanted and len(blocks) < most:
        blocks.append(source.read(_BLOCK))
        seen += blocks[-1].count(b"\n")
    used = sum(map(len, blocks))
    if pieces < 0 or seen < wanted:
        return [-1], used
    lines = b"".join(blocks).decode("latin-1").split("\n")[1:wanted]
    return list(map(_decimal, lines)), used


def _holes(size: str, numbers: list[int]) -> Holes:
    if len(numbers) % 2:
        return UNREADABLE
    return Holes(_decimal(size), tuple(zip(numbers[::2], numbers[1::2], strict=True)))


def _decimal(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else -1


def filled(stream: Stream, holes: Holes, stored: int, name: str) -> Filled:
    """Return the file: what is stored, and zeros between.

    Args:
        stream: what is stored, piece after piece.
        holes: the map.
        stored: bytes of the stream.
        name: location of the member, for messages.

    Raises:
        FormatError: the map cannot be read, or is none of that many bytes.
    """
    end = total = 0
    for offset, size in holes.pieces:
        if offset < end or size < 0:
            break
        end = offset + size
        total += size
    else:
        if end <= holes.size and total == stored:
            return Filled(stream, holes)
    found = f"{len(holes.pieces)} pieces in {holes.size} bytes" if holes.size >= 0 else "no map"
    raise FormatError(
        f"expected a map of a file with holes of which {stored} bytes are stored, found {found}",
        field="map of holes",
        expected=f"pieces of {stored} bytes in all, in order",
        found=found,
        location=name,
    )


class Filled:
    """A stream of a file with holes."""

    __slots__ = ("_at", "_next", "_pieces", "_size", "_stream")

    def __init__(self, stream: Stream, holes: Holes) -> None:
        """Begin at the start; the map is known to be one."""
        self._stream = stream
        self._pieces = holes.pieces
        self._size = holes.size
        self._at = 0
        self._next = 0

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes; none at the end.

        Raises:
            FatbinError: as the stream raises.
        """
        size = min(size, self._size - self._at)
        while self._next < len(self._pieces) and self._at >= sum(self._pieces[self._next]):
            self._next += 1
        hole = self._size - self._at
        if self._next < len(self._pieces):
            offset, stored = self._pieces[self._next]
            if self._at >= offset:
                data = self._stream.read(min(size, offset + stored - self._at))
                self._at += len(data)
                return data
            hole = offset - self._at
        size = min(size, hole, _PIECE)
        self._at += size
        return bytes(size)
