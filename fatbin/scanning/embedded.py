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
_LEAST_TABLES = 16 << 20
_HEAD_BYTES = 4096
_ENDS_TEXT = rb"[\x00-\x08\x0e-\x1f\x7f]"


class Found(Record):
    """Device code at a place: a container, a bare cubin or a bare PTX text."""

    offset: int
    size: int
    content: Container | CubinHead | PtxHead


def search(
    view: View, taken: list[Range], limits: Limits, report: Report, containers: int = 0
) -> Iterator[Found]:
    """Yield what lies in the parts of a view that are not ``taken``.

    Args:
        view: a whole library.
        taken: ``(start, stop)`` ranges that need no search.
        limits: ``containers`` bounds the finds, ``text_bytes`` a PTX text.
        report: gets an error for each damaged place.
        containers: how many of the limit named sections have used.
    """
    sweep = _Sweep(view, limits, report, max(1, limits.containers - containers))
    covered = list(taken)
    for start, stop in gaps(taken, view.size):
        for found in sweep.run(start, stop):
            covered.append((found.offset, found.offset + found.size))
            yield found
    for found in _cubins(view, sweep.cubins, gaps(covered, view.size), limits, report):
        covered.append((found.offset, found.offset + found.size))
        yield found
    yield from _texts(view, sweep.texts, gaps(covered, view.size), limits, report)


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

    def __init__(self, view: View, limits: Limits, report: Report, left: int) -> None:
        self.cubins: list[int] = []
        self.texts: list[int] = []
        self._view = view
        self._limits = limits
        self._report = report
        self._left = left
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
            what = "containers and finds outside the named sections"
            self._report(_too_many(what, allowed, offset, self._view, "containers"))


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
    view: View, offsets: list[int], free: list[Range], limits: Limits, report: Report
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
        tables += int.from_bytes(start[58:60], "little") * int.from_bytes(start[60:62], "little")
        if tables > most:
            report(_too_many("bytes of section tables of embedded cubins", most, offset, view))
            return
        try:
            head = read_cubin_head(view.window(offset, stop - offset), limits)
        except (FormatError, LimitExceededError) as exc:
            exc.message = f"embedded cubin: {exc.message}"
            report(exc)
            continue
        reached = offset + head.size
        yield Found(offset, head.size, head)


def _texts(
    view: View, targets: list[int], free: list[Range], limits: Limits, report: Report
) -> Iterator[Found]:
    """Read the PTX texts whose ``.target`` directives lie in free ranges."""
    from fatbin.format.ptx import find_ptx_head  # noqa: PLC0415 - few files have any

    reached = 0
    for target, stop in _within(targets, free):
        if target < reached:
            continue
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
        if end - start > limits.text_bytes:
            report(_too_many("bytes of PTX text", limits.text_bytes, start, view, "text_bytes"))
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
