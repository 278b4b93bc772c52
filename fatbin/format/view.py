"""A bounded window on bytes that somebody else holds: a mapped file, a member, a byte string."""

from __future__ import annotations

import re

from fatbin.errors import LimitExceededError, TruncatedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mmap import mmap

    Buffer = bytes | bytearray | memoryview | mmap

_NOT_ZERO = rb"[^\0]"


class View:
    """Bytes ``start`` to ``stop`` of a buffer; never a copy, never outside.

    Offsets given to the methods count from the start of the view. Offsets in errors count from the
    start of the *library* the view belongs to, which differs for a window cut out with
    :meth:`window`.

    Attributes:
        buffer: what holds the bytes; anything with the buffer protocol.
        start: first byte of the view in the buffer.
        stop: one past the last byte of the view in the buffer.
        origin: first byte of the library in the buffer.
        name: location of the view, for messages.
        descriptor: of the open file that the buffer maps from its first byte, or -1.
        path: of the file that the whole view is, beside which others may lie; empty for members
            and bytes.
    """

    __slots__ = ("buffer", "descriptor", "name", "origin", "path", "start", "stop")

    def __init__(
        self,
        buffer: Buffer,
        name: str = "",
        start: int = 0,
        stop: int = -1,
        *,
        descriptor: int = -1,
        path: str = "",
    ) -> None:
        """Look at a whole buffer, or at ``start`` to ``stop`` of it as a library of its own."""
        self.buffer: Buffer = buffer
        self.descriptor: int = descriptor
        self.path: str = path
        self.name: str = name
        self.start: int = start
        self.stop: int = len(buffer) if stop < 0 else stop
        self.origin: int = start

    def window(self, offset: int, size: int, name: str = "") -> View:
        """Return a view of ``size`` bytes at ``offset`` that reports offsets as this one does.

        Raises:
            TruncatedError: the window is not inside this view.
        """
        self.require(offset, size, "member" if name else "window")
        inner = View(
            self.buffer, name or self.name, self.start + offset, self.start + offset + size
        )
        inner.origin = self.origin
        inner.descriptor = self.descriptor
        return inner

    @property
    def size(self) -> int:
        """Bytes in the view."""
        return self.stop - self.start

    def report_offset(self, offset: int) -> int:
        """Return an offset of this view as one of its library."""
        return self.start + offset - self.origin

    def require(self, offset: int, size: int, what: str) -> None:
        """Check that bytes are inside.

        Raises:
            TruncatedError: they are not.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            raise TruncatedError(
                f"{what} of {size} bytes runs past the end at {self.report_offset(self.size):#x}",
                offset=self.report_offset(offset),
                field=what,
                expected=f"{size} bytes",
                found=f"{max(0, self.size - offset)} bytes",
                location=self.name,
            )

    def read(
        self,
        offset: int,
        size: int,
        what: str = "data",
        limit: int = 1 << 30,
        limit_name: str = "header_bytes",
    ) -> bytes:
        """Return a copy of some bytes.

        Args:
            offset: of the first.
            size: how many.
            what: they are, for messages.
            limit: how many at the most.
            limit_name: the field of :class:`fatbin.Limits` that ``limit`` is of.

        Raises:
            TruncatedError: they are not inside the view.
            LimitExceededError: more than ``limit`` bytes.
        """
        self.require(offset, size, what)
        if size > limit:
            raise LimitExceededError(
                f"{what} of {size} bytes is larger than the limit of {limit} bytes",
                limit=limit_name,
                allowed=limit,
                actual=size,
                offset=self.report_offset(offset),
                location=self.name,
            )
        begin = self.start + offset
        return bytes(self.buffer[begin : begin + size])

    def peek(self, offset: int, size: int) -> bytes:
        """Return up to ``size`` bytes, fewer at the end; never raises."""
        begin = self.start + max(0, offset)
        return bytes(self.buffer[begin : max(begin, min(begin + size, self.stop))])

    def find(self, needle: bytes, offset: int = 0) -> int:
        """Return the offset of the first ``needle`` at or after ``offset``, or -1."""
        match = re.compile(re.escape(needle)).search(self.buffer, self.start + offset, self.stop)
        return match.start() - self.start if match else -1

    def find_not_zero(self, offset: int) -> int:
        """Return the offset of the first byte that is not zero, or the size of the view."""
        match = re.compile(_NOT_ZERO).search(self.buffer, self.start + offset, self.stop)
        return match.start() - self.start if match else self.size
