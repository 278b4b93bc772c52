"""What is read ahead of its reader, by a thread of its own.

Decompressors let other threads of Python run. While one file of a layer or wheel is scanned, the
next bytes are inflated.
"""

from __future__ import annotations

from functools import partial
from queue import Empty, Queue
from threading import Event, Thread
from typing import Generic, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.scanning.spool import Stream

_T = TypeVar("_T")

_PIECE = 4 << 20
_PIECES = 4
_PATIENCE = 0.05


class Ahead(Generic[_T]):
    """An iterator that runs ahead; nobody else may use it until :meth:`close` is called."""

    def __init__(self, items: Iterator[_T], most: int) -> None:
        """Begin, with at most so many items that were not asked for yet."""
        self._ready: Queue[tuple[_T | None, BaseException | None]] = Queue(most)
        self._stop = Event()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, args=(items,), daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[_T]:
        """Return itself."""
        return self

    def __next__(self) -> _T:
        """Return the next item.

        Raises whatever the iterator raised, where it did, and again each time.
        """
        if self._error is None:
            item, self._error = self._ready.get()
            if item is not None:
                return item
        assert self._error is not None  # noqa: S101 - one of the two comes
        raise self._error

    def close(self) -> None:
        """End the thread: it finishes the item at hand, and what it did ahead is dropped."""
        self._stop.set()
        while self._thread.is_alive():
            try:
                self._ready.get(timeout=_PATIENCE)  # it may wait for room
            except Empty:
                continue
        self._thread.join()

    def _run(self, items: Iterator[_T]) -> None:
        try:
            while not self._stop.is_set():
                self._ready.put((next(items), None))
        except BaseException as exc:  # noqa: BLE001 - it is raised where the items are taken
            self._ready.put((None, exc))


class ReadAhead:
    """Pieces of a stream, at most 16 MiB of them before they are asked for."""

    def __init__(self, stream: Stream) -> None:
        """Begin to read."""
        self._pieces = Ahead(iter(partial(stream.read, _PIECE), b""), _PIECES)

    def read(self, _size: int = 0, /) -> bytes:
        """Return the next piece, whatever its size; none at the end.

        Raises whatever the stream raised, where it did, and again each time.
        """
        return next(self._pieces, b"")

    def close(self) -> None:
        """End the thread."""
        self._pieces.close()
