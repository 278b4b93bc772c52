"""Members of tar archives, from front to back: source distributions, conda packages, layers.

Source: POSIX pax(1) for ustar and PAX, the GNU tar manual for long names, sparse files and binary
sizes. The standard library's tarfile takes a damaged header for the end of the archive and reads
names of any length; this reader tells both. Nothing is written and no link is followed: a link is
no second copy of what it leads to.
"""

from __future__ import annotations

from fatbin._record import Record
from fatbin.errors import FormatError, LimitExceededError, SourceError, TruncatedError
from fatbin.format.layouts import TAR_HEADER
from fatbin.scanning.streams import ViewStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.scanning.spool import Budget, Stream

BLOCK = 512
_CHUNK = 1 << 20
_NAME_BYTES = 4096  # the longest path of Linux; every name is cut there
_HEADER_BYTES = 1 << 20  # of a PAX header; they hold paths and attributes of a file
_CHECKSUM = slice(148, 156)
_SPARSE_MORE = 482  # in an old GNU sparse header: whether blocks of its map follow
_SPARSE_NEXT = 504  # in such a block
_SPARSE_BLOCKS = 4096
_FILES = frozenset((b"0", b"\0", b"7", b"S"))
_META = frozenset((b"x", b"g", b"X", b"L", b"K"))
_NO_CONTENT = frozenset((b"1", b"2", b"3", b"4", b"5", b"6"))  # links, devices, folders, pipes


class TarMember(Record):
    """One file of an archive; folders, links and devices are left out.

    Attributes:
        name: as the archive spells it, cut at 4096 bytes.
        size: bytes in the archive.
        sparse: whether these are no plain content, but a map and the parts that are not zero.
        offset: of the header in the inflated archive.
        content: reads exactly these bytes; what is left of them is passed over by the next step.
    """

    name: str
    size: int
    sparse: bool
    offset: int
    content: TarContent


class TarContent:
    """The bytes of one member; reading ends with them."""

    __slots__ = ("_source", "left")

    def __init__(self, source: _Source, size: int) -> None:
        """Begin where the source stands."""
        self._source = source
        self.left = size

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes; none at the end.

        Raises:
            SourceError: the archive ends before the member.
        """
        size = min(size, self.left)
        if not size:
            return b""
        data = self._source.read(size)
        if not data:
            msg = f"the archive ends {self.left} bytes before the end of the member"
            raise SourceError(msg, location=self._source.name)
        self.left -= len(data)
        return data

    def take(self, name: str) -> View | None:
        """Return all of it as a window, where the archive itself is a view.

        Raises:
            TruncatedError: the archive ends before the member.
        """
        stream = self._source.view_stream
        if stream is None:
            return None
        view = stream.take(self.left, name)
        self.left = 0
        return view


def is_tar(head: bytes) -> bool:
    """Tell whether a file begins with a tar header: its checksum says so."""
    if len(head) < BLOCK or not head[0]:
        return False
    try:
        return _sums_to(head[:BLOCK], _number(head[_CHECKSUM]))
    except ValueError:
        return False


def read_tar(stream: Stream, name: str, budget: Budget, report: Report) -> Iterator[TarMember]:
    """Yield the files of an archive in order.

    Args:
        stream: from the first header on.
        name: location of the archive.
        budget: counts members, and bytes of streams.
        report: gets the damage that ends the walk: nothing says where the next header stands.

    Raises:
        LimitExceededError: more members or bytes than the limits allow.
    """
    source = _Source(stream, name, budget)
    walk = _Walk(source)
    while True:
        try:
            member = walk.next()
            if member is None:
                return
            budget.member(f"{name}::{member.name}")
        except (FormatError, SourceError) as exc:
            exc.location = exc.location or name
            report(exc)
            return
        yield member
        try:
            source.skip(member.content.left + (-member.size % BLOCK))
        except (FormatError, SourceError) as exc:
            exc.location = exc.location or name
            report(exc)
            return


class _Source:
    """A stream that knows where it is."""

    def __init__(self, stream: Stream, name: str, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget
        self.name = name
        self.view_stream = stream if isinstance(stream, ViewStream) else None
        self._read = 0

    @property
    def position(self) -> int:
        if self.view_stream is not None:
            return self.view_stream.position
        return self._read

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._read += len(data)
        if self.view_stream is None:
            self._budget.spend(len(data), self.name)
        return data

    def block(self, size: int = BLOCK) -> bytes:
        """Return so many bytes, fewer only at the end."""
        data = self.read(size)
        while data and len(data) < size:
            more = self.read(size - len(data))
            if not more:
                break
            data += more
        return data

    def skip(self, size: int) -> None:
        left = size
        while left > 0:
            if self.view_stream is not None:
                count = self.view_stream.skip(left)
            else:
                count = len(self.read(min(left, _CHUNK)))
            if not count:
                raise TruncatedError(
                    f"the archive ends {left} bytes before the end of a member",
                    offset=self.position,
                    field="size",
                    expected=f"{size} bytes",
                    found=f"{size - left} bytes",
                    location=self.name,
                )
            left -= count


class _Walk:
    """From header to header; what PAX and GNU headers say of the next one is kept for it."""

    def __init__(self, source: _Source) -> None:
        self._source = source
        self._pax: dict[bytes, bytes] = {}
        self._name: bytes | None = None

    def next(self) -> TarMember | None:
        """Return the next file, None at the end."""
        while True:
            offset = self._source.position
            block = self._source.block()
            if not block.strip(b"\0") and len(block) == BLOCK:
                return None
            if len(block) < BLOCK:
                raise TruncatedError(
                    f"expected a header or two blocks of zeros, found {len(block)} bytes: "
                    "the archive is cut off",
                    offset=offset,
                    field="tar header",
                    expected=f"{BLOCK} bytes",
                    found=f"{len(block)} bytes",
                    location=self._source.name,
                )
            member = self._header(block, offset)
            if member is not None:
                return member

    def _header(self, block: bytes, offset: int) -> TarMember | None:
        name, _, _, size_field, _, checksum, kind, _, magic, _, prefix, _ = (
            bytes(field) for field in TAR_HEADER.read_bytes(block)
        )
        try:
            good = _sums_to(block, _number(checksum))
            size = _number(size_field)
        except ValueError:
            good, size = False, 0
        if not good or size < 0:
            raise self._damage(offset, checksum, size_field)
        if self._meta(kind, size, offset):
            return None
        pax, self._pax = self._pax, {}
        path = pax.get(b"path", self._path(name, magic, prefix))
        if kind not in _FILES or path.endswith(b"/"):
            if kind not in _NO_CONTENT:
                self._source.skip(size + (-size % BLOCK))
            return None
        if b"size" in pax:
            if not pax[b"size"].isdigit() or len(pax[b"size"]) > 20:  # noqa: PLR2004 - 2 ** 64
                raise self._damage(offset, b"", pax[b"size"])
            size = int(pax[b"size"])
        sparse = kind == b"S" or any(key.startswith(b"GNU.sparse.") for key in pax)
        if kind == b"S" and block[_SPARSE_MORE]:
            self._pass_map(offset)
        text = pax.get(b"GNU.sparse.name", path)[:_NAME_BYTES].decode("utf-8", "backslashreplace")
        return TarMember(text, size, sparse, offset, TarContent(self._source, size))

    def _meta(self, kind: bytes, size: int, offset: int) -> bool:
        """Take a header that is about the next header, or about all of them."""
        if kind not in _META:
            return False
        body = self._body(size, offset)
        if kind in (b"x", b"X"):
            self._pax.update(_pax(body))
        elif kind == b"L":
            self._name = body.split(b"\0")[0]
        return True

    def _path(self, name: bytes, magic: bytes, prefix: bytes) -> bytes:
        long, self._name = self._name, None
        if long is not None:
            return long
        name = name.split(b"\0")[0]
        if magic[:6] == b"ustar\0" and prefix[:1] != b"\0":
            return prefix.split(b"\0")[0] + b"/" + name
        return name

    def _body(self, size: int, offset: int) -> bytes:
        """Return the content of a header about the next header."""
        if size > _HEADER_BYTES:
            raise LimitExceededError(
                f"a header of {size} bytes is larger than the limit of {_HEADER_BYTES} bytes; "
                "the rest was not read",
                limit="header_bytes",
                allowed=_HEADER_BYTES,
                actual=size,
                offset=offset,
                location=self._source.name,
            )
        body = self._source.block(size + (-size % BLOCK))
        if len(body) < size:
            raise TruncatedError(
                f"the archive ends in a header of {size} bytes",
                offset=offset,
                field="size",
                expected=f"{size} bytes",
                found=f"{len(body)} bytes",
                location=self._source.name,
            )
        return body[:size]

    def _pass_map(self, offset: int) -> None:
        for _ in range(_SPARSE_BLOCKS):
            block = self._source.block()
            if len(block) < BLOCK:
                break
            if not block[_SPARSE_NEXT]:
                return
        raise self._damage(offset, b"", b"a sparse map without end")

    def _damage(self, offset: int, checksum: bytes, size: bytes) -> FormatError:
        return FormatError(
            f"expected a header with its checksum and a size, found checksum {checksum!r} and "
            f"size {size!r}; the rest was not read",
            offset=offset,
            field="checksum",
            location=self._source.name,
        )


def _number(field: bytes) -> int:
    """Return a number in octal text, or in binary where the first byte is 0x80 (0xFF: negative)."""
    if field[0] in (0x80, 0xFF):
        return int.from_bytes(field[1:], "big", signed=field[0] == 0xFF)  # noqa: PLR2004
    text = field.split(b"\0")[0].strip()
    if text.strip(b"01234567"):
        msg = "no octal number"
        raise ValueError(msg)
    return int(text or b"0", 8)


def _sums_to(block: bytes, checksum: int) -> bool:
    """Compare the checksum, also as some old programs made it, with bytes taken as signed."""
    other = block[: _CHECKSUM.start] + block[_CHECKSUM.stop :]
    plain = sum(other) + 8 * 0x20
    return checksum == plain or checksum == plain - 256 * sum(byte >> 7 for byte in other)


def _pax(body: bytes) -> dict[bytes, bytes]:
    """Return the records of a PAX header: ``length key=value`` and a line feed."""
    found: dict[bytes, bytes] = {}
    position = 0
    while position < len(body):
        blank = body.find(b" ", position, position + 8)
        digits = body[position:blank] if blank > 0 else b""
        if not digits.isdigit() or int(digits) < len(digits) + 3:
            break
        record = body[blank + 1 : position + int(digits) - 1]
        key, equals, value = record.partition(b"=")
        if equals:
            found[key] = value
        position += int(digits)
    return found
