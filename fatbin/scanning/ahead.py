"""A stream that is read ahead of its reader, by a thread of its own.

Decompressors let other threads of Python run. While one file of a layer is scanned, the next bytes
are inflated.
"""

from __future__ import annotations

from queue import Empty, Queue
from threading import Event, Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.scanning.spool import Stream

    Pieces = Queue[tuple[bytes, BaseException | None]]

_PIECE = 4 << 20
_PIECES = 4
_PATIENCE = 0.05


class ReadAhead:
    """Pieces of a stream, at most 16 MiB of them before they are asked for.

    Nobody else may read the stream until :meth:`close` is called.
    """

    def __init__(self, stream: Stream) -> None:
        """Begin to read."""
        self._pieces: Pieces = Queue(_PIECES)
        self._stop = Event()
        self._ended = False
        self._error: BaseException | None = None
        arguments = (stream, self._pieces, self._stop)
        self._thread = Thread(target=_read, args=arguments, daemon=True)
        self._thread.start()

    def read(self, _size: int = 0, /) -> bytes:
        """Return the next piece, whatever its size; none at the end.

        Raises whatever the stream raised, where it did, and again each time.
        """
        if not self._ended:
            data, self._error = self._pieces.get()
            self._ended = not data
            if data:
                return data
        if self._error is not None:
            raise self._error
        return b""

    def close(self) -> None:
        """End the thread: it finishes the piece at hand, and what was read ahead is dropped."""
        self._stop.set()
        while self._thread.is_alive():
            try:
                self._pieces.get(timeout=_PATIENCE)  # it may wait for room
            except Empty:
                continue
        self._thread.join()


def _read(stream: Stream, pieces: Pieces, stop: Event) -> None:
    data = b"more"
    try:
        while data and not stop.is_set():
            data = stream.read(_PIECE)
            pieces.put((data, None))
    except BaseException as exc:  # noqa: BLE001 - it is raised where the stream is read
        pieces.put((b"", exc))
