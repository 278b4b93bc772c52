"""What architectures a library names, as the lines of a report."""

from __future__ import annotations

from fatbin._record import Record
from fatbin.judge.facts.versions import version_numbers
from fatbin.kinds import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.arch import Architecture
    from fatbin.inventory import Entry, Library

DEVICE_LINKED = 2
"""Version of the wrapper of a module that came out of a device link."""


class Content(Record):
    """What the entries of a library are, each combination once.

    Attributes:
        loaded: ``(kind, architecture, ISA version)`` of entries that are loaded.
        relocatable: the same of entries that must be linked first.
        device_linked: whether a module of the library came out of a device link.
    """

    loaded: tuple[tuple[str, Architecture | None, str], ...]
    relocatable: tuple[tuple[str, Architecture | None, str], ...]
    device_linked: bool


def content_of(library: Library) -> Content:
    """Look at every entry of a library once; architectures are compared by identity for speed."""
    found: tuple[dict[object, tuple[str, Architecture | None, str]], ...] = ({}, {})
    linked = False
    for module in library.modules:
        linked = linked or module.wrapper == DEVICE_LINKED
        into = found[module.place is Place.RELOCATABLE]
        for entry in module.entries:
            key = (entry.kind, id(entry.arch), entry.isa_version)
            if key not in into:
                into[key] = (entry.kind, entry.arch, entry.isa_version)
    loaded, relocatable = (tuple(dict.fromkeys(one.values())) for one in found)
    return Content(loaded, relocatable, linked)


def sass_named(content: Content) -> tuple[str, ...]:
    """Return the real architectures with SASS that is loaded, by number.

    Of a library with relocatable code only, that.
    """
    return tuple(map(str, sorted(_architectures(content, "sass"))))


def ptx_named(content: Content) -> tuple[str, ...]:
    """Return the virtual architectures with PTX and the ISA versions that it has.

    ``compute_90 (8.2)``; of PTX for a device link only, ``compute_90 (8.2), relocatable``.
    """
    loaded = _ptx(content.loaded)
    lines = [_line(arch, versions) for arch, versions in sorted(loaded.items())]
    if content.device_linked or not lines:
        lines += [
            f"{_line(arch, versions)}, relocatable"
            for arch, versions in sorted(_ptx(content.relocatable).items())
            if arch not in loaded
        ]
    return tuple(lines)


def architectures_of(content: Content) -> frozenset[Architecture]:
    """Return what a library can be claimed to support: SASS and PTX that is loaded.

    Of a library with relocatable code only, that.
    """
    return _architectures(content, "sass") | _architectures(content, "ptx")


def has_ptx(content: Content) -> bool:
    """Tell whether there is PTX of any kind, also such that only a link can use."""
    return bool(_ptx(content.loaded) or _ptx(content.relocatable))


def code_sizes(library: Library) -> tuple[tuple[str, int], ...]:
    """Return the stored bytes by kind and architecture, SASS first, then PTX, by number."""
    found: dict[tuple[str, int], list[Entry]] = {}
    for entry in library.entries:
        if entry.stored_size:
            found.setdefault((entry.kind, id(entry.arch)), []).append(entry)
    sizes: dict[tuple[str, Architecture | None], int] = {}
    for (kind, _), entries in found.items():
        key = (kind, entries[0].arch)
        sizes[key] = sizes.get(key, 0) + sum(entry.stored_size for entry in entries)
    return tuple(
        (f"{kind} {arch}" if arch is not None else kind, size)
        for (kind, arch), size in sorted(sizes.items(), key=lambda item: _order(*item[0]))
    )


_KIND_ORDER = {"sass": 0, "ptx": 1, "relocatable-ptx": 2}


def _order(kind: str, arch: Architecture | None) -> tuple[object, ...]:
    return (_KIND_ORDER.get(kind, 3), kind, arch is not None, arch)


def _architectures(content: Content, kind: str) -> frozenset[Architecture]:
    named = any(k in ("sass", "ptx") for k, _, _ in content.loaded)
    rows = content.loaded if named else content.relocatable
    return frozenset(arch for k, arch, _ in rows if k == kind and arch is not None)


def _ptx(
    rows: tuple[tuple[str, Architecture | None, str], ...],
) -> dict[Architecture, set[tuple[int, ...]]]:
    found: dict[Architecture, set[tuple[int, ...]]] = {}
    for kind, arch, isa in rows:
        if kind in ("ptx", "relocatable-ptx") and arch is not None:
            found.setdefault(arch, set()).add(version_numbers(isa))
    return found


def _line(arch: Architecture, versions: set[tuple[int, ...]]) -> str:
    known = sorted(version for version in versions if version)
    if not known:
        return str(arch)
    texts = [".".join(map(str, version)) for version in (known[0], known[-1])]
    return f"{arch} ({'-'.join(dict.fromkeys(texts))})"
