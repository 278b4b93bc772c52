"""What changed between two targets, as plain records."""

from __future__ import annotations

from fatbin._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fatbin.arch import Architecture
    from fatbin.inventory import Issue
    from fatbin.kinds import Place

FACTS = ("package", "soname", "version", "cuda_runtime", "needed", "machine", "format")
"""What is compared of package, linkage and host, in this order."""


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
        before: on the first side the path inside the target (of an archive the member); of a target
            that is the library itself its soname or file name.
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


class Code(Record):
    """Device code of a kind for an architecture, wherever it lies.

    Attributes:
        kind: as in the inventory.
        arch: what it was compiled for; None where nothing says so.
    """

    kind: str
    arch: Architecture | None


class Summary(Record):
    """All libraries of both targets together.

    Relocatable code of a library that has other code too does not count: it was the input of a
    device link.

    Attributes:
        libraries_before: how many hold device code or damage on the first side.
        libraries_after: on the second.
        sizes_before: added up.
        sizes_after: likewise.
        gained: what no library of the first side has and one of the second does.
        lost: what one of the first has and none of the second.
        versions_before: ISA versions of PTX on the first side, the lowest first.
        versions_after: on the second.
    """

    libraries_before: int
    libraries_after: int
    sizes_before: Sizes
    sizes_after: Sizes
    gained: tuple[Code, ...] = ()
    lost: tuple[Code, ...] = ()
    versions_before: tuple[str, ...] = ()
    versions_after: tuple[str, ...] = ()

    def mirrored(self) -> Summary:
        """Return the same seen from the other side."""
        return Summary(
            libraries_before=self.libraries_after,
            libraries_after=self.libraries_before,
            sizes_before=self.sizes_after,
            sizes_after=self.sizes_before,
            gained=self.lost,
            lost=self.gained,
            versions_before=self.versions_after,
            versions_after=self.versions_before,
        )


class Diff(Record):
    """What changed from one target to another.

    Attributes:
        before: the first target.
        after: the second.
        summary: all libraries together.
        single: whether each target is one library itself.
        kernels: whether kernels were compared.
        libraries: those with anything to tell, by name.
        unchanged: how many others there are.
        issues: what could not be read on either side; it was not compared.
    """

    before: str
    after: str
    summary: Summary
    single: bool
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
            summary=self.summary.mirrored(),
            libraries=tuple(library.mirrored() for library in self.libraries),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data; all sizes are in bytes."""
        return {
            "before": self.before,
            "after": self.after,
            "differs": self.differs,
            "summary": {
                **self.summary._asdict(),
                "sizes_before": self.summary.sizes_before._asdict(),
                "sizes_after": self.summary.sizes_after._asdict(),
                "gained": [_code_dict(code) for code in self.summary.gained],
                "lost": [_code_dict(code) for code in self.summary.lost],
                "versions_before": list(self.summary.versions_before),
                "versions_after": list(self.summary.versions_after),
            },
            "kernels_compared": self.kernels,
            "unchanged": self.unchanged,
            "libraries": [_library_dict(library) for library in self.libraries],
            "issues": [issue._asdict() for issue in self.issues],
        }


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


def _code_dict(code: Code) -> dict[str, Any]:
    return {"kind": code.kind, "arch": str(code.arch) if code.arch is not None else None}


def _held_dict(held: Held) -> dict[str, Any]:
    arch = str(held.arch) if held.arch is not None else None
    return {"place": held.place.value, "kind": held.kind, "arch": arch}


def _kernel_dict(kernel: KernelChange) -> dict[str, Any]:
    return {**kernel._asdict(), "archs": list(kernel.archs)}
