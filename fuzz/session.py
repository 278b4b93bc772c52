"""A run of one target: its process, started again when it dies, and what came of it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from fuzz.target import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from fuzz.target import Target

_STATUS = re.compile(rb"^#(\d+)\s.*?\bcov: (\d+)(?: ft: (\d+))?(?: corp: (\d+))?", re.MULTILINE)
_MOST_STARTS = 50


HEAD = f"{'target':<12}{'seconds':>8}{'executions':>12}{'edges':>8}{'corpus':>8}{'finds':>7}"


class Result(NamedTuple):
    """What came of fuzzing one target.

    Attributes:
        target: its name.
        seconds: that it ran.
        executions: inputs that were tried.
        edges: of the code of fatbin that were reached, as atheris counts them.
        corpus: inputs that are kept since each reached something new.
        finds: files with inputs that are finds.
        starts: of its process; more than one where an input took it down.
    """

    target: str
    seconds: int
    executions: int
    edges: int
    corpus: int
    finds: tuple[Path, ...]
    starts: int

    def line(self) -> str:
        """Return it as a row under :data:`HEAD`."""
        return (
            f"{self.target:<12}{self.seconds:>8}{self.executions:>12,}{self.edges:>8,}"
            f"{self.corpus:>8,}{len(self.finds):>7}"
        )


def fuzz(target: Target, folder: Path, seconds: int, memory: int, timeout: int) -> Result:
    """Fuzz one target for a while.

    Args:
        target: what is fuzzed.
        folder: inputs are kept in ``folder/TARGET``, finds in ``folder/finds/TARGET``.
        seconds: how long.
        memory: MiB that the process may take.
        timeout: seconds that one input may take.
    """
    corpus, finds = folder / target.name, folder / "finds" / target.name
    for path in (corpus, finds):
        path.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(target.seeds()):
        (corpus / f"seed-{number:03}").write_bytes(data[: target.max_bytes])
    before = set(finds.iterdir())
    start = time.monotonic()
    executions = edges = starts = 0
    while (left := seconds - int(time.monotonic() - start)) > 0 and starts < _MOST_STARTS:
        starts += 1
        done = subprocess.run(
            [
                sys.executable, "-m", "fuzz.engine", target.name, str(finds),
                f"-max_total_time={left}", f"-timeout={timeout}", f"-rss_limit_mb={memory}",
                f"-max_len={target.max_bytes}", f"-artifact_prefix={finds}/", "-len_control=0",
                "-detect_leaks=0", "-print_final_stats=1", str(corpus),
            ],
            cwd=ROOT, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        status = _STATUS.findall(done.stderr)
        if status:
            executions += int(status[-1][0])
            edges = max(edges, *(int(row[1]) for row in status))
        if done.returncode and not status:
            (finds / "no-start.txt").write_bytes(done.stderr[-4000:])
            break
        if done.returncode:
            (finds / f"died-{starts}.log").write_bytes(done.stderr[-4000:])
    fresh = sorted(
        path
        for path in finds.iterdir()
        if path not in before and path.suffix not in (".txt", ".log")
    )
    broken = finds / "no-start.txt"
    return Result(
        target.name,
        round(time.monotonic() - start),
        executions,
        edges,
        sum(1 for _ in corpus.iterdir()),
        tuple(fresh) + ((broken,) if broken.exists() else ()),
        starts,
    )
