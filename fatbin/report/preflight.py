"""``preflight`` as text, as a message of a pod that ends, and as metrics."""

from __future__ import annotations

import time

from fatbin.errors import printable
from fatbin.report.table import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fatbin.node.preflight_records import Preflight
    from fatbin.report.table import Writer

__all__ = ["metrics", "preflight_text", "termination_message", "writer"]

MESSAGE_BYTES = 4096
"""What Kubernetes keeps of a termination message."""
_TONES = {"PASS": "PASS", "WARN": "WARN", "FAIL": "FAIL", "ERROR": "FAIL", "NOTHING": "NOTHING"}
_OUTCOMES = ("PASS", "WARN", "FAIL", "ERROR", "NOTHING", "SKIPPED")


def preflight_text(out: Writer, result: Preflight) -> None:
    """Write one block: the outcome and its cause, what is there, and a line for each stage."""
    out.line(summary(result), _TONES.get(result.outcome.value, ""))
    for label, text in _facts(result):
        out.line(f"  {label:<8} {text}")
    for stage in result.stages:
        outcome = stage.outcome.value
        took = f"{stage.seconds:6.1f} s" if outcome != "SKIPPED" else " " * 8
        out.line(
            f"  [{outcome:^7}] {stage.name:<7}{took}  {stage.said}".rstrip(),
            _TONES.get(outcome, ""),
        )
    for action in dict.fromkeys(s.action for s in result.stages if s.action):
        out.line(f"  action   {action}")


def summary(result: Preflight) -> str:
    """Return the outcome and its cause in one line."""
    if result.cause:
        return f"{result.outcome}: {result.cause}"
    if result.outcome.value == "NOTHING":  # every stage was skipped
        reasons = dict.fromkeys(stage.said for stage in result.stages)
        return f"{result.outcome}: no stage ran: {'; '.join(reasons)}"
    return f"{result.outcome}: the node is ready ({result.seconds:.1f} s)"


def _facts(result: Preflight) -> Iterator[tuple[str, str]]:
    if result.node:
        yield "node", result.node
    if result.image:
        yield "image", result.image
    for gpu, count in _counted(result.gpus):
        yield "GPU", gpu if count == 1 else f"{count} x {gpu}"
    yield "driver", result.driver or "unknown"
    yield "CUDA", result.cuda_version or "none"
    for library in result.libraries:
        is_nccl = library.how.startswith("NCCL")
        version = f"{library.version} " if library.version else ""
        yield (
            "NCCL" if is_nccl else "library",
            f"{version}{library.path}" + (f" ({library.how})" if is_nccl else ""),
        )
        if library.outcome:
            yield "SASS", " ".join(library.sass) or "none"
            yield "PTX", ", ".join(library.ptx) or "none"


def _counted(texts: Sequence[str]) -> Iterator[tuple[str, int]]:
    for text in dict.fromkeys(texts):
        yield text, texts.count(text)


def termination_message(result: Preflight) -> str:
    """Return the cause, the action and the stages in at most 4096 bytes, the cause first."""
    lines = [summary(result)]
    if result.action:
        lines.append(f"action: {result.action}")
    lines += [
        f"{stage.name}: {stage.outcome} {stage.said}"
        for stage in result.stages
        if stage.outcome != "SKIPPED"
    ]
    lines += [f"{label}: {text}" for label, text in _facts(result)]
    return shortened("".join(f"{printable(line)}\n" for line in lines))


def shortened(text: str) -> str:
    """Return the beginning of a text that fits into a termination message, whole characters."""
    data = text.encode("utf-8", "backslashreplace")
    return data[:MESSAGE_BYTES].decode("utf-8", "ignore")


def metrics(result: Preflight, *, now: float | None = None) -> str:
    """Return the text that the node exporter of Prometheus reads from a file."""
    nccl = next((file for file in result.libraries if file.how.startswith("NCCL")), None)
    info = {
        "node": result.node,
        "image": result.image,
        "gpu": result.gpus[0] if result.gpus else "",
        "driver": result.driver,
        "cuda": result.cuda_version,
        "nccl": nccl.version if nccl else "",
    }
    outcome = result.outcome.value
    families: tuple[tuple[str, str, list[tuple[dict[str, str], float]]], ...] = (
        (
            "success",
            "1 when the node is ready: PASS or WARN.",
            [({}, float(outcome in ("PASS", "WARN")))],
        ),
        (
            "outcome",
            "1 for what came of it.",
            [({"outcome": o}, float(o == outcome)) for o in _OUTCOMES[:-1]],
        ),
        (
            "stage_outcome",
            "1 for what came of each stage.",
            [
                ({"stage": s.name, "outcome": o}, float(o == s.outcome.value))
                for s in result.stages
                for o in _OUTCOMES
            ],
        ),
        (
            "stage_seconds",
            "How long each stage took.",
            [({"stage": s.name}, s.seconds) for s in result.stages],
        ),
        ("gpus", "GPUs that were found.", [({}, float(len(result.gpus)))]),
        ("info", "What was looked at.", [(info, 1.0)]),
        (
            "timestamp_seconds",
            "When this was.",
            [({}, time.time() if now is None else now)],
        ),
    )
    lines = []
    for name, text, samples in families:
        full = f"fatbin_preflight_{name}"
        lines += [f"# HELP {full} {text}", f"# TYPE {full} gauge"]
        lines += [f"{full}{_labels(labels)} {_number(value)}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(text: str) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()  # before backslashes are doubled
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
