"""Members that come as streams, made readable at random: in memory, or in a file without a name.

Packages and image layers are compressed, and device code is read here and there. What is worth
reading is copied once: up to a mebibyte to memory, more to a temporary file that no folder lists
(``TMPDIR`` says on which disk) and that is gone when the block ends or the process does.
"""

from __future__ import annotations

import mmap
import tempfile
from contextlib import contextmanager

from fatbin.errors import FatbinError, SourceError
from fatbin.format.container import MAGIC, MAGIC_BEFORE_CUDA_6
from fatbin.format.elf import ELF_MAGIC
from fatbin.format.ptx import read_ptx_head
from fatbin.format.view import View
from fatbin.scanning.coff import MACHINES
from fatbin.scanning.host import ARCHIVE_MAGIC, LTOIR_MAGIC, THIN_ARCHIVE_MAGIC, ZIP_MAGICS
from fatbin.scanning.identify import PTX_HEAD_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, Protocol

    from fatbin.limits import Limits

    class Stream(Protocol):
        """What is read from front to back."""

        def read(self, size: int, /) -> bytes:
            """Return up to so many bytes; none at the end."""


HEAD_BYTES = 512
"""What the first look at a member takes."""
MEMORY_BYTES = 1 << 20
"""Members up to here never see a disk."""
_CHUNK = 1 << 20
_RATIO_FROM = 8 << 20  # below, a ratio costs nobody anything
_TEXT_STARTS = (b".version", b"//", b"/*", b"\xef\xbb\xbf")
_DOS_HEADER = 64
_BLANK = b"\0 \t\r\n\v\f"
_MAGICS = frozenset((
    ELF_MAGIC,
    LTOIR_MAGIC,
    MAGIC.to_bytes(4, "little"),
    MAGIC_BEFORE_CUDA_6.to_bytes(4, "little"),
))  # fmt: skip
FIRST_BYTES = frozenset(
    (
        *(magic[0] for magic in (*_MAGICS, *ZIP_MAGICS, ARCHIVE_MAGIC, THIN_ARCHIVE_MAGIC, b"MZ")),
        *(machine & 0xFF for machine in MACHINES),
        *(text[0] for text in _TEXT_STARTS),
        *_BLANK,
    )
)
"""What a member that is worth reading begins with: a quick look that spares most files the rest."""


class Budget:
    """What one target may still cost, in all the archives that are nested in it.

    Attributes:
        limits: what was allowed.
        members: seen so far.
        inflated: bytes inflated so far.
    """

    __slots__ = ("inflated", "limits", "members")

    def __init__(self, limits: Limits) -> None:
        """Begin with nothing spent."""
        self.limits: Limits = limits
        self.members: int = 0
        self.inflated: int = 0

    def member(self, location: str) -> None:
        """Count a member.

        Raises:
            LimitExceededError: it is one too many, or the time is over.
        """
        self._in_time(location)
        self.members += 1
        if self.members > self.limits.archive_members:
            raise self.limits.exceeded(
                f"more than {self.limits.archive_members} members; the rest was not read",
                limit="archive_members",
                actual=self.members,
                location=location,
                trusted="archive",
            )

    def spend(self, count: int, location: str) -> None:
        """Count inflated bytes.

        Raises:
            LimitExceededError: they are too many, or the time is over.
        """
        self._in_time(location)
        self.inflated += count
        if self.inflated > self.limits.archive_bytes:
            raise self.limits.exceeded(
                f"members inflate to more than {self.limits.archive_bytes} bytes in all; "
                "the rest was not read",
                limit="archive_bytes",
                actual=self.inflated,
                location=location,
                trusted="archive",
            )

    def _in_time(self, location: str) -> None:
        late = self.limits.late(location) if self.limits.until else None
        if late is not None:
            raise late


def may_be_text(head: bytes) -> bool:
    """Tell whether the first bytes leave open that PTX follows comments."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(_BLANK)
    return not text or text.startswith(_TEXT_STARTS)


def read_head(stream: Stream, name: str) -> bytes:
    """Read what :func:`worth_reading` wants to see, and no more of the stream.

    Raises:
        SourceError: the stream is damaged.
    """
    head = _read(stream, HEAD_BYTES, name)
    if len(head) == HEAD_BYTES and may_be_text(head):
        head += _read(stream, PTX_HEAD_BYTES - HEAD_BYTES, name)
    return head


def worth_reading(head: bytes) -> bool:
    """Tell by the first bytes whether a member can hold device code, or is a zip that may.

    Errs on the side of reading: what says yes is identified again when all of it is there.
    """
    if head[:4] in _MAGICS or head[:4] in ZIP_MAGICS:
        return True
    if head[:2] == b"MZ":
        return _may_be_pe(head)
    if head[:8] in (ARCHIVE_MAGIC, THIN_ARCHIVE_MAGIC):
        return True
    if is_coff_head(head):
        return True
    return may_be_text(head) and read_ptx_head(head) is not None


def _may_be_pe(head: bytes) -> bool:
    """Tell whether PE headers follow, as far as the head shows; texts can begin with MZ too."""
    if len(head) < _DOS_HEADER:
        return False
    at = int.from_bytes(head[60:64], "little")
    return head[at : at + 4] == b"PE\0\0" if at + 4 <= len(head) else len(head) >= HEAD_BYTES


def is_coff_head(head: bytes) -> bool:
    """Tell whether the first 20 bytes are those of a COFF object, as far as they show."""
    return (
        len(head) >= 20  # noqa: PLR2004 - the header
        and int.from_bytes(head[:2], "little") in MACHINES
        and head[2:4] != b"\0\0"  # sections
        and head[16:18] == b"\0\0"  # no optional header
    )


def damaged(error: Exception, name: str) -> SourceError:
    """Return what a library said of a stream as an error of this one, on one line."""
    reason = getattr(error, "strerror", None) or " ".join(str(error).split())
    return SourceError(f"cannot be read: {reason or type(error).__name__}", location=name)


@contextmanager
def spooled_view(
    stream: Stream,
    name: str,
    *,
    limits: Limits,
    head: bytes = b"",
    stored: int = -1,
    budget: Budget | None = None,
) -> Iterator[View]:
    """Copy a stream to where it can be read at random; the view ends with the block.

    The view has no path: a thin archive in it names files that are not followed.

    Args:
        stream: the rest of the member, behind ``head``.
        name: location of the member.
        limits: ``member_bytes`` and ``member_ratio`` bound the copy.
        head: what was already read of the member.
        stored: its compressed bytes, or -1 when nobody knows.
        budget: counts the bytes read here, not those of ``head``.

    Raises:
        SourceError: the stream is damaged or ends early, or there is no room for the copy.
        LimitExceededError: the member is larger than the limits allow.
    """
    guard = _Guard(name, limits, stored, budget)
    data = head
    while len(data) <= MEMORY_BYTES:
        piece = guard.checked(_read(stream, MEMORY_BYTES + 1 - len(data), name), len(data))
        if not piece:
            yield View(data, name)
            return
        data += piece
    try:
        file = tempfile.TemporaryFile(prefix="fatbin-")  # noqa: SIM115 - the with is below
    except OSError as exc:
        raise SourceError(f"no temporary file: {exc.strerror or exc}", location=name) from exc
    with file:
        size = _copy(stream, file, data, guard)
        del data
        try:
            mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as exc:
            raise SourceError(f"cannot be mapped: {exc}", location=name) from exc
        with mapped:
            yield View(mapped, name, descriptor=file.fileno())


class _Guard:
    """Holds a copy to the limits of a member and of its archive."""

    def __init__(self, name: str, limits: Limits, stored: int, budget: Budget | None) -> None:
        self.name = name
        self._limits = limits
        self._stored = stored
        self._budget = budget

    def checked(self, piece: bytes, before: int) -> bytes:
        size = before + len(piece)
        limits = self._limits
        if size > limits.member_bytes:
            raise limits.exceeded(
                f"the member inflates to more than {limits.member_bytes} bytes",
                limit="member_bytes",
                actual=size,
                location=self.name,
                trusted="archive",
            )
        if self._stored >= 0 and size > max(_RATIO_FROM, limits.member_ratio * self._stored):
            raise limits.exceeded(
                f"{self._stored} bytes inflate to more than {limits.member_ratio} times as much",
                limit="member_ratio",
                actual=size // max(1, self._stored),
                location=self.name,
                trusted="archive",
            )
        if self._budget is not None:
            self._budget.spend(len(piece), self.name)
        return piece


def _copy(stream: Stream, file: IO[bytes], data: bytes, guard: _Guard) -> int:
    size = 0
    while data:
        try:
            file.write(data)
        except OSError as exc:
            raise SourceError(f"no room for a copy: {exc.strerror}", location=guard.name) from exc
        size += len(data)
        data = guard.checked(_read(stream, _CHUNK, guard.name), size)
    try:
        file.flush()
    except OSError as exc:
        raise SourceError(f"no room for a copy: {exc.strerror}", location=guard.name) from exc
    return size


def _read(stream: Stream, size: int, name: str) -> bytes:
    """Read so many bytes, fewer only at the end; damage becomes a :class:`SourceError`."""
    pieces = []
    try:
        while size:
            piece = stream.read(min(size, _CHUNK))
            if not piece:
                break
            pieces.append(piece)
            size -= len(piece)
    except (FatbinError, MemoryError):
        raise
    except Exception as exc:  # zlib, lzma, zipfile, tarfile: each has its own
        raise damaged(exc, name) from exc
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
