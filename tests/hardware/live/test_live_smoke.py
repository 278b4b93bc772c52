"""NCCL tried on real GPUs: python -m pytest tests/hardware/live/test_live_smoke.py.

``FATBIN_RECORD=folder`` keeps what was seen, for ``tests/node/recorded``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from job import children_of, is_there, wait_for
from nccl_live import HANG, environment, record, stock_nccl
from support import ROOT, require

from fatbin import Detection
from fatbin.node.smoke.nccl import smoke_nccl
from fatbin.node.smoke.records import SmokeOutcome, SmokeResult

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("torch_is_here")]
INITS = ("eager", "lazy")
KERNELS = {
    1: {"all_reduce AVG", "all_reduce PREMUL_SUM", "send and receive"},
    2: {"all_reduce SUM", "broadcast", "all_gather", "send and receive"},
}


@pytest.fixture(autouse=True)
def nobody_is_left() -> object:
    yield
    assert children_of(os.getpid()) == set()


def ranks_or_skip(here: Detection, ranks: int) -> int:
    if ranks > len(here.gpus):
        require("gpus", f"{ranks} GPUs are needed, and there are {len(here.gpus)}")
    return ranks


def begins(result: SmokeResult) -> set[str]:
    """Return the operations that were checked, without their sizes."""
    names = (s.name for one in result.rounds for r in one.ranks for s in r.steps if s.checked)
    return {
        name.partition(" of ")[0] if " of " in name else " ".join(name.split()[:3])
        for name in names
    }


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("ranks", [1, 2, 0])
def test_the_nccl_of_torch_works(here: Detection, ranks: int, init: str) -> None:
    count = ranks_or_skip(here, ranks or len(here.gpus))
    result = smoke_nccl(detection=here, ranks=count, inits=(init,), timeout=60)
    record(f"smoke_stock_{count}_{init}", result.to_dict())
    assert result.outcome is SmokeOutcome.PASS, result
    assert os.path.samefile(result.library, stock_nccl())
    assert result.library_version.startswith("2.")
    assert result.predicted.outcome == "PASS", result.predicted
    assert result.predicted.version.startswith(result.library_version)
    assert begins(result) == KERNELS[min(count, 2)]
    for rank in result.rounds[0].ranks:
        assert (
            rank.gpu == f"{here.gpus[rank.rank].name} ({here.gpus[rank.rank].compute_capability})"
        )
        assert any("NCCL" in line for line in rank.nccl)


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("ranks", [1, 2])
def test_an_nccl_without_code_fails(here: Detection, copy: Path, ranks: int, init: str) -> None:
    count = ranks_or_skip(here, ranks)
    result = smoke_nccl(
        detection=here,
        ranks=count,
        inits=(init,),
        timeout=60,
        environment=environment(LD_PRELOAD=str(copy)),
    )
    record(f"smoke_without_code_{count}_{init}", result.to_dict())
    assert result.outcome is SmokeOutcome.FAIL, result
    (one,) = result.rounds
    assert "all_reduce" in one.ranks[one.first].step
    assert "ncclUnhandledCudaError" in result.reason
    assert "named symbol not found" in result.reason
    assert one.signs[0] == "the words are those of a library without code for the GPU"
    assert os.path.samefile(result.library, copy)
    assert result.predicted.outcome == "FAIL"
    assert result.predicted.findings[0].startswith(("FB101", "FB102"))
    assert result.seconds < 60


def test_the_healthy_rank_is_not_blamed(here: Detection, copy: Path, tmp_path: Path) -> None:
    ranks_or_skip(here, 2)
    program = tmp_path / "python"
    program.write_text(
        "#!/bin/sh\n"
        f"if mkdir {tmp_path}/first 2>/dev/null; then export LD_PRELOAD={copy}; fi\n"
        f'exec {sys.executable} "$@"\n'
    )
    program.chmod(0o755)
    began = time.monotonic()
    result = smoke_nccl(detection=here, ranks=2, timeout=60, python=(str(program),))
    record("smoke_one_of_two_without_code", result.to_dict())
    assert result.outcome is SmokeOutcome.FAIL, result
    assert time.monotonic() - began < 60
    (one,) = result.rounds
    failed, healthy = one.ranks[one.first], one.ranks[1 - one.first]
    assert "named symbol not found" in result.reason
    assert failed.broke
    assert not healthy.broke
    assert not healthy.finished
    assert any("in all_reduce" in line or "synchronize" in line for line in healthy.stack)
    assert f"rank {healthy.rank} did not fail: it waits in {healthy.step}" in one.signs
    assert one.signs[-1].startswith("the ranks loaded different libraries: ")
    assert os.path.samefile(result.library, copy)
    assert result.predicted.outcome == "FAIL"


def test_a_rank_that_never_returns_ends_with_the_time(here: Detection, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HANG)
    began = time.monotonic()
    result = smoke_nccl(
        detection=here,
        timeout=8,
        environment=environment(PYTHONPATH=str(tmp_path)),
    )
    record("smoke_never_returns", result.to_dict())
    assert result.outcome is SmokeOutcome.TIMEOUT, result
    assert time.monotonic() - began < 120
    assert result.reason.startswith(("rank 0 gave no answer within 8 s, in all_reduce", "the rank"))
    for rank in result.rounds[0].ranks:
        assert any("in never" in line for line in rank.stack)
        assert rank.cores is not None
    assert "compute cache" in result.rounds[0].signs[0]


def maps_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return ""  # gone meanwhile


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_real_ranks_end_with_their_parent(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "sitecustomize.py").write_text(HANG)
    process = subprocess.Popen(
        [sys.executable, "-m", "fatbin", "smoke", "nccl", "--timeout", "300"],
        cwd=ROOT,
        env=environment(PYTHONPATH=f"{tmp_path}:{ROOT}"),
        stdout=subprocess.DEVNULL,
    )

    def on_gpu() -> bool:
        return any("libnccl" in maps_of(pid) for pid in children_of(process.pid))

    wait_for(on_gpu, 120)
    time.sleep(3)
    pids = children_of(process.pid)
    process.send_signal(how)
    process.wait(30)
    wait_for(lambda: not any(map(is_there, pids)), 30)
    assert pids


def test_nothing_can_be_written_and_there_is_no_home(here: Detection) -> None:
    env = environment(TMPDIR="/proc", HOME="/nonexistent", CUDA_CACHE_PATH="/proc/none")
    result = smoke_nccl(detection=here, timeout=60, environment=env)
    assert result.outcome is SmokeOutcome.PASS, result
