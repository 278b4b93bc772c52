"""What changed between two targets, in terms of what GPUs can run.

Names of files, order, offsets, compression and debug text are no difference. Sizes and linkage are
told, but only architectures, PTX versions and kernels make two libraries differ.
"""

from __future__ import annotations

import os

from fatbin._record import Record
from fatbin.inventory import Library
from fatbin.kinds import EntryKind
from fatbin.kinds import Place as Where
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.targets import scan
from fatbin.survey.differences import (
    FACTS,
    Code,
    Diff,
    FactChange,
    Held,
    KernelChange,
    LibraryDiff,
    Sizes,
    Summary,
    VersionChange,
)
from fatbin.survey.inside import paths_in
from fatbin.survey.matching import Place, match

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fatbin.inventory import Issue
    from fatbin.limits import Limits
    from fatbin.survey.names import Names

__all__ = ["Diff", "LibraryDiff", "compare"]


def compare(
    before: str | os.PathLike[str],
    after: str | os.PathLike[str],
    *,
    kernels: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    platform: str = "",
) -> Diff:
    """Compare two targets: files, packages, images, folders or environments.

    Libraries are matched by path inside the target, then by path or name without version numbers,
    hashes and tags of Python versions. Two targets with one library each are compared as they are.

    Args:
        before: the first target, as for :func:`fatbin.scan`.
        after: the second.
        kernels: also compare the names of kernels in SASS and PTX; inflates every image, one at a
            time.
        limits: bounds on what a target may make this function do.
        platform: of images that are there for several.

    Raises:
        SourceError: a target cannot be read.
        UnknownFormatError: a target is none of the known formats.
        MissingDependencyError: without LIEF, or with ``kernels`` LZ4 or zstd without cramjam.
    """
    first, second = (
        _side(os.fspath(target), limits, platform, kernels=kernels) for target in (before, after)
    )
    pairs = match([known.place for known in first.libraries], [k.place for k in second.libraries])
    diffs = [
        _compare_libraries(
            first.libraries[a] if a >= 0 else _NOTHING, second.libraries[b] if b >= 0 else _NOTHING
        )
        for a, b in pairs
    ]
    diffs.sort(key=lambda d: sorted((d.before or d.after, d.after or d.before)))
    told = tuple(library for library in diffs if not library.unchanged)
    return Diff(
        before=os.fspath(before),
        after=os.fspath(after),
        summary=_summary(first, second),
        single=first.single and second.single,
        kernels=kernels,
        libraries=told,
        unchanged=len(diffs) - len(told),
        issues=tuple(dict.fromkeys(first.issues + second.issues)),
    )


class _Known(Record):
    """A library and the names of its kernels.

    Attributes:
        name: that people are told.
        place: by which it is matched.
        library: what it holds.
        names: of its kernels.
    """

    name: str
    place: Place
    library: Library
    names: Names


class _Side(Record):
    libraries: list[_Known]
    issues: tuple[Issue, ...]
    single: bool


_NOTHING = _Known("", Place("", ""), Library(location="", format=""), {})


def _side(target: str, limits: Limits, platform: str, *, kernels: bool) -> _Side:
    found: list[tuple[Library, Names]]
    if kernels:
        found, issues = _with_names(target, limits, platform)
    else:
        inventory = scan(target, limits=limits, kernels=False, platform=platform)
        found, issues = [(library, {}) for library in inventory.libraries], inventory.all_issues
    path = paths_in(target)
    libraries = []
    for library, names in found:
        inside = path(library.location)
        name = library.linkage.soname if library.linkage is not None else ""
        name = name or os.path.basename(library.location.rpartition("::")[2])
        libraries.append(_Known(inside or name, Place(inside, name), library, names))
    single = all(library.location == target for library, _ in found)
    return _Side(libraries, issues, single)


def _with_names(
    target: str, limits: Limits, platform: str
) -> tuple[list[tuple[Library, Names]], tuple[Issue, ...]]:
    """Return libraries with the names of their kernels, read while each of them is open."""
    from fatbin.scanning.collector import Collector  # noqa: PLC0415
    from fatbin.scanning.scanner import Options, library_of  # noqa: PLC0415
    from fatbin.scanning.targets import open_parts  # noqa: PLC0415
    from fatbin.survey.names import kernel_names  # noqa: PLC0415 - opens images

    limits = limits.started()
    outer = Collector(target, limits)
    options = Options(limits, kernels=False, platform=platform)
    found: list[tuple[Library, Names]] = []
    issues: list[Issue] = []
    with open_parts(target, report=outer, limits=limits, platform=platform) as parts:
        for part in parts:
            library = library_of(part, options)
            if library is not None:
                names, told = kernel_names(part, library.modules, limits)
                found.append((library, names))
                issues += dict.fromkeys((*library.issues, *told))
    found.sort(key=lambda pair: pair[0].location)
    return found, (*outer.issues, *issues)


def _compare_libraries(first: _Known, second: _Known) -> LibraryDiff:
    before, after = _versions(first.library), _versions(second.library)
    facts: tuple[FactChange, ...] = ()
    if first is not _NOTHING and second is not _NOTHING:
        values = zip(FACTS, _facts(first.library), _facts(second.library), strict=True)
        facts = tuple(FactChange(fact, a, b) for fact, a, b in values if a != b)
    return LibraryDiff(
        before=first.name,
        after=second.name,
        sizes_before=_sizes(first.library),
        sizes_after=_sizes(second.library),
        gained=tuple(sorted(after.keys() - before.keys(), key=_order)),
        lost=tuple(sorted(before.keys() - after.keys(), key=_order)),
        versions=tuple(
            VersionChange(held, _sorted_versions(before[held]), _sorted_versions(after[held]))
            for held in sorted(before.keys() & after.keys(), key=_order)
            if before[held] != after[held]
        ),
        facts=facts,
        kernels_gained=_only(second.names, first.names),
        kernels_lost=_only(first.names, second.names),
    )


def _summary(first: _Side, second: _Side) -> Summary:
    before, after = _all_code(first), _all_code(second)
    return Summary(
        libraries_before=len(first.libraries),
        libraries_after=len(second.libraries),
        sizes_before=_sum(first),
        sizes_after=_sum(second),
        gained=tuple(sorted(after.keys() - before.keys(), key=_code_order)),
        lost=tuple(sorted(before.keys() - after.keys(), key=_code_order)),
        versions_before=_sorted_versions(set().union(*before.values())),
        versions_after=_sorted_versions(set().union(*after.values())),
    )


def _sum(side: _Side) -> Sizes:
    rows = [_sizes(known.library) for known in side.libraries]
    return Sizes(*(sum(values) for values in zip(Sizes(0, 0, 0, 0), *rows, strict=True)))


def _all_code(side: _Side) -> dict[Code, set[str]]:
    """Return what a side holds, with the ISA versions of PTX."""
    found: dict[Code, set[str]] = {}
    for known in side.libraries:
        versions = _versions(known.library)
        linked = any(held.place is not Where.RELOCATABLE for held in versions)
        for held, isa in versions.items():
            if not linked or held.place is not Where.RELOCATABLE:
                found.setdefault(Code(held.kind, held.arch), set()).update(isa)
    return found


def _versions(library: Library) -> dict[Held, set[str]]:
    """Return what a library holds, with the ISA versions of PTX."""
    found: dict[Held, set[str]] = {}
    for entry in library.entries:
        if entry.kind_number == EntryKind.GROUP:
            continue
        versions = found.setdefault(Held(entry.place, entry.kind, entry.arch), set())
        if entry.isa_version:
            versions.add(entry.isa_version)
    return found


def _sorted_versions(versions: set[str]) -> tuple[str, ...]:
    def numbers(version: str) -> list[int]:
        return [int(part) for part in version.split(".")]

    return tuple(sorted(versions, key=numbers))


def _facts(library: Library) -> tuple[str, ...]:
    links = library.linkage
    package = f"{library.distribution} {library.distribution_version}".strip()
    linked = ("", "", "", "")
    if links is not None:
        linked = (links.soname, links.version, links.cuda_runtime, " ".join(links.needed))
    return (package, *linked, library.machine, library.format)


def _sizes(library: Library) -> Sizes:
    stored = inflated = images = 0
    for entry in library.entries:
        stored += entry.stored_size
        if entry.kind_number != EntryKind.GROUP:
            inflated += entry.size
            images += 1
    return Sizes(library.size, stored, inflated, images)


def _only(names: Names, others: Names) -> tuple[KernelChange, ...]:
    """Return the kernels, or architectures of kernels, that others do not have."""
    found = []
    for name, archs in sorted(names.items()):
        other = others.get(name, set())
        left = archs - other
        if left:
            ordered = sorted(left, key=lambda arch: (arch is not None, arch))
            found.append(KernelChange(name, tuple(str(a or "-") for a in ordered), bool(other)))
    return tuple(found)


_PLACE_ORDER = {place: index for index, place in enumerate(Where)}


def _order(held: Held) -> tuple[Any, ...]:
    arch = held.arch
    return (_PLACE_ORDER[held.place], held.kind != "sass", held.kind, arch is not None, arch)


def _code_order(code: Code) -> tuple[Any, ...]:
    return (code.kind != "sass", code.kind, code.arch is not None, code.arch)
