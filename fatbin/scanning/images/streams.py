"""Tar archives and layers as they lie: read in place, or inflated from front to back.

What a layer is compressed with is told by its first bytes; media types are only what somebody said.
"""

from __future__ import annotations

import os
import zlib
from contextlib import contextmanager

from fatbin.errors import (
    DecompressionError,
    FatbinError,
    FormatError,
    LimitExceededError,
    MissingDependencyError,
    TruncatedError,
    UnknownFormatError,
)
from fatbin.scanning.host import GZIP_MAGIC, ZSTD_MAGIC
from fatbin.scanning.images.tape import BLOCK, is_tar
from fatbin.scanning.spool import spooled_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Protocol

    from fatbin.format.view import View
    from fatbin.limits import Limits
    from fatbin.scanning.spool import Budget

    class Decoder(Protocol):
        """One gzip member or zstd frame."""

        error: type[Exception]
        eof: bool
        hungry: bool
        rest: bytes

        def decode(self, data: bytes, size: int) -> bytes:
            """Return up to ``size`` bytes more."""


_SKIPPABLE = b"\x2a\x4d\x18"  # bytes 1 to 3 of a zstd frame that holds no data
_CHUNK = 256 << 10
_PIECE = 1 << 20
_RATIO_FROM = 8 << 20
_HASH_CHUNK = 1 << 20


class Placed:
    """A tar archive that can be read at random; nothing of it is copied."""

    def __init__(self, view: View) -> None:
        """Begin at the start of a view."""
        self.view = view
        self.position = 0

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
            raise LimitExceededError(
                f"the member has more than {limits.member_bytes} bytes",
                limit="member_bytes",
                allowed=limits.member_bytes,
                actual=size,
                location=name,
                hint="raise the limit member_bytes if the image is trusted",
            )
        inner = self.view.window(self.position - len(head), size, name)
        inner.origin = inner.start  # a file of its own
        yield inner


class Inflating:
    """A compressed stream, inflated piece by piece; what was passed over is gone."""

    def __init__(self, view: View, decoder: Callable[[], Decoder], budget: Budget) -> None:
        """Begin at the start of a view."""
        self.position = 0
        self._view = view
        self._make = decoder
        self._decoder = decoder()
        self._budget = budget
        self._taken = 0
        self._data = b""
        self._at = 0
        self._ended = False
        self._failed: FatbinError | None = None
        self._most = max(_RATIO_FROM, budget.limits.member_ratio * view.size)

    def read(self, size: int, /) -> bytes:
        """Return so many bytes, fewer only at the end.

        Raises:
            DecompressionError: damage.
            LimitExceededError: more than the budget allows.
        """
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
        left = size
        while left:
            there = len(self._data) - self._at
            if not there:
                if not self._fill():
                    raise TruncatedError(
                        f"a member of {size} bytes runs past the end of the archive",
                        offset=self.position,
                        field="member",
                        expected=f"{size} bytes",
                        found=f"{size - left} bytes",
                        location=self._view.name,
                    )
                continue
            step = min(left, there)
            self._at += step
            left -= step
        self.position += size

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
        try:
            while not self._ended:
                self._at = 0
                self._data = self._next()
                if self._data:
                    self._spend(len(self._data))
                    return True
        except FatbinError as exc:
            self._data = b""
            self._failed = exc
            raise
        self._data = b""
        return False

    def _next(self) -> bytes:
        decoder = self._decoder
        data = b""
        if decoder.eof:
            data = decoder.rest or self._more()
            if not data.strip(b"\0"):
                self._ended = True
                return b""
            decoder = self._decoder = self._make()
        elif decoder.hungry:
            data = self._more()
            if not data:
                msg = "the compressed stream ends early"
                raise TruncatedError(msg, offset=self._view.size, location=self._view.name)
        try:
            return decoder.decode(data, _PIECE)
        except decoder.error as exc:
            reason = " ".join(str(exc).split()) or type(exc).__name__
            raise DecompressionError(
                f"the stream does not inflate: {reason}", location=self._view.name
            ) from exc

    def _more(self) -> bytes:
        data = stored_bytes(self._view, self._taken, _CHUNK)
        self._taken += len(data)
        return data

    def _spend(self, count: int) -> None:
        self._budget.spend(count, self._view.name)
        self._most -= count
        if self._most < 0:
            ratio = self._budget.limits.member_ratio
            raise LimitExceededError(
                f"{self._view.size} bytes inflate to more than {ratio} times as much",
                limit="member_ratio",
                allowed=ratio,
                actual=ratio + 1,
                location=self._view.name,
                hint="raise the limit member_ratio if the image is trusted",
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


class _Gzip:
    error: type[Exception] = zlib.error

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)
        self._kept = b""
        self.eof = False
        self.hungry = True
        self.rest = b""

    def decode(self, data: bytes, size: int) -> bytes:
        stream = self._stream
        out = stream.decompress(self._kept or data, size)
        self._kept = stream.unconsumed_tail
        # A full piece can leave bytes behind in the decoder although it has taken all input.
        self.hungry = not self._kept and len(out) < size
        self.eof = stream.eof
        self.rest = stream.unused_data
        return out


class _Zstd:
    def __init__(self) -> None:
        module = _zstd()
        self.error: type[Exception] = module.ZstdError
        self._stream = module.ZstdDecompressor()
        self.eof = False
        self.hungry = True
        self.rest = b""

    def decode(self, data: bytes, size: int) -> bytes:
        stream = self._stream
        out: bytes = stream.decompress(data, size)
        self.eof = stream.eof
        self.hungry = not stream.eof and stream.needs_input
        self.rest = stream.unused_data if stream.eof else b""
        return out


def _zstd() -> ModuleType:
    from importlib import import_module  # noqa: PLC0415 - only for zstd

    for name in ("compression.zstd", "backports.zstd"):  # of Python 3.14, and the same before
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    msg = "what is compressed with zstd needs Python 3.14 or the extra zstd"
    raise MissingDependencyError(msg, requirement="fatbin[zstd]")


def open_tar(view: View, budget: Budget) -> Placed | Inflating:
    """Return what reads a tar archive, plain or compressed.

    Raises:
        UnknownFormatError: it is none.
        MissingDependencyError: zstd without what reads it.
    """
    head = view.peek(0, BLOCK)
    if head[:2] == GZIP_MAGIC:
        return Inflating(view, _Gzip, budget)
    if head[:4] == ZSTD_MAGIC or (head[1:4] == _SKIPPABLE and head[0] & 0xF0 == 0x50):  # noqa: PLR2004
        return Inflating(view, _Zstd, budget)
    if is_tar(head) or not head.strip(b"\0"):
        return Placed(view)
    raise UnknownFormatError(
        f"expected a tar archive, plain or compressed with gzip or zstd, found {head[:8].hex(' ')}",
        location=view.name,
    )


def stored_bytes(view: View, offset: int, size: int) -> bytes:
    """Return some bytes of a view, read from the file where there is one.

    Files are mapped for access here and there; reading from front to back is faster by calls.
    """
    size = min(size, view.size - offset)
    if view.descriptor < 0 or not hasattr(os, "pread"):
        return view.peek(offset, size)
    try:
        return os.pread(view.descriptor, size, view.start + offset)
    except OSError as exc:
        msg = f"the file cannot be read: {exc.strerror}"
        raise FormatError(msg, offset=offset, location=view.name) from exc


def digest_of(view: View, algorithm: str) -> str:
    """Return the hexadecimal digest of the bytes of a view."""
    import hashlib  # noqa: PLC0415 - only with verify

    state = hashlib.new(algorithm)
    position = 0
    while position < view.size:
        data = stored_bytes(view, position, _HASH_CHUNK)
        if not data:
            break
        state.update(data)
        position += len(data)
    return state.hexdigest()
