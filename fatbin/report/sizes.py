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
    """Write the parts of one file, then its device code added up; ``top`` None means all rows."""
    _heading(out, account)
    out.table(("part", ">bytes", ">share"), _part_rows(account))
    if grouped:
        out.line("")
        columns = ("part", by, ">entries", ">stored bytes", ">share", ">inflated bytes", ">ratio")
        out.table(columns, _group_rows(grouped, account.size, top))


def libraries_text(out: Writer, accounts: Sequence[Account], top: int | None) -> None:
    """Write one table with a row for each library, the largest first."""
    libraries = [library for account in accounts for library in account.libraries]
    libraries.sort(key=lambda library: (-library.size, library.location))
    columns = (
        "library", ">bytes", ">host code", ">host data", ">device code", ">leftovers", ">overhead",
        ">inflated bytes", ">ratio",
    )  # fmt: skip
    shown = libraries if top is None else libraries[:top]
    rest = libraries[len(shown) :]
    table = [_library_row(library.location, [library]) for library in shown]
    if rest:
        table.append(_library_row(f"{len(rest):,} more", rest))
    archive = sum(account.archive for account in accounts)
    if archive:
        table.append((_ARCHIVE, f"{archive:,}", *[""] * 7))
    if len(table) > 1:
        _, _, *others = _library_row("", libraries)
        table.append(("total", f"{sum(account.size for account in accounts):,}", *others))
    out.table(columns, table)


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
    name = () if by == "library" else (by,)
    out.writerow(("file", "library", "part", *name, "entries", "stored_bytes", "inflated_bytes"))
    blank = ("",) * len(name)
    for account, grouped in accounts:
        for library in account.libraries:
            where = (account.target, library.location)
            for row in grouped[library.location]:
                given = (row.name,) if name else ()
                out.writerow((*where, row.part, *given, row.entries, row.stored, row.inflated))
            for key, _ in (*_HOST, *_OVERHEAD):
                size = getattr(library, key)
                if size:
                    out.writerow((*where, key, *blank, "", size, ""))
        if account.archive:
            out.writerow((account.target, "", "archive", *blank, "", account.archive, ""))


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
    if only is not None and only.location == account.target:
        what = f"{_FORMATS.get(only.format, only.format)} {only.machine}".strip()
    else:
        what = f"archive, {_count(len(account.libraries), 'member')} with device code"
    out.heading(f"{account.target}  ({what}, {account.size:,} bytes)")


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


def _library_row(name: str, libraries: Sequence[LibrarySize]) -> tuple[str, ...]:
    pieces = [piece for library in libraries for piece in library.device if not piece.in_group]
    inflated = sum(piece.inflated for piece in pieces)
    parts = [sum(values) for values in zip(*(lib.parts.values() for lib in libraries), strict=True)]
    return (
        name,
        f"{sum(library.size for library in libraries):,}",
        *(f"{part:,}" for part in parts),
        f"{inflated:,}" if pieces else "-",
        _ratio(inflated, sum(piece.stored for piece in pieces)),
    )


def _share(size: int, whole: int) -> str:
    return f"{100 * size / whole:.1f} %"


def _ratio(inflated: int, stored: int) -> str:
    return f"{inflated / stored:.2f}" if stored else "-"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
