"""Logs as lines: any bytes, any size, in one pass; who wrote a line, and when.

Every pattern here is bounded and begins with fixed text, so that the time for a log grows with its
size and with nothing else.
"""

from __future__ import annotations

import re

from fatbin._record import Record
from fatbin.errors import SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

__all__ = ["Chunk", "Stamp", "chunks", "find_rank", "find_stamp", "find_who", "window"]

CHUNK_BYTES = 1 << 18
LONGEST_LINE = 1 << 16
"""Bytes of a line that are looked at together; of a longer one each part by itself."""
_OVERLAP = 512
"""Bytes that two parts of a long line share, so that no text is lost between them."""
_HEAD = 400
"""Bytes at the start of a line in which its time and writer are looked for."""
SHOWN = 200
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Chunk(Record):
    """Whole lines of a log.

    Attributes:
        first: number of the first line.
        lines: without their ends; of a long line each part, all with the same number.
        numbers: of each line.
        lower: all of it in lower case, to see at once what it does not hold.
    """

    lines: list[bytes]
    numbers: list[int]
    lower: bytes


def chunks(stream: BinaryIO, name: str) -> Iterator[Chunk]:
    """Read a log in pieces; one that gzip made is inflated on the way.

    Raises:
        SourceError: it cannot be read, or is not text of one byte a letter.
    """
    import zlib  # noqa: PLC0415 - only logs need it

    try:
        yield from _chunks(_inflated(stream, name))
    except OSError as exc:  # and gzip.BadGzipFile
        if isinstance(exc, SourceError):
            raise
        raise SourceError(f"cannot be read: {exc.strerror or exc}", location=name) from exc
    except (EOFError, zlib.error) as exc:
        raise SourceError(f"cannot be read: damaged gzip data: {exc}", location=name) from exc


def _inflated(stream: BinaryIO, name: str) -> Iterator[bytes]:
    head = stream.read(CHUNK_BYTES)
    if head.startswith(_UTF16):
        msg = "expected text in UTF-8, found UTF-16"
        raise SourceError(msg, location=name, hint=f"iconv -f UTF-16 -t UTF-8 {name}")
    if not head.startswith(_GZIP):
        while head:
            yield head
            head = stream.read(CHUNK_BYTES)
        return
    from gzip import GzipFile  # noqa: PLC0415 - few logs need it

    with GzipFile(fileobj=_Rejoined(head, stream)) as file:  # type: ignore[call-overload]
        while data := file.read(CHUNK_BYTES):
            yield data


class _Rejoined:
    """A stream with what was already read of it put back: standard input cannot be rewound."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        if not self._head:
            return self._rest.read(size)
        if size < 0:
            size = len(self._head)
        data, self._head = self._head[:size], self._head[size:]
        return data


def _chunks(pieces: Iterator[bytes]) -> Iterator[Chunk]:
    number, rest = 1, b""
    for piece in pieces:
        data = rest + piece
        cut = data.rfind(b"\n") + 1
        if cut:
            yield _chunk(data[:cut], number)
            number += data.count(b"\n", 0, cut)
            rest = data[cut:]
        else:
            rest = data
        if len(rest) > LONGEST_LINE:  # no end in sight: its parts come as they are
            yield _chunk(rest, number)
            rest = rest[-_OVERLAP:]
    if rest:
        yield _chunk(rest, number)


def _chunk(data: bytes, number: int) -> Chunk:
    lines: list[bytes] = []
    numbers: list[int] = []
    for offset, line in enumerate(data.removesuffix(b"\n").split(b"\n")):
        for part in _parts(line) if len(line) > LONGEST_LINE else (line,):
            lines.append(part)
            numbers.append(number + offset)
    return Chunk(lines, numbers, data.lower())


def _parts(line: bytes) -> Iterator[bytes]:
    for start in range(0, len(line), LONGEST_LINE - _OVERLAP):
        yield line[start : start + LONGEST_LINE]


def window(line: bytes, at: int) -> str:
    """Return what of a line is shown as evidence: all of it, or the part around a place."""
    plain = _colourless(line)
    if len(plain) > SHOWN:
        at = max(0, at - (len(line) - len(plain)))
        start = 0 if at <= SHOWN // 2 else min(at - SHOWN // 3, len(plain) - SHOWN)
        plain = plain[start : start + SHOWN]
    return plain.decode("utf-8", "backslashreplace").strip()


_COLOUR = re.compile(rb"\x1b\[[0-9;]{0,16}m")


def _colourless(line: bytes) -> bytes:
    return _COLOUR.sub(b"", line) if b"\x1b" in line else line


# Who and when -------------------------------------------------------------------------------------

_WHO = (
    re.compile(rb"\[rank ?(?P<rank>\d{1,6})\]", re.IGNORECASE),
    re.compile(rb"\[default(?P<rank>\d{1,6})\]:"),
    re.compile(rb"\[1,(?P<rank>\d{1,6})\]<std(?:out|err)>"),
)
_RAY = re.compile(
    rb"\((?P<name>[A-Za-z_][\w.]{0,60}) pid=(?P<pid>\d{1,8})(?:, ip=(?P<ip>[\w.:]{2,45}))?\)"
)
_NCCL = re.compile(
    rb"(?<![\w.-])(?P<host>[\w.-]{1,64}):(?P<pid>\d{1,8}):\d{1,8} \[(?P<device>\d{1,3})\]"
)
_RANK_OF = re.compile(rb" rank (?P<rank>\d{1,6}) n[rR]anks (?P<size>\d{1,6})")


def find_who(line: bytes) -> tuple[str, str]:
    """Return the rank that a line names, ``rank 3``, and the process; either may be empty."""
    head = _colourless(line[:_HEAD])
    rank = process = ""
    for pattern in _WHO:
        match = pattern.search(head)
        if match is not None:
            rank = f"rank {int(match['rank'])}"
            break
    match = _NCCL.search(head)
    if match is not None:
        process = f"{_text(match['host'])}:{int(match['pid'])} device {int(match['device'])}"
    else:
        match = _RAY.search(head)
        if match is not None:
            where = f" on {_text(match['ip'])}" if match["ip"] else ""
            process = f"{_text(match['name'])} pid {int(match['pid'])}{where}"
    return rank, process


def find_rank(line: bytes) -> tuple[str, int] | None:
    """Return the rank and the number of ranks that a line of NCCL tells of its process."""
    match = _RANK_OF.search(line[: 2 * _HEAD])
    return None if match is None else (f"rank {int(match['rank'])}", int(match["size"]))


def _text(data: bytes) -> str:
    return data.decode("ascii", "backslashreplace")


class Stamp(Record):
    """A time as a log writes it.

    Attributes:
        kind: the way of writing; only times of one kind can be compared.
        seconds: from a start of its kind.
        text: as written.
    """

    kind: str
    seconds: float
    text: str


_CLOCK = rb"(?P<h>[0-2]\d):(?P<m>[0-5]\d):(?P<s>[0-6]\d)"
_STAMPS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("date", re.compile(rb"(?P<Y>[12]\d{3})[-/](?P<M>[01]\d)[-/](?P<D>[0-3]\d)[ T]" + _CLOCK)),
    ("glog", re.compile(rb"\b[IWEF](?P<MD>\d{3,4}) " + _CLOCK)),
    ("boot", re.compile(rb"\[ {0,8}(?P<boot>\d{1,9}\.\d{6})\]")),
    (
        "month",
        re.compile(
            rb"(?P<N>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}(?P<D>\d{1,2}) " + _CLOCK
        ),
    ),
    ("day", re.compile(rb"(?P<M>[01]\d)-(?P<D>[0-3]\d) " + _CLOCK)),
)
_MONTHS = b"JanFebMarAprMayJunJulAugSepOctNovDec"
_DAYS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


def find_stamp(line: bytes) -> Stamp | None:
    """Return the time that a line begins with, more or less; None when it has none."""
    head = line[:_HEAD]
    for kind, pattern in _STAMPS:
        match = pattern.search(head)
        if match is not None:
            return _stamp(kind, match)
    return None


def _stamp(kind: str, match: re.Match[bytes]) -> Stamp:
    found = match.groupdict()
    text = _text(match[0]).strip("[] ")
    if kind == "boot":
        return Stamp(kind, float(found["boot"]), text)
    year, month, day = 0, int(found.get("M") or 0), int(found.get("D") or 0)
    if kind == "date":
        year = int(found["Y"])
    elif kind == "glog":
        month, day = divmod(int(found["MD"]), 100)
    elif kind == "month":
        month = _MONTHS.index(found["N"]) // 3 + 1
    leap = int(year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) and month > 2)  # noqa: PLR2004
    before = year * 365 + (year - 1) // 4 - (year - 1) // 100 + (year - 1) // 400 if year else 0
    days = before + _DAYS[(month - 1) % 12] + day + leap
    clock = int(found["h"]) * 3600 + int(found["m"]) * 60 + int(found["s"])
    return Stamp(kind, days * 86400.0 + clock, text)
