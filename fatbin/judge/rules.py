"""The rules about one library on one GPU: from the driver's answers to findings.

A rule is a function from a :class:`fatbin.judge.case.Case` to findings; :data:`RULES` lists them in
the order in which a reader wants them. Rules about policy and input are in
:mod:`fatbin.judge.claims`.
"""

from __future__ import annotations

from fatbin.judge.case import (
    Case,
    cuda_of,
    entries,
    fact,
    facts,
    listed,
    name_of,
    percent,
    plural,
    sources_text,
    version_of,
)
from fatbin.judge.content import ptx_named, sass_named
from fatbin.judge.coverage import is_link_failure
from fatbin.judge.driver import minimum_driver_for_toolkit_major
from fatbin.judge.facts.architectures import row_of
from fatbin.judge.facts.known_bad import matching
from fatbin.judge.facts.nccl import first_build_with
from fatbin.judge.facts.toolkits import ERRORS
from fatbin.judge.loader import (
    INVALID_IMAGE,
    JIT_COMPILATION_DISABLED,
    NO_DEVICE,
    UNSUPPORTED_PTX_VERSION,
    drives,
    first_driver_of,
)
from fatbin.judge.serving import ptx_serves, sass_serves
from fatbin.judge.verdict import Evidence, Finding, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fatbin.arch import ComputeCapability
    from fatbin.inventory import Library
    from fatbin.judge.coverage import Answered

_MOST_GROUPS = 3
"""Groups of modules whose entries a finding cites as samples."""


# The driver and the process ---------------------------------------------------------------------


def device_supported(case: Case) -> Iterator[Finding]:
    """FB201, FB202: whether the driver drives the GPU at all; nothing else matters if not."""
    reason = drives(case.gpu.cc, case.driver)
    if not reason or case.driver is None:
        return
    row = row_of(case.gpu.cc)
    if reason == "driver.device-dropped" and row is not None:
        last = row.last_driver
        yield _finding(
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
        yield _finding(
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
    if version is None or case.driver is None or case.driver.cuda[0] >= version[0]:
        return
    major, told = version
    floor = minimum_driver_for_toolkit_major(major)
    yield _finding(
        case,
        "FB203",
        Severity.FAIL,
        f"{case.called} needs the runtime of CUDA {major}; driver {case.driver} is of CUDA "
        f"{case.driver.cuda[0]}.{case.driver.cuda[1]} (error 35, insufficient driver)",
        action=f"use driver {floor} or later" if floor else f"use a driver of CUDA {major}",
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
    if digits.isascii() and digits.isdigit():
        return int(digits), f"needs {name}"
    built = cuda_of(library).partition(".")[0]
    if name and built.isascii() and built.isdigit():
        return int(built), f"version {linkage.version}, CUDA runtime {name}"
    return None


def refused_code(case: Case) -> Iterator[Finding]:
    """FB204, FB205, FB206, FB209: code that fits, but that the driver does not take."""
    by_code: dict[int, list[Answered]] = {}
    for answer in case.having("refused"):
        by_code.setdefault(answer.choice.code, []).append(answer)
    for code, answers in sorted(by_code.items()):
        if code == NO_DEVICE:
            continue  # device_supported says it once
        number = sum(answer.group.size for answer in answers)
        severity = Severity.WARN if case.coverage.serving else Severity.FAIL
        driver = max(answer.choice.driver for answer in answers)
        finding, message, action = _refusal(case, code, driver)
        yield _finding(
            case,
            finding,
            severity,
            f"{case.called}: {plural(number, 'module')} of {case.coverage.modules:,} {message}",
            action=action,
            because=_samples(case, answers),
        )


def _refusal(case: Case, code: int, driver: int) -> tuple[str, str, str]:
    newer = f"use a driver of branch {driver} or later" if driver else "use a newer driver"
    if code == UNSUPPORTED_PTX_VERSION:
        said = f"driver {case.driver} reads PTX up to ISA {_isa(case)}"
        return (
            "FB204",
            f"can only be compiled for {case.gpu}, and the PTX is too new: {said} (error 222)",
            f"{newer}, or build SASS for {_native(case.gpu.cc)}",
        )
    if code == INVALID_IMAGE:
        return (
            "FB205",
            f"for {case.gpu} are zstd-compressed, which driver {case.driver} does not read "
            "(error 200)",
            f"{newer}, or build with --compress-mode=speed",
        )
    if code == JIT_COMPILATION_DISABLED:
        return (
            "FB206",
            f"would have to be compiled for {case.gpu}, and CUDA_DISABLE_PTX_JIT=1 is set "
            "(error 223)",
            f"unset CUDA_DISABLE_PTX_JIT, or build SASS for {_native(case.gpu.cc)}",
        )
    known = ERRORS.get(code)
    meaning = f": {known.meaning}" if known else ""
    return (
        "FB209",
        f"are refused on {case.gpu} (error {code}{meaning})",
        "rebuild the library; `fatbin inspect --verify` shows which entry it is",
    )


def _isa(case: Case) -> str:
    return "{}.{}".format(*case.driver.ptx_isa) if case.driver else "?"


# The library's code and the GPU ----------------------------------------------------------------


def nothing_serves(case: Case) -> Iterator[Finding]:
    """FB101: no module serves the GPU, and the code itself is why."""
    answers = [*case.having("specialised", "holes", "newer_only")]
    missing = sum(answer.group.size for answer in answers)
    if case.coverage.serving or missing == 0 or missing < case.coverage.refused:
        return
    environment = case.loader.environment
    because = [*_samples(case, answers), fact("library.per-module")]
    forced = " although CUDA_FORCE_PTX_JIT=1 is set" if environment.force_ptx_jit else ""
    yield _finding(
        case,
        "FB101",
        Severity.FAIL,
        f"{case.called} has no code for {case.gpu}: {plural(missing, 'module')}, "
        f"SASS {listed(sass_named(case.library))}; {_ptx_word(case)}{forced}",
        action=remedy(case),
        because=tuple(dict.fromkeys(because)),
    )


def device_linked(case: Case) -> Iterator[Finding]:
    """FB102: device-linked modules without a linked image, and without PTX to link."""
    answers = [
        answer
        for answer in case.answered
        if is_link_failure(answer.choice) and answer.word != "specialised"
    ]
    number = sum(answer.group.size for answer in answers)
    if not number:
        return
    yield _finding(
        case,
        "FB102",
        Severity.FAIL,
        f"{case.called}: {plural(number, 'device-linked module')} without code for {case.gpu}, and "
        "no relocatable PTX that the driver could link (error 500, named symbol not found)",
        action=remedy(case),
        because=_samples(case, answers),
    )


def gaps(case: Case) -> Iterator[Finding]:
    """FB103, FB104, FB111: modules without code for the GPU in a library that serves it."""
    coverage = case.coverage
    if not coverage.serving:
        return
    for code, word, number, allowed, why, statement in (
        (
            "FB103",
            "holes",
            coverage.holes,
            case.policy.max_holes,
            "serve older GPUs but not",
            "library.holes",
        ),
        (
            "FB104",
            "newer_only",
            coverage.newer_only,
            case.policy.max_newer_only,
            "have code for GPUs newer than",
            "library.newer-only",
        ),
    ):
        if not number:
            continue
        over = number / coverage.modules > allowed
        share = percent(number, coverage.modules)
        only = " only" if word == "newer_only" else ""
        limit = f"more than the {100 * allowed:g} % allowed" if over else "within what is allowed"
        yield _finding(
            case,
            code if over else "FB111",
            Severity.WARN if over else Severity.NOTE,
            f"{case.called}: {number:,} of {plural(coverage.modules, 'module')} ({share}) {why} "
            f"{case.gpu}{only}; {limit}: what they hold fails there",
            action=remedy(case) if over else "",
            because=(*_samples(case, case.having(word)), fact(statement)),
        )


def compiled(case: Case) -> Iterator[Finding]:
    """FB105: modules that the driver compiles from PTX."""
    answers = [*case.having("jit")]
    number = case.coverage.jit
    if not number:
        return
    driver = max(answer.choice.driver for answer in answers)
    isas = {answer.group.module.entries[answer.choice.entry].isa_version for answer in answers}
    needs = f", needs driver {driver} or later" if driver else ""
    version = f" (ISA {listed(sorted(isas - {''}))})" if isas - {""} else ""
    archs = {str(answer.group.module.entries[answer.choice.entry].arch) for answer in answers}
    yield _finding(
        case,
        "FB105",
        _POLICY[case.policy.ptx],
        f"{case.called}: {number:,} of {plural(case.coverage.modules, 'module')} run on "
        f"{case.gpu} by compiling PTX for {listed(sorted(archs))}{version} at first use{needs}",
        action=f"build SASS for {_native(case.gpu.cc)} to load at once",
        because=_samples(case, answers, chosen=True),
    )


def linked_by_driver(case: Case) -> Iterator[Finding]:
    """FB106: device-linked modules whose relocatable PTX the driver links; looks like a hang."""
    answers = [*case.having("jit_link")]
    if not answers:
        return
    parts = case.loader.linked_entries
    ptx = [entry for entry in parts if entry.kind != "sass"]
    megabytes = sum(entry.stored_size for entry in ptx) / 1e6
    driver = max(answer.choice.driver for answer in answers)
    needs = f"; needs driver {driver} or later" if driver else ""
    archs = sorted({str(entry.arch) for entry in ptx})
    severity = Severity.FAIL if case.policy.ptx == "fail" else Severity.WARN
    yield _finding(
        case,
        "FB106",
        severity,
        f"{case.called} runs on {case.gpu} by JIT LINK only: the driver compiles and links "
        f"{plural(len(parts), 'module')}, {megabytes:.1f} MB of PTX for {listed(archs)}; "
        f"looks like a hang for minutes{needs}",
        action=remedy(case),
        because=(
            *_samples(case, answers),
            *facts(i for answer in answers for i in answer.choice.because),
            fact("library.jit-hang"),
        ),
    )


def uncertain(case: Case) -> Iterator[Finding]:
    """FB107, FB108: code that probably runs, or of which nobody can be sure."""
    for code, word, said in (
        ("FB107", "likely", "are likely to run, but no one promises it"),
        ("FB108", "unsure", "may or may not run: reports and tools differ"),
    ):
        answers = [*case.having(word)]
        number = sum(answer.group.size for answer in answers)
        if not number:
            continue
        because = _samples(case, answers, chosen=True)
        why = next((e.text for e in because if e.kind == "fact" and not e.certain), "")
        yield _finding(
            case,
            code,
            Severity.WARN,
            f"{case.called}: {number:,} of {plural(case.coverage.modules, 'module')} on "
            f"{case.gpu} {said}" + (f" ({why})" if why else ""),
            action=f"build SASS for {_native(case.gpu.cc)}, or try it on that GPU",
            because=because,
        )


def relocatable_only(case: Case) -> Iterator[Finding]:
    """FB109: nothing that is loaded; what was judged is input of a device link."""
    if case.modules.relocatable_only:
        yield _finding(
            case,
            "FB109",
            Severity.WARN,
            f"{case.called} holds relocatable code only, which needs a device link before it can "
            f"be loaded; judged is what it brings to that for {case.gpu}",
            action="check the linked library or program",
        )


def specialised(case: Case) -> Iterator[Finding]:
    """FB110, FB112: modules that are not for the GPU by design, and how many serve another."""
    coverage = case.coverage
    if not coverage.serving:
        return
    if coverage.specialised:
        archs = {
            str(entry.arch)
            for answer in case.having("specialised")
            for entry in answer.group.module.entries
            if entry.arch is not None
        }
        yield _finding(
            case,
            "FB110",
            Severity.NOTE,
            f"{case.called}: {coverage.specialised:,} of {plural(coverage.modules, 'module')} are "
            f"specialised ({listed(sorted(archs))}) and not for {case.gpu}",
            because=(*_samples(case, case.having("specialised")), fact("library.specialised")),
        )
    if coverage.serving < coverage.best:
        yield _finding(
            case,
            "FB112",
            Severity.NOTE,
            f"{case.called}: {coverage.serving:,} modules serve {case.gpu}; the GPU that is served "
            f"by most has {coverage.best:,}",
            because=(fact("library.specialised"),),
        )


def unjudged(case: Case) -> Iterator[Finding]:
    """FB113: LTO-IR and kinds without a name, which the library links or loads by itself."""
    if case.coverage.unjudged:
        yield _finding(
            case,
            "FB113",
            Severity.NOTE,
            f"{case.called}: {plural(case.coverage.unjudged, 'module')} with LTO-IR or unnamed "
            "kinds only, which the driver does not load; the library links them itself",
            because=(fact("container.ltoir"),),
        )._replace(gpu="")


def known_faults(case: Case) -> Iterator[Finding]:
    """FB301: what is known to fail although the code alone does not say so."""
    version = version_of(case.library).partition("+")[0]
    for row in matching(name_of(case.library), version, cuda_of(case.library), case.gpu.cc):
        yield _finding(
            case,
            "FB301",
            Severity(row.severity),
            f"{case.called} is known to fail on {case.gpu}: {row.symptom}",
            action=f"use {row.remedy}",
            because=(
                Evidence("fact", row.id, row.symptom, sources_text(row.sources), row.certain),
            ),
        )


RULES: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    device_supported,
    runtime_supported,
    known_faults,
    nothing_serves,
    device_linked,
    refused_code,
    gaps,
    linked_by_driver,
    compiled,
    uncertain,
    relocatable_only,
    specialised,
    unjudged,
)
"""In the order of a reader's interest; each looks at the case alone."""

_POLICY = {"pass": Severity.NOTE, "warn": Severity.WARN, "fail": Severity.FAIL}


# What rules share -------------------------------------------------------------------------------


def remedy(case: Case) -> str:
    """Return what makes a library serve a GPU natively, one line."""
    words = []
    if name_of(case.library).startswith("libnccl.so"):
        build = first_build_with(case.gpu.cc)
        if build:
            words.append(f"use {build}")
    if not words:
        words.append(f"build SASS for {_native(case.gpu.cc)}")
    if not _any_ptx(case):
        words.append("no PTX: a newer driver will not help")
    return "; ".join(words)


def _native(cc: ComputeCapability) -> str:
    row = row_of(cc)
    if row is None:
        return f"sm_{cc.sm}"
    until = f" to {row.last_toolkit}" if row.last_toolkit else " or later"
    return f"sm_{cc.sm} (CUDA {row.first_toolkit}{until})"


def _any_ptx(case: Case) -> bool:
    return any(entry.kind in ("ptx", "relocatable-ptx") for entry in case.library.entries)


def _ptx_word(case: Case) -> str:
    named = ptx_named(case.library)
    return f"PTX {listed(named)}, which it cannot use" if named else "no PTX"


def _samples(
    case: Case, answers: Iterable[Answered], *, chosen: bool = False
) -> tuple[Evidence, ...]:
    """Return entries of a few modules, the most frequent first, and the statements about them."""
    found = sorted(answers, key=lambda answer: -answer.group.size)[:_MOST_GROUPS]
    evidence: dict[Evidence, None] = {}
    for answer in found:
        index = answer.choice.entry if chosen else -1
        evidence |= dict.fromkeys(entries(case.library, answer.group.module, index))
        evidence |= dict.fromkeys(facts(_why(case, answer)))
    return tuple(evidence)


def _why(case: Case, answer: Answered) -> Iterator[str]:
    """Yield the statements about a choice; where nothing fits, those about each image."""
    yield from answer.choice.because
    if answer.choice.serves or answer.choice.entry >= 0:
        return
    for entry in answer.group.module.entries:
        if entry.arch is None:
            continue
        if entry.kind == "sass":
            cuda = case.driver.cuda if case.driver else None
            yield from sass_serves(entry.arch, case.gpu.cc, cuda).because
        elif entry.kind == "ptx":
            yield from ptx_serves(entry.arch, case.gpu.cc).because


def _finding(
    case: Case,
    code: str,
    severity: Severity,
    message: str,
    *,
    action: str = "",
    because: tuple[Evidence, ...] = (),
) -> Finding:
    return Finding(
        code=code,
        severity=severity,
        message=message,
        location=case.library.location,
        gpu=str(case.gpu),
        action=action,
        because=because,
    )
