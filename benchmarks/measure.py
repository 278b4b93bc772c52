"""What the benchmarks share: interleaved pairs, medians of ratios, memory of children.

A ratio of two medians says little on a busy machine. Here the two sides run by turns, each pair
gives one ratio, and the median of those is reported with the smallest and the largest.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, files, version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 7
_POLL_SECONDS = 0.0005


class Memory(NamedTuple):
    """Peaks of a child process, in bytes.

    Attributes:
        resident: ``VmHWM``: with the pages of mapped files, which are the page cache's.
        private: the largest ``RssAnon`` seen: memory that only this process uses.
    """

    resident: int
    private: int


class Pair(NamedTuple):
    """Two things timed by turns.

    Attributes:
        first: median seconds.
        second: median seconds.
        difference: median of second - first, pair by pair.
        ratio: median of second / first, pair by pair.
        least: the smallest of these ratios.
        most: the largest.
    """

    first: float
    second: float
    difference: float
    ratio: float
    least: float
    most: float


def pairs(
    first: Callable[[], float],
    second: Callable[[], float],
    rounds: int = ROUNDS,
    *,
    warm: bool = False,
) -> Pair:
    """Time two things by turns, after one round that does not count unless both are warm."""
    if not warm:
        first()
        second()
    times: list[tuple[float, float]] = []
    for turn in range(rounds):
        if turn % 2:
            later = second()
            times.append((first(), later))
        else:
            times.append((first(), second()))
    ratios = [b / a for a, b in times]
    return Pair(
        statistics.median(a for a, _ in times),
        statistics.median(b for _, b in times),
        statistics.median(b - a for a, b in times),
        statistics.median(ratios),
        min(ratios),
        max(ratios),
    )


def timed(command: Sequence[str | os.PathLike[str]]) -> float:
    """Run a program and return the seconds from its start to its end."""
    begin = time.perf_counter()
    subprocess.run(command, env=environment(), check=False, stdin=_NULL, stdout=_NULL, stderr=_NULL)
    return time.perf_counter() - begin


def process(*command: str | os.PathLike[str]) -> Callable[[], float]:
    """Return what times a program when it is called."""
    return lambda: timed(command)


def memory(command: Sequence[str | os.PathLike[str]]) -> Memory:
    """Run a program and return its peaks; it is asked twice a millisecond, so it is not timed."""
    child = subprocess.Popen(command, env=environment(), stdin=_NULL, stdout=_NULL, stderr=_NULL)
    status = Path(f"/proc/{child.pid}/status")
    resident = private = 0
    while child.poll() is None:
        try:
            text = status.read_text()
        except OSError:
            break
        for line in text.splitlines():
            if line.startswith("VmHWM:"):
                resident = max(resident, 1024 * int(line.split()[1]))
            elif line.startswith("RssAnon:"):
                private = max(private, 1024 * int(line.split()[1]))
        time.sleep(_POLL_SECONDS)
    child.wait()
    return Memory(resident, private)


def bare_python() -> Memory:
    """Return the peaks of an interpreter that does nothing."""
    return memory([sys.executable, "-c", "import time; time.sleep(0.2)"])


def find_cuobjdump() -> Path | None:
    """Return cuobjdump of the wheel ``nvidia-cuda-cuobjdump``, if that is installed."""
    try:
        installed = files("nvidia-cuda-cuobjdump") or []
    except PackageNotFoundError:
        return None
    paths = [Path(str(file.locate())) for file in installed if file.name == "cuobjdump"]
    return paths[0] if paths else None


def find_script(name: str) -> Path | None:
    """Return a script that is installed beside this interpreter."""
    path = Path(sys.executable).parent / name
    return path if path.is_file() else None


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table."""
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def ms(seconds: float) -> str:
    """Return milliseconds as text."""
    return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds * 1000:,.0f} ms"  # noqa: PLR2004


def mb(size: int) -> str:
    """Return bytes as megabytes."""
    return f"{size / 1e6:,.1f} MB"


def spread(pair: Pair) -> str:
    """Return the ratio of a pair with its extremes."""
    return f"{pair.ratio:.2f} ({pair.least:.2f} to {pair.most:.2f})"


def beside(name: str, pair: Pair) -> tuple[str, ...]:
    """Return a row of a table that sets the second of a pair beside the first."""
    return name, ms(pair.second), ms(pair.first), ms(pair.difference), spread(pair)


def say_where(rounds: int = ROUNDS) -> None:
    """Print date, machine, versions and how many pairs a row is made of."""
    today = datetime.now(tz=timezone.utc).date()
    print(
        f"{today}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, ",
        end="",
    )
    print(f"{os.cpu_count()} CPUs", end="")
    for package in ("nvidia-cuda-cuobjdump", "cubloaty"):
        try:
            print(f", {package} {version(package)}", end="")
        except PackageNotFoundError:
            continue
    print(f", {rounds} pairs\n")


def environment() -> dict[str, str]:
    """Return the variables of a measured process: the tree that this file stands in is imported."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    # Without cached bytecode every start compiles everything again.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables


_NULL = subprocess.DEVNULL
