"""Rules about the code of a library and the GPU: FB1xx, FB301."""

from __future__ import annotations

from fatbin.judge.case import (
    Case,
    are,
    cuda_of,
    fact,
    facts,
    in_order,
    listed,
    name_of,
    percent,
    plural,
    sources_text,
    version_of,
)
from fatbin.judge.content import ptx_named, sass_named
from fatbin.judge.coverage import is_link_failure
from fatbin.judge.facts.known_bad import matching
from fatbin.judge.gathered import is_gathered
from fatbin.judge.rules.shared import (
    finding,
    good_nccl,
    more_sass,
    native,
    passes_over_sass,
    remedy,
    samples,
)
from fatbin.judge.verdict import Evidence, Finding, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LONG_LINK = 1_000_000
"""Bytes of stored PTX from which on a link by the driver is taken for a hang; 46 MB took more than
580 seconds, and a small program a moment."""
_A_TENTH = 100_000  # bytes of a megabyte that is worth the name
_BY_POLICY = {"pass": Severity.NOTE, "warn": Severity.WARN, "fail": Severity.FAIL}


def nothing_serves(case: Case) -> Iterator[Finding]:
    """FB101: no module serves the GPU, and the code itself is why."""
    answers = [*case.having("specialised", "holes", "newer_only")]
    missing = sum(answer.group.size for answer in answers)
    if case.coverage.serving or missing == 0 or missing < case.coverage.refused:
        return
    environment = case.loader.environment
    because = [*samples(case, answers), fact("library.per-module")]
    forced = " that CUDA_FORCE_PTX_JIT=1 could use" if environment.force_ptx_jit else ""
    linked = any(is_link_failure(answer.choice) for answer in answers)
    error = "500, named symbol not found" if linked else "209, no kernel image"
    apart = _made_for_others(case)
    yield finding(
        case,
        "FB101",
        Severity.WARN if apart else Severity.FAIL,
        f"{case.called} has no code for {case.gpu}{forced} (error {error}): "
        f"{plural(missing, 'module')} with SASS {listed(sass_named(case.modules.content))}, "
        f"{_ptx_word(case)}"
        + (
            "; all are made for other GPUs, and what picks from them may do without"
            if apart
            else ""
        ),
        action=remedy(case),
        because=tuple(dict.fromkeys(because)),
    )


def _made_for_others(case: Case) -> bool:
    """Tell whether these are files to pick from of which none is meant to be portable.

    Packages of such cubins are installed whatever the GPU is, as flashinfer-cubin is, and the code
    beside them has another way where none is for the device.
    """
    return is_gathered(case.library) and all(
        entry.arch is None or entry.arch.variant for entry in case.library.entries
    )


def device_linked(case: Case) -> Iterator[Finding]:
    """FB102: device-linked modules without code in a library that otherwise serves the GPU."""
    if not case.coverage.serving:
        return
    answers = [
        answer
        for answer in case.answered
        if is_link_failure(answer.choice) and answer.word != "specialised"
    ]
    number = sum(answer.group.size for answer in answers)
    if not number:
        return
    yield finding(
        case,
        "FB102",
        Severity.FAIL,
        f"{case.called}: {plural(number, 'device-linked module')} without code for {case.gpu}, and "
        "no relocatable PTX that the driver could link (error 500, named symbol not found)",
        action=remedy(case),
        because=samples(case, answers),
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
        yield finding(
            case,
            code if over else "FB111",
            Severity.WARN if over else Severity.NOTE,
            f"{case.called}: {number:,} of {plural(coverage.modules, 'module')} ({share}) {why} "
            f"{case.gpu}{only}; {limit}: what they hold fails there",
            action=remedy(case) if over else "",
            because=(*samples(case, case.having(word)), fact(statement)),
        )


def compiled(case: Case) -> Iterator[Finding]:
    """FB105: modules that the driver compiles from PTX; a note where they are minor."""
    answers = [*case.having("jit")]
    number = case.coverage.jit
    if not number:
        return
    driver = max(answer.choice.driver for answer in answers)
    isas = {answer.group.module.entries[answer.choice.entry].isa_version for answer in answers}
    needs = f", needs driver {driver} or later" if driver else ""
    version = f" (ISA {listed(sorted(isas - {''}))})" if isas - {""} else ""
    archs = {answer.group.module.entries[answer.choice.entry].arch for answer in answers}
    severity = _BY_POLICY[case.policy.ptx]
    if severity is Severity.WARN and case.is_minor(answers):
        severity = Severity.NOTE
    yield finding(
        case,
        "FB105",
        severity,
        f"{case.called}: {number:,} of {plural(case.coverage.modules, 'module')} "
        f"{'runs' if number == 1 else 'run'} on {case.gpu} by compiling PTX for "
        f"{listed(in_order(archs))}{version} at first use{needs}",
        action=f"{more_sass(case)} to load at once",
        because=samples(case, answers, chosen=True),
    )


def linked_by_driver(case: Case) -> Iterator[Finding]:
    """FB106: device-linked modules whose relocatable PTX the driver links; looks like a hang."""
    answers = [*case.having("jit_link")]
    if not answers:
        return
    parts = case.loader.linked_entries
    ptx = [entry for entry in parts if entry.kind != "sass"]
    size = sum(entry.stored_size for entry in ptx)
    amount = f"{size / 1e6:.1f} MB" if size >= _A_TENTH else f"{size:,} bytes"
    delay = "looks like a hang for minutes" if size >= _LONG_LINK else "delays the first start"
    driver = max(answer.choice.driver for answer in answers)
    needs = f"; needs driver {driver} or later" if driver else ""
    archs = in_order({entry.arch for entry in ptx})
    severity = Severity.FAIL if case.policy.ptx == "fail" else Severity.WARN
    yield finding(
        case,
        "FB106",
        severity,
        f"{case.called} runs on {case.gpu} by JIT LINK only: the driver compiles and links "
        f"{plural(len(parts), 'module')}, {amount} of PTX for {listed(archs)}; "
        f"{delay}{needs}",
        action=remedy(case),
        because=(
            *samples(case, answers),
            *facts(i for answer in answers for i in answer.choice.because),
            fact("library.jit-hang"),
        ),
    )


def uncertain(case: Case) -> Iterator[Finding]:
    """FB107, FB108: code that probably runs, or of which nobody can be sure."""
    for code, word, said in (
        ("FB107", "likely", "likely to run, but nobody promises it"),
        ("FB108", "unsure", "not sure to run: reports and tools differ"),
    ):
        answers = [*case.having(word)]
        number = sum(answer.group.size for answer in answers)
        if not number:
            continue
        because = samples(case, answers, chosen=True)
        why = next((e.text for e in because if e.kind == "fact" and not e.certain), "")
        grouped = all("driver.groups" in answer.choice.because for answer in answers)
        build = "without -concat" if grouped else f"SASS for {native(case.gpu.cc)}"
        yield finding(
            case,
            code,
            Severity.NOTE if case.is_minor(answers) else Severity.WARN,
            f"{case.called} on {case.gpu}: {number:,} of "
            f"{plural(case.coverage.modules, 'module')} {are(number)} {said}"
            + (f" ({why})" if why else ""),
            action=f"build {build}, or try it on that GPU",
            because=because,
        )


def relocatable_only(case: Case) -> Iterator[Finding]:
    """FB109: nothing that is loaded; what was judged is input of a device link.

    Of an object, which is there to be linked, that is a note.
    """
    if case.modules.relocatable_only:
        linked = case.library.linkage is not None
        yield finding(
            case,
            "FB109",
            Severity.WARN if linked else Severity.NOTE,
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
            entry.arch
            for answer in case.having("specialised")
            for entry in answer.group.module.entries
        }
        yield finding(
            case,
            "FB110",
            Severity.NOTE,
            f"{case.called}: {coverage.specialised:,} of {plural(coverage.modules, 'module')} "
            f"{are(coverage.specialised)} specialised ({listed(in_order(archs))}) and not for "
            f"{case.gpu}",
            because=(*samples(case, case.having("specialised")), fact("library.specialised")),
        )
    # What the driver refuses is there all the same, and would be with another driver.
    if coverage.serving + coverage.refused < coverage.best and not passes_over_sass(case):
        yield finding(
            case,
            "FB112",
            Severity.NOTE,
            f"{case.called}: {coverage.serving:,} modules serve {case.gpu}; the GPU that is served "
            f"by most has {coverage.best:,}",
            because=(fact("library.specialised"),),
        )


def known_faults(case: Case) -> Iterator[Finding]:
    """FB301: what is known to fail although the code alone does not say so."""
    version = version_of(case.library).partition("+")[0]
    for row in matching(name_of(case.library), version, cuda_of(case.library), case.gpu.cc):
        yield finding(
            case,
            "FB301",
            Severity(row.severity),
            f"{case.called} is known to fail on {case.gpu}: {row.symptom}",
            action=f"use {good_nccl(case) or row.remedy}",
            because=(
                Evidence("fact", row.id, row.symptom, sources_text(row.sources), row.certain),
            ),
        )


def _ptx_word(case: Case) -> str:
    named = ptx_named(case.modules.content)
    return f"PTX {listed(named)} that does not fit" if named else "no PTX"
