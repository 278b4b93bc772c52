"""``probe`` as text."""

from __future__ import annotations

from collections import Counter

from fatbin.report.table import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.node.probe_records import GpuProbe, Probe
    from fatbin.report.table import Writer

__all__ = ["probe_text", "writer"]

_COLUMNS = ("library", ">offset", "place", "predicted", "result")
_MOST = 50


def probe_text(out: Writer, probe: Probe) -> None:
    """Write the sums for each GPU, and every module that did something else."""
    outcome = "PASS" if probe.agrees else "FAIL"
    wrong = sum(len(gpu.disagreements) for gpu in probe.gpus)
    said = "as predicted" if not wrong else f"{wrong} of {probe.tried:,} not as predicted"
    modules = "1 module" if probe.tried == 1 else f"{probe.tried:,} modules"
    out.line(f"{outcome}: {modules} given to the driver, {said}", outcome)
    out.line(f"  file        {probe.target}")
    out.line(f"  driver      {probe.driver or 'unknown'}, CUDA {probe.cuda_version or 'unknown'}")
    for gpu in probe.gpus:
        out.line("")
        _gpu_text(out, gpu)


def _gpu_text(out: Writer, probed: GpuProbe) -> None:
    out.heading(f"GPU {probed.gpu}")
    tried = probed.tried
    words = Counter(result.status for result in tried)
    listed = ", ".join(f"{number:,} {status}" for status, number in words.items())
    out.line(f"  given       {len(tried):,}{': ' if listed else ''}{listed}")
    out.line(f"  agree       {len(tried) - len(probed.disagreements):,}")
    out.line(f"  disagree    {len(probed.disagreements):,}")
    for status in ("skipped", "not-tried"):
        reasons = Counter(result.said for result in probed.having(status))
        for reason, number in reasons.items():
            out.line(f"  {status:<10}  {number:,} {reason}")
    counted = [result.kernels for result in tried if result.kernels is not None]
    if counted:
        out.line(f"  kernels     {sum(counted):,}")
    out.line(f"  seconds     {sum(result.seconds for result in tried):.3f}")
    if probed.restarts:
        out.line(f"  restarts    {probed.restarts}")
    shown = probed.disagreements[:_MOST]
    if shown:
        out.table(
            _COLUMNS,
            ((r.location, f"{r.offset:#x}", r.place.value, r.prediction, r.said) for r in shown),
        )
    if len(probed.disagreements) > _MOST:
        out.line(f"  and {len(probed.disagreements) - _MOST:,} more; JSON has them all")
