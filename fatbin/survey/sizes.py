"""Where the bytes of libraries go: each of them counted exactly once.

Only headers are read. Three kinds of claims share a library out, the earlier ones first: device
code as the scanner finds it, the rest of the sections that hold nothing but device code, executable
sections of the host. What nobody claims is host data. Hostile files may let them overlap or run
past the end; the account still adds up, since a byte goes to the first claim only.
"""

from __future__ import annotations

import os

from fatbin.errors import FormatError, LimitExceededError
from fatbin.format.container import HEADER_SIZE
from fatbin.kinds import Place
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.collector import Collector
from fatbin.scanning.host import PLACES
from fatbin.scanning.parts import part_modules, read_host
from fatbin.scanning.targets import open_parts
from fatbin.survey.accounts import Account, LibrarySize, Slice
from fatbin.survey.ranges import common, grant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from fatbin.arch import Architecture
    from fatbin.format.view import View
    from fatbin.inventory import Module
    from fatbin.limits import Limits
    from fatbin.scanning.host import Host
    from fatbin.scanning.parts import Holder, Part
    from fatbin.survey.ranges import Range

    Key = tuple[Place, str, Architecture | None, bool]

__all__ = ["Account", "LibrarySize", "Slice", "account"]


def account(
    target: str | os.PathLike[str],
    *,
    limits: Limits = DEFAULT_LIMITS,
    platform: str = "",
    each: Callable[[Part], None] | None = None,
) -> Account:
    """Say where the bytes of libraries go, each counted exactly once. No payload is inflated.

    Args:
        target: a file, package, image, folder or environment, as for :func:`fatbin.scan`.
        limits: bounds on what the target may make this function do.
        platform: of an image that is there for several.
        each: called with every library while it is open; what it is called with is not public.

    Raises:
        SourceError: the target cannot be read.
        UnknownFormatError: the target is none of the known formats.
        MissingDependencyError: a PE file without LIEF.
    """
    location = os.fspath(target)
    limits = limits.started()
    collector = Collector(location, limits)
    totals = _Totals()
    with open_parts(location, report=collector, limits=limits, platform=platform) as parts:
        for part in parts:
            library = _library(part, limits)
            if each is not None:
                each(part)
            if part.alone or library.headers or library.device or library.issues:
                totals.add(part, library)
        if parts.single and not totals.libraries:
            totals.add_file(parts.size, parts.size)
        package = 0 if parts.single else parts.size
    return Account(
        target=location,
        size=totals.size,
        libraries=tuple(totals.libraries),
        archive=totals.size - sum(library.size for library in totals.libraries),
        issues=collector.issues,
        single=parts.single,
        packed=totals.packed,
        package=package,
    )


class _Totals:
    """Adds up libraries, and once each the files that they lie in.

    Attributes:
        libraries: in order.
        size: bytes of their files.
        packed: bytes that these take as they lie, or -1.
    """

    def __init__(self) -> None:
        self.libraries: list[LibrarySize] = []
        self.size = 0
        self.packed = 0
        self._last: Holder | None = None

    def add(self, part: Part, library: LibrarySize) -> None:
        """Add a library, and its file unless it is that of the last one."""
        holder, view = part.holder, part.view
        self.libraries.append(library)
        if holder is not self._last:
            self._last = holder
            self.add_file(holder.size, holder.packed)
        if view.name != holder.location and view.start == 0:
            self.add_file(view.size, view.size)  # of a thin archive: a file of its own

    def add_file(self, size: int, packed: int) -> None:
        """Add the bytes of a file."""
        self.size += size
        self.packed = self.packed + packed if min(self.packed, packed) >= 0 else -1


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
        packed=part.packed,
        distribution=part.holder.distribution,
        distribution_version=part.holder.distribution_version,
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
