"""Findings about a library without regard to a GPU: its input, and what the user claims of it."""

from __future__ import annotations

from fatbin.judge.case import fact, listed, name_of, plural
from fatbin.judge.content import architectures_of
from fatbin.judge.facts.architectures import row_of
from fatbin.judge.verdict import Evidence, Finding, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.arch import Architecture
    from fatbin.inventory import Inventory, Issue, Library
    from fatbin.judge.choice import Environment
    from fatbin.judge.content import Content
    from fatbin.judge.coverage import Sorted
    from fatbin.judge.driver import Driver
    from fatbin.judge.gpu import Gpu
    from fatbin.judge.policy import Policy

__all__ = ["about_input", "about_library", "about_process"]

_KINDS = ("sass", "ptx", "relocatable-ptx", "ltoir", "group", "tileir", "index")
_MOST_ISSUES = 8


def about_process(
    gpus: tuple[Gpu, ...], driver: Driver | None, environment: Environment
) -> Iterator[Finding]:
    """FB207, FB208, FB505: what the whole check rests on."""
    names = {
        "CUDA_FORCE_PTX_JIT": environment.force_ptx_jit,
        "CUDA_DISABLE_PTX_JIT": environment.disable_ptx_jit,
    }
    for name, given in names.items():
        if given:
            yield Finding(
                "FB207", Severity.NOTE, f"{name}=1 is set and changes what the driver chooses",
                action=f"unset {name} to judge without it",
            )  # fmt: skip
    for name in environment.unclear:
        yield Finding(
            "FB207",
            Severity.NOTE,
            f"{name} is set; what it changes is not known here, and it does not count",
        )
    if environment.eager:
        yield Finding(
            "FB207",
            Severity.NOTE,
            "CUDA_MODULE_LOADING=EAGER is set: errors show when loading, not at first use",
        )
    if driver is not None and driver.newer_than_table:
        cuda = f"CUDA {driver.cuda[0]}.{driver.cuda[1]}"
        yield Finding(
            "FB208",
            Severity.NOTE,
            f"driver {driver} is newer than every one known here; judged as one of {cuda}",
        )
    for gpu in gpus:
        if row_of(gpu.cc) is None:
            yield Finding(
                "FB505",
                Severity.NOTE,
                f"compute capability {gpu.cc} is not in the tables; judged by the general rules",
            )


def about_input(inventory: Inventory) -> Iterator[Finding]:
    """FB501, FB502: what could not be read at all, and targets without any library."""
    if not inventory.libraries and not inventory.issues:
        yield Finding(
            "FB502",
            Severity.NOTE,
            f"no device code in {listed(inventory.targets, 'no target')}; compiled at run time?",
        )
    for issue in inventory.issues:
        yield Finding(
            "FB501",
            Severity.FAIL,
            f"cannot be read: {issue.message}",
            location=issue.location,
            action="check the file; to accept it, ignore FB501 for it with a reason",
            because=(_evidence(issue),),
        )


def about_library(library: Library, modules: Sorted, policy: Policy) -> Iterator[Finding]:
    """FB401 to FB403, FB501 to FB504: what holds for every GPU."""
    yield from _damage(library)
    yield from _nothing(library, modules)
    yield from _unnamed(library, modules.content)
    if modules.judged:
        yield from _claims(library, modules.content, policy)


def _damage(library: Library) -> Iterator[Finding]:
    issues = library.issues
    if issues:
        first = issues[0]
        more = f" (and {len(issues) - 1} more)" if len(issues) > 1 else ""
        yield Finding(
            "FB501",
            Severity.FAIL,
            f"{name_of(library)} is damaged or cannot be read: {first.message}{more}",
            location=library.location,
            action="check the file; to accept it, ignore FB501 for it with a reason",
            because=tuple(_evidence(issue) for issue in issues[:_MOST_ISSUES]),
        )


def _nothing(library: Library, modules: Sorted) -> Iterator[Finding]:
    if modules.judged and modules.unjudged:
        message = (
            f"{name_of(library)}: {plural(modules.unjudged, 'module')} with LTO-IR or unnamed "
            "kinds only, which the driver does not load; the library links them itself"
        )
        yield Finding(
            "FB113",
            Severity.NOTE,
            message,
            location=library.location,
            because=(fact("container.ltoir"),),
        )
    if modules.judged or library.issues:
        return
    if modules.unjudged:
        message = (
            f"{name_of(library)} has LTO-IR or unnamed kinds only: it is linked at run time, "
            "which cannot be judged from the file"
        )
        yield Finding("FB113", Severity.WARN, message, location=library.location)
    elif modules.empty:
        message = (
            f"{name_of(library)} has {plural(modules.empty, 'module')} without any kernel: "
            "nothing to judge"
        )
        yield Finding("FB503", Severity.NOTE, message, location=library.location)
    else:
        message = f"{name_of(library)} has no device code; compiled at run time?"
        yield Finding("FB502", Severity.NOTE, message, location=library.location)


def _unnamed(library: Library, content: Content) -> Iterator[Finding]:
    rows = (*content.loaded, *content.relocatable)
    kinds = sorted({kind for kind, _, _ in rows if kind not in _KINDS})
    archs = {arch for _, arch, _ in rows if arch is not None}
    unknown = sorted(arch for arch in archs if row_of(arch.compute_capability) is None)
    words = [*kinds, *map(str, unknown)]
    if words:
        yield Finding(
            "FB504",
            Severity.NOTE,
            f"{name_of(library)} has kinds or architectures that the tables do not know: "
            f"{listed(words)}; kinds do not count, architectures are judged by the general rules",
            location=library.location,
        )


def _claims(library: Library, content: Content, policy: Policy) -> Iterator[Finding]:
    there = architectures_of(content)
    if policy.expect:
        wanted = policy.expect
        missing = [arch for arch in wanted if not any(_same(arch, other) for other in there)]
        extra = [arch for arch in sorted(there) if not any(_same(other, arch) for other in wanted)]
        if missing:
            yield _claim("FB401", library, "lacks", missing, "expect", policy.expect)
        if extra:
            yield _claim("FB402", library, "has", extra, "expect", policy.expect)
    found = [arch for arch in sorted(there) if any(_same(arch, f) for f in policy.forbid)]
    if found:
        yield _claim("FB403", library, "has", found, "forbid", policy.forbid)


def _claim(
    code: str,
    library: Library,
    verb: str,
    archs: list[Architecture],
    key: str,
    policy: tuple[Architecture, ...],
) -> Finding:
    words = {"FB401": "expected", "FB402": "not expected", "FB403": "forbidden"}
    actions = {
        "FB401": "build it with what is missing, or correct what is expected",
        "FB402": "build it without, or add it to what is expected",
        "FB403": "build it without",
    }
    return Finding(
        code,
        Severity.FAIL,
        f"{name_of(library)} {verb} {listed(map(str, archs))}, which is {words[code]}",
        location=library.location,
        action=actions[code],
        because=(Evidence("policy", key, listed(map(str, policy))),),
    )


def _same(one: Architecture, other: Architecture) -> bool:
    """Compare, and let an image that does not tell plain from ``f`` stand for both."""
    if one == other:
        return True
    alike = one.number == other.number and one.virtual == other.virtual
    return alike and "?" in (one.variant, other.variant) and "a" not in (one.variant, other.variant)


def _evidence(issue: Issue) -> Evidence:
    where = f"{issue.location}+{issue.offset:#x}" if issue.offset >= 0 else issue.location
    return Evidence("issue", where, f"{issue.code}: {issue.message}")
