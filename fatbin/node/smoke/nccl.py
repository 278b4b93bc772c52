"""The smoke test of NCCL: does the NCCL that torch loads here work on the GPUs that are here."""

from __future__ import annotations

import os
import sys
import time

from fatbin.errors import DeviceError, FatbinError
from fatbin.node.smoke.conclude import conclude
from fatbin.node.smoke.records import SmokeOutcome, SmokePrediction, SmokeResult
from fatbin.node.smoke.supervise import Limits, watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from fatbin.judge.driver import Driver
    from fatbin.judge.gpu import Gpu
    from fatbin.node.records import Detection
    from fatbin.node.smoke.records import SmokeRound

INITS = ("eager", "lazy")
DEFAULT_TIMEOUT = 30.0
DEFAULT_START_TIMEOUT = 120.0
DEFAULT_SIZE = 4 << 20
LEAST_SIZE, MOST_SIZE = 1 << 20, 1 << 30
"""Of messages, in bytes: known faults begin with 512 KiB (NVIDIA/nccl#1852, NVIDIA/nccl#2418)."""
LAUNCHER = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
"""Set by torchrun, all of them, for a process that is one rank of a larger job."""
_TORCHRUN_PREFIX = "TORCHELASTIC_"
_LOG_LEVELS = ("WARN", "INFO", "TRACE")
_RANKS = {
    SmokeOutcome.PASS: 0,
    SmokeOutcome.SKIPPED: 1,
    SmokeOutcome.TIMEOUT: 2,
    SmokeOutcome.FAIL: 3,
}


def smoke_nccl(
    *,
    detection: Detection | None = None,
    ranks: int | None = None,
    inits: Iterable[str] = ("eager",),
    timeout: float = DEFAULT_TIMEOUT,
    start_timeout: float = DEFAULT_START_TIMEOUT,
    size: int = DEFAULT_SIZE,
    python: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> SmokeResult:
    """Run a small job of NCCL's on this machine's GPUs and say what comes of it.

    torch is imported in child processes only, one a rank. None of them outlives this call, or this
    process.

    Args:
        detection: of this machine's GPUs; made here without it.
        ranks: how many processes, each with a GPU of its own (default: one a GPU).
        inits: ``eager`` makes NCCL's communicator at once (``device_id``), ``lazy`` at the first
            operation; each is a job of its own.
        timeout: seconds for a job, from the moment when all ranks have torch and their GPU.
        start_timeout: seconds until then.
        size: of the larger messages, in bytes: 1 MiB to 1 GiB, rounded down to whole floats.
        python: command of the Python that has torch (default: the one that runs this).
        environment: variables of the ranks (default: those of this process).

    Returns:
        The result. What cannot be tried here (no GPU, no torch, no NCCL) is SKIPPED, with why.

    Raises:
        DeviceError: the processes cannot be started, or a launcher's variable is no number.
        ValueError: a size outside these bounds.
    """
    size = message_size(size)
    began = time.monotonic()
    env = dict(os.environ if environment is None else environment)
    if not sys.platform.startswith("linux"):
        return SmokeResult(SmokeOutcome.SKIPPED, f"NCCL is for Linux, and this is {sys.platform}")
    if detection is None:
        from fatbin.node.detect import detect  # noqa: PLC0415 - not needed when it is given

        detection = detect()
    launched = all(env.get(name) for name in LAUNCHER)
    if launched:
        _require_numbers(env)
    count = 1 if launched else (ranks or len(detection.gpus))
    problem = _nothing_to_try(detection, count)
    if problem is not None:
        return problem
    rounds = []
    chosen = list(inits)
    for group in [chosen] if launched else [[init] for init in chosen]:
        requests = [
            _request(rank, count, group, size, env, launched=launched) for rank in range(count)
        ]
        watched = watch(
            requests,
            python=tuple(python) or (sys.executable,),
            env=_variables(env, launched=launched),
            limits=Limits(start_timeout, timeout),
        )
        rounds.append(conclude(", ".join(group), watched))
        if rounds[-1].outcome is SmokeOutcome.SKIPPED:
            break
    world = int(env["WORLD_SIZE"]) if launched else count
    result = summed_up(rounds, world, _predictor(detection, requests[0]["device"], count, env))
    return result._replace(seconds=time.monotonic() - began)


def message_size(size: int) -> int:
    """Return a size of messages in whole floats.

    Raises:
        ValueError: it is too small to show what is looked for, or larger than any GPU needs.
    """
    if not LEAST_SIZE <= size <= MOST_SIZE:
        raise ValueError(
            f"expected {LEAST_SIZE} to {MOST_SIZE} bytes, found {size}: faults begin at 512 KiB"
        )
    return size // 4 * 4


def _require_numbers(env: Mapping[str, str]) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        if not (env[name].isascii() and env[name].isdigit()):
            raise DeviceError(f"expected a number in {name}, found {env[name][:40]!r}")


def _nothing_to_try(detection: Detection, count: int) -> SmokeResult | None:
    if not detection.usable:
        error = detection.error()
        return SmokeResult(SmokeOutcome.SKIPPED, error.message, error.hint)
    if count > len(detection.gpus):
        have = "1 GPU" if len(detection.gpus) == 1 else f"{len(detection.gpus)} GPUs"
        return SmokeResult(
            SmokeOutcome.SKIPPED,
            f"{count} ranks need a GPU each, and this machine has {have}",
            ranks=count,
        )
    return None


def _request(
    rank: int, count: int, inits: list[str], size: int, env: Mapping[str, str], *, launched: bool
) -> dict[str, Any]:
    return {
        "rank": rank,
        "ranks": count,
        "device": int(env["LOCAL_RANK"]) if launched else rank,
        "inits": inits,
        "size": size,
        "launched": launched,
    }


def _variables(env: dict[str, str], *, launched: bool) -> dict[str, str]:
    """Return the variables of the ranks: NCCL logs, to where it can be seen."""
    kept = {
        name: value
        for name, value in env.items()
        if name != "NCCL_DEBUG_FILE"
        and (launched or (name not in LAUNCHER and not name.startswith(_TORCHRUN_PREFIX)))
    }
    if kept.get("NCCL_DEBUG", "").upper() not in _LOG_LEVELS:
        kept["NCCL_DEBUG"] = "INFO"
    return kept


def summed_up(
    rounds: Sequence[SmokeRound], ranks: int, predict: Callable[[str], SmokePrediction]
) -> SmokeResult:
    """Put rounds together; the worst one decides.

    Args:
        rounds: at least one.
        ranks: how many ranks the job had.
        predict: what makes a :class:`SmokePrediction` of the path of the library.
    """
    worst = max(rounds, key=lambda r: _RANKS[r.outcome])
    seen = [rank for one in rounds for rank in one.ranks]
    if worst.first >= 0:
        seen.insert(0, worst.ranks[worst.first])  # what it loaded is what matters
    library = next((rank.library for rank in seen if rank.library), "")
    prefix = f"{worst.init}: " if worst.reason and len(rounds) > 1 else ""
    return SmokeResult(
        outcome=worst.outcome,
        reason=prefix + worst.reason,
        action=worst.action,
        ranks=ranks,
        torch=next((rank.torch for rank in seen if rank.torch), ""),
        library=library,
        library_version=next((rank.library_version for rank in seen if rank.library_version), ""),
        predicted=predict(library) if library else SmokePrediction(problem="no libnccl was seen"),
        rounds=tuple(rounds),
        seconds=sum(one.seconds for one in rounds),
    )


def _predictor(
    detection: Detection, first: int, count: int, env: Mapping[str, str]
) -> Callable[[str], SmokePrediction]:
    gpus = [gpu.gpu for gpu in detection.gpus[first : first + count] if gpu.gpu is not None]

    def of(path: str) -> SmokePrediction:
        return predict(path, gpus, detection.judged_driver, env)

    return of


def predict(
    path: str, gpus: Sequence[Gpu], driver: Driver | None, env: Mapping[str, str]
) -> SmokePrediction:
    """Check a library for GPUs, and keep what a report of a smoke test shows."""
    from fatbin.judge.check import check  # noqa: PLC0415 - only after a job
    from fatbin.judge.verdict import Severity  # noqa: PLC0415
    from fatbin.scanning.targets import scan  # noqa: PLC0415

    try:
        verdict = check(scan(path), gpus=gpus, driver=driver, environment=env)
    except FatbinError as exc:
        return SmokePrediction(problem=str(exc))
    told = [f for f in verdict.findings if f.severity is not Severity.NOTE]
    library = verdict.libraries[0] if verdict.libraries else None
    return SmokePrediction(
        outcome=verdict.outcome.value,
        gpus=verdict.gpus,
        version=library.version if library else "",
        sass=library.sass if library else (),
        ptx=library.ptx if library else (),
        findings=tuple(f"{f.code} {f.message}" for f in told),
        action=next((f.action for f in told if f.action), ""),
    )
