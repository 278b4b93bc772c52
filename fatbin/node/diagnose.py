"""Logs to likely causes, with the lines that show them and what they do not prove.

Nothing here needs a GPU. A symptom is named by its row; what else the logs hold (versions, GPUs,
other ranks) makes a cause more likely, or shows where to look.
"""

from __future__ import annotations

import shlex

from fatbin.errors import ArchitectureError, DriverError, FatbinError, SourceError, raise_error
from fatbin.judge.check import check
from fatbin.judge.driver import Driver
from fatbin.judge.facts.known_bad import matching
from fatbin.judge.facts.nccl import expected_architectures, first_build_with, has_code_for
from fatbin.judge.gpu import parse_gpus
from fatbin.judge.verdict import Outcome, Severity
from fatbin.node.diagnosis import Cause, Confidence, Diagnosis
from fatbin.node.log_reader import LogReader
from fatbin.node.ranks import WAITING, advice, stories
from fatbin.node.symptoms import SYMPTOMS, source_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import BinaryIO

    from fatbin.errors import Report
    from fatbin.inventory import Inventory
    from fatbin.judge.gpu import Gpu
    from fatbin.judge.verdict import Verdict
    from fatbin.node.diagnosis import Sighting

__all__ = ["diagnose"]

SILENCE_S = 60
"""Seconds without a line of NCCL that count as silence where the log tells times."""
_ROWS = {row.id: row for row in SYMPTOMS}
_ORDER = {row.id: number for number, row in enumerate(SYMPTOMS)}
_RANKING = list(Confidence)
_CODE = ("E209", "E500", "E98", "E222", "E223", "E221", "E200", "E218", "E35", "E700")
"""CUDA errors that NCCL reports as an unhandled one."""


def diagnose(
    logs: Iterable[tuple[str, BinaryIO]],
    *,
    gpus: Sequence[Gpu] = (),
    driver: str = "",
    libraries: Inventory | None = None,
    report: Report = raise_error,
) -> Diagnosis:
    """Read logs and say what they show.

    Args:
        logs: names and binary streams, read once from front to end.
        gpus: that the process ran on; without them those that the logs name.
        driver: of that machine, such as ``570.124``; without it what the logs name.
        libraries: to check at once on these GPUs.
        report: takes the error of a log that cannot be read to its end; what was read of it counts.

    Returns:
        What was found; nothing is found in the log of a run that went well.

    Raises:
        SourceError: a log cannot be read, unless ``report`` takes it.
        DriverError: the driver cannot be understood.
        ArchitectureError: libraries to check, and no GPU anywhere.
    """
    reader = LogReader()
    for name, stream in logs:
        try:
            reader.read(stream, name)
        except SourceError as exc:
            report(exc)
    found_gpus = tuple(gpus) or _named_gpus(reader)
    found_driver = driver or _named_driver(reader)
    verdict = _checked(libraries, found_gpus, found_driver)
    gap_s = _gap(reader)
    causes = _causes(reader, found_gpus, found_driver, verdict, gap_s)
    ranks = stories(reader, causes)
    return Diagnosis(
        files=tuple(reader.files),
        lines=reader.lines,
        causes=causes,
        ranks=ranks,
        nccl=_nccl_named(reader),
        gpus=tuple(map(str, found_gpus)),
        driver=found_driver,
        last_nccl=reader.last_nccl,
        gap_s=gap_s,
        advice=advice(reader, causes, ranks, found_gpus),
        verdict=verdict,
    )


# What the logs name -------------------------------------------------------------------------------


def _named_gpus(reader: LogReader) -> tuple[Gpu, ...]:
    """Return the GPUs that the logs name; names that no table has are left out."""
    found: dict[Gpu, None] = {}
    for name in reader.gpu_names:
        try:
            found.update(dict.fromkeys(parse_gpus(name)))
        except FatbinError:
            continue  # a log may call a GPU what it likes
    return tuple(found)


def _named_driver(reader: LogReader) -> str:
    """Return the one driver that the logs name; empty when they name none or several."""
    found = {}
    for text in reader.drivers:
        try:
            found[Driver.parse(text).branch] = text
        except DriverError:
            continue  # likewise
    return next(iter(found.values())) if len(found) == 1 else ""


def _checked(libraries: Inventory | None, gpus: Sequence[Gpu], driver: str) -> Verdict | None:
    if libraries is None:
        return None
    if not gpus:
        msg = "expected a GPU to check libraries for, found none in the logs"
        raise ArchitectureError(msg, hint="name it: --gpu 9.0")
    return check(libraries, gpus=gpus, driver=driver or None)


def _gap(reader: LogReader) -> int:
    """Return the seconds between the last line of NCCL and the last line; -1 when not known."""
    first, last = reader.last_nccl_stamp, reader.last_stamp
    if first is None or last is None or first.kind != last.kind:
        return -1
    gap = last.seconds - first.seconds
    return int(gap) if gap >= 0 else -1


def _nccl_named(reader: LogReader) -> tuple[str, ...]:
    """Return the versions of NCCL in the logs; one without its CUDA only where it stands alone."""
    whole = {version for version, cuda in reader.versions if cuda}
    return tuple(_called(*key) for key in reader.versions if key[1] or key[0] not in whole)


def _called(version: str, cuda: str) -> str:
    return f"{version}+cuda{cuda}" if cuda else version


# Causes -------------------------------------------------------------------------------------------


def _causes(
    reader: LogReader,
    gpus: tuple[Gpu, ...],
    driver: str,
    verdict: Verdict | None,
    gap_s: int,
) -> tuple[Cause, ...]:
    found = {
        row: _cause(row, seen.evidence, seen.count, gpus, driver)
        for row, seen in reader.seen.items()
    }
    if "TORCH-ARCH" in found and reader.supported:
        said = f"torch says that it was built for {' '.join(reader.supported)}"
        found["TORCH-ARCH"] = _with(found["TORCH-ARCH"], said)
    known = _known_nccl(reader, gpus)
    if known:
        confidence = min((c for c, _ in known.values()), key=_RANKING.index)
        lines = [reader.versions[key] for key in known]
        cause = _cause("NCCL-KNOWN", lines, len(lines), gpus, driver, confidence)
        found["NCCL-KNOWN"] = _with(cause, *(text for _, said in known.values() for text in said))
    silent = _silent(reader, gap_s)
    if silent:
        likely = Confidence.LIKELY if known else Confidence.POSSIBLE
        cause = _cause("NCCL-SILENT", silent, len(silent), gpus, driver, likely)
        found["NCCL-SILENT"] = _with(cause, *_silence_said(gap_s, known=bool(known)))
    if verdict is not None and verdict.outcome in (Outcome.FAIL, Outcome.WARN):
        failed = verdict.outcome is Outcome.FAIL
        confidence = Confidence.LIKELY if failed else Confidence.POSSIBLE
        findings = [
            f"{finding.code} {finding.message}"
            for finding in verdict.findings
            if finding.severity is not Severity.NOTE
        ]
        found["LIBRARY"] = _with(_cause("LIBRARY", (), 0, gpus, driver, confidence), *findings)
    if "NCCL-CUDA" in found:
        found["NCCL-CUDA"] = _with(found["NCCL-CUDA"], _neighbour(found))
    return tuple(
        sorted(found.values(), key=lambda c: (_RANKING.index(c.confidence), _ORDER[c.symptom]))
    )


def _cause(
    ident: str,
    evidence: Sequence[Sighting],
    count: int,
    gpus: Sequence[Gpu],
    driver: str,
    confidence: Confidence | None = None,
) -> Cause:
    row = _ROWS[ident]
    return Cause(
        symptom=row.id,
        title=row.title,
        confidence=confidence or row.confidence,
        details=(),
        evidence=tuple(evidence[:3]),
        lines=count,
        means=row.means,
        not_proof=row.not_proof,
        check=_filled(row.check, gpus, driver),
        sources=tuple(source_text(source) for source in row.sources),
        certain=row.certain,
    )


def _with(cause: Cause, *details: str) -> Cause:
    return cause._replace(details=(*cause.details, *filter(None, details)))


def _filled(command: str, gpus: Sequence[Gpu], driver: str) -> str:
    """Return a command with what is known in place of the words in capitals."""
    named = shlex.quote(", ".join(gpu.name or str(gpu.cc) for gpu in gpus)) if gpus else "GPU"
    words = {"GPU": named, "DRIVER": shlex.quote(driver) if driver else "DRIVER"}
    return " ".join(words.get(word, word) for word in command.split(" "))


def _known_nccl(
    reader: LogReader, gpus: Sequence[Gpu]
) -> dict[tuple[str, str], tuple[Confidence, list[str]]]:
    """Return the versions of NCCL in the logs that do not suit a GPU, and why."""
    found: dict[tuple[str, str], tuple[Confidence, list[str]]] = {}
    for version, cuda in reader.versions:
        said: list[str] = []
        confidence = Confidence.POSSIBLE
        for gpu in gpus:
            rows = matching("libnccl.so.2", version, cuda, gpu.cc)
            for row in rows:
                said.append(f"{row.id}: NCCL {_called(version, cuda)} on {gpu}: {row.symptom}")
                said.append(f"{row.id}: use {row.remedy}")
                confidence = Confidence.LIKELY
            if not rows and has_code_for(version, cuda, gpu.cc) is False:
                archs = " ".join(map(str, expected_architectures(version, cuda)))
                better = first_build_with(gpu.cc)
                said.append(
                    f"NVIDIA's NCCL {_called(version, cuda)} has no machine code for {gpu}: {archs}"
                    + (f"; use {better}" if better else "")
                )
        if said:
            found[version, cuda] = confidence, said
    return found


def _silent(reader: LogReader, gap_s: int) -> list[Sighting]:
    """Return the last line of each process whose NCCL began and never went on."""
    if 0 <= gap_s < SILENCE_S:
        return []  # the log ends before silence could show
    return [
        process.early
        for process in reader.processes.values()
        if process.early is not None
        and not process.done
        and not set(process.symptoms) - WAITING
        and " NCCL INFO " in process.early.text
    ]


def _silence_said(gap_s: int, *, known: bool) -> tuple[str, str]:
    after = f"its log goes on for {gap_s:,} s without another line of NCCL"
    return (
        after if gap_s >= 0 else "the log tells no times, or ends there: how long is not known",
        "this version does not suit the GPU, which explains the silence" if known else "",
    )


def _neighbour(found: dict[str, Cause]) -> str:
    """Return which CUDA error stands beside NCCL's own, or how to get it."""
    beside = [found[row] for row in _CODE if row in found]
    if not beside:
        return "no CUDA error stands beside it: run again with NCCL_DEBUG=INFO"
    named = ", ".join(
        f"{cause.title}, first in {cause.evidence[0].file} line {cause.evidence[0].line}"
        for cause in beside
    )
    return f"the CUDA errors beside it: {named}"
