"""Is this node ready: its GPUs, the libraries, the driver's answer, and NCCL tried for real.

Four stages, each with what it says in one line. A stage that fails does not stop the later ones,
which may tell more; without a GPU they would be pointless.
"""

from __future__ import annotations

import os
import time
from functools import partial

from fatbin._record import Record
from fatbin.errors import FatbinError
from fatbin.limits import DEFAULT_LIMITS
from fatbin.node.nccl_files import find_nccl
from fatbin.node.preflight_records import STAGES, Preflight, PreflightOutcome, PreflightStage, worst
from fatbin.node.preflight_stages import (
    ERROR,
    SKIPPED,
    check_stage,
    detect_stage,
    probe_stage,
    smoke_stage,
    wanted_files,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fatbin.limits import Limits
    from fatbin.node.nccl_files import NcclFile
    from fatbin.node.preflight_records import PreflightLibrary
    from fatbin.node.preflight_stages import Wanted
    from fatbin.node.probe_records import Probe
    from fatbin.node.records import Detection
    from fatbin.node.smoke.records import SmokeResult

NODE, IMAGE = "NODE_NAME", "IMAGE"
DEFAULT_TIMEOUT = 30.0
_NO_GPU = "pointless without a GPU that CUDA can use"
_NOT_ASKED = "not asked for"
_NO_FILE = "no library to look at"
_NO_CC = "the compute capability is not known"


class Tools(Record):
    """What asks the machine; others can be put in their place.

    Attributes:
        detect: takes ``timeout``.
        probe: takes a path, ``detection`` and ``timeout``.
        smoke: takes ``detection``, ``ranks``, ``timeout``, ``python`` and ``environment``.
        nccl: takes the variables and ``python``; returns the files in the order of the loader.
    """

    detect: Callable[..., Detection]
    probe: Callable[..., Probe]
    smoke: Callable[..., SmokeResult]
    nccl: Callable[..., tuple[NcclFile, ...]]

    @classmethod
    def real(cls) -> Tools:
        """Return the real ones."""
        from fatbin.node.detect import detect  # noqa: PLC0415 - the records need none of them
        from fatbin.node.probe import probe  # noqa: PLC0415
        from fatbin.node.smoke.nccl import smoke_nccl  # noqa: PLC0415

        return cls(detect, probe, smoke_nccl, find_nccl)


def preflight(
    targets: Iterable[str] = (),
    *,
    stages: Iterable[str] = STAGES,
    nccl: bool = True,
    ranks: int | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    jit: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    python: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    tools: Tools | None = None,
    entering: Callable[[str], object] = str,
) -> Preflight:
    """Say whether this node is ready for programs that use its GPUs.

    Args:
        targets: libraries to look at besides NCCL.
        stages: those that count; GPUs are looked for in any case.
        nccl: look at NCCL and try it.
        ranks: processes of that trial (default: one a GPU).
        timeout: seconds for each thing that is waited for: a source of ``detect``, a module of
            ``probe``, the job of ``smoke``.
        jit: of ``probe``: also load what the driver has to compile first; takes time.
        limits: bounds on what a library may make ``check`` and ``probe`` do.
        python: command of the Python that has torch (default: the one that runs this).
        environment: variables of the programs (default: those of this process).
        tools: what asks the machine; for tests.
        entering: called with the name of each stage as it begins.

    Returns:
        The outcome with its cause, and every stage.
    """
    return _Run(
        targets=tuple(targets),
        stages=tuple(stages),
        nccl=nccl,
        ranks=ranks,
        timeout=timeout,
        jit=jit,
        limits=limits,
        python=tuple(python),
        env=dict(os.environ if environment is None else environment),
        tools=tools or Tools.real(),
        entering=entering,
    ).preflight()


class _Run(Record):
    """What is asked for, and the stages one after the other."""

    targets: tuple[str, ...]
    stages: tuple[str, ...]
    nccl: bool
    ranks: int | None
    timeout: float
    jit: bool
    limits: Limits
    python: tuple[str, ...]
    env: dict[str, str]
    tools: Tools
    entering: Callable[[str], object]

    def preflight(self) -> Preflight:
        began = time.monotonic()
        self.entering("detect")
        detection = self.tools.detect(timeout=self.timeout)
        stages = [self._done(detect_stage(detection), began)]
        if "detect" not in self.stages:
            stages = [PreflightStage("detect", SKIPPED, said=_NOT_ASKED)]
        files: tuple[PreflightLibrary, ...] = ()
        if detection.usable:
            more, files = self._with_gpus(detection)
            stages += more
        else:
            stages += [self._left_out(name) for name in STAGES[1:]]
        outcome = worst(stage.outcome for stage in stages)
        deciding = next((stage for stage in stages if stage.outcome is outcome), None)
        told = deciding is not None and outcome is not PreflightOutcome.PASS
        return Preflight(
            outcome=outcome,
            cause=f"{deciding.name}: {deciding.said}" if deciding and told else "",
            action=deciding.action if deciding and told else "",
            node=self.env.get(NODE, ""),
            image=self.env.get(IMAGE, ""),
            gpus=tuple(
                f"{gpu.name} ({gpu.compute_capability or 'unknown'})" for gpu in detection.gpus
            ),
            driver=detection.driver,
            cuda_version=detection.cuda_version,
            libraries=files,
            stages=tuple(stages),
            seconds=time.monotonic() - began,
        )

    def _with_gpus(
        self, detection: Detection
    ) -> tuple[list[PreflightStage], tuple[PreflightLibrary, ...]]:
        trouble = ""
        try:
            nccl = self.tools.nccl(self.env, python=self.python) if self.nccl else None
        except FatbinError as exc:
            nccl, trouble = None, str(exc)
        wanted = wanted_files(nccl, self.targets)
        if trouble:
            wanted = wanted._replace(missing=trouble)
        files = wanted.files
        stages = []
        gpus = [gpu.gpu for gpu in detection.gpus if gpu.gpu is not None]
        if "check" in self.stages and gpus and (files or wanted.missing):
            began = self._enter("check")
            judged = check_stage(wanted, gpus, detection.judged_driver, self.env, self.limits)
            stages.append(self._done(judged.stage, began))
            files = judged.files
        else:
            stages.append(self._left_out("check", _NO_FILE if gpus else _NO_CC))
        if "probe" in self.stages and (files or wanted.missing):
            began = self._enter("probe")
            probe = partial(
                self.tools.probe,
                detection=detection,
                timeout=self.timeout,
                jit=self.jit,
                limits=self.limits,
            )
            stage = probe_stage(wanted, probe)
            stages.append(self._done(stage, began))
        else:
            stages.append(self._left_out("probe", _NO_FILE))
        stages.append(self._smoke(detection, wanted))
        return stages, files

    def _smoke(self, detection: Detection, wanted: Wanted) -> PreflightStage:
        if "smoke" not in self.stages or not self.nccl:
            return self._left_out("smoke", _NOT_ASKED)
        began = self._enter("smoke")
        try:
            result = self.tools.smoke(
                detection=detection,
                ranks=self.ranks,
                timeout=self.timeout,
                python=self.python,
                environment=self.env,
            )
        except FatbinError as exc:
            return self._done(PreflightStage("smoke", ERROR, said=str(exc), action=exc.hint), began)
        return self._done(smoke_stage(result, wanted.files), began)

    def _enter(self, name: str) -> float:
        self.entering(name)
        return time.monotonic()

    @staticmethod
    def _done(stage: PreflightStage, began: float) -> PreflightStage:
        return stage._replace(seconds=time.monotonic() - began)

    def _left_out(self, name: str, why: str = _NO_GPU) -> PreflightStage:
        return PreflightStage(name, SKIPPED, said=why if name in self.stages else _NOT_ASKED)
