"""``detect`` as text."""

from __future__ import annotations

from fatbin.report.table import size_text, writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.node.records import Detection
    from fatbin.report.table import Writer

__all__ = ["detection_text", "writer"]

_COLUMNS = (">#", "GPU", ">cc", ">memory", "PCI", "UUID")
_WAYS = {
    "compat": ", a compatibility library",
    "wsl": ", WSL",
    "stub": ", a stub",
}


def detection_text(out: Writer, detection: Detection) -> None:
    """Write the GPUs, the driver, who was asked, and what else there is to know."""
    gpus = detection.gpus
    if not gpus:
        out.line("no GPU")
    else:
        source = "" if detection.usable else f" (by {detection.source})"
        out.line(f"1 GPU{source}" if len(gpus) == 1 else f"{len(gpus)} GPUs{source}")
        out.table(
            _COLUMNS,
            (
                (
                    str(gpu.number),
                    gpu.name + (" (MIG)" if gpu.mig and " MIG " not in gpu.name else ""),
                    str(gpu.compute_capability or "?"),
                    size_text(gpu.memory_bytes) if gpu.memory_bytes else "?",
                    gpu.pci or "-",
                    gpu.uuid or "-",
                )
                for gpu in gpus
            ),
        )
    out.line(f"  driver      {detection.driver or 'unknown'}")
    where = f" ({detection.libcuda}{_WAYS.get(detection.libcuda_kind, '')})"
    out.line(
        f"  CUDA        {detection.cuda_version or 'none'}{where if detection.libcuda else ''}"
    )
    for attempt in detection.attempts:
        out.line(f"  {attempt.source:<10}  {attempt.said}")
    for note in detection.notes:
        out.line(f"  note        {note}")
    if detection.hint:
        out.line(f"  hint        {detection.hint}")
