"""What changed between two builds of a library, in terms of what GPUs can run.

Names of files, order, offsets, compression and debug text are no difference. Sizes and linkage are
told, but only architectures, PTX versions and kernels make two files differ.
"""

from __future__ import annotations

import os

from fatbin._record import Record
from fatbin.inventory import Library
from fatbin.kinds import EntryKind, Place
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.targets import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fatbin.arch import Architecture
    from fatbin.inventory import Inventory, Issue
    from fatbin.limits import Limits
    from fatbin.survey.names import Names

FACTS = ("soname", "version", "cuda_runtime", "needed", "machine", "format")
"""What is compared of linkage and host, in this order."""


class Held(Record):
    """Device code of a kind for an architecture at a place.

    Attributes:
        place: where it is.
        kind: as in the inventory; never ``group``, which is a way to store images.
        arch: what it was compiled for; None where nothing says so.
    """

    place: Place
    kind: str
    arch: Architecture | None


class VersionChange(Record):
    """PTX that both sides have, of other ISA versions.

    Attributes:
        held: place, kind and architecture.
        before: ISA versions on the first side, the lowest first.
        after: on the second.
    """

    held: Held
    before: tuple[str, ...]
    after: tuple[str, ...]


class FactChange(Record):
    """Another value of one of :data:`FACTS`; lists are joined with blanks."""

    fact: str
    before: str
    after: str


class KernelChange(Record):
    """A kernel that one side has and the other has not.

    Attributes:
        name: mangled as in the file.
        archs: for which the other side does not have it, in order.
        known: whether the other side has it for other architectures.
    """

    name: str
    archs: tuple[str, ...]
    known: bool


class Sizes(Record):
    """Of one library.

    Attributes:
        file: bytes of the file or member.
        stored: bytes of device code in it.
        inflated: bytes of device code when inflated, as headers declare.
        images: how many; those in groups count, groups do not.
    """

    file: int
    stored: int
    inflated: int
    images: int


class LibraryDiff(Record):
    """One library on both sides; where one side has none, its name is empty and its sizes are 0.

    Attributes:
        before: soname, member name or file name on the first side.
        after: on the second.
        sizes_before: on the first side.
        sizes_after: on the second.
        gained: what only the second side has.
        lost: what only the first has.
        versions: PTX of other versions.
        facts: what else changed: linkage, machine, format.
        kernels_gained: kernels that only the second side has; empty when not asked for.
        kernels_lost: that only the first has.
    """

    before: str
    after: str
    sizes_before: Sizes
    sizes_after: Sizes
    gained: tuple[Held, ...] = ()
    lost: tuple[Held, ...] = ()
    versions: tuple[VersionChange, ...] = ()
    facts: tuple[FactChange, ...] = ()
    kernels_gained: tuple[KernelChange, ...] = ()
    kernels_lost: tuple[KernelChange, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether architectures, PTX versions or kernels changed."""
        return bool(
            self.gained or self.lost or self.versions or self.kernels_gained or self.kernels_lost
        )

    @property
    def unchanged(self) -> bool:
        """Whether there is nothing to tell at all."""
        return not self.differs and not self.facts and self.sizes_before == self.sizes_after

    def mirrored(self) -> LibraryDiff:
        """Return the same seen from the other side."""
        return LibraryDiff(
            before=self.after,
            after=self.before,
            sizes_before=self.sizes_after,
            sizes_after=self.sizes_before,
            gained=self.lost,
            lost=self.gained,
            versions=tuple(VersionChange(v.held, v.after, v.before) for v in self.versions),
            facts=tuple(FactChange(f.fact, f.after, f.before) for f in self.facts),
            kernels_gained=self.kernels_lost,
            kernels_lost=self.kernels_gained,
        )


class Diff(Record):
    """What changed from one file to another.

    Attributes:
        before: path of the first file.
        after: path of the second.
        kernels: whether kernels were compared.
        libraries: those with anything to tell, by name.
        unchanged: how many others there are.
        issues: what could not be read on either side; it was not compared.
    """

    before: str
    after: str
    kernels: bool
    libraries: tuple[LibraryDiff, ...] = ()
    unchanged: int = 0
    issues: tuple[Issue, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether architectures, PTX versions or kernels changed in any library."""
        return any(library.differs for library in self.libraries)

    def mirrored(self) -> Diff:
        """Return the same seen from the other side, but for the order of the issues."""
        return self._replace(
            before=self.after,
            after=self.before,
            libraries=tuple(library.mirrored() for library in self.libraries),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data; all sizes are in bytes."""
        return {
            "before": self.before,
            "after": self.after,
            "differs": self.differs,
            "kernels_compared": self.kernels,
            "unchanged": self.unchanged,
            "libraries": [_library_dict(library) for library in self.libraries],
            "issues": [issue._asdict() for issue in self.issues],
        }


def compare(
    before: str | os.PathLike[str],
    after: str | os.PathLike[str],
    *,
    kernels: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Diff:
    """Compare two files. Libraries are matched by soname or member name, single files as they are.

    Args:
        before: path of the first file; its format is told by content, as in :func:`fatbin.scan`.
        after: path of the second.
        kernels: also compare the names of kernels in SASS and PTX; inflates every image, one at a
            time.
        limits: bounds on what a file may make this function do.

    Raises:
        SourceError: a file cannot be read.
        UnknownFormatError: a file is none of the known formats.
        MissingDependencyError: without LIEF, or with ``kernels`` LZ4 or zstd without cramjam.
    """
    first, second = (_side(os.fspath(path), limits, kernels=kernels) for path in (before, after))
    diffs = [_compare_libraries(a, b) for a, b in _matched(first.libraries, second.libraries)]
    diffs.sort(key=lambda d: sorted((d.before or d.after, d.after or d.before)))
    told = tuple(library for library in diffs if not library.unchanged)
    return Diff(
        before=os.fspath(before),
        after=os.fspath(after),
        kernels=kernels,
        libraries=told,
        unchanged=len(diffs) - len(told),
        issues=tuple(dict.fromkeys(first.issues + second.issues)),
    )


class _Known(Record):
    """A library and the names of its kernels."""

    name: str
    library: Library
    names: Names


class _Side(Record):
    libraries: list[_Known]
    issues: tuple[Issue, ...]


_NOTHING = _Known("", Library(location="", format=""), {})


def _side(path: str, limits: Limits, *, kernels: bool) -> _Side:
    inventory: Inventory = scan(path, limits=limits, kernels=False)
    issues = inventory.all_issues
    named: dict[str, list[Names]] = {}
    if kernels:
        from fatbin.survey.names import kernel_names  # noqa: PLC0415 - opens images

        for location, names, found in kernel_names(path, limits):
            named.setdefault(location, []).append(names)
            issues += found
    libraries = []
    for library in inventory.libraries:
        # Members of one name have one location; both readers meet them in the same order.
        waiting = named.get(library.location)
        names = waiting.pop(0) if waiting and library.modules else {}
        libraries.append(_Known(_name(library), library, names))
    return _Side(libraries, issues)


def _name(library: Library) -> str:
    links = library.linkage
    if links is not None and links.soname:
        return links.soname
    return os.path.basename(library.location.rpartition("::")[2])


def _matched(first: list[_Known], second: list[_Known]) -> list[tuple[_Known, _Known]]:
    if len(first) == len(second) == 1:
        return [(first[0], second[0])]
    waiting: dict[str, list[_Known]] = {}
    for known in second:
        waiting.setdefault(known.name, []).append(known)
    matched = []
    for known in first:
        others = waiting.get(known.name)
        matched.append((known, others.pop(0) if others else _NOTHING))
    left = {id(known) for others in waiting.values() for known in others}
    return matched + [(_NOTHING, known) for known in second if id(known) in left]


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
    linked = ("", "", "", "")
    if links is not None:
        linked = (links.soname, links.version, links.cuda_runtime, " ".join(links.needed))
    return (*linked, library.machine, library.format)


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


_PLACE_ORDER = {place: index for index, place in enumerate(Place)}


def _order(held: Held) -> tuple[Any, ...]:
    arch = held.arch
    return (_PLACE_ORDER[held.place], held.kind != "sass", held.kind, arch is not None, arch)


def _library_dict(library: LibraryDiff) -> dict[str, Any]:
    return {
        "before": library.before,
        "after": library.after,
        "differs": library.differs,
        "sizes_before": library.sizes_before._asdict(),
        "sizes_after": library.sizes_after._asdict(),
        "gained": [_held_dict(held) for held in library.gained],
        "lost": [_held_dict(held) for held in library.lost],
        "versions": [
            {**_held_dict(v.held), "before": list(v.before), "after": list(v.after)}
            for v in library.versions
        ],
        "facts": [fact._asdict() for fact in library.facts],
        "kernels_gained": [_kernel_dict(kernel) for kernel in library.kernels_gained],
        "kernels_lost": [_kernel_dict(kernel) for kernel in library.kernels_lost],
    }


def _held_dict(held: Held) -> dict[str, Any]:
    arch = str(held.arch) if held.arch is not None else None
    return {"place": held.place.value, "kind": held.kind, "arch": arch}


def _kernel_dict(kernel: KernelChange) -> dict[str, Any]:
    return {**kernel._asdict(), "archs": list(kernel.archs)}
