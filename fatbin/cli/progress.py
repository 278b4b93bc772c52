"""How far a scan is, on a terminal; nothing in a pipe, in continuous integration, or when quick."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from typing import Protocol

    from fatbin.scanning.work import Reached

    class Bar(Protocol):
        """What is drawn."""

        def show(self, reached: Reached) -> None:
            """Draw it anew."""

        def close(self) -> None:
            """Leave the line as it was."""


DELAY = 0.5
"""Seconds before anything is shown: what is done by then needs no bar."""
_EVERY = 0.1


def add_option(add: Callable[..., argparse.Action]) -> None:
    """Add the option that leaves the bar out."""
    add("--no-progress", action="store_true", help="show no progress on a terminal")


@contextmanager
def watching(*, wanted: bool = True) -> Iterator[Callable[[Reached], object] | None]:
    """Give what a scan tells how far it is; None where nobody would see it.

    However the block ends, the line is clean behind it.
    """
    if not wanted or not _seen():
        yield None
        return
    late = _Late()
    try:
        yield late
    finally:
        late.close()


def _seen() -> bool:
    return (
        sys.stderr is not None
        and sys.stderr.isatty()
        and os.environ.get("TERM") != "dumb"
        and not os.environ.get("CI")
    )


class _Late:
    """Draws a bar when the work has taken a while, and then not too often.

    No thread draws: processes are started by copying this one, which must have none.
    """

    def __init__(self) -> None:
        import time  # noqa: PLC0415 - only on terminals

        self._now = time.monotonic
        self._next = self._now() + DELAY
        self._bar: Bar | None = None

    def __call__(self, reached: Reached) -> None:
        now = self._now()
        if now < self._next:
            return
        self._next = now + _EVERY
        if self._bar is None:
            try:
                from fatbin.report.progress import RichBar  # noqa: PLC0415 - only what takes long

                self._bar = RichBar(sys.stderr)
            except ModuleNotFoundError as exc:
                if exc.name != "rich":
                    raise
                self._next = float("inf")  # a bare checkout has no bar
                return
        self._bar.show(reached)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
