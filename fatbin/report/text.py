"""``list`` and ``inspect`` as text."""

from __future__ import annotations

from fatbin.kinds import Compression, Place
from fatbin.report.table import size_text, writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fatbin.inventory import Entry, Inventory, Library, Module
    from fatbin.report.table import Writer

__all__ = ["inspect_libraries", "list_libraries", "writer"]

_PLACES = {place: index for index, place in enumerate(Place)}
_FORMATS = {"elf": "ELF", "pe": "PE", "coff": "COFF", "ptx": "PTX", "ltoir": "LTO-IR"}


def list_libraries(out: Writer, inventory: Inventory, *, entries: bool) -> None:
    """Write a table for each library: a line a group of entries, or a line each."""
    for library in inventory.libraries:
        out.heading(f"{library.location}  ({summary(library)})")
        if entries:
            out.table(_ENTRY_COLUMNS, (_entry_row(entry) for entry in library.entries))
        elif library.modules:
            out.table(_GROUP_COLUMNS, _group_rows(library.entries))


def inspect_libraries(out: Writer, inventory: Inventory) -> None:
    """Write everything about each library: linkage, containers, entries, issues."""
    for library in inventory.libraries:
        out.heading(library.location)
        for name, value in _facts(library):
            out.line(f"  {name:<9} {value}")
        for module in library.modules:
            out.line("")
            out.line(f"{_module_title(module)}")
            if module.entries:
                out.table(_HEADER_COLUMNS, (_header_row(entry) for entry in module.entries))
        if library.issues:
            out.line("")
            out.heading(f"{_count(len(library.issues), 'issue')}")
            for issue in library.issues:
                out.line(f"  {issue}")
        out.line("")
    for issue in inventory.issues:
        out.line(f"{issue}")


def summary(library: Library) -> str:
    """Return one line about a library: format, size, modules."""
    name = _FORMATS.get(library.format, library.format)
    parts = [f"{name} {library.machine}".strip(), size_text(library.size)]
    forms: dict[str, int] = {}
    for module in library.modules:
        forms[module.form] = forms.get(module.form, 0) + 1
    parts += [_count(number, form) for form, number in forms.items()]
    if not forms:
        parts.append("no device code")
    if library.issues:
        parts.append(_count(len(library.issues), "issue"))
    return ", ".join(parts)


_GROUP_COLUMNS = ("place", "kind", "arch", ">count", ">stored", ">inflated")


def _group_rows(entries: Iterable[Entry]) -> Iterable[tuple[str, ...]]:
    """Add up entries of the same place, kind and architecture.

    Images of a group are counted and their inflated size is theirs; what is stored is the group's.
    """
    groups: dict[tuple[Place, str, object], list[int]] = {}
    for entry in entries:
        total = groups.setdefault((entry.place, entry.kind, entry.arch), [0, 0, 0])
        total[0] += 1
        total[1] += entry.stored_size
        total[2] += 0 if entry.kind == "group" else entry.size
    ordered = sorted(groups.items(), key=lambda item: (_PLACES[item[0][0]], *_order(item[0])))
    for (place, kind, arch), (count, stored, size) in ordered:
        yield (
            place.value,
            kind,
            str(arch or "-"),
            f"{count:,}",
            size_text(stored) if stored else "in group",
            size_text(size) if kind != "group" else "-",
        )


def _order(key: tuple[Place, str, object]) -> tuple[object, ...]:
    arch = key[2]
    return (key[1] != "sass", key[1], arch is not None, arch)


_ENTRY_COLUMNS = (
    "place", ">offset", "kind", "arch", "isa", "compression", ">stored", ">inflated", "identifier",
)  # fmt: skip


def _entry_row(entry: Entry) -> tuple[str, ...]:
    return (
        entry.place.value,
        f"{entry.offset:#x}",
        entry.kind,
        str(entry.arch or "-"),
        entry.isa_version or "-",
        "in group" if entry.group >= 0 else entry.compression.value,
        size_text(entry.stored_size) if entry.group < 0 else "-",
        size_text(entry.size),
        entry.identifier,
    )


_HEADER_COLUMNS = (
    ">offset", "kind", "arch", "version", ">header", "compression", ">stored", ">inflated",
    "flags", "identifier", "options",
)  # fmt: skip


def _header_row(entry: Entry) -> tuple[str, ...]:
    options = repr(entry.options.strip()) if entry.options else ""
    if entry.compat:
        options = f".nv.compat {entry.compat}"
    flags = [name for name in entry.flag_names if name not in _SAID_ELSEWHERE]
    if entry.relocatable:
        flags.append("relocatable")
    if entry.toolkit:
        flags.append(f"toolkit {entry.toolkit}")
    return (
        f"{entry.offset:#x}",
        entry.kind,
        str(entry.arch or "-"),
        entry.code_version or entry.isa_version or "-",
        str(entry.header_size),
        "in group" if entry.group >= 0 else entry.compression.value,
        str(entry.stored_size) if entry.group < 0 else "-",
        str(entry.size),
        " ".join(flags),
        entry.identifier,
        options,
    )


_SAID_ELSEWHERE = frozenset(
    (*(c.value for c in Compression), "arch-specific", "family", "relocatable")
)


def _module_title(module: Module) -> str:
    where = module.section or "file"
    wrapped = {0: "", 1: ", wrapper version 1", 2: ", wrapper version 2 (device-linked)"}
    whole = "" if module.whole else ", damaged"
    return (
        f"{module.form} in {where} at {module.offset:#x}: {module.place.value}, "
        f"{_count(len(module.entries), 'entry')}, {module.size:,} bytes"
        f"{wrapped.get(module.wrapper, f', wrapper version {module.wrapper}')}{whole}"
    )


def _facts(library: Library) -> Iterable[tuple[str, str]]:
    yield "format", summary(library)
    if library.layer:
        yield "layer", library.layer
    if library.distribution:
        yield "package", f"{library.distribution} {library.distribution_version}"
    if library.aliases:
        yield "also", ", ".join(library.aliases)
    links = library.linkage
    if links is None:
        return
    rows = (
        ("soname", links.soname),
        ("version", links.version),
        ("cudart", links.cuda_runtime),
        ("needed", ", ".join(links.needed)),
        ("rpath", ":".join(links.rpath)),
        ("runpath", ":".join(links.runpath)),
        ("build id", links.build_id),
    )
    yield from ((name, value) for name, value in rows if value)


def _count(number: int, what: str) -> str:
    plural = what[:-1] + "ies" if what.endswith("y") else what + "s"
    if what == "ptx":
        return f"{number:,} PTX text{'' if number == 1 else 's'}"
    return f"{number:,} {what if number == 1 else plural}"
