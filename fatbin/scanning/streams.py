"""Bytes from front to back: of a view, or out of gzip, bzip2, xz and zstd, within limits."""

from __future__ import annotations

import os
import zlib
from typing import IO, cast

from fatbin.errors import (
    DecompressionError,
    FatbinError,
    LimitExceededError,
    MissingDependencyError,
    SourceError,
    TruncatedError,
)
from fatbin.scanning.host import COMPRESSED_MAGICS
from fatbin.scanning.spool import damaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from fatbin.format.view import View
    from fatbin.limits import Limits
    from fatbin.scanning.spool import Stream

    class _Decoder(Protocol):
        """What bz2 and lzma decompress with."""

        @property
        def eof(self) -> bool: ...
        @property
        def needs_input(self) -> bool: ...
        @property
        def unused_data(self) -> bytes: ...
        def decompress(self, data: bytes, /, max_length: int) -> bytes: ...


WORTH_A_THREAD = 8 << 20
"""Compressed bytes from which a thread that reads ahead pays for its start."""
_CHUNK = 256 << 10
_LARGE_CHUNK = 1 << 20
"""Of streams that a thread may read: a decompressor that has more to do lets others run longer."""
_XZ_MEMORY = 256 << 20
"""What an xz stream may ask for; its strongest preset takes 65 MiB."""
_RATIO_FROM = 8 << 20
_GZIP = 31  # with header and checksum
_STREAM_BYTES = 1024
_SALVAGED = 512


class ViewStream:
    """A view read from front to back.

    Of a file it is read by calls: the system reads ahead, and no page of the map is touched.
    """

    __slots__ = ("_view", "position")

    def __init__(self, view: View) -> None:
        """Begin at the start of the view."""
        self._view = view
        self.position: int = 0

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes; none at the end."""
        view = self._view
        size = min(size, view.size - self.position)
        if size <= 0:
            return b""
        if view.descriptor >= 0 and hasattr(os, "pread"):
            data = os.pread(view.descriptor, min(size, 1 << 20), view.start + self.position)
        else:
            data = view.peek(self.position, size)
        self.position += len(data)
        return data

    def take(self, size: int, name: str) -> View:
        """Return the next bytes as a view of a library of its own, and go behind them.

        Raises:
            TruncatedError: they are not all there.
        """
        inner = self._view.window(self.position, size, name)
        inner.origin = inner.start
        self.position += size
        return inner

    def skip(self, size: int) -> int:
        """Go forward without reading; return by how much."""
        size = min(size, self._view.size - self.position)
        self.position += size
        return size


class Rest:
    """A stream whose first bytes were already read."""

    __slots__ = ("_head", "_stream")

    def __init__(self, head: bytes, stream: Stream) -> None:
        """Put bytes back before a stream."""
        self._head = head
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes; none at the end."""
        if self._head:
            piece, self._head = self._head[:size], self._head[size:]
            return piece
        return self._stream.read(size)


def compression_by_magic(head: bytes) -> str:
    """Tell how a stream is compressed by its first bytes; empty when it is none of these."""
    return next((name for magic, name in COMPRESSED_MAGICS if head.startswith(magic)), "")


def inflated(stream: Stream, compression: str, name: str, limits: Limits) -> Stream:
    """Return a compressed stream inflated as it is read.

    Args:
        stream: of the compressed bytes.
        compression: ``gzip``, ``bzip2``, ``xz`` or ``zstd``.
        name: location, for errors.
        limits: ``member_ratio`` and ``streams`` hold for all of it.

    Raises:
        MissingDependencyError: zstd before Python 3.14 without zstandard.
    """
    source = _Counted(stream)
    return _Inflated(source, _decoder(source, compression, name, limits), name, limits)


class _Counted:
    """Counts what is read."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.count = 0

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size if size >= 0 else _CHUNK)
        self.count += len(data)
        return data

    def readable(self) -> bool:
        return True


class _Inflated:
    """Tells damage as an error of this library, and holds a stream to its ratio."""

    def __init__(self, source: _Counted, decoder: Stream, name: str, limits: Limits) -> None:
        self._source = source
        self._decoder = decoder
        self._name = name
        self._limits = limits
        self._count = 0

    def read(self, size: int, /) -> bytes:
        try:
            data = self._decoder.read(size)
        except (FatbinError, MemoryError):
            raise
        except Exception as exc:  # zlib, lzma, zstandard: each has its own
            raise damaged(exc, self._name) from exc
        self._count += len(data)
        most = self._limits.member_ratio
        if self._count > max(_RATIO_FROM, most * self._source.count):
            raise self._limits.exceeded(
                f"{self._source.count} bytes inflate to more than {most} times as much",
                limit="member_ratio",
                actual=self._count // max(1, self._source.count),
                location=self._name,
                trusted="archive",
            )
        return data


def _decoder(source: _Counted, compression: str, name: str, limits: Limits) -> Stream:
    if compression == "gzip":
        return Gzip(source, name, limits)
    if compression == "zstd":
        return _zstd(source)
    try:
        return _Streams(source, compression, _Count(name, limits))
    except ModuleNotFoundError as exc:
        msg = f"this Python was built without {compression}"
        raise SourceError(msg, location=name) from exc


class _Count:
    """Holds a file to the number of compressed streams that it may be made of.

    To begin one takes a while, however little it holds.
    """

    def __init__(self, name: str, limits: Limits) -> None:
        self._name = name
        self._limits = limits
        self._count = 0
        self._bytes = 0

    def spend(self, count: int) -> None:
        """Count bytes that were read, or inflated."""
        self._bytes += count

    def begin(self) -> None:
        """Count one more stream.

        Raises:
            LimitExceededError: it is one too many.
        """
        self._count += 1
        allowed = self._limits.streams + self._bytes // _STREAM_BYTES
        if self._count > allowed:
            raise LimitExceededError(
                f"more than {allowed} compressed streams one behind the other, of less than "
                f"{_STREAM_BYTES} bytes each; the rest was not read",
                limit="streams",
                allowed=allowed,
                actual=self._count,
                location=self._name,
                hint="raise the limit streams if the archive is trusted",
            )


class Gzip:
    """Gzip members one behind the other, read in larger pieces than the standard library takes."""

    def __init__(self, source: Stream, name: str, limits: Limits) -> None:
        """Begin at the start of a stream."""
        self._source = source
        self._name = name
        self._count = _Count(name, limits)
        self._decoder = zlib.decompressobj(wbits=_GZIP)
        self._kept = b""
        self._ready = b""
        self._at = 0
        self._hungry = True
        self._failed: DecompressionError | None = None

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes; none at the end. What stands before damage comes first.

        Raises:
            TruncatedError: the stream ends early.
            DecompressionError: damage.
            LimitExceededError: too many members that hold next to nothing.
        """
        if self._at == len(self._ready):
            self._at = 0
            self._ready = self._next(max(size, _CHUNK))
        data = self._ready
        if self._at or len(data) > size:  # small reads are of headers
            data = data[self._at : self._at + size]
        self._at += len(data)
        return data

    def _next(self, size: int) -> bytes:
        data = b""
        while not data:
            if self._failed is not None:
                raise self._failed
            if self._decoder.eof and not self._begin():
                return b""
            stored = self._kept
            if self._hungry and not stored:
                stored = self._more()
                if not stored:
                    msg = "the compressed stream ends early"
                    raise TruncatedError(msg, location=self._name)
            before = self._decoder.copy()
            try:
                data = self._decoder.decompress(stored, size)
            except zlib.error as exc:
                msg = f"the stream does not inflate: {exc}"
                self._failed = DecompressionError(msg, location=self._name)
                data = _salvaged(before, stored)
                continue
            self._kept = self._decoder.unconsumed_tail
            # A full piece can leave bytes in the decoder although it has taken all input.
            self._hungry = len(data) < size
        self._count.spend(len(data))
        return data

    def _begin(self) -> bool:
        """Begin another member; False when nothing but zeros follows."""
        rest = self._decoder.unused_data.lstrip(b"\0")
        while not rest:
            rest = self._more()
            if not rest:
                return False
            rest = rest.lstrip(b"\0")
        self._count.begin()
        self._decoder = zlib.decompressobj(wbits=_GZIP)
        self._kept = rest
        self._hungry = True
        return True

    def _more(self) -> bytes:
        data = self._source.read(_LARGE_CHUNK)
        self._count.spend(len(data))
        return data


def _salvaged(decoder: zlib._Decompress, stored: bytes) -> bytes:
    """Return what inflates in front of damage, but for the last few bytes."""
    pieces = []
    try:
        while stored:
            pieces.append(decoder.decompress(stored, _SALVAGED))
            stored = decoder.unconsumed_tail
    except zlib.error:
        pass  # told by who calls
    return b"".join(pieces)


class _Streams:
    """bzip2 or xz streams, one behind the other; zero bytes may follow."""

    def __init__(self, source: _Counted, compression: str, count: _Count) -> None:
        self._source = source
        self._count = count
        self._compression = compression
        self._decoder = self._new()
        self._data = b""

    def _new(self) -> _Decoder:
        if self._compression == "bzip2":
            from bz2 import BZ2Decompressor  # noqa: PLC0415

            return BZ2Decompressor()
        from lzma import FORMAT_XZ, LZMADecompressor  # noqa: PLC0415

        return LZMADecompressor(format=FORMAT_XZ, memlimit=_XZ_MEMORY)

    def read(self, size: int, /) -> bytes:
        while True:
            if self._decoder.eof:
                self._data = self._decoder.unused_data.lstrip(b"\0")
                while not self._data:
                    more = self._more()
                    if not more:
                        return b""
                    self._data = more.lstrip(b"\0")
                self._count.begin()
                self._decoder = self._new()
            if not self._data and self._decoder.needs_input:
                self._data = self._more()
                if not self._data:
                    msg = "the compressed stream ends early"
                    raise EOFError(msg)
            data, self._data = self._decoder.decompress(self._data, max_length=size), b""
            if data:
                self._count.spend(len(data))
                return data

    def _more(self) -> bytes:
        data = self._source.read(_CHUNK)
        self._count.spend(len(data))
        return data


def _zstd(source: _Counted) -> Stream:
    try:
        from compression.zstd import (  # type: ignore[import-not-found]  # noqa: PLC0415
            ZstdFile,  # Python 3.14
        )
    except ModuleNotFoundError:
        pass
    else:
        stream: Stream = ZstdFile(source)
        return stream
    try:
        import zstandard  # noqa: PLC0415 - only packages need it
    except ModuleNotFoundError as exc:
        msg = "zstd packages cannot be read before Python 3.14 without zstandard"
        raise MissingDependencyError(msg, requirement="zstandard") from exc
    # Windows of more than 128 MiB are refused, as the program zstd does unasked.
    # A frame that is cut off ends quietly here; what it held tells, as a tar archive without end.
    reader: Stream = zstandard.ZstdDecompressor().stream_reader(
        cast(IO[bytes], source), read_size=_LARGE_CHUNK, read_across_frames=True
    )
    return reader
