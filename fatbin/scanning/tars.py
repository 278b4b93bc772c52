"""Files in tar archives, from front to back: source distributions, conda packages.

The headers are read by :mod:`fatbin.scanning.tape`. Nothing is written and no link is followed: a
link is no second copy of what it leads to.
"""

from __future__ import annotations

from fatbin._record import Record
from fatbin.errors import FormatError, SourceError, TruncatedError
from fatbin.scanning.streams import ViewStream
from fatbin.scanning.tape import FILE, printable_path, read_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.scanning.holes import Holes
    from fatbin.scanning.spool import Budget, Stream

_CHUNK = 1 << 20
_NAME_BYTES = 4096  # the longest path of Linux; every name is cut there


class TarMember(Record):
    """One file of an archive; folders, links and devices are left out.

    Attributes:
        name: as the archive spells it, cut at 4096 bytes.
        size: bytes in the archive.
        holes: of a file of which only pieces are stored, which the content is then.
        content: reads exactly these bytes; what is left of them is passed over by the next step.
    """

    name: str
    size: int
    holes: Holes | None
    content: TarContent


class TarContent:
    """The bytes of one member; reading ends with them."""

    __slots__ = ("_source", "left")

    def __init__(self, source: _Source, size: int) -> None:
        """Begin where the source stands."""
        self._source = source
        self.left: int = size

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes; none at the end.

        Raises:
            SourceError: the archive ends before the member.
        """
        size = min(size, self.left)
        if not size:
            return b""
        data = self._source.some(size)
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
    try:
        for entry in read_entries(source, name):
            if entry.kind != FILE:
                continue
            text = printable_path(entry.name)[:_NAME_BYTES]
            budget.member(f"{name}::{text}")
            yield TarMember(text, entry.size, entry.holes, TarContent(source, entry.size))
    except (FormatError, SourceError) as exc:
        exc.location = exc.location or name
        report(exc)


class _Source:
    """A stream that knows where it is."""

    def __init__(self, stream: Stream, name: str, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget
        self.name = name
        self.view_stream: ViewStream | None = stream if isinstance(stream, ViewStream) else None
        self._read = 0

    @property
    def position(self) -> int:
        if self.view_stream is not None:
            return self.view_stream.position
        return self._read

    def some(self, size: int) -> bytes:
        """Return up to so many bytes; none at the end."""
        data = self._stream.read(size)
        self._read += len(data)
        if self.view_stream is None:
            self._budget.spend(len(data), self.name)
        return data

    def read(self, size: int, /) -> bytes:
        """Return so many bytes, fewer only at the end."""
        data = self.some(size)
        while data and len(data) < size:
            more = self.some(size - len(data))
            if not more:
                break
            data += more
        return data

    def skip(self, size: int, /) -> None:
        left = size
        while left > 0:
            if self.view_stream is not None:
                count = self.view_stream.skip(left)
            else:
                count = len(self.some(min(left, _CHUNK)))
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
