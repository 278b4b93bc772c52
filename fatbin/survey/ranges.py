"""Who gets which bytes when several claim the same: the first claim wins."""

from __future__ import annotations

from heapq import heappop, heappush

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Range = tuple[int, int]


def grant(claims: Sequence[Range], size: int) -> list[list[Range]]:
    """Share out the bytes ``0`` to ``size`` among claims; each byte goes to at most one of them.

    Args:
        claims: ``(start, stop)`` each, in bytes, the strongest first. What is outside is cut off.
        size: bytes to share out.

    Returns:
        For each claim the ranges that it gets, in order and never empty.
    """
    granted: list[list[Range]] = [[] for _ in claims]
    order = sorted(range(len(claims)), key=lambda index: claims[index][0])
    waiting: list[int] = []  # claims that have begun, the strongest on top
    position = 0
    following = 0
    while following < len(order) or waiting:
        if not waiting:
            position = max(position, claims[order[following]][0])
        while following < len(order) and claims[order[following]][0] <= position:
            heappush(waiting, order[following])
            following += 1
        strongest = waiting[0]
        stop = min(claims[strongest][1], size)
        if stop <= position:
            heappop(waiting)
            continue
        until = stop
        if following < len(order):
            until = min(until, claims[order[following]][0])
        _append(granted[strongest], position, until)
        position = until
    return granted


def _append(ranges: list[Range], start: int, stop: int) -> None:
    """Add a range behind the others; one that goes on where the last ended becomes part of it."""
    if ranges and ranges[-1][1] == start:
        ranges[-1] = (ranges[-1][0], stop)
    else:
        ranges.append((start, stop))


def common(granted: list[Range], start: int, stop: int) -> int:
    """Return how many bytes of ``start`` to ``stop`` lie in the ranges."""
    return sum(max(0, min(stop, end) - max(start, begin)) for begin, end in granted)
