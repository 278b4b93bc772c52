"""Reading ahead changes nothing but the time: the same pieces, the same end, the same errors."""

from __future__ import annotations

import io
import threading

import pytest

import fatbin
from fatbin.scanning import ahead
from fatbin.scanning.ahead import ReadAhead

DATA = bytes(range(256)) * 5000


class Breaking:
    """Some bytes, and then an error."""

    def __init__(self, error: BaseException) -> None:
        self._stream = io.BytesIO(DATA[:1000])
        self._error = error

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        if data:
            return data
        raise self._error


class Endless:
    def read(self, size: int, /) -> bytes:
        return b"x" * size


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_PIECE", 1000)


def test_the_bytes_are_those_of_the_stream() -> None:
    stream = ReadAhead(io.BytesIO(DATA))
    pieces = list(iter(lambda: stream.read(7), b""))
    assert b"".join(pieces) == DATA
    assert len(pieces) == len(DATA) // 1000
    assert [stream.read(1) for _ in range(3)] == [b""] * 3
    stream.close()


@pytest.mark.parametrize("error", [fatbin.FormatError("x"), MemoryError(), KeyboardInterrupt()])
def test_an_error_comes_where_it_was_and_again(error: BaseException) -> None:
    stream = ReadAhead(Breaking(error))
    assert stream.read() == DATA[:1000]
    for _ in range(2):
        with pytest.raises(type(error)) as caught:
            stream.read()
        assert caught.value is error
    stream.close()


@pytest.mark.parametrize("taken", [0, 1, 100])
def test_closing_ends_a_thread_that_waits_for_room(taken: int) -> None:
    before = threading.active_count()
    stream = ReadAhead(Endless())
    for _ in range(taken):
        assert len(stream.read()) == 1000
    assert threading.active_count() == before + 1
    stream.close()
    assert threading.active_count() == before
