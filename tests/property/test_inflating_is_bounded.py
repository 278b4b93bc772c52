"""A payload inflates to exactly its declared size or not at all."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import compressions

from fatbin import DecompressionError, FormatError, LimitExceededError, Limits
from fatbin.format.codec import compress, decompress
from fatbin.kinds import Compression

LOOSE = Limits(ratio=10**6)


@given(st.binary(max_size=3000), compressions)
def test_the_declared_size_gives_the_data_back(data: bytes, compression: Compression) -> None:
    assert decompress(compress(data, compression), compression, len(data), limits=LOOSE) == data


@given(st.binary(max_size=3000), compressions, st.integers(0, 6000))
def test_any_other_size_is_an_error(data: bytes, compression: Compression, size: int) -> None:
    assume(size != len(data))
    with pytest.raises(DecompressionError):
        decompress(compress(data, compression), compression, size, limits=LOOSE)


@given(st.binary(max_size=400), compressions, st.integers(0, 10_000))
def test_garbage_is_an_error_or_has_the_declared_size(
    data: bytes, compression: Compression, size: int
) -> None:
    try:
        result = decompress(data, compression, size, limits=LOOSE)
    except FormatError as exc:
        assert exc.field == "uncompressed_size"
        return
    assert len(result) == size


@given(st.binary(min_size=50, max_size=1000), compressions, st.data())
def test_a_cut_stream_is_an_error(
    data: bytes, compression: Compression, draw: st.DataObject
) -> None:
    stream = compress(data, compression)
    cut = draw.draw(st.integers(0, len(stream) - 1))
    with pytest.raises(DecompressionError):
        decompress(stream[:cut], compression, len(data), limits=LOOSE)


@given(st.integers(1001, 10**15), st.integers(0, 100))
def test_nothing_is_allocated_for_a_size_over_the_limits(size: int, stored: int) -> None:
    limits = Limits(image_bytes=1000)
    with pytest.raises(LimitExceededError) as caught:
        decompress(bytes(stored), Compression.ZSTD, size, limits=limits)
    assert caught.value.allowed == 1000
    assert caught.value.actual == size


@given(st.integers(1, 50), st.integers(1, 1000))
def test_the_ratio_is_a_limit(stored: int, ratio: int) -> None:
    with pytest.raises(LimitExceededError) as caught:
        decompress(bytes(stored), Compression.LZ4, stored * ratio + 1, limits=Limits(ratio=ratio))
    assert caught.value.limit == "ratio"
