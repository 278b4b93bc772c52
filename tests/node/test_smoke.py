"""The smoke test of NCCL, on a stand-in for torch: every way to fail ends in time and is named."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from job import PYTHON, children_of, machine_with, run
from support import FIXTURES, require

from fatbin import Detection, DeviceError
from fatbin.node.smoke.records import SmokeOutcome, SmokeResult, SmokeRound

if not sys.platform.startswith("linux"):
    pytest.skip("NCCL is for Linux", allow_module_level=True)


@pytest.fixture(autouse=True)
def nobody_is_left() -> object:
    """No process outlives a smoke test, whatever came of it."""
    before = children_of(os.getpid())  # other tests may have made pools of processes
    yield
    assert children_of(os.getpid()) <= before


def only(result: SmokeResult) -> SmokeRound:
    (one,) = result.rounds
    return one


# It works -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("init", ["eager", "lazy"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_job_that_works_passes(ranks: int, init: str) -> None:
    result = run(ranks=ranks, inits=(init,))
    assert result.outcome is SmokeOutcome.PASS, result
    assert (result.reason, result.action, result.ranks) == ("", "", ranks)
    assert (result.torch, result.library_version) == ("9.9.9+fake", "2.28.9")
    one = only(result)
    assert [rank.rank for rank in one.ranks] == list(range(ranks))
    assert all(rank.finished and rank.gpu == "NVIDIA H200 (9.0)" for rank in one.ranks)
    assert f"init_process_group ({init})" in [step.name for step in one.ranks[0].steps]


def checked(result: SmokeResult) -> list[str]:
    return [step.name for step in only(result).ranks[0].steps if step.checked]


def test_one_rank_does_what_launches_a_kernel_and_nothing_else() -> None:
    assert checked(run(ranks=1)) == [
        "all_reduce AVG of 1,024 B",
        "all_reduce PREMUL_SUM of 4,096 B",
        "send and receive 4,096 B to itself",
    ]


def test_several_ranks_use_small_and_large_messages() -> None:
    assert checked(run()) == [
        "all_reduce SUM of 1,024 B",
        "all_reduce SUM of 4,096 B",
        "broadcast of 4,096 B",
        "all_gather of 1,024 B",
        "send and receive 1,024 B in a ring",
    ]


def test_both_ways_are_two_jobs() -> None:
    result = run(inits=("eager", "lazy"))
    assert [(one.init, str(one.outcome)) for one in result.rounds] == [
        ("eager", "PASS"),
        ("lazy", "PASS"),
    ]


def test_a_fault_of_one_way_is_told_with_its_name() -> None:
    result = run("raise@lazy", inits=("eager", "lazy"))
    assert [str(one.outcome) for one in result.rounds] == ["PASS", "FAIL"]
    assert result.reason.startswith("lazy: rank ")


def test_noise_of_libraries_is_no_message() -> None:
    result = run("noise@init_process_group,noise@all_reduce", ranks=1)
    assert result.outcome is SmokeOutcome.PASS
    (rank,) = only(result).ranks
    assert "a library prints this to standard output" in rank.errors
    assert rank.checked == 3


def test_the_library_that_is_loaded_is_checked_for_the_gpu() -> None:
    library = FIXTURES / "lib_1arch.so"
    copy = {"FAKE_LIBRARY": str(library)}
    assert run(ranks=1, env=copy).predicted.problem == "no libnccl was seen"  # of another name


@pytest.mark.parametrize(("gpu", "outcome"), [("8.0", "PASS"), ("12.0", "WARN"), ("7.5", "FAIL")])
def test_prediction_beside_what_happened(tmp_path: Path, gpu: str, outcome: str) -> None:
    library = tmp_path / "libnccl.so.2"
    library.write_bytes((FIXTURES / "lib_1arch.so").read_bytes())
    result = run(ranks=1, env={"FAKE_LIBRARY": str(library)}, detection=machine_with(1, gpu, ""))
    assert result.library == str(library)
    assert (result.predicted.outcome, result.predicted.gpus) == (outcome, (gpu,))
    assert (result.predicted.sass, result.outcome) == (("sm_80",), SmokeOutcome.PASS)
    assert bool(result.predicted.findings) == (outcome != "PASS")


# It fails -----------------------------------------------------------------------------------------


def test_a_wrong_value_is_a_failure() -> None:
    result = run("1:wrong@broadcast")
    assert result.outcome is SmokeOutcome.FAIL
    assert result.reason == (
        "rank 1 failed first in broadcast of 4,096 B: wrong value: number 3 is 5, expected 4; "
        "1 of 1,024 are wrong"
    )


@pytest.mark.parametrize(
    ("place", "step"),
    [
        ("import", "importing torch"),
        ("device", "opening GPU 0"),
        ("init_process_group", "init_process_group (eager)"),
        ("all_reduce", "all_reduce AVG of 1,024 B"),
        ("batch_isend_irecv", "send and receive 4,096 B to itself"),
        ("destroy_process_group", "destroy_process_group"),
    ],
)
def test_an_exception_names_its_step_and_what_nccl_said(place: str, step: str) -> None:
    result = run(f"raise@{place}", ranks=1)
    assert result.outcome is SmokeOutcome.FAIL
    assert result.reason.startswith(f"the rank failed in {step}: DistBackendError: NCCL error in")
    assert "ncclUnhandledCudaError" in result.reason
    (rank,) = only(result).ranks
    assert rank.warnings[0].endswith("NCCL WARN Cuda failure 'named symbol not found'")
    assert only(result).signs == ("the words are those of a library without code for the GPU",)
    assert "fatbin check" in result.action


def test_a_rank_that_waits_for_a_failed_one_is_ended_and_not_blamed() -> None:
    began = time.monotonic()
    result = run("0:hang@broadcast,1:raise@broadcast", timeout=60)
    assert time.monotonic() - began < 30
    assert result.outcome is SmokeOutcome.FAIL
    assert only(result).first == 1
    assert result.reason.startswith("rank 1 failed first in broadcast of 4,096 B: DistBackendError")
    assert "rank 0 did not fail: it waits in broadcast of 4,096 B" in only(result).signs
    healthy = only(result).ranks[0]
    assert not healthy.broke
    assert any("in _hang" in line for line in healthy.stack)


def test_a_crash_is_named_by_its_signal_with_the_stack() -> None:
    result = run("1:segv@all_reduce,0:hang@all_reduce")
    assert result.outcome is SmokeOutcome.FAIL
    assert result.reason == (
        "rank 1 failed first in all_reduce SUM of 1,024 B: the process ended with SIGSEGV"
    )
    assert any("in _segv" in line for line in only(result).ranks[1].stack)


def test_an_exit_without_a_word_is_a_failure() -> None:
    result = run("exit@all_reduce", ranks=1)
    assert result.outcome is SmokeOutcome.FAIL
    assert result.reason.endswith(": the process ended with exit code 7")


# It hangs -----------------------------------------------------------------------------------------


def test_a_hang_ends_with_the_time_and_shows_where_it_is() -> None:
    began = time.monotonic()
    result = run("hang@broadcast", timeout=1)
    assert time.monotonic() - began < 30
    assert result.outcome is SmokeOutcome.TIMEOUT
    assert result.reason == "rank 0 gave no answer within 1 s, in broadcast of 4,096 B"
    for rank in only(result).ranks:
        assert any("in _hang" in line for line in rank.stack)
        assert not any("_wait_for_parent" in line for line in rank.stack)
        assert rank.cores is not None
        assert rank.cores < 0.5
    assert only(result).signs[0].startswith("rank 0 is idle, no NCCL line after the version")


def test_the_rank_that_got_least_far_is_named() -> None:
    result = run("1:hang@init_process_group,0:hang@broadcast", timeout=1)
    assert only(result).first == 1
    assert result.reason == "rank 1 gave no answer within 1 s, in init_process_group (eager)"
    assert "rank 0 did not fail: it waits in broadcast of 4,096 B" in only(result).signs


def test_the_driver_that_compiles_is_recognised(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    result = run("busy@eager", ranks=1, timeout=2, env={"CUDA_CACHE_PATH": str(cache)})
    assert result.outcome is SmokeOutcome.TIMEOUT
    (sign,) = only(result).signs
    (rank,) = only(result).ranks
    assert rank.cache is not None
    assert rank.cache >= 160
    assert sign == (
        f"one busy core, no NCCL line after the version, the compute cache grew by {rank.cache:,} B: "
        "the driver is compiling PTX"
    )
    assert "machine code" in result.action


def test_a_busy_rank_without_a_growing_cache_is_not_said_to_compile(tmp_path: Path) -> None:
    env = {"CUDA_CACHE_PATH": str(tmp_path / "cache")}
    result = run("spin@broadcast,1:spin@broadcast", ranks=1, timeout=1, env=env)
    assert result.outcome is SmokeOutcome.PASS  # one rank has no broadcast
    result = run("spin@all_reduce", ranks=1, timeout=1, env=env)
    (sign,) = only(result).signs
    assert "cores busy, no NCCL line after the version, the compute cache grew by 0 B" in sign
    assert "compiling" not in sign


def test_importing_torch_has_its_own_time() -> None:
    result = run("1:hang@import,hang@device", start_timeout=1.5, timeout=60)
    assert result.outcome is SmokeOutcome.TIMEOUT
    assert result.reason == "rank 0 gave no answer within 1.5 s, in opening GPU 0"


def test_a_python_that_never_starts_is_ended_too(tmp_path: Path) -> None:
    sleeper = tmp_path / "python"
    sleeper.write_text(f"#!/bin/sh\nexec {PYTHON} -c 'import time; time.sleep(3600)'\n")
    sleeper.chmod(0o755)
    result = run(ranks=1, start_timeout=1, python=(str(sleeper),))
    assert result.reason == "the rank gave no answer within 1 s, in starting Python"


# Nothing to try -----------------------------------------------------------------------------------


def skipped(result: SmokeResult) -> str:
    assert result.outcome is SmokeOutcome.SKIPPED
    return result.reason


def test_no_torch() -> None:
    env = {"PYTHONPATH": ""}
    assert skipped(run(env=env, python=(PYTHON, "-S"))) == f"torch is not installed for {PYTHON}"


@pytest.mark.parametrize(
    ("lacks", "reason"),
    [
        ("nccl", "torch 9.9.9+fake has no NCCL"),
        ("distributed", "torch 9.9.9+fake has no NCCL"),
        ("gpu", "torch 9.9.9+fake finds no GPU"),
        ("hip", "torch 9.9.9+fake is built for AMD GPUs"),
    ],
)
def test_a_torch_that_cannot(lacks: str, reason: str) -> None:
    assert skipped(run(env={"FAKE_LACKS": lacks})) == reason


def test_torch_sees_fewer_gpus_than_there_are() -> None:
    reason = skipped(run(env={"FAKE_GPUS": "1"}))
    assert reason == "GPU 1 is wanted, and torch counts 1 from 0"


def test_no_gpu() -> None:
    reason = skipped(run(detection=Detection()))
    assert reason.startswith("no GPU that CUDA can use")


def test_more_ranks_than_gpus() -> None:
    reason = skipped(run(detection=machine_with(1), ranks=2))
    assert reason == "2 ranks need a GPU each, and this machine has 1 GPU"


def test_no_python_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="cannot be started"):
        run(python=(str(tmp_path / "none"),))


# Where it runs ------------------------------------------------------------------------------------


def test_nothing_can_be_written_and_there_is_no_home() -> None:
    env = {"TMPDIR": "/proc", "XDG_CACHE_HOME": "/proc"}  # not even root can write there
    assert run(env=env).outcome is SmokeOutcome.PASS


def test_no_port_on_the_host() -> None:
    assert run(ranks=1, env={"FAKE_LACKS": "port"}).outcome is SmokeOutcome.PASS
    folder = Path("/dev", "shm")
    if not os.access(folder, os.W_OK):
        require("shm", f"{folder} cannot be written")
    before = set(folder.iterdir())
    env = {"FAKE_LACKS": "port", "TMPDIR": "/proc"}
    result = run(env=env)
    assert result.outcome is SmokeOutcome.PASS
    made = {path for path in set(folder.iterdir()) - before if "fatbin-smoke" in path.name}
    assert made == set()


def test_a_launcher_makes_this_process_one_rank_of_its_job() -> None:
    launcher = {
        "RANK": "5",
        "WORLD_SIZE": "8",
        "LOCAL_RANK": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "1",
    }
    result = run(env=launcher, inits=("eager", "lazy"), detection=machine_with(2))
    assert (result.outcome, result.ranks) == (SmokeOutcome.PASS, 8)
    one = only(result)
    assert one.init == "eager, lazy"
    steps = [step.name for step in one.ranks[0].steps]
    assert "opening GPU 1" in steps
    assert "eager: all_reduce SUM of 4,096 B" in steps
    assert "lazy: all_reduce SUM of 4,096 B" in steps
    assert steps[-1] == "leaving together"


@pytest.mark.parametrize("name", ["RANK", "WORLD_SIZE", "LOCAL_RANK"])
def test_a_launcher_that_gives_no_number_is_an_error(name: str) -> None:
    launcher = dict.fromkeys(
        ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"), "1"
    )
    with pytest.raises(DeviceError, match=f"expected a number in {name}, found 'x'"):
        run(env={**launcher, name: "x"})


def test_half_a_launcher_is_none() -> None:
    assert run(env={"RANK": "5", "WORLD_SIZE": "8"}, ranks=1).ranks == 1


@pytest.mark.parametrize(("given", "lines"), [("", 2), ("VERSION", 2), ("WARN", 0)])
def test_nccl_logs_and_the_log_is_seen(given: str, lines: int) -> None:
    result = run(ranks=1, env={"NCCL_DEBUG": given, "NCCL_DEBUG_FILE": "/proc/none"})
    assert len(only(result).ranks[0].nccl) == lines
