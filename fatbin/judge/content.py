"""What architectures a library names, as the lines of a report."""

from __future__ import annotations

from fatbin.judge.loader import DEVICE_LINKED
from fatbin.kinds import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.arch import Architecture
    from fatbin.inventory import Library


def sass_named(library: Library) -> tuple[str, ...]:
    """Return the real architectures with SASS that is loaded, by number.

    Of a library with relocatable code only, that.
    """
    return tuple(map(str, sorted(_architectures(library, "sass"))))


def ptx_named(library: Library) -> tuple[str, ...]:
    """Return the virtual architectures with PTX and the ISA versions that it has.

    ``compute_90 (8.2)``; of PTX for a device link only, ``compute_90 (8.2), relocatable``.
    """
    loaded: dict[Architecture, set[tuple[int, ...]]] = {}
    linked: dict[Architecture, set[tuple[int, ...]]] = {}
    for entry in library.entries:
        if entry.kind not in ("ptx", "relocatable-ptx") or entry.arch is None:
            continue
        into = linked if entry.place is Place.RELOCATABLE else loaded
        version = tuple(int(part) for part in entry.isa_version.split(".") if part)
        into.setdefault(entry.arch, set()).add(version)
    lines = [_line(arch, versions) for arch, versions in sorted(loaded.items())]
    if is_device_linked(library) or not lines:
        lines += [
            f"{_line(arch, versions)}, relocatable"
            for arch, versions in sorted(linked.items())
            if arch not in loaded
        ]
    return tuple(lines)


def architectures_of(library: Library) -> frozenset[Architecture]:
    """Return what a library can be claimed to support: SASS and PTX that is loaded.

    Of a library with relocatable code only, that.
    """
    return _architectures(library, "sass") | _architectures(library, "ptx")


def is_device_linked(library: Library) -> bool:
    """Tell whether a module of the library came out of a device link."""
    return any(module.wrapper == DEVICE_LINKED for module in library.modules)


def _architectures(library: Library, kind: str) -> frozenset[Architecture]:
    loaded = any(entry.place is not Place.RELOCATABLE for entry in library.entries)
    return frozenset(
        entry.arch
        for entry in library.entries
        if entry.kind == kind
        and entry.arch is not None
        and (entry.place is Place.RELOCATABLE) is not loaded
    )


def _line(arch: Architecture, versions: set[tuple[int, ...]]) -> str:
    known = sorted(version for version in versions if version)
    if not known:
        return str(arch)
    texts = [".".join(map(str, version)) for version in (known[0], known[-1])]
    return f"{arch} ({'-'.join(dict.fromkeys(texts))})"
