"""Where bytes go, as plain records."""

from __future__ import annotations

from fatbin._record import Record
from fatbin.kinds import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fatbin.arch import Architecture
    from fatbin.inventory import Issue


class Slice(Record):
    """Device code of one place, kind and architecture in one library.

    Attributes:
        place: where it was found.
        kind: as in the inventory: ``sass``, ``ptx``, ``group``, ...
        arch: what it was compiled for; None for groups and LTO-IR files.
        in_group: True for images of groups, whose stored bytes are those of the slice ``group``.
        entries: how many.
        stored: bytes of their payloads in the file; 0 when ``in_group``.
        inflated: bytes of their payloads when inflated, as their headers declare; for a slice
            ``group`` those of its images together.
    """

    place: Place
    kind: str
    arch: Architecture | None
    in_group: bool
    entries: int
    stored: int
    inflated: int


class LibrarySize(Record):
    """The bytes of one file or archive member; ``sum(parts.values()) == size``.

    Attributes:
        location: path, with ``::member`` for members of archives.
        format: ``elf``, ``pe``, ``coff``, ``fatbin``, ``cubin``, ``ptx`` or ``ltoir``.
        machine: of the host code; empty for bare device code.
        size: bytes of the file or member.
        linked: True for a linked host file, False for objects and bare device code.
        host_code: bytes of executable sections without device code in them.
        host_data: bytes of everything else of the host: data, tables, headers, gaps.
        device: payloads by place, kind and architecture.
        headers: bytes of container headers and of entry headers with their tails.
        padding: zero bytes behind compressed payloads; those behind plain payloads, up to 7 each,
            cannot be told from the payload.
        gaps: zero bytes between containers, in sections that hold nothing else.
        unread: other bytes of such sections that could not be read as containers.
        issues: what could not be read.
        packed: bytes that the library takes in the package it lies in; its size for one that lies
            there by itself, -1 where nothing tells (compressed tar archives and layers).
        distribution: the package it belongs to, such as ``nvidia-nccl-cu12``; empty when not known.
        distribution_version: of that package.
    """

    location: str
    format: str
    machine: str = ""
    size: int = 0
    linked: bool = False
    host_code: int = 0
    host_data: int = 0
    device: tuple[Slice, ...] = ()
    headers: int = 0
    padding: int = 0
    gaps: int = 0
    unread: int = 0
    issues: tuple[Issue, ...] = ()
    packed: int = -1
    distribution: str = ""
    distribution_version: str = ""

    @property
    def leftovers(self) -> tuple[Slice, ...]:
        """The input of a device link, in a linked library that also has loadable code.

        The link is done, so a program whose GPU the loadable code serves does not need it; for
        other GPUs the runtime can still link its PTX.
        """
        if self.linked and any(s.place is Place.LOADABLE for s in self.device):
            return tuple(s for s in self.device if s.place is Place.RELOCATABLE)
        return ()

    @property
    def overhead(self) -> int:
        """Bytes of containers that are no payload: headers, padding, gaps, unread rests."""
        return self.headers + self.padding + self.gaps + self.unread

    @property
    def parts(self) -> dict[str, int]:
        """The bytes by part: ``host_code``, ``host_data``, ``device``, ``leftovers``, ``overhead``.

        ``device`` is without ``leftovers``.
        """
        leftovers = sum(s.stored for s in self.leftovers)
        return {
            "host_code": self.host_code,
            "host_data": self.host_data,
            "device": sum(s.stored for s in self.device) - leftovers,
            "leftovers": leftovers,
            "overhead": self.overhead,
        }


class Account(Record):
    """The bytes of a target: ``size == archive + sum(library.size for library in libraries)``.

    Attributes:
        target: as it was given.
        size: bytes of the file; of a thin archive with the files that it names and that hold
            device code. Of a package, image, folder or environment the bytes, inflated, of the
            files in it that hold device code or damage: what else is in it is no part.
        libraries: the file itself, or each file or member with device code or damage.
        archive: bytes of static archives that belong to no member above: headers, tables, members
            without device code.
        issues: what could not be read as a whole.
        single: whether the target is one file, and neither a package nor a folder or the like.
        packed: bytes that the counted files take as they lie, in a package mostly compressed; -1
            where that is not known of all of them.
        package: bytes of the package or image itself, with all that is in it; 0 where the target is
            not one file.
    """

    target: str
    size: int
    libraries: tuple[LibrarySize, ...] = ()
    archive: int = 0
    issues: tuple[Issue, ...] = ()
    single: bool = True
    packed: int = -1
    package: int = 0

    @property
    def all_issues(self) -> tuple[Issue, ...]:
        """The issues of the account and of its libraries."""
        return self.issues + tuple(i for library in self.libraries for i in library.issues)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data; all sizes are in bytes."""
        return {
            "target": self.target,
            "size": self.size,
            "archive": self.archive,
            "single": self.single,
            "packed": self.packed if self.packed >= 0 else None,
            "package": self.package,
            "libraries": [_library_dict(library) for library in self.libraries],
            "issues": [issue._asdict() for issue in self.issues],
        }


def _library_dict(library: LibrarySize) -> dict[str, Any]:
    leftovers = set(library.leftovers)
    return {
        "location": library.location,
        "format": library.format,
        "machine": library.machine,
        "distribution": library.distribution,
        "distribution_version": library.distribution_version,
        "size": library.size,
        "packed": library.packed if library.packed >= 0 else None,
        "parts": library.parts,
        "overhead": {
            name: getattr(library, name) for name in ("headers", "padding", "gaps", "unread")
        },
        "device": [
            {
                "place": s.place.value,
                "kind": s.kind,
                "arch": str(s.arch) if s.arch is not None else None,
                "in_group": s.in_group,
                "leftover": s in leftovers,
                "entries": s.entries,
                "stored": s.stored,
                "inflated": s.inflated,
            }
            for s in library.device
        ],
        "issues": [issue._asdict() for issue in library.issues],
    }
