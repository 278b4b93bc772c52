"""``gpus`` as text."""

from __future__ import annotations

from fatbin.report.table import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fatbin.judge.facts.architectures import ArchitectureRow
    from fatbin.judge.facts.gpus import GpuRow
    from fatbin.report.table import Writer

__all__ = ["COLUMNS", "architectures_text", "cells", "gpus_text", "writer"]

COLUMNS = (
    "cc", "arch", "generation", "examples", "class", ">first toolkit", ">last toolkit",
    ">first PTX ISA", ">first driver", ">last driver",
)  # fmt: skip


def architectures_text(out: Writer, rows: Sequence[ArchitectureRow]) -> None:
    """Write the table of architectures."""
    out.table(COLUMNS, map(cells, rows))
    _explain(out, certain=all(row.certain for row in rows))


def gpus_text(
    out: Writer, rows: Sequence[ArchitectureRow], gpus: Sequence[Sequence[GpuRow]]
) -> None:
    """Write the table of some architectures, what else is known of them, and the GPUs of each."""
    out.table(COLUMNS, map(cells, rows))
    for row in rows:
        for note in filter(None, (row.driver_note, row.note)):
            out.line(f"  {row.cc}: {note}")
    out.line("")
    named = [gpu for listed in gpus for gpu in listed]
    out.table(
        ("cc", "GPU", "kind"),
        ((_marked(gpu.capability, certain=gpu.certain), gpu.name, gpu.kind) for gpu in named),
    )
    certain = all(row.certain for row in rows) and all(gpu.certain for gpu in named)
    _explain(out, certain=certain)


def cells(row: ArchitectureRow) -> tuple[str, ...]:
    """Return the cells of one architecture, one for each of ``COLUMNS``."""
    current = "" if row.last_toolkit else "current"
    return (
        _marked(str(row.cc), certain=row.certain),
        f"sm_{row.sm}",
        row.generation,
        row.examples,
        row.device_class,
        row.first_toolkit,
        row.last_toolkit or current,
        row.first_ptx_isa,
        str(row.first_driver or "-"),
        str(row.last_driver or current or "-"),
    )


def _marked(capability: str, *, certain: bool) -> str:
    return capability if certain else f"{capability} ?"


def _explain(out: Writer, *, certain: bool) -> None:
    if not certain:
        out.line("  ? not certain")
