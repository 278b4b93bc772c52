"""What the stages of a preflight take, on a machine with a GPU: seconds, the median and the spread.

Usage: python benchmarks/preflight.py [LIBRARY...]

Libraries are looked at besides the NCCL that the process would load.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

import measure

_ROUNDS = 5


def stages(libraries: list[str], folder: str) -> dict[str, float]:
    """Run a preflight and return the seconds of each stage, and of the whole process."""
    document = Path(folder) / "preflight.json"
    command = [sys.executable, "-m", "fatbin", "preflight", "--json", str(document), *libraries]
    seconds = measure.timed(command)
    if not document.exists():
        raise SystemExit("no preflight: " + " ".join(command))
    told = json.loads(document.read_text())["stages"]
    found = {stage["name"]: float(stage["seconds"]) for stage in told}
    return {**found, "whole process": seconds}


def main() -> None:
    """Print one row for each stage."""
    measure.say_where(_ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        rounds = [stages(sys.argv[1:], folder) for _ in range(_ROUNDS)]
    rows = []
    for name in rounds[0]:
        times = [one[name] for one in rounds if name in one]
        rows.append(
            (name, f"{statistics.median(times):.2f} s", f"{min(times):.2f} to {max(times):.2f} s")
        )
    measure.table(("stage", "median", "spread"), rows)


if __name__ == "__main__":
    main()
