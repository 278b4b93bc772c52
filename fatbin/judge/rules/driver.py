"""Rules about the driver and the process: FB2xx."""

from __future__ import annotations

from fatbin.judge.case import Case, cuda_of, fact, plural
from fatbin.judge.choice import (
    INVALID_IMAGE,
    JIT_COMPILATION_DISABLED,
    NO_BINARY_FOR_GPU,
    NO_DEVICE,
    UNSUPPORTED_PTX_VERSION,
)
from fatbin.judge.content import DEVICE_LINKED
from fatbin.judge.device_support import drives, first_driver_of, last_driver_of
from fatbin.judge.driver import minimum_driver_for_toolkit_major
from fatbin.judge.facts.architectures import row_of
from fatbin.judge.facts.toolkits import ERRORS
from fatbin.judge.facts.versions import version_numbers
from fatbin.judge.rules.shared import finding, more_sass, samples
from fatbin.judge.verdict import Evidence, Finding, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.inventory import Library
    from fatbin.judge.coverage import Answered


def device_supported(case: Case) -> Iterator[Finding]:
    """FB201, FB202: whether the driver drives the GPU at all; nothing else matters if not."""
    reason = drives(case.gpu.cc, case.driver)
    if not reason or case.driver is None:
        return
    row = row_of(case.gpu.cc)
    if reason == "driver.device-dropped" and row is not None:
        last = row.last_driver
        yield finding(
            case,
            "FB202",
            Severity.FAIL,
            f"driver {case.driver} no longer supports {case.gpu}: {last} is the last branch that "
            f"does (error {NO_DEVICE}, no device)",
            action=f"use a driver of branch {last} or earlier",
            because=(fact(reason),),
        )
    else:
        first = first_driver_of(case.gpu.cc)
        yield finding(
            case,
            "FB201",
            Severity.FAIL,
            f"driver {case.driver} does not know {case.gpu}, which needs branch {first} or later",
            action=f"use a driver of branch {first} or later",
            because=(fact(reason),),
        )


def runtime_supported(case: Case) -> Iterator[Finding]:
    """FB203: whether the driver is new enough for the CUDA runtime that the library uses."""
    version = runtime_of(case.library)
    reader = case.loader.reader
    if version is None or reader is None or reader.cuda[0] >= version[0]:
        return
    major, told = version
    floor = minimum_driver_for_toolkit_major(major)
    action = f"use driver {floor} or later" if floor else f"use a driver of CUDA {major}"
    last = last_driver_of(case.gpu.cc)
    if last is not None and last.cuda[0] < major:
        action = f"use a build by CUDA {last.cuda[0]}: {last} is the last driver for {case.gpu}"
    yield finding(
        case,
        "FB203",
        Severity.FAIL,
        f"{case.called} needs the runtime of CUDA {major}; {_reader(case)} is of CUDA "
        f"{reader.cuda[0]}.{reader.cuda[1]} (error 35, insufficient driver)",
        action=action,
        because=(Evidence("entry", case.library.location, told), fact("driver.runtime-major")),
    )


def runtime_of(library: Library) -> tuple[int, str] | None:
    """Return the major version of the CUDA runtime that a library needs, and what says so.

    From the name of the shared runtime, or from the library's own version; a static runtime without
    either is not guessed at.
    """
    linkage = library.linkage
    if linkage is None:
        return None
    name = linkage.cuda_runtime
    digits = ""
    if ".so." in name:
        digits = name.rpartition(".so.")[2].partition(".")[0]
    elif name.lower().startswith("cudart"):
        digits = name.rpartition("_")[2].partition(".")[0]
        if len(digits) == 3:  # noqa: PLR2004 - cudart64_110.dll is 11.0, cudart64_12.dll is 12
            digits = digits[:2]
    needed = version_numbers(digits)
    if needed:
        return needed[0], f"needs {name}"
    built = version_numbers(cuda_of(library))
    if name and built:
        return built[0], f"version {linkage.version}, CUDA runtime {name}"
    return None


def runtime_driver(library: Library) -> int:
    """Return the branch of the oldest driver for the CUDA runtime of a library; 0 if not known."""
    version = runtime_of(library)
    floor = minimum_driver_for_toolkit_major(version[0]) if version else ""
    return int(floor.partition(".")[0]) if floor else 0


def refused_code(case: Case) -> Iterator[Finding]:
    """FB204, FB205, FB206, FB209: code that fits, but that the driver does not take."""
    by_code: dict[int, list[Answered]] = {}
    for answer in case.having("refused"):
        by_code.setdefault(answer.choice.code, []).append(answer)
    for code, answers in sorted(by_code.items()):
        if code == NO_DEVICE:
            continue  # device_supported says it once
        number = sum(answer.group.size for answer in answers)
        severity = Severity.FAIL if _matters(case, answers, number) else Severity.WARN
        driver = max(answer.choice.driver for answer in answers)
        code_of, message, action = _refusal(case, code, driver)
        yield finding(
            case,
            code_of,
            severity,
            f"{case.called}: {plural(number, 'module')} of {case.coverage.modules:,} {message}",
            action=action,
            because=samples(case, answers),
        )


def _matters(case: Case, answers: list[Answered], number: int) -> bool:
    """Tell whether a library cannot do without modules that the driver refuses.

    It cannot where nothing else serves the GPU, where a device-linked module is among them, and
    where they are more than the share that may be for newer GPUs only.
    """
    if not case.coverage.serving:
        return True
    if any(answer.group.module.wrapper == DEVICE_LINKED for answer in answers):
        return True
    return number > case.policy.max_newer_only * case.coverage.modules


def _refusal(case: Case, code: int, driver: int) -> tuple[str, str, str]:
    which = f"driver of branch {driver} or later" if driver else "newer driver"
    newer = f"use a {which}, or "
    last = last_driver_of(case.gpu.cc)
    after = ""
    if last is not None and (driver > last.branch or not driver):
        newer, after = "", f"; {last} is the last driver for {case.gpu}"
    if code == UNSUPPORTED_PTX_VERSION:
        said = f"{_reader(case)} reads PTX up to ISA {_isa(case)}"
        return (
            "FB204",
            f"can only be compiled for {case.gpu}, and the PTX is too new: {said} (error 222)",
            f"{newer}{more_sass(case)}{after}",
        )
    if code == INVALID_IMAGE:
        return (
            "FB205",
            f"for {case.gpu} are zstd-compressed: {_reader(case)} cannot read it (error 200)",
            f"{newer}build with --compress-mode=speed{after}",
        )
    if code == NO_BINARY_FOR_GPU:
        return (
            "FB205",
            f"for {case.gpu} are in groups: {_reader(case)} passes over them (error 209)",
            f"{newer}build without -concat{after}",
        )
    if code == JIT_COMPILATION_DISABLED:
        return (
            "FB206",
            f"must be compiled for {case.gpu}, and CUDA_DISABLE_PTX_JIT=1 is set (error 223)",
            f"unset CUDA_DISABLE_PTX_JIT, or {more_sass(case)}",
        )
    known = ERRORS.get(code)
    meaning = f": {known.meaning}" if known else ""
    return (
        "FB209",
        f"are refused on {case.gpu} (error {code}{meaning})",
        "rebuild the library; `fatbin inspect --verify` shows which entry it is",
    )


def _reader(case: Case) -> str:
    """Return the driver that reads code, for a message."""
    if case.driver is not None or case.loader.reader is None:
        return f"driver {case.driver}"
    return f"driver {case.loader.reader}, the last for {case.gpu},"


def _isa(case: Case) -> str:
    reader = case.loader.reader
    return "{}.{}".format(*reader.ptx_isa) if reader else "?"
