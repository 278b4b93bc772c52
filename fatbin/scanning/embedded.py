"""The search for device code outside the named sections.

Libraries that load code through the driver API keep containers, cubins and PTX as plain data: cuFFT
keeps 17,858 of its 17,860 containers in ``.data``, cuSPARSE 476 cubins in ``.rodata``. What is
neither host code nor already read nor a table of the linker or debugger is swept once from front to
back. A container is read when it is met and jumped over. Cubins and PTX are only noted; they are
read after the sweep, cubins first, since containers hold cubins and cubins hold PTX.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right

from fatbin._record import Record
from fatbin.errors import FormatError, LimitExceededError
from fatbin.format.container import SIGNATURE, read_container
from fatbin.scanning.needles import (
    NATIVE_WINDOW,
    PLAIN_WINDOW,
    WORTH_NATIVE,
    Notes,
    Window,
    native_memmem,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.errors import Report
    from fatbin.format.container import Container
    from fatbin.format.cubin import CubinHead
    from fatbin.format.ptx import PtxHead
    from fatbin.format.view import View
    from fatbin.limits import Tally

    Range = tuple[int, int]

# As long as they can be without the zeros that data is full of.
_CONTAINER = SIGNATURE[:5]
_CUBIN = b"\x7fELF\x02\x01\x01"
_PTX = b".target sm_"
_OVERLAP = max(len(_CONTAINER), len(_CUBIN), len(_PTX)) - 1

_VERSION = b".version"
_LEAD_BYTES = 65536
_LEAST_TABLES = 16 << 20
_HEAD_BYTES = 4096
_ENDS_TEXT = rb"[\x00-\x08\x0e-\x1f\x7f]"


class Found(Record):
    """Device code at a place: a container, a bare cubin or a bare PTX text."""

    offset: int
    size: int
    content: Container | CubinHead | PtxHead


def search(view: View, taken: list[Range], tally: Tally, report: Report) -> Iterator[Found]:
    """Yield what lies in the parts of a view that are not ``taken``.

    Args:
        view: a whole library.
        taken: ``(start, stop)`` ranges that need no search.
        tally: what named sections have taken of the limits: ``containers`` bounds the finds,
            ``entries`` what is in them, ``text_bytes`` a PTX text.
        report: gets an error for each damaged place.
    """
    limits = tally.limits
    free = gaps(taken, view.size)
    covered = list(taken)
    sweep = _Sweep(view, free, tally, report)
    try:
        for start, stop in free:
            for found in sweep.run(start, stop):
                covered.append((found.offset, found.offset + found.size))
                yield found
    finally:
        sweep.close()
    cubins, texts = sweep.notes.offsets
    for what, noted in (("places that could be cubins", cubins), ("PTX directives", texts)):
        if len(noted) >= limits.containers:
            report(_too_many(what, limits.containers, noted[-1], view, "containers"))
    for found in _cubins(view, cubins, gaps(covered, view.size), tally, report):
        covered.append((found.offset, found.offset + found.size))
        yield found
    yield from _texts(view, texts, gaps(covered, view.size), tally, report)


def gaps(taken: list[Range], size: int) -> list[Range]:
    """Return the ranges of ``0`` to ``size`` that no range of ``taken`` covers, in order."""
    free = []
    position = 0
    for start, stop in sorted(taken):
        if start > position:
            free.append((position, min(start, size)))
        position = max(position, stop)
    if position < size:
        free.append((position, size))
    return free


class _Sweep:
    """One pass over the gaps of a view; containers are read, candidates for the rest are noted."""

    def __init__(self, view: View, free: list[Range], tally: Tally, report: Report) -> None:
        limits = tally.limits
        self._view = view
        self._report = report
        self._tally = tally
        # Each place that looks like a container counts, since each is looked at.
        self._left = 0 if tally.full else max(1, limits.containers - tally.containers)
        # A file is read into small buffers rather than through the map: no page faults, and a
        # window is searched three times while it is in the processor's cache.
        from_file = view.descriptor >= 0 and hasattr(os, "preadv")
        large = sum(stop - start for start, stop in free) >= WORTH_NATIVE
        memmem = native_memmem() if from_file and large else None
        size = (NATIVE_WINDOW if memmem else PLAIN_WINDOW) if from_file else 0
        self._windows = [Window(size, memmem) for _ in range(2 if memmem else 1)]
        self.notes = Notes((_CUBIN, _PTX), limits.containers, threaded=memmem is not None)

    def run(self, start: int, stop: int) -> Iterator[Found]:
        """Yield the containers of a range and note the rest."""
        view = self._view
        position = start
        while position < stop and self._left > 0:
            window = self._window_at(position, stop)
            if window is None:
                return
            end = min(stop, window.stop)
            first = window.find(_CONTAINER, position, end)
            self.notes.note(window, position, end if first < 0 else min(end, first + _OVERLAP))
            if first < 0:
                position = end if end == stop else end - _OVERLAP
                continue
            position = first + 1
            if view.peek(first, len(SIGNATURE)) != SIGNATURE:
                continue
            self._count(first)
            container, resume = read_container(view, first, self._report, self._tally)
            if container is not None:
                yield Found(first, container.size, container)
                position = max(position, first + container.size)
            else:
                position = max(position, min(resume, stop))
            if self._tally.full:
                self._left = 0

    def close(self) -> None:
        """End what runs beside the sweep; what was noted is whole then."""
        self.notes.close()

    def _window_at(self, position: int, stop: int) -> Window | None:
        """Return a window to go on in; None when the file turned out to be shorter."""
        window = self._windows[0]
        if not window.holds(position, stop, _OVERLAP):
            if _late(self._view, self._tally, self._report):
                self._left = 0
                return None
            self._windows.reverse()
            window = self._windows[0]
            self.notes.wait(window)
            try:
                window.load(self._view, position)
            except FormatError as exc:
                self._report(exc)
                self._left = 0
                return None
        return window

    def _count(self, offset: int) -> None:
        """Count a container; tell when it was the last one allowed."""
        self._left -= 1
        if self._left == 0:
            allowed = self._tally.limits.containers
            self._report(_too_many("containers", allowed, offset, self._view, "containers"))


def _late(view: View, tally: Tally, report: Report) -> bool:
    """Tell whether the time is over, and report it."""
    error = tally.limits.late(view.name)
    if error is not None:
        report(error)
    return error is not None


def _within(offsets: list[int], free: list[Range]) -> Iterator[Range]:
    """Yield each offset that lies in a free range, with the end of that range."""
    ranges = iter(free)
    start, stop = next(ranges, (0, 0))
    for offset in offsets:
        while offset >= stop and stop:
            start, stop = next(ranges, (0, 0))
        if stop and start <= offset:
            yield offset, stop


def _cubins(
    view: View, offsets: list[int], free: list[Range], tally: Tally, report: Report
) -> Iterator[Found]:
    """Read the cubins among the candidates that lie in free ranges."""
    from fatbin.format.cubin import is_cubin, read_cubin_head  # noqa: PLC0415 - few files have any

    reached = 0
    # Candidates may share one large section table; honest ones have tables of their own, which all
    # together are smaller than the file.
    tables, most = 0, view.size + _LEAST_TABLES
    for offset, stop in _within(offsets, free):
        start = view.peek(offset, 64)
        if offset < reached or not is_cubin(start):
            continue
        if _late(view, tally, report):
            return
        tables += _table_bytes(view, offset, stop, start)
        if tables > most:
            report(_too_many("bytes of section tables of embedded cubins", most, offset, view))
            return
        try:
            head = read_cubin_head(view.window(offset, stop - offset), tally.limits)
        except (FormatError, LimitExceededError) as exc:
            exc.message = f"embedded cubin: {exc.message}"
            report(exc)
            continue
        reached = offset + head.size
        yield Found(offset, head.size, head)


def _table_bytes(view: View, offset: int, stop: int, header: bytes) -> int:
    """Return how much of the section table of a candidate can be there."""
    place, row = int.from_bytes(header[40:48], "little"), int.from_bytes(header[58:60], "little")
    rows = int.from_bytes(header[60:62], "little")
    if not rows and offset + place + 64 <= stop:  # then the size of section 0 is the count
        rows = int.from_bytes(view.peek(offset + place + 32, 8), "little")
    return min(row * rows, stop - offset)


def _next_text(view: View, targets: list[int], target: int, end: int) -> int:
    """Return where the next text begins when it follows without a terminator, else ``end``.

    Comments in front of its ``.version`` stay with the text before.
    """
    from fatbin.format.ptx import find_ptx_head  # noqa: PLC0415 - few files have any

    for index in range(bisect_right(targets, target), len(targets)):
        following = targets[index]
        if following >= end:
            break
        before = max(target + 1, following - _LEAD_BYTES)
        lead = view.peek(before, following - before)
        version = lead.rfind(_VERSION)
        if version >= 0 and find_ptx_head(lead[version:] + view.peek(following, _HEAD_BYTES)):
            return before + version
    return end


def _texts(
    view: View, targets: list[int], free: list[Range], tally: Tally, report: Report
) -> Iterator[Found]:
    """Read the PTX texts whose ``.target`` directives lie in free ranges."""
    from fatbin.format.ptx import find_ptx_head  # noqa: PLC0415 - few files have any

    reached = 0
    for target, stop in _within(targets, free):
        if target < reached:
            continue
        if _late(view, tally, report):
            return
        # Only comments stand between .version and .target, so no other .target does.
        before = max(reached, target - _LEAD_BYTES)
        lead = view.peek(before, target - before)
        version = lead.rfind(_VERSION)
        reached = target + 1
        head = None
        if version >= 0:
            head = find_ptx_head(lead[version:] + view.peek(target, _HEAD_BYTES))
        if head is None:
            continue
        start = _text_start(view, before, before + version)
        ending = re.compile(_ENDS_TEXT).search(view.buffer, view.start + target, view.start + stop)
        end = ending.start() - view.start if ending else stop
        end = _next_text(view, targets, target, end)
        most = tally.limits.text_bytes
        if end - start > most:
            report(_too_many("bytes of PTX text", most, start, view, "text_bytes"))
        reached = end
        yield Found(start, end - start, head)


def _text_start(view: View, before: int, version: int) -> int:
    """Return where a PTX text begins whose ``.version`` is known: comments may come first."""
    from fatbin.format.ptx import read_ptx_head  # noqa: PLC0415 - few files have any

    lead = view.peek(before, version - before)
    ends = [match.end() for match in re.finditer(_ENDS_TEXT, lead)]
    start = before + (ends[-1] if ends else 0)
    text = view.peek(start, version - start + _HEAD_BYTES)
    return start if read_ptx_head(text) is not None else version


def _too_many(
    what: str, allowed: int, offset: int, view: View, limit: str = "header_bytes"
) -> LimitExceededError:
    return LimitExceededError(
        f"more than {allowed} {what}; the rest was not read",
        limit=limit,
        allowed=allowed,
        actual=allowed + 1,
        offset=offset,
        location=view.name,
    )
