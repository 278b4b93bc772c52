"""``size`` as text and as comma-separated values."""

from __future__ import annotations

from fatbin.report.table import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TextIO

    from fatbin.report.table import Writer
    from fatbin.survey.grouping import Row
    from fatbin.survey.kernel_sizes import LibraryKernels
    from fatbin.survey.sizes import Account, LibrarySize

__all__ = ["account_text", "kernels_csv", "kernels_text", "libraries_text", "rows_csv", "writer"]

_FORMATS = {"elf": "ELF", "pe": "PE", "coff": "COFF", "ptx": "PTX", "ltoir": "LTO-IR"}
_HOST = (("host_code", "host code"), ("host_data", "host data and tables"))
_PARTS = {"device": "device code", "leftovers": "relocatable leftovers"}
_OVERHEAD = (
    ("headers", "container headers"),
    ("padding", "payload padding"),
    ("gaps", "gaps between containers"),
    ("unread", "unreadable rest"),
)
_ARCHIVE = "archive tables and other members"


def account_text(
    out: Writer, account: Account, grouped: Sequence[Row], by: str, top: int | None
) -> None:
    """Write the parts of a target, then its device code added up, then what it consists of.

    ``top`` bounds the rows of each table; None means all.
    """
    _heading(out, account)
    if account.size:
        out.table(("part", ">bytes", ">share"), _part_rows(account))
    if grouped:
        out.line("")
        columns = ("part", by, ">entries", ">stored bytes", ">share", ">inflated bytes", ">ratio")
        out.table(columns, _group_rows(grouped, account.size, top))
    if account.libraries and not account.single:
        out.line("")
        libraries_text(out, [account], top)


def libraries_text(
    out: Writer, accounts: Sequence[Account], top: int | None, by: str = "library"
) -> None:
    """Write one table with a row for each library or distribution, the largest first.

    Libraries stand with the others of their distribution, the largest of these first.
    """
    packages = any(not account.single for account in accounts)
    libraries = [
        (_inside(account, library), library)
        for account in accounts
        for library in account.libraries
    ]
    sums: dict[str, int] = {}
    for _, library in libraries:
        sums[_owner(library)] = sums.get(_owner(library), 0) + library.size
    libraries.sort(
        key=lambda pair: (
            -sums[_owner(pair[1])] if packages else 0,
            _owner(pair[1]) if packages else "",
            -pair[1].size,
            pair[0],
        )
    )
    groups = [(name, _owner(library), [library]) for name, library in libraries]
    if by == "distribution":
        groups = [
            (name, name, [library for _, library in libraries if _owner(library) == name])
            for name in dict.fromkeys(_owner(library) for _, library in libraries)
        ]
    owners = by == "library" and any(library.distribution for _, library in libraries)
    shown = groups if top is None else groups[:top]
    rest = [library for _, _, found in groups[len(shown) :] for library in found]
    table = [
        (name, *([owner] if owners else []), *_library_row(found, packed=packages))
        for name, owner, found in shown
    ]
    blank = [""] if owners else []
    if rest:
        left = len(groups) - len(shown)
        table.append((f"{left:,} more", *blank, *_library_row(rest, packed=packages)))
    archive = sum(account.archive for account in accounts)
    if archive:
        table.append((_ARCHIVE, *blank, f"{archive:,}", *[""] * (7 + packages)))
    if len(table) > 1:
        everything = [library for _, library in libraries]
        _, *others = _library_row(everything, packed=packages)
        if packages:
            others[-1] = _packed(accounts)
        table.append(("total", *blank, f"{sum(a.size for a in accounts):,}", *others))
    columns = (
        by, *(["distribution"] if owners else []), ">bytes", ">host code", ">host data",
        ">device code", ">leftovers", ">overhead", ">inflated bytes", ">ratio",
        *([">in package"] if packages else []),
    )  # fmt: skip
    out.table(columns, table)


def _owner(library: LibrarySize) -> str:
    """Return what a library belongs to, with its version."""
    return f"{library.distribution} {library.distribution_version}".strip() or "-"


def _inside(account: Account, library: LibrarySize) -> str:
    """Return the location of a library, of one in a package without that of the package."""
    start = f"{account.target}::"
    if account.single or not library.location.startswith(start):
        return library.location
    return library.location[len(start) :]


def _packed(accounts: Sequence[Account]) -> str:
    """Return the bytes of libraries as they lie, where they are known of all."""
    known = [account.packed for account in accounts]
    return f"{sum(known):,}" if min(known, default=-1) >= 0 else "-"


def kernels_text(out: Writer, library: LibraryKernels, top: int | None) -> None:
    """Write the kernels of one library, the largest first."""
    kernels = library.kernels
    out.heading(library.location)
    if kernels:
        shown = kernels if top is None else kernels[:top]
        rest = kernels[len(shown) :]
        table = [
            (
                kernel.name,
                f"{kernel.images:,}",
                f"{kernel.code:,}",
                f"{kernel.duplicates:,}",
                f"{kernel.duplicate_code:,}",
            )
            for kernel in shown
        ]
        if rest:
            sums = [
                f"{sum(values):,}"
                for values in zip(*((k[2], k[3], k[4], k[5]) for k in rest), strict=True)
            ]
            table.append((f"{len(rest):,} more", sums[0], sums[1], sums[2], sums[3]))
        columns = ("kernel", ">images", ">code bytes", ">duplicates", ">duplicate bytes")
        out.table(columns, table)
    out.line(
        f"  {_count(len(kernels), 'kernel name')} in {_count(library.images, 'image')}, "
        f"{library.code:,} bytes of code, of which {library.duplicate_code:,} are duplicates"
    )
    if library.functions:
        out.line(
            f"  {_count(library.functions, 'device function')}, {library.function_code:,} bytes"
        )


def rows_csv(
    stream: TextIO, accounts: Iterable[tuple[Account, dict[str, Sequence[Row]]]], by: str
) -> None:
    """Write a row for each part of each library; ``stored_bytes`` adds up to the files' sizes.

    With each account come the rows of its libraries by location.
    """
    import csv  # noqa: PLC0415 - text does not need it

    out = csv.writer(stream, lineterminator="\n")
    name = () if by in ("library", "distribution") else (by,)
    columns = ("entries", "stored_bytes", "inflated_bytes", "distribution")
    out.writerow(("file", "library", "part", *name, *columns))
    blank = ("",) * len(name)
    for account, grouped in accounts:
        for library in account.libraries:
            where = (account.target, library.location)
            owner = _owner(library).removeprefix("-")
            for row in grouped[library.location]:
                given = (row.name,) if name else ()
                numbers = (row.entries, row.stored, row.inflated)
                out.writerow((*where, row.part, *given, *numbers, owner))
            for key, _ in (*_HOST, *_OVERHEAD):
                size = getattr(library, key)
                if size:
                    out.writerow((*where, key, *blank, "", size, "", owner))
        if account.archive:
            out.writerow((account.target, "", "archive", *blank, "", account.archive, "", ""))


def kernels_csv(stream: TextIO, found: Iterable[tuple[str, LibraryKernels]]) -> None:
    """Write a row for each kernel of each library, with the file it is in."""
    import csv  # noqa: PLC0415 - text does not need it

    out = csv.writer(stream, lineterminator="\n")
    columns = ("images", "code_bytes", "duplicates", "duplicate_bytes")
    out.writerow(("file", "library", "kernel", "archs", *columns))
    for target, library in found:
        for kernel in library.kernels:
            name, archs, *numbers = kernel
            out.writerow((target, library.location, name, " ".join(archs), *numbers))


def _heading(out: Writer, account: Account) -> None:
    only = account.libraries[0] if len(account.libraries) == 1 else None
    size = f"{account.size:,} bytes"
    if not account.single:
        what = f"{_libraries(account)} with device code"
        if account.package:
            size += f" inflated, in a file of {account.package:,}"
    elif only is not None and only.location == account.target:
        what = f"{_FORMATS.get(only.format, only.format)} {only.machine}".strip()
    else:
        what = f"archive, {_count(len(account.libraries), 'member')} with device code"
    out.heading(f"{account.target}  ({what}, {size})")


def _libraries(account: Account) -> str:
    count = len(account.libraries)
    return "1 library" if count == 1 else f"{count:,} libraries"


def _part_rows(account: Account) -> Iterator[tuple[str, str, str]]:
    libraries = account.libraries
    parts = [(label, sum(getattr(lib, key) for lib in libraries)) for key, label in _HOST]
    parts += [(label, sum(lib.parts[key] for lib in libraries)) for key, label in _PARTS.items()]
    parts += [(label, sum(getattr(lib, key) for lib in libraries)) for key, label in _OVERHEAD]
    parts.append((_ARCHIVE, account.archive))
    for label, size in parts:
        if size:
            yield label, f"{size:,}", _share(size, account.size)
    yield "total", f"{sum(size for _, size in parts):,}", _share(account.size, account.size)


def _group_rows(grouped: Sequence[Row], size: int, top: int | None) -> Iterator[tuple[str, ...]]:
    for part, label in _PARTS.items():
        rows = [row for row in grouped if row.part == part]
        shown = rows if top is None else rows[:top]
        for row in shown:
            yield (label, row.name, *_numbers([row], size))
        rest = rows[len(shown) :]
        if rest:
            yield (label, f"{len(rest):,} more", *_numbers(rest, size))


def _numbers(rows: Sequence[Row], size: int) -> tuple[str, ...]:
    stored = sum(row.stored for row in rows)
    # What is in groups is counted with the group, and again here only by itself.
    own = [row for row in rows if row.stored] or rows
    inflated = sum(row.inflated for row in own)
    return (
        f"{sum(row.entries for row in rows):,}",
        f"{stored:,}" if stored else "in group",
        _share(stored, size) if stored else "-",
        f"{inflated:,}",
        _ratio(inflated, stored),
    )


def _library_row(libraries: Sequence[LibrarySize], *, packed: bool) -> tuple[str, ...]:
    pieces = [piece for library in libraries for piece in library.device if not piece.in_group]
    inflated = sum(piece.inflated for piece in pieces)
    parts = [sum(values) for values in zip(*(lib.parts.values() for lib in libraries), strict=True)]
    known = [library.packed for library in libraries]
    return (
        f"{sum(library.size for library in libraries):,}",
        *(f"{part:,}" for part in parts),
        f"{inflated:,}" if pieces else "-",
        _ratio(inflated, sum(piece.stored for piece in pieces)),
        *([f"{sum(known):,}" if min(known) >= 0 else "-"] if packed else []),
    )


def _share(size: int, whole: int) -> str:
    return f"{100 * size / whole:.1f} %"


def _ratio(inflated: int, stored: int) -> str:
    return f"{inflated / stored:.2f}" if stored else "-"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
