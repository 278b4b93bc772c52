"""Bytes from front to back: of a view, or out of gzip, bzip2, xz and zstd, within limits."""

from __future__ import annotations

import os
from typing import IO, cast

from fatbin.errors import FatbinError, LimitExceededError, MissingDependencyError, SourceError
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


_CHUNK = 256 << 10
_XZ_MEMORY = 256 << 20
"""What an xz stream may ask for; its strongest preset takes 65 MiB."""
_RATIO_FROM = 8 << 20


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
        limits: ``member_ratio`` holds for the stream as a whole.

    Raises:
        MissingDependencyError: zstd before Python 3.14 without zstandard.
    """
    source = _Counted(stream)
    return _Inflated(source, _decoder(source, compression, name), name, limits)


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
            raise LimitExceededError(
                f"{self._source.count} bytes inflate to more than {most} times as much",
                limit="member_ratio",
                allowed=most,
                actual=self._count // max(1, self._source.count),
                location=self._name,
                hint="raise the limit member_ratio if the archive is trusted",
            )
        return data


def _decoder(source: _Counted, compression: str, name: str) -> Stream:
    if compression == "gzip":
        import gzip  # noqa: PLC0415 - each only where it is met

        return gzip.GzipFile(fileobj=cast(IO[bytes], source), mode="rb")
    if compression == "zstd":
        return _zstd(source)
    try:
        return _Streams(source, compression)
    except ModuleNotFoundError as exc:
        msg = f"this Python was built without {compression}"
        raise SourceError(msg, location=name) from exc


class _Streams:
    """bzip2 or xz streams, one behind the other; zero bytes may follow."""

    def __init__(self, source: _Counted, compression: str) -> None:
        self._source = source
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
                self._data = (self._decoder.unused_data or self._source.read(_CHUNK)).lstrip(b"\0")
                while not self._data:
                    more = self._source.read(_CHUNK)
                    if not more:
                        return b""
                    self._data = more.lstrip(b"\0")
                self._decoder = self._new()
            if not self._data and self._decoder.needs_input:
                self._data = self._source.read(_CHUNK)
                if not self._data:
                    msg = "the compressed stream ends early"
                    raise EOFError(msg)
            data, self._data = self._decoder.decompress(self._data, max_length=size), b""
            if data:
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
        cast(IO[bytes], source), read_across_frames=True
    )
    return reader
