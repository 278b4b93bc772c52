"""Tar archives and layers as they lie: read in place, or inflated from front to back.

What a layer is compressed with is told by its first bytes; media types are only what somebody said.
"""

from __future__ import annotations

from contextlib import contextmanager

from fatbin.errors import (
    FatbinError,
    TruncatedError,
    UnknownFormatError,
)
from fatbin.scanning.spool import spooled_view
from fatbin.scanning.streams import WORTH_A_THREAD, Gzip, ViewStream, compression_by_magic, inflated
from fatbin.scanning.tape import BLOCK, is_tar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.format.view import View
    from fatbin.limits import Limits
    from fatbin.scanning.ahead import ReadAhead
    from fatbin.scanning.spool import Budget, Stream


_SKIPPABLE = b"\x2a\x4d\x18"  # bytes 1 to 3 of a zstd frame that holds no data
_SKIPPABLE_LOW = 0x50  # byte 0, without its last four bits
_PIECE = 1 << 20
_RATIO_FROM = 8 << 20


class Placed:
    """A tar archive that can be read at random; nothing of it is copied."""

    def __init__(self, view: View) -> None:
        """Begin at the start of a view."""
        self.view = view
        self.position: int = 0

    @property
    def stored(self) -> int:
        """Bytes of the view that were read."""
        return self.position

    def close(self) -> None:
        """Do nothing: there is nothing to end."""

    def read(self, size: int, /) -> bytes:
        """Return so many bytes, fewer only at the end."""
        data = self.view.peek(self.position, size)
        self.position += len(data)
        return data

    def skip(self, size: int, /) -> None:
        """Pass over so many bytes.

        Raises:
            TruncatedError: there are not so many.
        """
        self.view.require(self.position, size, "member")
        self.position += size

    @contextmanager
    def member(self, size: int, head: bytes, name: str, limits: Limits) -> Iterator[View]:
        """Give a member, of which ``head`` was read, as a view."""
        if size > limits.member_bytes:
            raise limits.exceeded(
                f"the member has more than {limits.member_bytes} bytes",
                limit="member_bytes",
                actual=size,
                location=name,
                trusted="image",
            )
        inner = self.view.window(self.position - len(head), size, name)
        inner.origin = inner.start  # a file of its own
        yield inner


class Inflating:
    """A compressed stream, inflated piece by piece; what was passed over is gone."""

    def __init__(self, view: View, stored: ViewStream, stream: Stream, budget: Budget) -> None:
        """Begin at the start of a view, which is read as it is stored and inflated."""
        self.position: int = 0
        self._stored = stored
        self._view = view
        self._ahead = _ahead(stream) if view.size >= WORTH_A_THREAD else None
        self._stream = self._ahead or stream
        self._budget = budget
        self._data = b""
        self._at = 0
        self._failed: FatbinError | None = None
        self._most = max(_RATIO_FROM, budget.limits.member_ratio * view.size)

    def close(self) -> None:
        """End the thread that reads ahead, if there is one."""
        if self._ahead is not None:
            self._ahead.close()

    @property
    def stored(self) -> int:
        """Bytes of the view that were read."""
        return self._stored.position

    def read(self, size: int, /) -> bytes:
        """Return so many bytes, fewer only at the end.

        Raises:
            DecompressionError: damage.
            LimitExceededError: more than the budget allows.
        """
        stop = self._at + size
        if stop <= len(self._data):  # most reads are of headers
            data = self._data[self._at : stop]
            self._at = stop
            self.position += size
            return data
        pieces = []
        left = size
        while left:
            piece = self._data[self._at : self._at + left]
            if not piece:
                if not self._fill():
                    break
                continue
            self._at += len(piece)
            left -= len(piece)
            pieces.append(piece)
        self.position += size - left
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def skip(self, size: int, /) -> None:
        """Pass over so many bytes.

        Raises:
            TruncatedError: there are not so many.
        """
        self.position += size
        stop = self._at + size
        if stop <= len(self._data):
            self._at = stop
            return
        left = size
        while left:
            there = len(self._data) - self._at
            if not there:
                if not self._fill():
                    raise TruncatedError(
                        f"a member of {size} bytes runs past the end of the archive",
                        offset=self.position - left,
                        field="member",
                        expected=f"{size} bytes",
                        found=f"{size - left} bytes",
                        location=self._view.name,
                    )
                continue
            step = min(left, there)
            self._at += step
            left -= step

    @contextmanager
    def member(self, size: int, head: bytes, name: str, limits: Limits) -> Iterator[View]:
        """Give a member, of which ``head`` was read, as a view."""
        rest = Member(self, size - len(head), name)
        with spooled_view(rest, name, limits=limits, head=head) as view:
            yield view

    def _fill(self) -> bool:
        """Inflate the next piece; False at the end. What failed once fails again."""
        if self._failed is not None:
            raise self._failed
        self._at = 0
        self._data = b""
        try:
            self._data = self._stream.read(_PIECE)
            self._spend(len(self._data))
        except FatbinError as exc:
            self._data = b""
            self._failed = exc
            raise
        return bool(self._data)

    def _spend(self, count: int) -> None:
        self._budget.spend(count, self._view.name)
        self._most -= count
        if self._most < 0:
            limits = self._budget.limits
            ratio = limits.member_ratio
            raise limits.exceeded(
                f"{self._view.size} bytes inflate to more than {ratio} times as much",
                limit="member_ratio",
                actual=ratio + 1,
                location=self._view.name,
                trusted="image",
            )


class Member:
    """The rest of a member, as a stream that knows where it ends."""

    def __init__(self, source: Placed | Inflating, size: int, name: str) -> None:
        """Begin where the source stands."""
        self._source = source
        self._left = size
        self._name = name

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes; none at the end of the member.

        Raises:
            TruncatedError: the archive ends before the member.
        """
        wanted = min(size, self._left)
        data = self._source.read(wanted)
        self._left -= len(data)
        if len(data) < wanted:
            raise TruncatedError(
                f"the archive ends {self._left} bytes before the end of a member",
                field="member",
                location=self._name,
            )
        return data


def _ahead(stream: Stream) -> ReadAhead:
    from fatbin.scanning.ahead import ReadAhead  # noqa: PLC0415 - small layers need no thread

    return ReadAhead(stream)


def open_tar(view: View, budget: Budget) -> Placed | Inflating:
    """Return what reads a tar archive, plain or compressed; to be closed.

    Raises:
        UnknownFormatError: it is none.
        MissingDependencyError: zstd without what reads it.
    """
    head = view.peek(0, BLOCK)
    if is_tar(head) or not head.strip(b"\0"):
        return Placed(view)
    compression = compression_by_magic(head)
    stored = ViewStream(view)
    if compression == "gzip":
        return Inflating(view, stored, Gzip(stored, view.name, budget.limits), budget)
    if head[1:4] == _SKIPPABLE and head[0] & 0xF0 == _SKIPPABLE_LOW:
        compression = "zstd"
    if compression:
        # The ratio is held here, for the layer as a whole: files of zeros are no bombs.
        limits = budget.limits._replace(member_ratio=1 << 62)
        stream = inflated(stored, compression, view.name, limits)
        return Inflating(view, stored, stream, budget)
    raise UnknownFormatError(
        f"expected a tar archive, plain or compressed, found the bytes {head[:8].hex(' ')}",
        location=view.name,
    )


def digest_of(view: View, algorithm: str) -> str:
    """Return the hexadecimal digest of the bytes of a view."""
    import hashlib  # noqa: PLC0415 - only with verify or a cache

    state = hashlib.new(algorithm)
    stream = ViewStream(view)
    while data := stream.read(_PIECE):
        state.update(data)
    return state.hexdigest()
