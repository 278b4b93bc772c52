"""The search for device code outside the named sections.

Libraries that load code through the driver API keep containers, cubins and PTX as plain data: cuFFT
keeps 17,858 of its 17,860 containers in ``.data``, cuSPARSE 476 cubins in ``.rodata``. Everything of
the file that is neither host code nor already read is searched, one pass a pattern; what a pass has
found is not searched by the next, since containers hold cubins and cubins hold PTX.
"""

from __future__ import annotations

import re
from fatbin._record import Record

from fatbin.errors import FatbinError, FormatError, LimitExceededError
from fatbin.format.container import SIGNATURE, read_container
from fatbin.format.cubin import read_cubin_head
from fatbin.format.ptx import find_ptx_head, read_ptx_head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fatbin.format.container import Container, Report
    from fatbin.format.cubin import CubinHead
    from fatbin.format.ptx import PtxHead
    from fatbin.format.view import View
    from fatbin.limits import Limits

    Range = tuple[int, int]
    Advise = Callable[[View, int, int], None]

_CONTAINER = re.escape(SIGNATURE)
_CUBIN = rb"(?s)\x7fELF\x02\x01.{12}\xbe\x00"
_PTX = rb"\.version[ \t]+\d"
_ENDS_TEXT = rb"[\x00-\x08\x0e-\x1f\x7f]"
_HEAD_BYTES = 4096
_COMMENT_BYTES = 65536


class Found(Record):
    """Device code at a place: a container, a bare cubin or a bare PTX text."""

    offset: int
    size: int
    content: Container | CubinHead | PtxHead


def search(
    view: View, taken: list[Range], limits: Limits, report: Report, advise: Advise | None = None
) -> Iterator[Found]:
    """Yield what lies in the parts of a view that are not ``taken``, pattern by pattern.

    Args:
        view: a whole library.
        taken: ``(start, stop)`` ranges that need no search; extended by what is found.
        limits: ``containers`` and ``text_bytes`` apply.
        report: gets an error for each damaged place.
        advise: told of each range before it is read from front to back.
    """
    for regex, read in ((_CONTAINER, _container), (_CUBIN, _cubin), (_PTX, _ptx)):
        pattern = re.compile(regex)
        found: list[Range] = []
        budget = limits.containers
        for start, stop in gaps(taken, view.size):
            if advise is not None:
                advise(view, view.start + start, stop - start)
            position = start
            while True:
                match = pattern.search(view.buffer, view.start + position, view.start + stop)
                if match is None:
                    break
                if not budget:
                    report(_too_many(view, position, limits))
                    return
                at = match.start() - view.start
                result = read(view, at, (start, stop), limits, report)
                position = at + 1
                if result is not None:
                    budget -= 1
                    found.append((result.offset, result.offset + result.size))
                    position = max(position, result.offset + result.size)
                    yield result
        taken += found


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


def _container(
    view: View, offset: int, _: Range, limits: Limits, report: Report
) -> Found | None:
    del limits
    container, _resume = read_container(view, offset, report)
    return Found(offset, container.size, container) if container is not None else None


def _cubin(view: View, offset: int, gap: Range, limits: Limits, report: Report) -> Found | None:
    window = view.window(offset, gap[1] - offset)
    try:
        head = read_cubin_head(window, limits)
    except (FormatError, LimitExceededError) as exc:
        report(_in_context(exc, "cubin"))
        return None
    return Found(offset, head.size, head)


def _ptx(view: View, offset: int, gap: Range, limits: Limits, report: Report) -> Found | None:
    head = find_ptx_head(view.peek(offset, min(_HEAD_BYTES, gap[1] - offset)))
    if head is None:
        return None
    # Comments may stand before .version: the text begins behind the last byte that is not text.
    before = max(gap[0], offset - _COMMENT_BYTES)
    lead = view.peek(before, offset - before)
    ends = [match.end() for match in re.finditer(_ENDS_TEXT, lead)]
    start = before + (ends[-1] if ends else 0)
    if read_ptx_head(view.peek(start, offset - start + _HEAD_BYTES)) is None:
        start = offset
    begin = view.start + offset
    end = re.compile(_ENDS_TEXT).search(view.buffer, begin, view.start + gap[1])
    stop = end.start() - view.start if end else gap[1]
    if stop - start > limits.text_bytes:
        report(
            LimitExceededError(
                f"PTX text of {stop - start} bytes is larger than the limit of "
                f"{limits.text_bytes} bytes",
                limit="text_bytes",
                allowed=limits.text_bytes,
                actual=stop - start,
                offset=start,
                location=view.name,
            )
        )
    return Found(start, stop - start, head)


def _in_context(error: FatbinError, what: str) -> FatbinError:
    error.message = f"{what}: {error.message}"
    return error


def _too_many(view: View, offset: int, limits: Limits) -> LimitExceededError:
    return LimitExceededError(
        f"more than {limits.containers} finds outside the named sections; "
        "the rest of the file was not searched",
        limit="containers",
        allowed=limits.containers,
        actual=limits.containers + 1,
        offset=offset,
        location=view.name,
    )
