"""``kernels`` as text, JSON and CSV; rows are written as they come."""

from __future__ import annotations

import json
from itertools import chain

from fatbin.errors import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TextIO

    from fatbin.inventory import Issue
    from fatbin.survey.kernels import KernelRow

SCHEMA_VERSION = 1
COLUMNS = (
    "location", "place", "kind", "offset", "arch", "entry", "registers", "shared", "stack",
    "local", "barriers", "code_size", "parameter_bytes", "max_threads", "name",
)  # fmt: skip
"""Of CSV; JSON has these and the rest of a kernel."""


def write(
    out: TextIO,
    rows: Iterator[KernelRow],
    form: str,
    demangle: Callable[[str], str],
    issues: Sequence[Issue],
) -> int:
    """Write kernels; ``issues`` fills while the rows are read and is written last.

    Returns:
        The number of kernels written.
    """
    if form == "json":
        return _write_json(out, rows, demangle, issues)
    if form == "csv":
        return _write_csv(out, rows, demangle)
    return _write_text(out, rows, demangle)


def write_missing(
    out: TextIO,
    found: Sequence[tuple[str, tuple[str, ...]]],
    arch: str,
    form: str,
    demangle: Callable[[str], str],
) -> int:
    """Write the kernels that an architecture lacks, with those that have it.

    Returns:
        The number of kernels written.
    """
    if form == "json":
        rows = [{"name": demangle(name), "mangled": name, "archs": archs} for name, archs in found]
        document = {"schema_version": SCHEMA_VERSION, "missing": arch, "kernels": rows}
        out.write(json.dumps(document, indent=2) + "\n")
    elif form == "csv":
        import csv  # noqa: PLC0415 - one format of three

        table = csv.writer(out, lineterminator="\n")
        table.writerow(("missing", "archs", "name"))
        table.writerows((arch, " ".join(archs), demangle(name)) for name, archs in found)
    else:
        plural = "" if len(found) == 1 else "s"
        out.write(f"{len(found):,} kernel{plural} without SASS for {arch}\n")
        out.writelines(
            f"  {printable(demangle(name))}  ({' '.join(archs)})\n" for name, archs in found
        )
    return len(found)


def _write_text(out: TextIO, rows: Iterator[KernelRow], demangle: Callable[[str], str]) -> int:
    """Write fixed columns with the name last, so that no row has to wait for another."""
    count = 0
    location = ""
    for row in rows:
        kernel = row.kernel
        if row.location != location:
            location = row.location
            out.write(f"{printable(location)}\n")
            out.write("  arch           regs  shared   stack      code  kernel\n")
        numbers = (kernel.registers, kernel.shared, kernel.stack, kernel.code_size)
        cells = ["-"] * 4 if row.kind == "ptx" else [f"{number:,}" for number in numbers]
        name = printable(demangle(kernel.name)) + ("" if kernel.entry else "  (device function)")
        out.write(
            f"  {kernel.arch or '-'!s:<13}  {cells[0]:>4}  {cells[1]:>6}  {cells[2]:>6}  "
            f"{cells[3]:>8}  {name}\n"
        )
        count += 1
    return count


def _write_json(
    out: TextIO,
    rows: Iterator[KernelRow],
    demangle: Callable[[str], str],
    issues: Sequence[Issue],
) -> int:
    """Write one kernel a line, so that a reader need not hold the document to look at it."""
    count = 0
    out.write(f'{{"schema_version": {SCHEMA_VERSION}, "kernels": [')
    for row in rows:
        out.write("," if count else "")
        out.write("\n  " + json.dumps(_plain(row, demangle)))
        count += 1
    plain = [dict(zip(issue._fields, issue, strict=True)) for issue in issues]
    out.write(f'\n], "issues": {json.dumps(plain)}}}\n')
    return count


def _plain(row: KernelRow, demangle: Callable[[str], str]) -> dict[str, object]:
    kernel = row.kernel
    facts: dict[str, object] = dict(zip(kernel._fields, kernel, strict=True))
    facts["arch"] = str(kernel.arch) if kernel.arch else None
    facts["constant"] = {str(bank): size for bank, size in kernel.constant}
    facts["parameters"] = [
        {"ordinal": p.ordinal, "offset": p.offset, "size": p.size} for p in kernel.parameters
    ]
    facts["mangled"] = kernel.name
    facts["name"] = demangle(kernel.name)
    place: dict[str, object] = {
        "location": row.location,
        "place": row.place.value,
        "kind": row.kind,
        "offset": row.offset,
    }
    return place | facts


def _write_csv(out: TextIO, rows: Iterable[KernelRow], demangle: Callable[[str], str]) -> int:
    import csv  # noqa: PLC0415 - one format of three

    table = csv.writer(out, lineterminator="\n")
    count = -1
    for count, cells in enumerate(chain((COLUMNS,), (_cells(row, demangle) for row in rows))):  # noqa: B007
        table.writerow(cells)
    return count


def _cells(row: KernelRow, demangle: Callable[[str], str]) -> tuple[object, ...]:
    plain = _plain(row, demangle)
    plain["max_threads"] = "x".join(map(str, row.kernel.max_threads))
    plain["entry"] = int(row.kernel.entry)
    return tuple(plain[column] for column in COLUMNS)
