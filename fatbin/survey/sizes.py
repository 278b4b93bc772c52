"""Where the bytes of a file go: each of them counted exactly once.

Only headers are read. Three kinds of claims share a library out, the earlier ones first: device
code as the scanner finds it, the rest of the sections that hold nothing but device code, executable
sections of the host. What nobody claims is host data. Hostile files may let them overlap or run
past the end; the account still adds up, since a byte goes to the first claim only.
"""

from __future__ import annotations

import os

from fatbin._record import Record
from fatbin.errors import FormatError, LimitExceededError
from fatbin.format.container import HEADER_SIZE
from fatbin.kinds import Place
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.collector import Collector
from fatbin.scanning.host import PLACES
from fatbin.scanning.scanner import open_parts, part_modules, read_host
from fatbin.survey.ranges import common, grant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fatbin.arch import Architecture
    from fatbin.format.view import View
    from fatbin.inventory import Issue, Module
    from fatbin.limits import Limits
    from fatbin.scanning.host import Host
    from fatbin.scanning.scanner import Part
    from fatbin.survey.ranges import Range

    Key = tuple[Place, str, Architecture | None, bool]


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
    """The bytes of one file: ``size == archive + sum(library.size for library in libraries)``.

    Attributes:
        target: the path as given.
        size: bytes of the file; of a thin archive with the files that it names and that hold
            device code.
        libraries: the file itself, or each member with device code or damage.
        archive: bytes of an archive that belong to no member above: headers, tables, members
            without device code.
        issues: what could not be read as a whole.
    """

    target: str
    size: int
    libraries: tuple[LibrarySize, ...] = ()
    archive: int = 0
    issues: tuple[Issue, ...] = ()

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
            "libraries": [_library_dict(library) for library in self.libraries],
            "issues": [issue._asdict() for issue in self.issues],
        }


def account(path: str | os.PathLike[str], limits: Limits = DEFAULT_LIMITS) -> Account:
    """Say where the bytes of a file go, each counted exactly once. Nothing is inflated.

    Args:
        path: of the file; its format is told by content, as in :func:`fatbin.scan`.
        limits: bounds on what the file may make this function do.

    Raises:
        SourceError: the file cannot be read.
        UnknownFormatError: the file is none of the known formats.
        MissingDependencyError: a PE file without LIEF.
    """
    location = os.fspath(path)
    collector = Collector(location, limits)
    libraries = []
    with open_parts(location, report=collector, limits=limits) as parts:
        size = os.stat(location).st_size
        inside = 0
        for part in parts:
            library = _library(part, limits)
            member = part.view.name != location
            if member and not (library.device or library.issues):
                continue
            libraries.append(library)
            if member and part.view.start == 0:  # no header before it: a file of its own
                size += library.size
            inside += library.size
    return Account(location, size, tuple(libraries), size - inside, collector.issues)


def _library(part: Part, limits: Limits) -> LibrarySize:
    view = part.view
    collector = Collector(view.name, limits)
    host: Host | None = None
    modules: list[Module] = []
    try:
        host = read_host(part, limits, collector)
        modules.extend(part_modules(part, host, limits, collector))
    except (FormatError, LimitExceededError) as exc:
        collector(exc)
    tally = _Tally()
    sections = host.sections if host is not None else ()
    device = [s for s in sections if s.name in PLACES]
    code = [s for s in sections if s.code and s.name not in PLACES]
    claims = [(module.offset, module.offset + module.size) for module in modules]
    claims += [(s.offset, s.offset + s.size) for s in (*device, *code)]
    bare = host is None and part.format not in {"elf", "pe", "coff"}
    if bare:
        claims.append((0, view.size))
    granted = grant(claims, view.size)
    for module, extent, ranges in zip(modules, claims, granted, strict=False):
        tally.add(module, None if ranges == [extent] else ranges)
    first_code = len(modules) + len(device)
    rests = granted[len(modules) : first_code]
    host_code = sum(stop - start for ranges in granted[first_code:] for start, stop in ranges)
    if bare:
        rests, host_code = granted[len(modules) :], 0
    gaps, unread = _rests(view, [r for ranges in rests for r in ranges])
    claimed = host_code + tally.total + gaps + unread
    return LibrarySize(
        location=view.name,
        format=part.format,
        machine=host.machine if host is not None else "",
        size=view.size,
        linked=host is not None and host.linked,
        host_code=host_code,
        host_data=view.size - claimed,
        device=tally.slices(),
        headers=tally.headers,
        padding=tally.padding,
        gaps=gaps,
        unread=unread,
        issues=collector.issues,
    )


class _Tally:
    """Adds up modules.

    Attributes:
        headers: bytes of container and entry headers.
        padding: bytes behind compressed payloads.
    """

    def __init__(self) -> None:
        self.headers = 0
        self.padding = 0
        self._slices: dict[Key, list[int]] = {}  # entries, stored, inflated

    @property
    def total(self) -> int:
        """Bytes added up so far."""
        return self.headers + self.padding + sum(row[1] for row in self._slices.values())

    def slices(self) -> tuple[Slice, ...]:
        """Return the payloads by place, kind and architecture, in that order."""
        ordered = sorted(self._slices.items(), key=lambda item: _order(item[0]))
        return tuple(Slice(*key, *row) for key, row in ordered)

    def add(self, module: Module, granted: list[Range] | None) -> None:
        """Add a module: all of it, or where it shares bytes with others what it was granted."""
        for entry in module.entries:
            key = (entry.place, entry.kind, entry.arch, entry.group >= 0)
            row = self._slices.get(key)
            if row is None:
                row = self._slices[key] = [0, 0, 0]
            row[0] += 1
            row[2] += entry.size
        for start, stop, key in _pieces(module):
            size = stop - start if granted is None else common(granted, start, stop)
            if key is None:
                self.headers += size
            elif key == ():
                self.padding += size
            else:
                self._slices[key][1] += size


def _pieces(module: Module) -> Iterator[tuple[int, int, Any]]:
    """Yield the ranges of a module that tile it, with the key of a payload.

    The key of headers is None, that of padding an empty tuple.
    """
    end = module.offset + module.size
    if module.form != "container":
        (entry,) = module.entries
        yield module.offset, end, (entry.place, entry.kind, entry.arch, False)
        return
    outer = [entry for entry in module.entries if entry.group < 0]
    starts = [entry.offset for entry in outer[1:]]
    yield module.offset, module.offset + HEADER_SIZE, None
    for entry, following in zip(outer, [*starts, end], strict=False):
        payload = entry.offset + entry.header_size
        behind = min(payload + entry.stored_size, following)  # headers may claim more than there is
        yield entry.offset, payload, None
        yield payload, behind, (entry.place, entry.kind, entry.arch, False)
        if behind < following:
            yield behind, following, ()


def _rests(view: View, ranges: list[Range]) -> tuple[int, int]:
    """Tell the zero bytes of ranges from what is more than that: ``(zero, other)`` bytes.

    A range that is not all zero counts as zero up to its first other byte.
    """
    zero = other = 0
    for start, stop in ranges:
        window = view.window(start, stop - start)
        blank = window.find_not_zero(0)
        zero += blank
        other += window.size - blank
    return zero, other


_PLACE_ORDER = {place: index for index, place in enumerate(Place)}


def _order(key: Key) -> tuple[Any, ...]:
    place, kind, arch, in_group = key
    return (_PLACE_ORDER[place], kind != "sass", kind, in_group, arch is not None, arch)


def _library_dict(library: LibrarySize) -> dict[str, Any]:
    leftovers = set(library.leftovers)
    return {
        "location": library.location,
        "format": library.format,
        "machine": library.machine,
        "size": library.size,
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
