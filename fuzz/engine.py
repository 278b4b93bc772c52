"""One target under atheris, in a process of its own: ``python -m fuzz.engine TARGET FOLDER ...``.

What is no error of fatbin is kept as a find and the run goes on. What takes the process with it (a
crash of native code, too much memory, a hang) is kept by libFuzzer, and ``fuzz.__main__`` starts the
target again.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
import sys
import traceback
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import atheris

_FLOORS = ("format", "scanning", "judge", "report")
"""Of fatbin, imported whole: what is imported late by a function would not be instrumented."""

with atheris.instrument_imports(include=["fatbin"]):
    for _floor in _FLOORS:
        _package = importlib.import_module(f"fatbin.{_floor}")
        for _module in pkgutil.walk_packages(_package.__path__, f"fatbin.{_floor}."):
            importlib.import_module(_module.name)
    from fuzz.target import attempt, regressions, signature
    from fuzz.targets import TARGETS

if TYPE_CHECKING:
    from fuzz.target import Target

SLOW_SECONDS = 5.0
"""Processor time of one input, instrumented, above which it is a find."""
_BLIND = 4
"""One mutation in so many is libFuzzer's own."""


class Finds:
    """Inputs that are finds, the smallest of each sort."""

    def __init__(self, folder: Path) -> None:
        """Keep them in a folder."""
        self._folder = folder
        self._sizes: dict[str, int] = {}

    def keep(self, data: bytes, error: BaseException) -> None:
        """Keep an input with what was raised, unless a smaller one of its sort is there."""
        sort = signature(error)
        if len(data) >= self._sizes.get(sort, 1 << 62):
            return
        self._sizes[sort] = len(data)
        name = "find-" + hashlib.sha256(sort.encode()).hexdigest()[:12]
        (self._folder / name).write_bytes(data)
        text = "".join(traceback.format_exception(error))
        (self._folder / f"{name}.txt").write_text(f"{sort}\n\n{text}", "utf-8", "replace")


def main() -> None:
    """Fuzz one target: name, folder of finds, then what libFuzzer is to be told."""
    target = TARGETS[sys.argv[1]]
    finds = Finds(Path(sys.argv[2]))

    def one(data: bytes) -> None:
        try:
            attempt(target, data, SLOW_SECONDS)
        except MemoryError:
            raise  # told as one by libFuzzer, with the input
        except Exception as exc:  # noqa: BLE001 - a find, whatever it is
            finds.keep(data, exc)

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        return mutate(target, data, most, seed)

    for data in starts(target):
        one(data)
    atheris.Setup([sys.argv[0], *sys.argv[3:]], one, custom_mutator=mutated)
    atheris.Fuzz()


def starts(target: Target) -> list[bytes]:
    """Return seeds and regressions of a target."""
    return target.seeds() + [path.read_bytes() for path in regressions(target.name)]


def mutate(target: Target, data: bytes, most: int, seed: int) -> bytes:
    """Change an input as the target knows to, or blindly now and then."""
    rng = Random(seed)
    if not rng.randrange(_BLIND):
        return bytes(atheris.Mutate(data, most))
    return target.mutate(data, rng)[:most]


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()
