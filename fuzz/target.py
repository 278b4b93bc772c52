"""What a target is, and how one input is tried on it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from fatbin import FatbinError, Limits

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FIXTURES = ROOT / "fixtures"
REGRESSIONS = HERE / "regressions"

LIMITS = Limits(
    image_bytes=1 << 20,
    containers=5000,
    entries=20_000,
    members=2000,
    sections=20_000,
    text_bytes=4 << 20,
    header_bytes=4 << 20,
    member_bytes=16 << 20,
    archive_bytes=64 << 20,
    archive_members=5000,
)
"""Inputs are small, so that what they may cost is small too, and limits are met."""

Mutator = Callable[[bytes, Random], bytes]


class Target(NamedTuple):
    """One reader under test.

    Attributes:
        name: on the command line, and of the folder of its regressions.
        about: what is read, on one line.
        run: reads the bytes; may raise FatbinError and nothing else.
        seeds: whole inputs to begin with, made when asked for.
        mutate: changes a whole input where it matters, with the sizes repaired now and then.
        max_bytes: of an input.
    """

    name: str
    about: str
    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    mutate: Mutator
    max_bytes: int = 1 << 16


class Slow(AssertionError):  # noqa: N818 - a find as the failed laws are
    """An input took more processor time than any so small may."""


def attempt(target: Target, data: bytes, seconds: float = 0.0) -> FatbinError | None:
    """Try one input.

    Args:
        target: what reads it.
        data: the input.
        seconds: of processor time that it may take; 0 for any. Never used by the ordinary tests.

    Returns:
        The error that was told, if any.

    Raises:
        Exception: a find.
    """
    start = time.process_time()
    told = None
    try:
        target.run(data)
    except FatbinError as exc:
        told = exc
    text = told.message if told is not None else ""
    assert "\n" not in text, f"more than one line: {text!r}"
    assert not text.endswith(".") or text.endswith("..."), f"ends in a full stop: {text!r}"
    took = time.process_time() - start
    if seconds and took > seconds:
        msg = f"took {took:.1f} s of processor time for {len(data)} bytes"
        raise Slow(msg)
    return told


def signature(error: BaseException) -> str:
    """Return what tells one find from another: the sort of error and where it was raised."""
    place = "?"
    for frame in traceback.extract_tb(error.__traceback__):
        name = Path(frame.filename)
        if name.is_relative_to(ROOT) and name.name != "target.py":
            place = f"{name.relative_to(ROOT)}:{frame.lineno} {frame.name}"
    return f"{type(error).__name__} at {place}"


def regressions(name: str) -> list[Path]:
    """Return the inputs that were finds once."""
    folder = REGRESSIONS / name
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
