"""What was seen on real GPUs is judged as people came to judge it.

Times, log lines and figures are those of an H200 with driver 580.159, NCCL 2.28.9 with torch 2.11,
and NCCL 2.26.2+cuda12.2 left with its relocatable PTX alone.
"""

from __future__ import annotations

import pytest

from fatbin import RankReport, SmokeOutcome, SmokePrediction, SmokeRound, SmokeStep
from fatbin.node.smoke.conclude import JIT_ACTION, NO_CODE_ACTION, conclude
from fatbin.node.smoke.nccl import summed_up
from fatbin.node.smoke.ranks import stack_lines
from fatbin.node.smoke.supervise import Watched

SYMBOL = (
    "NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:94, unhandled cuda error "
    "(run with NCCL_DEBUG=INFO for details), NCCL version 2.28.9\n"
    "ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\n"
    "Cuda failure 'named symbol not found'"
)
WARNING = "node:42:42 [1] enqueue.cc:1587 NCCL WARN Cuda failure 'named symbol not found'"
VERSION = "NCCL version 2.26.2+cuda12.2"


def steps(*names: str, checked: bool = False) -> tuple[SmokeStep, ...]:
    return tuple(SmokeStep(name, float(at), checked=checked) for at, name in enumerate(names))


def judged(*ranks: RankReport, limit: float = 0.0) -> SmokeRound:
    return conclude("eager", Watched(ranks, 60.0, limit > 0, limit))


HEALTHY = RankReport(
    0,
    steps=steps("init_process_group (eager)", "all_reduce SUM of 4,194,304 B"),
    stack=('  File "torch/cuda/__init__.py", line 1 in synchronize',),
    cores=1.0,
    cache=0,
)
WITHOUT_CODE = RankReport(
    1,
    steps=steps("init_process_group (eager)", "all_reduce SUM of 4,194,304 B"),
    error="DistBackendError",
    failed=SYMBOL,
    failed_at=1.3,
    warnings=(WARNING,),
    nccl=(WARNING,),
)


def test_one_rank_without_code_and_a_healthy_one_that_hangs() -> None:
    one = judged(HEALTHY, WITHOUT_CODE)
    assert (one.outcome, one.first, one.action) == (SmokeOutcome.FAIL, 1, NO_CODE_ACTION)
    assert one.reason == (
        "rank 1 failed first in all_reduce SUM of 4,194,304 B: DistBackendError: NCCL error in: "
        "/pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:94, unhandled cuda error (run with "
        "NCCL_DEBUG=INFO for details), NCCL version 2.28.9; ncclUnhandledCudaError: Call to CUDA "
        "function failed.; Last error: Cuda failure 'named symbol not found'"
    )
    assert one.signs == (
        "the words are those of a library without code for the GPU",
        "rank 0 did not fail: it waits in all_reduce SUM of 4,194,304 B",
    )


COMPILING = RankReport(
    0,
    steps=steps("init_process_group (eager)"),
    nccl=("node:7:7 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>", VERSION),
    cores=1.08,
    cache=1552,
)


def test_the_silent_hang_of_the_jit_link() -> None:
    one = judged(COMPILING, limit=580)
    assert (one.outcome, one.action) == (SmokeOutcome.TIMEOUT, JIT_ACTION)
    assert one.reason == "the rank gave no answer within 580 s, in init_process_group (eager)"
    assert one.signs == (
        (
            "one busy core, no NCCL line after the version, the compute cache grew by 1,552 B: the "
            "driver is compiling PTX"
        ),
    )


@pytest.mark.parametrize(
    ("changes", "sign"),
    [
        (
            {"cache": 0},
            "1.1 cores busy, no NCCL line after the version, the compute cache grew by 0",
        ),
        ({"cache": None}, "1.1 cores busy, no NCCL line after the version, no compute cache"),
        ({"cores": 0.01}, "is idle, no NCCL line after the version, the compute cache grew by 1,5"),
        ({"nccl": ()}, "one busy core, no line of NCCL's, the compute cache grew by 1,552 B"),
        (
            {"nccl": (VERSION, "node:7:7 [0] NCCL INFO Channel 00/24 : 0 1")},
            "one busy core, last NCCL line: Channel 00/24 : 0 1, the compute cache grew",
        ),
    ],
)
def test_signs_say_what_was_seen(changes: dict[str, object], sign: str) -> None:
    (told,) = judged(COMPILING._replace(**changes), limit=580).signs  # type: ignore[arg-type]
    assert sign in told
    assert ("compiling" in told) == told.startswith("one busy core")


def test_ranks_with_different_libraries() -> None:
    one = judged(HEALTHY._replace(library="/a/libnccl.so.2"), WITHOUT_CODE)
    assert "different" not in str(one.signs)
    one = judged(
        HEALTHY._replace(library="/a/libnccl.so.2"),
        WITHOUT_CODE._replace(library="/b/libnccl.so.2"),
    )
    assert one.signs[-1] == (
        "the ranks loaded different libraries: /a/libnccl.so.2 in rank 0; /b/libnccl.so.2 in rank 1"
    )
    result = summed_up([one], 2, lambda path: SmokePrediction(problem=path))
    assert (result.library, result.predicted.problem) == ("/b/libnccl.so.2", "/b/libnccl.so.2")


def test_the_earlier_failure_is_the_cause() -> None:
    later = WITHOUT_CODE._replace(rank=0, failed_at=2.0)
    assert judged(later, WITHOUT_CODE).first == 1
    assert judged(later._replace(failed_at=1.0), WITHOUT_CODE).first == 0


def test_a_crash_goes_before_the_error_that_it_brings_to_another_rank() -> None:
    crashed = RankReport(0, steps=HEALTHY.steps, ended="SIGSEGV", ended_at=1.5)
    closed = WITHOUT_CODE._replace(failed="connection closed by peer", warnings=(), failed_at=1.3)
    assert judged(crashed, closed).first == 0
    assert judged(crashed._replace(ended_at=9.0), closed).first == 1


def test_a_round_in_which_nothing_was_tried_is_no_pass() -> None:
    done = RankReport(0, steps=steps("init_process_group (eager)"), finished=True)
    assert judged(done).outcome is SmokeOutcome.FAIL
    tried = done._replace(steps=steps("all_reduce AVG of 1,024 B", checked=True))
    assert judged(tried).outcome is SmokeOutcome.PASS


def test_nobody_is_passed_by_another_ranks_pass() -> None:
    tried = RankReport(0, steps=steps("all_reduce", checked=True), finished=True)
    idle = RankReport(1, steps=steps("init_process_group (lazy)"), finished=True)
    assert judged(tried, idle).outcome is SmokeOutcome.FAIL


def test_a_failure_goes_before_a_skip() -> None:
    skipped = RankReport(0, skipped="torch is not installed")
    assert judged(skipped, WITHOUT_CODE).outcome is SmokeOutcome.FAIL
    assert judged(skipped, HEALTHY).outcome is SmokeOutcome.SKIPPED


def test_our_own_thread_is_not_in_the_stack() -> None:
    text = (
        "Thread 0x00007f01 (most recent call first):\n"
        '  File "fatbin.node.child_side", line 46 in _wait_for_parent\n'
        '  File "threading.py", line 1 in run\n'
        "\n"
        "Current thread 0x00007f02 (most recent call first):\n"
        '  File "torch/cuda/__init__.py", line 9 in synchronize\n'
    )
    assert stack_lines(text) == (
        "Current thread 0x00007f02 (most recent call first):",
        '  File "torch/cuda/__init__.py", line 9 in synchronize',
    )
    assert stack_lines("") == ()
    assert stack_lines("Fatal Python error: Segmentation fault\n\n" + text)[0].startswith("Fatal")
