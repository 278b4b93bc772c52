"""From bytes to modules: what stands in one library, in the order of the file."""

from __future__ import annotations

from bisect import bisect_right

from fatbin.arch import architecture
from fatbin.errors import FormatError
from fatbin.format.attributes import fastpath_finalize
from fatbin.format.container import Container, walk
from fatbin.format.elf import ELF_MAGIC
from fatbin.format.entry import (
    NO_TAIL,
    EntryHeader,
    check_entry,
    read_tail,
    unfold,
)
from fatbin.format.layouts import WRAPPER
from fatbin.format.ptx import PtxHead
from fatbin.inventory import Entry, Module
from fatbin.kinds import (
    VIRTUAL_KINDS,
    Compression,
    EntryKind,
    Place,
    compression_of,
    kind_label,
    variant_of,
)
from fatbin.limits import Tally
from fatbin.scanning.embedded import Found, search
from fatbin.scanning.host import PLACES, WRAPPER_SECTIONS, AddressMap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.arch import Architecture
    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.limits import Limits
    from fatbin.scanning.host import Host, HostSection

WRAPPER_MAGIC = 0x466243B1


def host_modules(view: View, host: Host, limits: Limits, report: Report) -> Iterator[Module]:
    """Yield the modules of a host file: named sections first, then what the search finds."""
    wrappers = read_wrappers(view, host)
    taken = [(0, len(ELF_MAGIC))]  # the host's own magic
    read = _Taken()
    tally = Tally(limits)  # they are for all sections together
    for section in host.sections:
        place = PLACES.get(section.name)
        if place is not None and section.size:
            if not read.add(section):
                report(_overlap(view, section))
                continue
            window = view.window(section.offset, section.size)
            for container in walk(window, report=report, tally=tally):
                yield container_module(
                    view, container, place, section.name, wrappers, tally, report
                )
            taken.append((section.offset, section.offset + section.size))
        elif section.size and not section.searched:
            taken.append((section.offset, section.offset + section.size))
    names = _SectionNames(host.sections)
    for found in search(view, taken, tally, report):
        name = names.at(found.offset)
        if isinstance(found.content, Container):
            yield container_module(
                view, found.content, Place.EMBEDDED, name, wrappers, tally, report
            )
        else:
            yield bare_module(found, Place.EMBEDDED, name)


class _Taken:
    """Ranges that were read, none overlapping another."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []

    def add(self, section: HostSection) -> bool:
        """Take a section; False when it overlaps what is taken."""
        start, stop = section.offset, section.offset + section.size
        index = bisect_right(self._ranges, (start, start))
        before = self._ranges[index - 1][1] if index else 0
        after = self._ranges[index][0] if index < len(self._ranges) else stop
        if start < before or after < stop:
            return False
        self._ranges.insert(index, (start, stop))
        return True


def _overlap(view: View, section: HostSection) -> FormatError:
    return FormatError(
        f"section {section.name} of {section.size} bytes at {section.offset:#x} overlaps one that "
        "was read before; not read again",
        offset=section.offset,
        field="offset",
        location=view.name,
    )


def container_module(
    view: View,
    container: Container,
    place: Place,
    section: str,
    wrappers: dict[int, int],
    tally: Tally,
    report: Report,
) -> Module:
    """Describe a container and its entries; damage in them goes to ``report``.

    The images of groups are counted in ``tally``, as whoever found the container counted the rest.
    """
    entries: list[Entry] = []
    limits = tally.limits
    for header in container.headers:
        entries.append(_entry(view, header, place, limits, report))
        if header.kind == EntryKind.GROUP:
            entries += [
                _entry(view, member, place, limits, report)
                for member in unfold(view, header, report, tally)
            ]
    return Module(
        place=place,
        form="container",
        section=section,
        offset=container.offset,
        size=container.size,
        whole=container.whole,
        wrapper=wrappers.get(container.offset, 0),
        entries=tuple(entries),
    )


def bare_module(found: Found, place: Place, section: str = "") -> Module:
    """Describe a cubin or PTX text that stands by itself."""
    content = found.content
    if not isinstance(content, (Container, PtxHead)):
        form = "cubin"
        entry = Entry(
            place=place,
            kind="sass",
            arch=content.arch,
            toolkit=content.toolkit,
            stored_size=found.size,
            size=found.size,
            offset=found.offset,
            relocatable=content.relocatable,
            fastpath_finalize=content.fastpath_finalize,
        )
    else:
        assert isinstance(content, PtxHead)  # noqa: S101 - callers keep containers to themselves
        form = "ptx"
        entry = Entry(
            place=place,
            kind="ptx",
            arch=content.arch,
            isa_version=content.isa_version,
            stored_size=found.size,
            size=found.size,
            offset=found.offset,
        )
    return Module(
        place=place,
        form=form,
        section=section,
        offset=found.offset,
        size=found.size,
        entries=(entry,),
    )


def _entry(view: View, header: EntryHeader, place: Place, limits: Limits, report: Report) -> Entry:
    """Describe one entry; called for every entry of a file, so it takes short ways."""
    kind, flags, stored = header.kind, header.flags, header.compressed_size
    key = (kind, flags, header.arch, header.major, header.minor)
    label, arch, isa_version, version, compression = _FACTS.get(key) or _facts(*key)
    size = header.padded_size
    if stored:
        inflated = header.uncompressed_size
        if (
            stored > size
            or compression is Compression.NONE
            or inflated > stored * limits.ratio
            or inflated > limits.image_bytes
        ):
            check_entry(view, header, limits, report)
        size = inflated
    else:
        stored = size
        if compression is not Compression.NONE:
            check_entry(view, header, limits, report)
    tail = NO_TAIL
    if header.options_offset or header.name_length:
        tail = read_tail(view, header, report)
    relocatable: bool | None = None
    if isa_version:
        relocatable = "--compile-only" in (tail.options or "").split()
    if place is Place.RELOCATABLE or kind == EntryKind.RELOCATABLE_PTX:
        relocatable = True
    group = header.group
    return Entry(
        place,
        label,
        arch,
        isa_version,
        version,
        "",
        compression,
        stored if group is None else 0,
        size,
        header.offset,
        header.header_size,
        kind,
        flags,
        tail.identifier,
        tail.options,
        tail.compat.hex(),
        -1 if group is None else group.offset,
        header.image_offset,
        relocatable,
        fastpath_finalize(tail.compat) if tail.compat else None,
    )


def _facts(
    kind: int, flags: int, number: int, major: int, minor: int
) -> tuple[str, Architecture | None, str, str, Compression]:
    """Put what an entry's header says into words; entries of a file repeat a few combinations."""
    version = f"{major}.{minor}"
    facts = (
        kind_label(kind),
        architecture(number, variant_of(flags), virtual=kind in VIRTUAL_KINDS),
        version if kind in PTX_KINDS else "",
        version,
        compression_of(flags),
    )
    if len(_FACTS) < _MOST_FACTS:  # a hostile file may hold any number of combinations
        _FACTS[kind, flags, number, major, minor] = facts
    return facts


_FACTS: dict[
    tuple[int, int, int, int, int], tuple[str, Architecture | None, str, str, Compression]
] = {}
_MOST_FACTS = 1024
PTX_KINDS = frozenset((1, 64))


def read_wrappers(view: View, host: Host) -> dict[int, int]:
    """Return the wrapper version of each container that a wrapper points at, by file offset.

    Objects have none: their pointers are relocations. What is no wrapper is passed over, since
    wrappers only add to what the walk finds.
    """
    found: dict[int, int] = {}
    if not host.linked:
        return found
    addresses = AddressMap(host)
    read = _Taken()
    for section in host.sections:
        if section.name not in WRAPPER_SECTIONS or not section.size or not read.add(section):
            continue
        for offset in range(section.offset, section.offset + section.size - 23, WRAPPER.size):
            magic, version, data, _ = WRAPPER.read(view, offset)
            target = addresses.file_offset(data) if magic == WRAPPER_MAGIC else -1
            if target >= 0:
                found[target] = version
    return found


class _SectionNames:
    """Which section an offset lies in."""

    def __init__(self, sections: tuple[HostSection, ...]) -> None:
        self._sections = sorted((s for s in sections if s.size), key=lambda s: s.offset)
        self._starts = [section.offset for section in self._sections]

    def at(self, offset: int) -> str:
        index = bisect_right(self._starts, offset) - 1
        if index >= 0:
            section = self._sections[index]
            if offset < section.offset + section.size:
                return section.name
        return ""
