"""The check: an inventory, GPUs and a driver to a verdict."""

from __future__ import annotations

from fatbin.judge.baseline import Baseline, Excuses
from fatbin.judge.case import Case, name_of, version_of
from fatbin.judge.choice import Environment
from fatbin.judge.claims import about_input, about_library, about_process
from fatbin.judge.content import code_sizes, ptx_named, sass_named
from fatbin.judge.coverage import (
    answer_modules,
    best_coverage,
    count,
    sort_modules,
)
from fatbin.judge.device_support import drives, first_driver_of, last_driver_of
from fatbin.judge.driver import Driver
from fatbin.judge.gathered import gather
from fatbin.judge.gpu import parse_gpus
from fatbin.judge.loader import Loader
from fatbin.judge.policy import Policy
from fatbin.judge.rules import RULES
from fatbin.judge.rules.driver import runtime_driver
from fatbin.judge.verdict import (
    Answer,
    Evidence,
    Finding,
    IgnoredFinding,
    LibraryVerdict,
    Outcome,
    Severity,
    Verdict,
    worst,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fatbin.arch import ComputeCapability
    from fatbin.inventory import Inventory, Library
    from fatbin.judge.coverage import Sorted
    from fatbin.judge.gpu import Gpu
    from fatbin.judge.policy import Ignore

_OUTCOMES = {
    Severity.NOTE: Outcome.PASS,
    Severity.WARN: Outcome.WARN,
    Severity.FAIL: Outcome.FAIL,
}
_ORDER = {Severity.FAIL: 0, Severity.WARN: 1, Severity.NOTE: 2}
DEFAULT_POLICY = Policy()


def check(
    inventory: Inventory,
    *,
    gpus: str | Iterable[str | Gpu | ComputeCapability],
    driver: str | Driver | None = None,
    policy: Policy = DEFAULT_POLICY,
    environment: Mapping[str, str] | None = None,
    baseline: Baseline | Verdict | None = None,
) -> Verdict:
    """Say whether the device code of an inventory runs on GPUs.

    Bare cubins, fatbins and PTX files that are part of one package, archive or folder are one
    library, ``folder/*``: the code beside them picks from them.

    Args:
        inventory: from :func:`fatbin.scan`, or a saved one.
        gpus: ``"8.0, 9.0, RTX 5090"``, or a list of such; each gets its answer, the worst decides.
        driver: ``"570.124"`` or ``"CUDA 12.8"``; None stands for one that is new enough, and the
            answers then say what is needed.
        policy: what counts as what.
        environment: variables of the process, of which CUDA_FORCE_PTX_JIT, CUDA_DISABLE_PTX_JIT and
            CUDA_MODULE_LOADING matter; none are read from the process that checks.
        baseline: a verdict of before, or what :func:`fatbin.read_baseline` made of one: its
            findings do not count again.

    Returns:
        The verdict, with one finding for each thing worth saying, worst first.

    Raises:
        UnknownGpuError: a name that no GPU has, or several that differ.
        ArchitectureError: no GPU, or an architecture of code in place of a device.
        DriverError: a driver that cannot be understood.
    """
    judge = _Judge(
        gather(inventory),
        parse_gpus(gpus),
        Driver.parse(driver) if driver is not None else None,
        policy,
        Environment.of(environment or {}),
        Baseline.of(baseline) if isinstance(baseline, Verdict) else baseline,
    )
    return judge.verdict()


class _Judge:
    """Collects findings, and takes out what the policy ignores and what the baseline has."""

    def __init__(
        self,
        inventory: Inventory,
        gpus: tuple[Gpu, ...],
        driver: Driver | None,
        policy: Policy,
        environment: Environment,
        baseline: Baseline | None,
    ) -> None:
        self._gpus = gpus
        self._driver = driver
        self._policy = policy
        self._environment = environment
        self._findings: list[Finding] = []
        self._ignored: list[IgnoredFinding] = []
        self._used: set[Ignore] = set()
        self._known: list[Finding] = []
        self._inventory = inventory
        self._excuses = Excuses(
            baseline or Baseline(),
            [(library.location, name_of(library)) for library in inventory.libraries],
        )

    def verdict(self) -> Verdict:
        inventory = self._inventory
        self._add_all(about_process(self._gpus, self._driver, self._environment))
        self._add_all(about_input(inventory))
        libraries = tuple(self._library(library) for library in inventory.libraries)
        outcomes = [library.outcome for library in libraries]
        outcomes += [
            _OUTCOMES[finding.severity]
            for finding in self._findings
            if finding.severity is not Severity.NOTE
        ]
        gone = self._excuses.gone(map(str, self._gpus))
        if gone:
            self._add(_gone(gone))
        for rule in self._policy.ignore:
            if rule not in self._used:
                self._add(_unused(rule))
        return Verdict(
            outcome=worst(outcomes),
            gpus=tuple(map(str, self._gpus)),
            driver=str(self._driver or ""),
            libraries=libraries,
            findings=tuple(sorted(self._findings, key=lambda f: _ORDER[f.severity])),
            ignored=tuple(self._ignored),
            skip_reason=self._policy.skip_reason,
            targets=inventory.targets,
            known=tuple(sorted(self._known, key=lambda f: _ORDER[f.severity])),
        )

    def _library(self, library: Library) -> LibraryVerdict:
        modules = sort_modules(library)
        kept = self._add_all(about_library(library, modules, self._policy))
        best = best_coverage(modules)
        answers = tuple(self._answer(library, modules, gpu, best) for gpu in self._gpus)
        outcomes = [answer.outcome for answer in answers] if modules.judged else []
        outcomes += [_OUTCOMES[f.severity] for f in kept if f.severity is not Severity.NOTE]
        return LibraryVerdict(
            location=library.location,
            name=name_of(library),
            version=version_of(library),
            format=library.format,
            sass=sass_named(modules.content),
            ptx=ptx_named(modules.content),
            outcome=worst(outcomes),
            answers=answers,
            size=library.size,
            code_sizes=code_sizes(library),
            distribution=f"{library.distribution} {library.distribution_version}".strip(),
            layer=library.layer,
        )

    def _answer(self, library: Library, modules: Sorted, gpu: Gpu, best: int) -> Answer:
        loader = Loader(gpu.cc, self._driver, self._environment, pool=modules.pool)
        answered = answer_modules(modules, loader)
        coverage = count(answered, modules, best)
        if not modules.judged:
            return Answer(str(gpu), str(gpu.cc), Outcome.NOTHING, coverage)
        case = Case(library, gpu, self._driver, self._policy, modules, answered, coverage, loader)
        kept = self._add_all(finding for rule in RULES for finding in rule(case))
        found = [_OUTCOMES[f.severity] for f in kept if f.severity is not Severity.NOTE]
        outcome = worst([Outcome.PASS, *found])
        deciding = [f for f in kept if f.severity is not Severity.NOTE]
        deciding.sort(key=lambda finding: _ORDER[finding.severity])
        return Answer(
            gpu=str(gpu),
            compute_capability=str(gpu.cc),
            outcome=outcome,
            coverage=coverage,
            required_driver=_required_driver(case),
            last_driver=_last_driver(gpu.cc),
            missing="" if coverage.native else f"sm_{gpu.cc.sm}",
            action=deciding[0].action if deciding else "",
        )

    def _add_all(self, findings: Iterable[Finding]) -> list[Finding]:
        return [kept for finding in findings if (kept := self._add(finding)) is not None]

    def _add(self, finding: Finding) -> Finding | None:
        """Keep a finding unless policy or baseline take it out; return what counts."""
        for rule in self._policy.ignore:
            if rule.covers(finding.code, finding.location):
                self._used.add(rule)
                self._ignored.append(IgnoredFinding(finding, rule.rule, rule.reason))
                return None
        if finding.severity is Severity.FAIL and self._policy.is_optional(finding.location):
            optional = Evidence("policy", "optional", "a FAIL of this library counts as WARN")
            finding = finding._replace(severity=Severity.WARN, because=(*finding.because, optional))
        if self._excuses.covers(finding):
            self._known.append(finding)
            return None
        self._findings.append(finding)
        return finding


def _last_driver(device: ComputeCapability) -> int:
    last = last_driver_of(device)
    return last.branch if last is not None else 0


def _required_driver(case: Case) -> int:
    """Return the oldest branch on which everything runs that can; 0 when nothing can."""
    if drives(case.gpu.cc, case.driver):  # what another driver takes is the question
        environment = case.loader.environment
        loader = Loader(case.gpu.cc, None, environment, pool=case.modules.pool)
        answered = answer_modules(case.modules, loader)
        coverage = count(answered, case.modules, case.coverage.best)
        case = case._replace(driver=None, loader=loader, answered=answered, coverage=coverage)
    mended = [answer for answer in case.having("refused") if answer.choice.driver]
    if not case.coverage.serving and not mended:
        return 0
    compiled = [*case.having("jit", "jit_link", "refused")]
    needed = [answer.choice.driver for answer in case.having("native", "likely", "unsure")]
    if not case.is_minor(compiled):
        needed += [answer.choice.driver for answer in compiled]
    oldest = max(0, *needed, first_driver_of(case.gpu.cc) or 0, runtime_driver(case.library))
    last = last_driver_of(case.gpu.cc)
    return 0 if last is not None and oldest > last.branch else oldest


def _unused(rule: Ignore) -> Finding:
    return Finding(
        "FB404",
        Severity.NOTE,
        f"ignore rule {rule.rule} matches no finding ({rule.reason})",
        action="remove it, or correct its code or glob",
        because=(Evidence("policy", "ignore", f"{rule.rule}: {rule.reason}"),),
    )


def _gone(number: int) -> Finding:
    what = (
        "1 finding of the baseline is"
        if number == 1
        else f"{number:,} findings of the baseline are"
    )
    return Finding(
        "FB405",
        Severity.NOTE,
        f"{what} gone",
        action="make the baseline anew, so that they count when they come back",
        because=(Evidence("policy", "baseline", "what a verdict of before had"),),
    )
