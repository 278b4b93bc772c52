"""Everything in one run: the corpus is downloaded, measured and written down.

Usage: python benchmarks/run.py [--rounds N] [--render]

fatbin, cuobjdump and cubloaty run side by side as whole processes, by turns, on real libraries;
then come starts, and growth with bytes, entries and files. The numbers go to
``benchmarks/results.json``, and from there to ``docs/reference/performance.md`` and its picture;
``--render`` writes these two again. The extra ``bench`` has what this needs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import growth
import measure
import rendering
from cold import evict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_FEWER = ((20.0, 1), (2.0, 3))
"""Seconds of a process, and how many rounds must do from there on."""
_STARTS = (
    ("python -c pass", ("-c", "pass")),
    ("import fatbin", ("-c", "import fatbin")),
    ("fatbin --help", ("-m", "fatbin", "--help")),
    ("fatbin gpus", ("-m", "fatbin", "gpus")),
    ("fatbin list fixtures/lib_rdc.so", ("-m", "fatbin", "list", "fixtures/lib_rdc.so")),
    (
        "fatbin check fixtures/lib_rdc.so --gpu 9.0",
        ("-m", "fatbin", "check", "fixtures/lib_rdc.so", "--gpu", "9.0", "--no-policy"),
    ),
)


def main() -> None:
    """Measure, unless only the page is wanted, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="pairs for each row")
    parser.add_argument("--render", action="store_true", help="only write the page again")
    arguments = parser.parse_args()
    if not arguments.render:
        found = _measured(arguments.rounds)
        rendering.RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    rendering.write()


def _measured(rounds: int) -> dict[str, Any]:
    from corpus_files import SAMPLES  # noqa: PLC0415 - the page alone needs no corpus

    os.chdir(measure.ROOT)
    programs = _programs()
    before = os.getloadavg()[0]
    files = []
    for sample in SAMPLES:
        path = sample.path()
        print(f"{sample.name} ({measure.mb(path.stat().st_size)})", file=sys.stderr)
        rows = list(_compared(path, programs, rounds))
        files.append({"name": sample.name, "bytes": path.stat().st_size, "rows": rows})
    print("starts and growth", file=sys.stderr)
    return {
        "date": datetime.now(tz=timezone.utc).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "load": [round(before, 1), round(os.getloadavg()[0], 1)],
        "rounds": rounds,
        "versions": {"Python": platform.python_version(), **_versions()},
        "bare": measure.bare_python()._asdict(),
        "files": files,
        "starts": [_start(name, command, rounds) for name, command in _STARTS],
        "growth": [point._asdict() for point in growth.points()],
    }


def _programs() -> dict[str, tuple[str, ...]]:
    """Return what is measured, by name; cuobjdump and cubloaty must be there."""
    cuobjdump, cubloaty = measure.find_cuobjdump(), measure.find_script("cubloaty")
    if cuobjdump is None or cubloaty is None:
        sys.exit("cuobjdump and cubloaty are needed: pip install '.[bench]'")
    ours = (sys.executable, "-m", "fatbin")
    return {
        "list": (*ours, "list"),
        "check": (*ours, "check", "--no-policy", "--gpu", "9.0"),
        "kernels": (*ours, "kernels"),
        "size": (*ours, "size"),
        "cuobjdump -all": (str(cuobjdump), "-all"),
        "cuobjdump -res-usage": (str(cuobjdump), "-res-usage"),
        "cubloaty": (str(cubloaty), "--format", "json"),
    }


_PAIRS = (
    ("list", "cuobjdump -all", False),
    ("list", "cuobjdump -all", True),
    ("check", "cuobjdump -all", False),
    ("kernels", "cuobjdump -res-usage", False),
    ("size", "cubloaty", False),
)
"""What is compared with what, and whether the file's pages are dropped first."""


def _compared(
    path: Path, programs: dict[str, tuple[str, ...]], rounds: int
) -> Iterator[dict[str, Any]]:
    used: dict[str, dict[str, int]] = {}
    seconds: dict[str, float] = {}
    for ours, theirs, cold in _PAIRS:
        sides = [(*programs[name], str(path)) for name in (ours, theirs)]
        for name, command in zip((ours, theirs), sides, strict=True):
            if name not in used:  # these runs warm what the others find
                begin = time.perf_counter()
                used[name] = measure.memory(command)._asdict()
                seconds[name] = time.perf_counter() - begin
        first, second = (_side(command, path, cold=cold) for command in sides)
        slowest = max(seconds[ours], seconds[theirs])
        fewer = next((count for limit, count in _FEWER if slowest > limit), rounds)
        pair = measure.pairs(first, second, min(rounds, fewer), warm=True)
        yield {
            "ours": ours,
            "theirs": theirs,
            "cold": cold,
            **pair._asdict(),
            "pairs": min(rounds, fewer),
            "memory": [used[ours], used[theirs]],
        }


def _side(command: tuple[str, ...], path: Path, *, cold: bool) -> Callable[[], float]:
    def run() -> float:
        if cold:
            evict(str(path))
        return measure.timed(command)

    return run


def _start(name: str, command: tuple[str, ...], rounds: int) -> dict[str, Any]:
    bare = measure.process(sys.executable, "-c", "pass")
    pair = measure.pairs(bare, measure.process(sys.executable, *command), 2 * rounds)
    return {"name": name, **pair._asdict()}


def _versions() -> dict[str, str]:
    found = {}
    for package in ("fatbin", "nvidia-cuda-cuobjdump", "cubloaty", "construct", "lief"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    main()
