"""The stages of a preflight: from what each tool says to an outcome and one line."""

from __future__ import annotations

from fatbin._record import Record
from fatbin.errors import FatbinError
from fatbin.node.nccl_files import SONAME
from fatbin.node.preflight_records import PreflightLibrary, PreflightOutcome, PreflightStage, worst

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from fatbin.judge.driver import Driver
    from fatbin.judge.gpu import Gpu
    from fatbin.judge.verdict import Verdict
    from fatbin.limits import Limits
    from fatbin.node.nccl_files import NcclFile
    from fatbin.node.probe_records import Probe
    from fatbin.node.records import Detection
    from fatbin.node.smoke.records import SmokeResult

PASS, WARN, FAIL = PreflightOutcome.PASS, PreflightOutcome.WARN, PreflightOutcome.FAIL
ERROR, NOTHING = PreflightOutcome.ERROR, PreflightOutcome.NOTHING
SKIPPED = PreflightOutcome.SKIPPED
_HOW = {
    "LD_PRELOAD": "NCCL by LD_PRELOAD",
    "torch": "NCCL of torch",
    "package": "NCCL of its package",
    "LD_LIBRARY_PATH": "NCCL by LD_LIBRARY_PATH",
    "system": "NCCL of the system",
}
NAMED = "named"


class Wanted(Record):
    """What is to be looked at.

    Attributes:
        files: NCCL first, then what was named.
        missing: what should be there and is not, in words; empty when all is.
    """

    files: tuple[PreflightLibrary, ...]
    missing: str = ""


def wanted_files(nccl: Sequence[NcclFile] | None, named: Sequence[str]) -> Wanted:
    """Put the libraries together: the NCCL that the loader takes, and those that were named."""
    files = [PreflightLibrary(file.path, _HOW[file.how]) for file in (nccl or ())[:1]]
    files += [PreflightLibrary(path, NAMED) for path in dict.fromkeys(named)]
    missing = f"no {SONAME} was found" if nccl is not None and not nccl else ""
    return Wanted(tuple(files), missing)


def detect_stage(detection: Detection) -> PreflightStage:
    """Say what comes of the detection.

    Without any sign of a GPU there is nothing to fail. A GPU that CUDA cannot use is a failure.
    """
    details = detection.to_dict()
    if detection.usable and detection.gpus:
        said = "1 GPU" if len(detection.gpus) == 1 else f"{len(detection.gpus)} GPUs"
        unknown = [gpu for gpu in detection.gpus if gpu.gpu is None]
        if unknown:
            said += f"; the compute capability of {unknown[0]} is not known"
        return PreflightStage("detect", WARN if unknown else PASS, said=said, details=details)
    error = detection.error()
    there = bool(detection.gpus) or any(
        attempt.ok for attempt in detection.attempts if attempt.source in _SIGNS
    )
    outcome = FAIL if there else NOTHING
    return PreflightStage("detect", outcome, said=error.message, action=error.hint, details=details)


_SIGNS = ("nvml", "nvidia-smi", "proc", "pci")


# check --------------------------------------------------------------------------------------------


class Judged(Record):
    """What a check came to.

    Attributes:
        stage: in one line.
        files: with what was read of them.
    """

    stage: PreflightStage
    files: tuple[PreflightLibrary, ...]


def check_stage(
    wanted: Wanted,
    gpus: Sequence[Gpu],
    driver: Driver | None,
    env: Mapping[str, str],
    limits: Limits,
) -> Judged:
    """Check each library for the GPUs and the driver that are there."""
    files, lines, documents = [], [], []
    for file in wanted.files:
        try:
            verdict = _verdict(file.path, gpus, driver, env, limits)
        except FatbinError as exc:
            files.append(file)
            lines.append(_Line(ERROR, str(exc), exc.hint))
            continue
        files.append(_described(file, verdict))
        lines.append(_of_verdict(file, verdict))
        documents.append(verdict.to_dict())
    if wanted.missing:
        lines.append(_Line(WARN, wanted.missing, "install NCCL, or leave it out with --no-nccl"))
    return Judged(_stage("check", lines, documents, _count(wanted.files)), tuple(files))


def _verdict(
    path: str,
    gpus: Sequence[Gpu],
    driver: Driver | None,
    env: Mapping[str, str],
    limits: Limits,
) -> Verdict:
    from fatbin.judge.check import check  # noqa: PLC0415 - only where there is a GPU
    from fatbin.scanning.targets import scan  # noqa: PLC0415

    return check(scan(path, limits=limits), gpus=gpus, driver=driver, environment=env)


def _described(file: PreflightLibrary, verdict: Verdict) -> PreflightLibrary:
    if len(verdict.libraries) != 1:
        return file._replace(outcome=verdict.outcome.value)
    (library,) = verdict.libraries
    return file._replace(
        version=library.version,
        sass=library.sass,
        ptx=library.ptx,
        outcome=verdict.outcome.value,
    )


def _of_verdict(file: PreflightLibrary, verdict: Verdict) -> _Line:
    from fatbin.judge.verdict import Severity  # noqa: PLC0415 - it is there already

    if verdict.outcome == "NOTHING":
        return _Line(WARN, f"{file.path} holds no device code")
    first = next((f for f in verdict.findings if f.severity is not Severity.NOTE), None)
    if first is None:
        return _Line(PASS)
    return _Line(
        PreflightOutcome(verdict.outcome.value), f"{first.code} {first.message}", first.action
    )


# probe --------------------------------------------------------------------------------------------


def probe_stage(wanted: Wanted, probe: Callable[[str], Probe]) -> PreflightStage:
    """Give the modules of each library to the driver.

    That some are refused is normal: libraries hold modules for other GPUs. A library of which the
    driver takes none does not run here.

    Args:
        wanted: the libraries.
        probe: what asks the driver about a file.
    """
    lines, documents = [], []
    for file in wanted.files:
        try:
            found = probe(file.path)
        except FatbinError as exc:
            lines.append(_Line(ERROR, str(exc), exc.hint))
            continue
        documents.append(found.to_dict())
        lines += _of_probe(file, found)
    if not wanted.files:
        lines.append(_Line(WARN, wanted.missing or "no library to probe"))
    return _stage("probe", lines, documents, _count(wanted.files))


def _of_probe(file: PreflightLibrary, found: Probe) -> list[_Line]:
    name = file.path.rpartition("/")[2]
    if not all(probed.results for probed in found.gpus) or not found.gpus:
        return [_Line(WARN, f"{name} holds no module to load")]
    lines = []
    for probed in found.gpus:
        tried, loaded = len(probed.tried), len(probed.having("loaded"))
        on = f"on GPU {probed.gpu}"
        broken = [r for r in probed.disagreements if r.status != "loaded" and not r.predicted]
        if tried and not loaded:
            said = f"the driver takes none of the {tried:,} modules of {name} {on}"
            first = probed.tried[0]
            action = "use a build with code for the GPU: fatbin check says what is missing"
            lines.append(_Line(FAIL, f"{said}: {first.said}", action))
        elif broken:
            first = broken[0]
            said = f"{len(broken):,} of {tried:,} modules of {name} should load and do not {on}"
            lines.append(_Line(FAIL, f"{said}: {first.said}", "fatbin probe lists them"))
        elif probed.having("not-tried"):
            first = probed.having("not-tried")[0]
            lines.append(_Line(WARN, f"not all modules of {name} were tried {on}: {first.said}"))
        elif probed.disagreements:
            said = (
                f"{len(probed.disagreements):,} of {tried:,} modules of {name} do not do what was"
            )
            lines.append(_Line(WARN, f"{said} predicted {on}", "fatbin probe lists them"))
        elif not tried:
            said = f"no module of {name} was tried {on}: {probed.results[0].said}"
            lines.append(_Line(WARN, said, "fatbin probe --jit tries what must be compiled"))
        else:
            lines.append(_Line(PASS, f"{loaded:,} of {tried:,} modules of {name} load {on}"))
    return lines


# smoke --------------------------------------------------------------------------------------------


def smoke_stage(result: SmokeResult, checked: Sequence[PreflightLibrary]) -> PreflightStage:
    """Say what comes of the trial of NCCL; nothing tried is no pass."""
    said, outcome, action = result.reason, _SMOKE[result.outcome.value], result.action
    if outcome is PASS:
        said = f"NCCL {result.library_version} works with {result.ranks} " + (
            "rank" if result.ranks == 1 else "ranks"
        )
        nccl = next((file for file in checked if file.how != NAMED), None)
        if nccl and result.library and not _same(nccl.path, result.library):
            outcome = WARN
            said += f"; torch loaded {result.library}, and {nccl.path} was checked"
            action = f"fatbin check {result.library}"
    return PreflightStage("smoke", outcome, said=said, action=action, details=result.to_dict())


_SMOKE = {"PASS": PASS, "FAIL": FAIL, "TIMEOUT": FAIL, "SKIPPED": WARN}


def _same(one: str, other: str) -> bool:
    import os  # noqa: PLC0415 - for this alone

    return os.path.realpath(one) == os.path.realpath(other)


# Lines --------------------------------------------------------------------------------------------


class _Line(Record):
    """What is to say about one library."""

    outcome: PreflightOutcome
    said: str = ""
    action: str = ""


def _stage(
    name: str, lines: Sequence[_Line], documents: list[Any], all_well: str
) -> PreflightStage:
    """Return the stage that lines come to: the worst is what it says."""
    outcome = worst(line.outcome for line in lines)
    deciding = [line for line in lines if line.outcome is outcome]
    said = next((line.said for line in deciding if line.said), all_well)
    if len(deciding) > 1 and outcome is not PASS:
        said += f" (and {len(deciding) - 1} more)"
    action = next((line.action for line in deciding if line.action), "")
    return PreflightStage(name, outcome, said=said, action=action, details=documents)


def _count(files: Sequence[PreflightLibrary]) -> str:
    return "1 library" if len(files) == 1 else f"{len(files)} libraries"
