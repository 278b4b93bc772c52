"""Smoke tests with a stand-in for torch, and what is left of their processes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fatbin import ComputeCapability, DetectedGpu, Detection
from fatbin.node.smoke import nccl
from fatbin.node.smoke.nccl import smoke_nccl
from fatbin.node.smoke.records import SmokeResult

FAKE = Path(__file__).resolve().parent / "fake_torch"
SIZE = 4096


def machine_with(gpus: int, cc: str = "9.0", name: str = "NVIDIA H200") -> Detection:
    """Return a machine as ``detect`` would."""
    return Detection(
        gpus=tuple(
            DetectedGpu(number, name, ComputeCapability.parse(cc), source="libcuda")
            for number in range(gpus)
        ),
        source="libcuda" if gpus else "",
        driver="580.159.04",
        cuda_version="13.0",
    )


def variables(faults: str = "", **more: str) -> dict[str, str]:
    """Return the variables of ranks that find the stand-in, and its faults."""
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(FAKE), "FAKE_TORCH": faults, **more}


def run(
    faults: str = "",
    *,
    ranks: int = 2,
    env: dict[str, str] | None = None,
    **options: Any,  # noqa: ANN401 - of smoke_nccl
) -> SmokeResult:
    """Run a job of two ranks; time is short."""
    options = {"timeout": 20.0, "start_timeout": 60.0, "size": SIZE, **options}
    options.setdefault("detection", machine_with(ranks))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nccl, "LEAST_SIZE", SIZE)  # the stand-in counts in Python
        return smoke_nccl(ranks=ranks, environment=variables(faults, **(env or {})), **options)


def children_of(parent: int) -> set[int]:
    """Return the processes that a process has started and that are still there."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue  # gone meanwhile
            if int(fields[1]) == parent and fields[0] != "Z":
                found.add(int(entry.name))
    return found


def is_there(pid: int) -> bool:
    """Tell whether a process runs; one that waits for its parent to take notice does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(what: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something is so; fail when it does not come."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


PYTHON = sys.executable
