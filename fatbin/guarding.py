"""The guard: a check inside a program, before it makes its first communicator.

``fatbin.guard()`` finds the libraries that this process loads or would load, looks what GPUs it has
and judges them as ``fatbin check`` does. What passed once is remembered, so that the next process
with the same files on the same machine pays a few milliseconds.
"""

from __future__ import annotations

import os
import sys

from fatbin._record import Record
from fatbin.errors import CheckFailed, FatbinError, PolicyError, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from logging import Logger

    from fatbin.inventory import Inventory
    from fatbin.judge.driver import Driver
    from fatbin.judge.gpu import Gpu
    from fatbin.judge.verdict import Verdict
    from fatbin.node.loading import FoundLibrary

__all__ = ["Guarded", "Machine", "guard", "ray_setup_hook"]

MODE, GPUS, DRIVER = "FATBIN_GUARD", "FATBIN_GPUS", "FATBIN_DRIVER"
MODES = ("off", "warn", "fail")
NCCL = "libnccl.so.2"
_NO_GPU = ("", "-1", "none", "NoDevFiles")
"""Values of CUDA_VISIBLE_DEVICES with which a process sees no GPU."""
SIGNS = (
    "/proc/driver/nvidia/version",
    "/dev/nvidiactl",
    "/dev/dxg",  # WSL
    "/dev/nvmap",  # Tegra
    "/etc/nv_tegra_release",
)
"""Files of Linux machines with a driver of NVIDIA; where there is none, nothing is asked."""


class Machine(Record):
    """What a process runs on.

    Attributes:
        gpus: that it sees.
        driver: its driver; None when not known.
    """

    gpus: tuple[Gpu, ...] = ()
    driver: Driver | None = None


class Guarded(Record):
    """What the guard did.

    Attributes:
        state: ``passed``, ``remembered`` (passed before), ``warned`` (it did not pass, and the mode
            is ``warn``), ``skipped`` (nothing to check) or ``off``.
        reason: in words.
        libraries: the files that were looked at.
        verdict: None unless they were judged now.
    """

    state: str
    reason: str
    libraries: tuple[str, ...] = ()
    verdict: Verdict | None = None


def guard(
    libraries: Iterable[str] = (NCCL,),
    *,
    gpus: str | Iterable[str] | None = None,
    driver: str | None = None,
    mode: str | None = None,
    detect: Callable[[], Machine] | None = None,
) -> Guarded:
    """Check the libraries of this process for its GPUs, and raise when they do not run there.

    Call it before ``init_process_group`` or whatever loads NCCL. A process without a GPU is left
    alone, whatever FATBIN_GPUS says. FATBIN_GUARD (``off``, ``warn`` or ``fail``) goes over
    ``mode``; FATBIN_GPUS and FATBIN_DRIVER stand in for ``gpus`` and ``driver``.

    Args:
        libraries: names such as ``libnccl.so.2``, which are looked for as this process would, or
            paths.
        gpus: to check for; None for those that this process has.
        driver: likewise.
        mode: ``fail`` (default), ``warn`` or ``off``.
        detect: finds out what this process runs on; the default asks in a child process.

    Returns:
        What was done.

    Raises:
        CheckFailed: a library does not run on a GPU, in mode ``fail``.
        SourceError: a path that does not exist or cannot be read, in mode ``fail``.
        PolicyError: a mode that there is not.
    """
    chosen = os.environ.get(MODE) or mode or "fail"
    if chosen not in MODES:
        raise PolicyError(f"expected one of {', '.join(MODES)}, found {chosen!r}", location=MODE)
    log = _log()
    if chosen == "off":
        return _done(log, "off", f"{MODE}=off")
    try:
        return _guard(libraries, gpus, driver, detect, log)
    except FatbinError as exc:
        if chosen == "fail":
            raise
        log.warning("fatbin: %s", exc)
        return Guarded("warned", str(exc))


def ray_setup_hook() -> None:
    """Guard a worker of Ray: the ``worker_process_setup_hook`` of a ``runtime_env``.

    Ray takes the function, or the text ``"fatbin.ray_setup_hook"``.

    Raises:
        CheckFailed: as :func:`guard`.
    """
    guard()


def _log() -> Logger:
    from logging import getLogger  # noqa: PLC0415 - import fatbin must stay light

    return getLogger("fatbin")


def _done(log: Logger, state: str, reason: str, libraries: Sequence[str] = ()) -> Guarded:
    log.debug("guard %s: %s", state, reason)
    return Guarded(state, reason, tuple(libraries))


def _guard(
    libraries: Iterable[str],
    gpus: str | Iterable[str] | None,
    driver: str | None,
    detect: Callable[[], Machine] | None,
    log: Logger,
) -> Guarded:
    from functools import cache, partial  # noqa: PLC0415 - import fatbin must stay light

    from fatbin.node import remembered  # noqa: PLC0415 - only the guard needs it

    asked = gpus if gpus is None or isinstance(gpus, str) else ", ".join(gpus)
    reason = _no_gpu(detect) if asked is None else ""
    if reason:
        return _done(log, "skipped", reason)
    asked = asked or os.environ.get(GPUS) or None
    driver = driver or os.environ.get(DRIVER) or None
    found = _found(libraries, log)
    if not found:
        return _done(log, "skipped", "none of the libraries is installed")
    paths = [library.path for library in found]
    machine = asked or remembered.machine_identity()
    key = _key(paths, machine, driver or "") if machine else []
    if key and remembered.recall(key):
        return _done(log, "remembered", "passed before on this machine", paths)
    scanned = cache(partial(_scan, paths))
    verdict = _judged_by_the_list(scanned, driver) if asked is None and detect is None else None
    if verdict is None:
        machine_now = _machine(asked, driver, detect or _detect)
        if not machine_now.gpus:
            return _done(log, "skipped", "no GPU in this process", paths)
        verdict = _check(scanned(), machine_now)
    for finding in verdict.findings:
        if finding.severity.value == "warn":
            log.warning("fatbin: %s %s", finding.code, finding.message)
    _require(verdict, found)
    if key and verdict.outcome.value == "PASS" and not remembered.remember(key):
        log.debug("guard: no place to remember that it passed")
    log.debug("guard passed: %s", ", ".join(paths))
    return Guarded("passed", f"{verdict.outcome}", tuple(paths), verdict)


def _no_gpu(detect: Callable[[], Machine] | None) -> str:
    """Return why this process has no GPU, where that is plain without asking; else nothing."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "all").strip() in _NO_GPU:
        return "CUDA_VISIBLE_DEVICES shows no GPU"
    if detect is None and sys.platform == "linux" and not any(map(os.path.exists, SIGNS)):
        return "this machine has no driver of NVIDIA"
    return ""


def _found(libraries: Iterable[str], log: Logger) -> list[FoundLibrary]:
    """Return the files of the libraries; a name that is not installed is no error, a path is."""
    from fatbin.node.loading import find_library  # noqa: PLC0415 - likewise

    found = []
    for name in [libraries] if isinstance(libraries, str) else libraries:
        library = find_library(os.fspath(name))
        if library is not None:
            log.debug("guard: %s is %s (%s)", name, library.path, library.how)
            found.append(library)
        elif os.sep in name:
            msg = "expected a library, found no such file"
            raise SourceError(msg, location=name)
        else:
            log.debug("guard: %s is not installed, or linked into another library", name)
    return found


def _key(paths: Sequence[str], machine: str, driver: str) -> list[str]:
    """Return what must be the same for a pass to count again."""
    from fatbin import __version__  # noqa: PLC0415 - the package is there by now
    from fatbin.node.remembered import file_identity  # noqa: PLC0415
    from fatbin.variables import CUDA_VARIABLES  # noqa: PLC0415 - import fatbin needs none

    try:
        files = [file_identity(path) for path in paths]
    except OSError as exc:
        raise SourceError(
            f"cannot be read: {exc.strerror or exc}", location=str(exc.filename)
        ) from exc
    seen = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", *CUDA_VARIABLES)
    variables = [f"{name}={os.environ[name]}" for name in seen if name in os.environ]
    return [__version__, machine, driver, *files, *variables]


def _machine(gpus: str | None, driver: str | None, detect: Callable[[], Machine]) -> Machine:
    """Return what was asked for, and of the rest what is there."""
    from fatbin.judge.driver import Driver  # noqa: PLC0415 - a remembered pass needs no judge
    from fatbin.judge.gpu import parse_gpus  # noqa: PLC0415

    machine = Machine(parse_gpus(gpus)) if gpus is not None else detect()
    return machine if driver is None else machine._replace(driver=Driver.parse(driver))


def _detect() -> Machine:
    """Ask this machine for its GPUs; where it cannot be asked it has none.

    CUDA is initialised in a child process: here it would forbid later forks.
    """
    from fatbin.node.detect import detect  # noqa: PLC0415 - named GPUs need no detection

    found = detect()
    known = tuple(gpu.gpu for gpu in found.gpus if gpu.gpu is not None)
    return Machine(known if found.usable else (), found.judged_driver)


def _judged_by_the_list(scanned: Callable[[], Inventory], driver: str | None) -> Verdict | None:
    """Judge for every GPU that the kernel's driver lists; None unless it passes on all of them.

    Reading that list takes no time, while asking libcuda initialises CUDA in a child process. The
    GPUs of this process are among those listed, so a pass on all is a pass here; whatever is less
    clear is left to libcuda.
    """
    from fatbin.node.detect import listed  # noqa: PLC0415 - a remembered pass needs no list

    found = listed()
    known = tuple(gpu.gpu for gpu in found.gpus if gpu.gpu is not None)
    if not known or len(known) < len(found.gpus) or found.judged_driver is None:
        return None
    machine = _machine(None, driver, lambda: Machine(known, found.judged_driver))
    verdict = _check(scanned(), machine)
    return verdict if verdict.outcome.value == "PASS" else None


def _scan(paths: Sequence[str]) -> Inventory:
    from fatbin.inventory import Inventory  # noqa: PLC0415 - a remembered pass needs no scan
    from fatbin.scanning.targets import scan  # noqa: PLC0415 - likewise

    parts = [scan(path, linkage=True, kernels=True) for path in dict.fromkeys(paths)]
    return Inventory(
        libraries=tuple(library for part in parts for library in part.libraries),
        issues=tuple(issue for part in parts for issue in part.issues),
        targets=tuple(paths),
    )


def _check(inventory: Inventory, machine: Machine) -> Verdict:
    from fatbin.judge.check import check  # noqa: PLC0415 - a remembered pass needs no judge
    from fatbin.variables import cuda_variables  # noqa: PLC0415 - likewise

    return check(
        inventory,
        gpus=machine.gpus,
        driver=machine.driver,
        environment=cuda_variables(os.environ),
    )


def _require(verdict: Verdict, found: Sequence[FoundLibrary]) -> None:
    """Raise for a FAIL, saying which file it is and why that one; no device code is no failure."""
    if verdict.outcome.value != "FAIL":
        return
    try:
        verdict.require_pass()
    except CheckFailed as exc:
        exc.hint = "; ".join(f"{library.path} ({library.how})" for library in found) + (
            f"; {MODE}=warn lets it go on"
        )
        raise
