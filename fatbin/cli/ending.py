"""Ending on request: what was started is ended too."""

from __future__ import annotations

import signal
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import NoReturn

_BY_SIGNAL = 128


@contextmanager
def end_tidily() -> Iterator[None]:
    """Turn SIGTERM into an exception while something runs, as Ctrl-C is one.

    The first process of a container is not ended by SIGTERM unless it takes care of it.
    """
    before = signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _exit(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(_BY_SIGNAL + number)
