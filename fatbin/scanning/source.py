"""Files as views: one read-only map, nothing read ahead of need."""

from __future__ import annotations

import mmap
import os
import stat
from contextlib import contextmanager

from fatbin.errors import SourceError, UnknownFormatError
from fatbin.format.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.limits import Limits

STANDARD_INPUT = "-"
OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""A FIFO must not make the open wait."""
_RANDOM = getattr(mmap, "MADV_RANDOM", None)


@contextmanager
def open_view(path: str, in_memory: int = 0) -> Iterator[View]:
    """Map a file for reading.

    The map is told that access is random, so that a cold header walk does not pull the payloads
    from disk. A file that shrinks while it is mapped ends the process with SIGBUS: do not scan
    files that are being written.

    Args:
        path: of the file.
        in_memory: up to how many bytes it is read instead, which is quicker for small files.

    Raises:
        SourceError: missing, unreadable, or not a regular file.
        UnknownFormatError: an empty file.
    """
    try:
        descriptor = os.open(path, OPEN_FLAGS)
    except (OSError, ValueError) as exc:  # ValueError: a NUL in the path
        reason = exc.strerror if isinstance(exc, OSError) else None
        raise SourceError(reason or str(exc), location=path) from exc
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise SourceError(f"expected a regular file, found {_kind(status)}", location=path)
        if status.st_size == 0:
            msg = "expected a file with device code, found an empty file"
            raise UnknownFormatError(msg, location=path)
        if status.st_size <= in_memory:
            yield View(_read(descriptor, path, in_memory), path, path=path)
            return
        try:
            mapped = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as exc:
            raise SourceError(f"cannot be mapped: {exc}", location=path) from exc
        with mapped:
            if _RANDOM is not None:
                mapped.madvise(_RANDOM)
            yield View(mapped, path, descriptor=descriptor, path=path)
    finally:
        os.close(descriptor)


def _read(descriptor: int, path: str, most: int) -> bytes:
    try:
        return os.read(descriptor, most)
    except OSError as exc:
        raise SourceError(exc.strerror or str(exc), location=path) from exc


def is_image_folder(path: str) -> bool:
    """Tell whether a folder is an OCI image layout."""
    return os.path.isfile(os.path.join(path, "oci-layout"))


@contextmanager
def open_input(name: str, limits: Limits, head: bytes = b"") -> Iterator[View]:
    """Copy standard input to where it can be read at random: memory, or a file without a name.

    Args:
        name: what it is called in locations.
        limits: ``archive_bytes`` bounds the copy.
        head: what was already read of it.

    Raises:
        SourceError: it is closed, or there is no room for the copy.
        UnknownFormatError: it is empty.
        LimitExceededError: it is longer than a whole image may be.
    """
    import sys  # noqa: PLC0415 - seldom used

    from fatbin.scanning.spool import spooled_view  # noqa: PLC0415

    if sys.stdin is None:
        msg = "standard input is closed"
        raise SourceError(msg, location=name)
    limits = limits._replace(member_bytes=limits.archive_bytes)
    with spooled_view(sys.stdin.buffer, name, limits=limits, head=head) as view:
        if not view.size:
            msg = "expected a file with device code, found no bytes"
            raise UnknownFormatError(msg, location=name)
        yield view


def _kind(status: os.stat_result) -> str:
    for test, word in (
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISCHR, "a character device"),
        (stat.S_ISBLK, "a block device"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if test(status.st_mode):
            return word
    return "something else"
