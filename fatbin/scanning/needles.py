"""Where a few bytes stand in a large range of a file.

Two ways, with the same answers. ``bytes.find`` is everywhere; it steps over as many bytes as the
needle has when the byte behind it is in no position of the needle, as long as the haystack stays
below 30,000 bytes, from where on CPython uses a slower algorithm. ``memmem`` of the C library is
faster and lets other Python threads run, so that half of the needles can be looked for by a second
thread; it is used where the C library is known to have a fast one and the range is worth the start.
"""

from __future__ import annotations

import os
import sys

from fatbin._record import Record
from fatbin.errors import FormatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fatbin.format.view import View

    Memmem = Callable[[int, int, bytes, int], int | None]

PLAIN_WINDOW = 28 << 10
NATIVE_WINDOW = 1 << 20
WORTH_NATIVE = 16 << 20
"""Bytes to search from which ctypes and a thread pay for their start."""


class Window:
    """Some bytes of a range, read at once.

    Attributes:
        start: offset of the first byte in the view.
        stop: one past the last.
        jobs: searches of the second thread that have not ended.
    """

    __slots__ = ("_address", "_base", "_data", "_keep", "_memmem", "jobs", "start", "stop")

    def __init__(self, size: int, memmem: Memmem | None) -> None:
        """Make room; the bytes come with :meth:`load`. A size of 0 is for views in memory."""
        self.start: int = 0
        self.stop: int = 0
        self.jobs: int = 0
        self._data: bytes | bytearray = bytearray(size)
        self._base = 0
        self._memmem = memmem
        self._address, self._keep = _address_of(self._data) if memmem and size else (0, None)

    def holds(self, position: int, stop: int, overlap: int) -> bool:
        """Tell whether a search can go on here, at a position of a range that ends at ``stop``."""
        return self.start <= position < self.stop - (0 if self.stop >= stop else overlap)

    def load(self, view: View, position: int) -> None:
        """Read from an offset of the view, whatever range ends within: small ones share a window.

        Raises:
            FormatError: the file ends before its size.
        """
        self.start = position
        if not isinstance(self._data, bytearray) or not self._data:
            self._data, self._base = view.buffer, view.start  # type: ignore[assignment]
            self.stop = min(view.size, position + PLAIN_WINDOW)
            return
        try:
            count = os.preadv(view.descriptor, [self._data], view.start + position)
        except OSError as exc:
            msg = f"the file cannot be read: {exc.strerror}"
            raise FormatError(msg, offset=position, location=view.name) from exc
        if not count:
            msg = "the file ends before its size; it was cut while it was read"
            raise FormatError(msg, offset=position, location=view.name)
        self._base = -position
        self.stop = min(view.size, position + count)

    def find(self, needle: bytes, position: int, stop: int) -> int:
        """Return the offset in the view of the first needle between two offsets, or -1."""
        base = self._base
        if self._memmem is None:
            found = self._data.find(needle, base + position, base + stop)
            return found - base if found >= 0 else -1
        start = self._address + base + position
        where = self._memmem(start, stop - position, needle, len(needle))
        return where - self._address - base if where else -1


class Job(Record):
    """A search for the second thread: needles between two offsets of a window."""

    window: Window
    position: int
    stop: int


class Notes:
    """Where some needles stand, noted while others are looked for.

    Attributes:
        offsets: for each needle the offsets in the view, in order, at most ``most``.
    """

    def __init__(self, needles: tuple[bytes, ...], most: int, *, threaded: bool) -> None:
        """Look for these needles, in a second thread when asked to."""
        self.offsets: tuple[list[int], ...] = tuple([] for _ in needles)
        self._needles = needles
        self._most = most
        if threaded:
            from queue import SimpleQueue  # noqa: PLC0415 - only large files need a thread
            from threading import Thread  # noqa: PLC0415

            self._todo: SimpleQueue[Job | None] = SimpleQueue()
            self._done: SimpleQueue[Window] = SimpleQueue()
            self._thread: Thread | None = Thread(target=self._work, daemon=True)
            self._thread.start()
        else:
            self._thread = None

    def note(self, window: Window, position: int, stop: int) -> None:
        """Look between two offsets of a window, now or soon."""
        if self._thread is None:
            self._search(window, position, stop)
        else:
            window.jobs += 1
            self._todo.put(Job(window, position, stop))

    def wait(self, window: Window) -> None:
        """Return when no search of a window is left, so that it can be loaded anew."""
        while window.jobs:
            self._done.get().jobs -= 1

    def close(self) -> None:
        """End the second thread when it has done what there was."""
        if self._thread is not None:
            self._todo.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while (job := self._todo.get()) is not None:
            self._search(*job)
            self._done.put(job.window)

    def _search(self, window: Window, position: int, stop: int) -> None:
        for needle, offsets in zip(self._needles, self.offsets, strict=True):
            found = window.find(needle, position, stop)
            while found >= 0 and len(offsets) < self._most:
                if not offsets or found > offsets[-1]:  # windows overlap
                    offsets.append(found)
                found = window.find(needle, found + 1, stop)


def native_memmem() -> Memmem | None:
    """Return ``memmem`` of the C library, or None where it is not known to be fast.

    glibc and musl have fast ones; macOS compares byte by byte and Windows has none.
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes  # noqa: PLC0415 - only large files pay for it

        memmem = ctypes.CDLL(None).memmem
    except (ImportError, OSError, AttributeError):  # a Python or C library without it
        return None
    memmem.restype = ctypes.c_void_p
    memmem.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    function: Memmem = memmem
    return function


def _address_of(data: bytes | bytearray) -> tuple[int, object]:
    """Return the address of a buffer and what must be kept while it is used."""
    import ctypes  # noqa: PLC0415 - loaded by native_memmem

    keep = (ctypes.c_char * len(data)).from_buffer(data)
    return ctypes.addressof(keep), keep
