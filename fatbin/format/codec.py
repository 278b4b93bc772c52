"""Payloads in and out of their compression, bounded by the declared size.

A result that is shorter or longer than declared is an error; the byte count is what is checked,
since the decoders fill a buffer that was made beforehand. cramjam does LZ4 and zstd, the standard
library zlib; cramjam is imported when the first such payload is met.
"""

from __future__ import annotations

import zlib

from fatbin.errors import DecompressionError, LimitExceededError, MissingDependencyError
from fatbin.kinds import Compression
from fatbin.limits import DEFAULT_LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from fatbin.limits import Limits


def decompress(
    data: bytes,
    compression: Compression,
    size: int,
    *,
    limits: Limits = DEFAULT_LIMITS,
    offset: int = -1,
    location: str = "",
) -> bytes | bytearray:
    """Return the payload inflated to exactly ``size`` bytes.

    Args:
        data: the compressed stream without padding.
        compression: how it is stored.
        size: bytes that it must inflate to.
        limits: bounds on ``size``, checked before anything is allocated.
        offset: of the entry, for messages.
        location: of the library, for messages.

    Raises:
        LimitExceededError: ``size`` is over the limits, or there is no memory for it.
        DecompressionError: a damaged stream, or one of another length.
        MissingDependencyError: LZ4 or zstd without cramjam.
    """
    limits.check_inflated(len(data), size, offset)
    damage: tuple[type[Exception], ...] = (zlib.error,)
    if compression not in (Compression.NONE, Compression.ZLIB):
        damage = (_cramjam().DecompressionError,)
    if compression is Compression.NONE:
        return _checked(data, len(data), size, compression, offset, location)
    try:
        result, count = (
            _inflate_zlib(data, size)
            if compression is Compression.ZLIB
            else _inflate_cramjam(data, compression, size)
        )
    except MemoryError as exc:
        raise LimitExceededError(
            f"there is no memory for an image of {size} bytes",
            limit="image_bytes",
            allowed=limits.image_bytes,
            actual=size,
            offset=offset,
            location=location,
            hint="lower the limit image_bytes to what the process may have",
        ) from exc
    except damage as exc:
        reason = " ".join(str(exc).split()) or type(exc).__name__
        raise DecompressionError(
            f"{compression} stream of {len(data)} bytes does not inflate to the declared "
            f"{size} bytes: {reason}",
            offset=offset,
            field="uncompressed_size",
            expected=f"{size} bytes",
            found=reason,
            location=location,
        ) from exc
    return _checked(result, count, size, compression, offset, location)


def compress(data: bytes, compression: Compression) -> bytes:
    """Return the payload in a compression; the mirror of :func:`decompress`.

    Raises:
        MissingDependencyError: LZ4 or zstd without cramjam.
    """
    if compression is Compression.NONE:
        return data
    if compression is Compression.ZLIB:
        return zlib.compress(data)
    cramjam = _cramjam()
    if compression is Compression.LZ4:
        return bytes(cramjam.lz4.compress_block(data, store_size=False))
    if compression is Compression.LZ4_FRAME:
        return bytes(cramjam.lz4.compress(data))
    # A stream with a known content size, as fatbinary writes it.
    return bytes(cramjam.zstd.compress(data, level=3))


def _inflate_zlib(data: bytes, size: int) -> tuple[bytes, int]:
    stream = zlib.decompressobj()
    result = stream.decompress(data, size + 1)
    if not stream.eof and len(result) <= size:
        msg = "the stream ends early"
        raise zlib.error(msg)
    if stream.unused_data:
        msg = f"{len(stream.unused_data)} bytes follow the stream"
        raise zlib.error(msg)
    return result, len(result)


def _inflate_cramjam(data: bytes, compression: Compression, size: int) -> tuple[bytearray, int]:
    cramjam = _cramjam()
    # One byte more than declared, so that a longer stream shows.
    buffer = bytearray(size + 1)
    if compression is Compression.LZ4:
        count = cramjam.lz4.decompress_block_into(data, buffer, output_len=len(buffer))
    elif compression is Compression.LZ4_FRAME:
        count = cramjam.lz4.decompress_into(data, buffer)
    else:
        count = cramjam.zstd.decompress_into(data, buffer)
    del buffer[size:]
    return buffer, int(count)


def _checked(
    result: bytes | bytearray,
    count: int,
    size: int,
    compression: Compression,
    offset: int,
    location: str,
) -> bytes | bytearray:
    if count == size:
        return result
    at_least = "at least " if count > size else ""
    raise DecompressionError(
        f"{compression} payload inflates to {at_least}{count} bytes, declared are {size}",
        offset=offset,
        field="uncompressed_size",
        expected=f"{size} bytes",
        found=f"{at_least}{count} bytes",
        location=location,
    )


def _cramjam() -> ModuleType:
    try:
        import cramjam  # noqa: PLC0415 - only payloads need it, and not every platform has it
    except ModuleNotFoundError as exc:
        msg = "LZ4 and zstd payloads cannot be inflated without cramjam"
        raise MissingDependencyError(msg, requirement="cramjam") from exc
    module: ModuleType = cramjam
    return module
