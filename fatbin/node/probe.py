"""The modules of a file given to the real driver, in child processes that may crash or hang."""

from __future__ import annotations

import os

from fatbin.errors import DeviceError
from fatbin.judge.choice import Environment
from fatbin.judge.loader import Loader
from fatbin.limits import DEFAULT_LIMITS
from fatbin.node import sources
from fatbin.node.children import Child, TimedOut
from fatbin.node.codes import cuda_name, init_words
from fatbin.node.detect import detect
from fatbin.node.planning import Item, Plan, expected, plan, predict_opened, why_not
from fatbin.node.probe_records import GpuProbe, Probe, ProbeResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fatbin.judge.choice import Choice
    from fatbin.limits import Limits
    from fatbin.node.records import DetectedGpu, Detection

MOST_RESTARTS = 32
"""Child processes started anew on one GPU after a crash or a time-out; then the rest is left."""
START_SECONDS = 60.0
"""How long libcuda and the context of a GPU may take."""
_WORKER = "fatbin.node.probe_worker"


def probe(
    path: str | os.PathLike[str],
    *,
    gpu: int | str | None = None,
    jit: bool = False,
    names: bool = False,
    timeout: float = 60.0,
    limits: Limits = DEFAULT_LIMITS,
    detection: Detection | None = None,
) -> Probe:
    """Give the modules of a file to the driver of this machine, and compare with the prediction.

    Loading runs no kernel. It happens in child processes: this process gets no CUDA context and
    survives what a module does to the driver. Relocatable modules are never given to it; modules
    whose PTX it would compile only with ``jit``. What it compiles is not kept in its cache.

    Args:
        path: of the file; its format is told by content, as in :func:`fatbin.scan`.
        gpu: number of a GPU as CUDA counts, ``"all"``, or None for the first of each compute
            capability.
        jit: also modules that the driver compiles first, which can take minutes each.
        names: also the names of the kernels, as the driver enumerates them.
        timeout: seconds for one module.
        limits: bounds on what the file may make this function do.
        detection: from :func:`fatbin.detect`; None asks now.

    Returns:
        What happened to each module on each GPU; nothing is asked when there is no module.

    Raises:
        SourceError: the file cannot be read.
        UnknownFormatError: the file is none of the known formats.
        DeviceError: no GPU that CUDA can use, none of that number, or a driver that cannot start.
    """
    target = os.fspath(path)
    planned = plan(target, limits)
    if not planned.items:
        return Probe(target, issues=planned.issues)
    found = detect() if detection is None else detection
    return Probe(
        target,
        driver=found.driver,
        cuda_version=found.cuda_version,
        gpus=tuple(
            _OneGpu(planned, one, found, jit=jit, names=names, timeout=timeout, limits=limits).run()
            for one in _asked(found, gpu)
        ),
        issues=planned.issues,
    )


def _asked(found: Detection, gpu: int | str | None) -> tuple[DetectedGpu, ...]:
    """Return the GPUs that are meant.

    Raises:
        DeviceError: none that CUDA can use, or none of that number.
    """
    gpus = found.require_usable()
    if gpu == "all":
        return gpus
    if gpu is None:
        first = {one.compute_capability: one for one in reversed(gpus)}
        return tuple(one for one in gpus if first[one.compute_capability] is one)
    if isinstance(gpu, int) and 0 <= gpu < len(gpus):
        return (gpus[gpu],)
    raise DeviceError(
        f"expected the number of a GPU below {len(gpus)}, or all, found {gpu!r}",
        hint="fatbin detect lists them",
    )


class _OneGpu:
    """The modules on one GPU."""

    def __init__(
        self,
        planned: Plan,
        gpu: DetectedGpu,
        found: Detection,
        *,
        jit: bool,
        names: bool,
        timeout: float,
        limits: Limits,
    ) -> None:
        if gpu.compute_capability is None:
            raise DeviceError(f"libcuda does not say the compute capability of GPU {gpu}")
        self._plan = planned
        self._gpu = gpu
        self._names = names
        self._timeout = timeout
        self._limits = limits
        environment = Environment.of(os.environ)
        self._loader = Loader(gpu.compute_capability, found.judged_driver, environment)
        self._choices = [self._loader.choose(item.module) for item in planned.items]
        self._results: dict[int, ProbeResult] = {}
        self._left: list[int] = []
        for number, (item, choice) in enumerate(zip(planned.items, self._choices, strict=True)):
            reason = why_not(item.module, choice, jit=jit)
            if reason:
                self._results[number] = _result(item, choice, "skipped", reason)
            else:
                self._left.append(number)
        self._left.reverse()  # the next is the last

    def run(self) -> GpuProbe:
        """Give them to the driver, with a new process behind each that crashes or hangs.

        Raises:
            DeviceError: not even the first process comes as far as a context.
        """
        restarts = 0
        problem = ""
        while self._left and not problem:
            try:
                self._one_child()
            except DeviceError as exc:
                if not restarts:
                    raise
                problem = str(exc)
            if self._left:
                restarts += 1
                if restarts > MOST_RESTARTS:
                    problem = f"given up after {MOST_RESTARTS} crashes or time-outs"
        while self._left:
            self._put("not-tried", problem)
        results = tuple(result for _, result in sorted(self._results.items()))
        return GpuProbe(self._gpu, results, restarts)

    def _one_child(self) -> None:
        """Work until all is done, or until a module ends the process or its time."""
        request = {
            "library": sources.CUDA_LIBRARY,
            "device": self._gpu.number,
            "uuid": self._gpu.uuid.partition("-")[2],
            "names": self._names,
            "files": self._plan.files,
            "modules": [self._task(number) for number in reversed(self._left)],
        }
        # Compilations are not to be found warm next time, neither here nor by programs.
        variables = {"CUDA_CACHE_DISABLE": "1", **os.environ}
        with Child(_WORKER, request, env=variables) as child:
            _await_start(child)
            while self._left:
                try:
                    message = child.message(self._timeout)
                except TimedOut:
                    self._put("timed-out", f"timed out after {self._timeout:g} s")
                    return
                if message is None:
                    self._put("crashed", child.end() or "ended without an answer")
                    return
                self._take(message)

    def _task(self, number: int) -> tuple[int, int, int, int]:
        item = self._plan.items[number]
        return number, item.file, item.start + item.module.offset, item.module.size

    def _take(self, message: dict[str, Any]) -> None:
        """Keep what a module came to."""
        if "unreadable" in message:
            self._put("not-tried", message["unreadable"])
            return
        code, kernels = message["code"], message.get("kernels")
        name = message["name"] or cuda_name(code)
        said = f"{code} {name}" if code else "loaded"
        if message.get("library"):  # the two ways of loading have never been seen to differ
            said += f"; cuLibraryLoadData: {message['library']} {message['library_name']}".rstrip()
        number = self._left[-1]
        if code != expected(self._choices[number]):
            self._choices[number] = predict_opened(
                self._plan.items[number], self._plan.files, self._loader, self._limits
            )
        self._put(
            "refused" if code else "loaded",
            said,
            code=code,
            name=name,
            seconds=message["seconds"],
            kernels=kernels,
            kernel_names=tuple(message.get("names", ())),
        )

    def _put(self, status: str, said: str, **more: Any) -> None:  # noqa: ANN401 - fields
        number = self._left.pop()
        self._results[number] = _result(
            self._plan.items[number], self._choices[number], status, said, **more
        )


def _await_start(child: Child) -> None:
    """Wait until the context is there.

    Raises:
        DeviceError: it will not be.
    """
    try:
        message = child.message(START_SECONDS)
    except TimedOut:
        msg = f"the driver did not start within {START_SECONDS:g} s"
        raise DeviceError(msg) from None
    if message is None:
        raise DeviceError(f"the driver {child.end() or 'ended'} at its start")
    if "ready" not in message:
        code = message["code"]
        words = init_words(code, message["name"], message["failed"])
        what = f"{code} {words.name}: {words.words}" if code else message["failed"]
        raise DeviceError(
            f"{message['call']}: {what}",
            code=code,
            name=words.name if code else "",
            hint=words.hint if code else "",
        )


def _result(
    item: Item,
    choice: Choice,
    status: str,
    said: str,
    **more: Any,  # noqa: ANN401 - fields
) -> ProbeResult:
    predicted = expected(choice)
    agrees = None
    if status in ("loaded", "refused"):
        agrees = more["code"] == predicted
    elif status in ("crashed", "timed-out"):
        agrees = False
    return ProbeResult(
        location=item.location,
        offset=item.module.offset,
        place=item.module.place,
        form=item.module.form,
        predicted=predicted,
        how=choice.how,
        certainty=choice.certainty,
        status=status,
        said=said,
        agrees=agrees,
        **more,
    )
