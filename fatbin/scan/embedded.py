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

from fatbin._record import Record
from fatbin.errors import FormatError, LimitExceededError
from fatbin.format.container import SIGNATURE, read_container

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.errors import Report
    from fatbin.format.container import Container
    from fatbin.format.cubin import CubinHead
    from fatbin.format.ptx import PtxHead
    from fatbin.format.view import View
    from fatbin.limits import Limits

    Range = tuple[int, int]

# bytes.find steps over as many bytes as the needle has when the byte behind it is in no needle
# position; so the needles are as long as they can be without the zeros that data is full of, and a
# window stays below the 30,000 bytes from which CPython switches to a slower algorithm.
_CONTAINER = SIGNATURE[:5]
_CUBIN = b"\x7fELF\x02\x01\x01"
_PTX = b".target sm_"
_WINDOW = 28 << 10
_OVERLAP = max(len(_CONTAINER), len(_CUBIN), len(_PTX)) - 1

_VERSION = b".version"
_LEAD_BYTES = 65536
_HEAD_BYTES = 65536
_ENDS_TEXT = rb"[\x00-\x08\x0e-\x1f\x7f]"


class Found(Record):
    """Device code at a place: a container, a bare cubin or a bare PTX text."""

    offset: int
    size: int
    content: Container | CubinHead | PtxHead


def search(view: View, taken: list[Range], limits: Limits, report: Report) -> Iterator[Found]:
    """Yield what lies in the parts of a view that are not ``taken``.

    Args:
        view: a whole library.
        taken: ``(start, stop)`` ranges that need no search.
        limits: ``containers`` bounds the finds, ``text_bytes`` a PTX text.
        report: gets an error for each damaged place.
    """
    sweep = _Sweep(view, limits, report)
    covered = list(taken)
    for start, stop in gaps(taken, view.size):
        for found in sweep.run(start, stop):
            covered.append((found.offset, found.offset + found.size))
            yield found
    for candidates, read in ((sweep.cubins, _cubin), (sweep.texts, _ptx)):
        for start, stop in _within(candidates, gaps(covered, view.size)):
            result = read(view, start, stop, limits, report)
            if result is not None and not _overlaps(covered[-1], result):
                covered.append((result.offset, result.offset + result.size))
                yield result


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
    """One pass over the gaps of a view.

    Attributes:
        cubins: offsets where a cubin may begin, in order.
        texts: offsets of PTX ``.target`` directives, in order.
    """

    def __init__(self, view: View, limits: Limits, report: Report) -> None:
        self.cubins: list[int] = []
        self.texts: list[int] = []
        self._view = view
        self._limits = limits
        self._report = report
        self._left = limits.containers
        # A file is read into one small buffer rather than through the map: no page faults, and a
        # window is searched three times while it is in the processor's cache.
        self._from_file = view.descriptor >= 0 and hasattr(os, "preadv")
        self._window = bytearray(_WINDOW) if self._from_file else b""

    def run(self, start: int, stop: int) -> Iterator[Found]:
        """Yield the containers of a range and note the rest."""
        view = self._view
        position = start
        while position < stop and self._left > 0:
            data, base, end = self._load(position, stop)
            first = data.find(_CONTAINER, base, end)
            until = end if first < 0 else first + _OVERLAP
            self._note(self.cubins, data, _CUBIN, base, until, position)
            self._note(self.texts, data, _PTX, base, until, position)
            if first < 0:
                length = end - base
                position += length if position + length >= stop else length - _OVERLAP
                continue
            at = position + first - base
            position = at + 1
            if view.peek(at, len(SIGNATURE)) == SIGNATURE:
                self._count(at)
                container, resume = read_container(view, at, self._report)
                if container is not None:
                    yield Found(at, container.size, container)
                    position = max(position, at + container.size)
                else:
                    position = max(position, min(resume, stop))

    def _load(self, position: int, stop: int) -> tuple[bytes | bytearray, int, int]:
        """Return bytes, and between which of their indexes the window lies."""
        view = self._view
        size = min(_WINDOW, stop - position)
        begin = view.start + position
        if not self._from_file:
            return view.buffer, begin, begin + size  # type: ignore[return-value]
        window = self._window
        count = os.preadv(view.descriptor, [window], begin)
        if not count:
            msg = "the file ends before its size; it was cut while it was read"
            self._report(FormatError(msg, offset=position, location=view.name))
            self._left = 0
        return window, 0, min(count, size)

    def _note(
        self,
        offsets: list[int],
        data: bytes | bytearray,
        needle: bytes,
        base: int,
        end: int,
        at: int,
    ) -> None:
        found = data.find(needle, base, end)
        while found >= 0 and self._left > 0:
            offset = at + found - base
            if not offsets or offset > offsets[-1]:  # windows overlap
                offsets.append(offset)
                self._count(offset)
            found = data.find(needle, found + 1, end)

    def _count(self, offset: int) -> None:
        """Count a find; tell when it was the last one allowed."""
        self._left -= 1
        if self._left == 0:
            allowed = self._limits.containers
            self._report(
                LimitExceededError(
                    f"{allowed} finds outside the named sections; the rest was not searched",
                    limit="containers",
                    allowed=allowed,
                    actual=allowed,
                    offset=offset,
                    location=self._view.name,
                )
            )


def _within(offsets: list[int], free: list[Range]) -> Iterator[Range]:
    """Yield each offset that lies in a free range, with the end of that range."""
    ranges = iter(free)
    start, stop = next(ranges, (0, 0))
    for offset in offsets:
        while offset >= stop and stop:
            start, stop = next(ranges, (0, 0))
        if stop and start <= offset:
            yield offset, stop


def _overlaps(last: Range, found: Found) -> bool:
    return last[0] <= found.offset < last[1]


def _cubin(view: View, offset: int, stop: int, limits: Limits, report: Report) -> Found | None:
    from fatbin.format.cubin import is_cubin, read_cubin_head  # noqa: PLC0415 - few files have any

    if not is_cubin(view.peek(offset, 20)):
        return None
    try:
        head = read_cubin_head(view.window(offset, stop - offset), limits)
    except (FormatError, LimitExceededError) as exc:
        exc.message = f"embedded cubin: {exc.message}"
        report(exc)
        return None
    return Found(offset, head.size, head)


def _ptx(view: View, target: int, stop: int, limits: Limits, report: Report) -> Found | None:
    from fatbin.format.ptx import find_ptx_head, read_ptx_head  # noqa: PLC0415 - few files have any

    # The text begins behind the last byte before .target that is not text; comments may come first.
    before = max(0, target - _LEAD_BYTES)
    lead = view.peek(before, target - before)
    ends = [match.end() for match in re.finditer(_ENDS_TEXT, lead)]
    start = before + (ends[-1] if ends else 0)
    head = read_ptx_head(view.peek(start, target - start + _HEAD_BYTES))
    if head is None:  # other text stands before it
        version = lead.rfind(_VERSION, start - before)
        if version < 0:
            return None
        start = before + version
        head = find_ptx_head(view.peek(start, target - start + _HEAD_BYTES))
        if head is None:
            return None
    ending = re.compile(_ENDS_TEXT).search(view.buffer, view.start + target, view.start + stop)
    end = ending.start() - view.start if ending else stop
    if end - start > limits.text_bytes:
        report(
            LimitExceededError(
                f"PTX text of {end - start} bytes is larger than the limit of "
                f"{limits.text_bytes} bytes",
                limit="text_bytes",
                allowed=limits.text_bytes,
                actual=end - start,
                offset=start,
                location=view.name,
            )
        )
    return Found(start, end - start, head)
