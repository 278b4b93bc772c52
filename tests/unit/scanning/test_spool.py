"""Members that come as streams are copied within limits and leave nothing behind."""

from __future__ import annotations

import io
import os
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hosts import Section, archive, elf, pe
from support import FIXTURES

import fatbin
from fatbin.scanning.spool import (
    MEMORY_BYTES,
    Budget,
    read_head,
    spooled_view,
    worth_reading,
)

LIMITS = fatbin.Limits()


class Broken:
    """A stream that fails after some bytes."""

    def __init__(self, data: bytes, error: Exception) -> None:
        self._stream = io.BytesIO(data)
        self._error = error

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        if not data:
            raise self._error
        return data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that temporary files would be in."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("size", [0, 1, MEMORY_BYTES, MEMORY_BYTES + 1, 3 * MEMORY_BYTES + 7])
@pytest.mark.parametrize("head", [0, 1, 512])
def test_the_view_is_the_stream(folder: Path, size: int, head: int) -> None:
    data = (bytes(range(251)) * (size // 251 + 1))[:size]
    stream = io.BytesIO(data)
    first = stream.read(head)
    with spooled_view(stream, "a::b", limits=LIMITS, head=first) as view:
        assert bytes(view.buffer[:]) == data
        assert (view.size, view.name, view.path) == (size, "a::b", "")
        assert (view.descriptor >= 0) == (size > MEMORY_BYTES)
        if hasattr(os, "O_TMPFILE"):
            assert list(folder.iterdir()) == []
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("read", [10, 2 * MEMORY_BYTES])
@pytest.mark.parametrize(
    "error", [EOFError("ended\nearly"), zlib.error("Error -3"), OSError(5, "Input/output error")]
)
def test_a_damaged_stream_is_a_source_error(folder: Path, read: int, error: Exception) -> None:
    stream = Broken(bytes(read), error)
    with (
        pytest.raises(fatbin.SourceError, match="cannot be read: ") as caught,
        spooled_view(stream, "a::b", limits=LIMITS),
    ):
        pass
    assert caught.value.location == "a::b"
    assert "\n" not in caught.value.message
    assert list(folder.iterdir()) == []


def test_running_out_of_memory_is_not_damage() -> None:
    with (
        pytest.raises(MemoryError),
        spooled_view(Broken(b"", MemoryError()), "a::b", limits=LIMITS),
    ):
        pass


@pytest.mark.parametrize(
    ("limits", "name", "stored"),
    [
        (fatbin.Limits(member_bytes=100), "member_bytes", -1),
        (fatbin.Limits(member_bytes=9 << 20), "member_bytes", -1),
        (fatbin.Limits(member_ratio=9), "member_ratio", 1 << 20),
        (fatbin.Limits(archive_bytes=9 << 20), "archive_bytes", -1),
    ],
)
def test_limits(folder: Path, limits: fatbin.Limits, name: str, stored: int) -> None:
    stream = io.BytesIO(bytes(10 << 20))
    with (
        pytest.raises(fatbin.LimitExceededError) as caught,
        spooled_view(stream, "a::b", limits=limits, stored=stored, budget=Budget(limits)),
    ):
        pass
    assert (caught.value.limit, caught.value.location) == (name, "a::b")
    assert stream.tell() <= 10 << 20
    assert list(folder.iterdir()) == []


def test_small_members_may_have_any_ratio() -> None:
    limits = fatbin.Limits(member_ratio=1)
    with spooled_view(io.BytesIO(bytes(1 << 20)), "a", limits=limits, stored=10) as view:
        assert view.size == 1 << 20


def test_a_budget_counts_members_and_bytes() -> None:
    budget = Budget(fatbin.Limits(archive_members=2, archive_bytes=3 << 20))
    budget.member("a")
    budget.member("b")
    with pytest.raises(fatbin.LimitExceededError, match="more than 2 members"):
        budget.member("c")
    with spooled_view(io.BytesIO(bytes(2 << 20)), "a", limits=LIMITS, budget=budget):
        assert budget.inflated == 2 << 20
    with (
        pytest.raises(fatbin.LimitExceededError),
        spooled_view(io.BytesIO(bytes(2 << 20)), "b", limits=LIMITS, budget=budget),
    ):
        pass


def test_no_room_is_a_source_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with (
        pytest.raises(fatbin.SourceError, match="no temporary file"),
        spooled_view(io.BytesIO(bytes(MEMORY_BYTES + 1)), "a::b", limits=LIMITS),
    ):
        pass


@pytest.mark.parametrize("path", sorted(p for p in FIXTURES.iterdir() if p.is_file()), ids=str)
def test_every_known_file_is_worth_reading(path: Path) -> None:
    """What identify knows must not be skipped."""
    data = path.read_bytes()
    try:
        fatbin.scan_bytes(data)
    except fatbin.UnknownFormatError:
        assert path.name == "manifest.json"
        return
    head = read_head(io.BytesIO(data), "x")
    assert worth_reading(head)


def test_host_formats_are_worth_reading() -> None:
    text = Section(".text", b"x", executable=True)
    for data in (elf(text), elf(text, bits=32), pe(text), archive(("a", b"b"))):
        assert worth_reading(data[:512])


PTX = b".version 8.0\n.target sm_80\n"


@pytest.mark.parametrize(
    ("data", "worth", "looked"),
    [
        (b"", False, 0),
        (b"\x7fEL", False, 3),
        (b"PK\x03\x04" + bytes(600), True, 512),
        (b"PK\x05\x06" + bytes(18), True, 22),
        (b"import os\n" * 100, False, 512),
        (b"// comment\n" * 1000 + PTX, True, None),
        (b"/*" + b"x" * 60000 + b"*/" + PTX, True, None),
        (b"// comment\n" * 9000, False, 65536),
        (bytes(70000), False, 65536),
        (b"L\x01" + b"\xff" * 600, False, 512),
        (b"BC\xc0\xde" + bytes(100), False, 104),
        (b"MZ", False, 2),
        (b"MZ is how a text can begin, and some do\n" * 50, True, 512),
        (b"MZ".ljust(60) + (80).to_bytes(4, "little") + bytes(500), False, 512),
        (
            b"MZ".ljust(60) + (80).to_bytes(4, "little") + bytes(16) + b"PE\0\0" + bytes(500),
            True,
            512,
        ),
        (b"MZ".ljust(60) + (9999).to_bytes(4, "little") + bytes(40), False, 104),
        (b"MZ".ljust(60) + (9999).to_bytes(4, "little") + bytes(9000), True, 512),
    ],
)
def test_the_first_bytes_decide(data: bytes, worth: bool, looked: int | None) -> None:  # noqa: FBT001
    stream = io.BytesIO(data)
    head = read_head(stream, "x")
    assert worth_reading(head) is worth
    assert stream.tell() == (len(data) if looked is None else looked)


def test_heads_of_damaged_streams_are_source_errors() -> None:
    make: Callable[[], Broken] = lambda: Broken(b"", EOFError())  # noqa: E731
    with pytest.raises(fatbin.SourceError, match="x: cannot be read: EOFError"):
        read_head(make(), "x")
