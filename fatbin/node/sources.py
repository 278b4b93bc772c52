"""The sources that are asked in child processes: libcuda, NVML, nvidia-smi."""

from __future__ import annotations

from fatbin._record import Record
from fatbin.arch import ComputeCapability
from fatbin.errors import ArchitectureError, DeviceError, UnknownGpuError
from fatbin.node.children import Child, Deadline, TimedOut
from fatbin.node.codes import init_words
from fatbin.node.records import Attempt, DetectedGpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CUDA_LIBRARY = ""
"""What to load in place of the system's libcuda; for tests."""
NVML_LIBRARY = ""
"""What to load in place of the system's NVML; for tests."""

_WORKER = "fatbin.node.driver_worker"
_SMI = "nvidia-smi"
_COLUMNS = ("index", "name", "memory.total", "uuid", "pci.bus_id", "driver_version")
_MORE_COLUMNS = (*_COLUMNS, "compute_cap")
_OUTPUT_BYTES = 1 << 20


class Answer(Record):
    """What one source said.

    Attributes:
        attempt: in words.
        gpus: that it named.
        driver: version of the kernel's driver; empty when it says none.
        cuda_version: ``13.0``; empty when it says none.
        libraries: files of libcuda that were loaded.
        init: what its initialisation returned; None when that was not reached.
        name: of that code.
        hint: what to do about it.
        trouble: single questions that failed.
    """

    attempt: Attempt
    gpus: tuple[DetectedGpu, ...] = ()
    driver: str = ""
    cuda_version: str = ""
    libraries: tuple[str, ...] = ()
    init: int | None = None
    name: str = ""
    hint: str = ""
    trouble: tuple[str, ...] = ()


class _Heard:
    """What came from a worker: fields put together, and how it ended."""

    def __init__(self, request: dict[str, Any], timeout: float) -> None:
        self.fields: dict[str, Any] = {}
        self.gpus: list[dict[str, Any]] = []
        self.trouble = ""
        deadline = Deadline(timeout)
        try:
            with Child(_WORKER, request) as child:
                self._hear(child, deadline, timeout)
        except DeviceError as exc:
            self.trouble = exc.message

    def _hear(self, child: Child, deadline: Deadline, timeout: float) -> None:
        try:
            while (message := child.message(deadline.left)) is not None:
                if "gpu" in message:
                    self.gpus.append(message["gpu"])
                self.fields.update(message)
                if "failed" in message:
                    self.trouble = f"cannot be loaded: {message['failed']}"
                if "failed" in message or "done" in message:
                    return
        except TimedOut:
            self.trouble = f"timed out after {timeout:g} s in {self.stage}"
            return
        how = child.end() or "ended early"
        said = f": {child.errors}" if child.errors else ""
        self.trouble = f"{how} in {self.stage}{said}"

    @property
    def stage(self) -> str:
        return str(self.fields.get("stage", "its start"))


def ask_cuda(timeout: float) -> Answer:
    """Ask libcuda, which sees what a CUDA program sees."""
    heard = _Heard({"source": "cuda", "library": CUDA_LIBRARY}, timeout)
    fields = heard.fields
    version = int(fields.get("version", 0))
    init = fields.get("init")
    gpus = tuple(_gpus(heard.gpus, "libcuda"))
    common = Answer(
        attempt=Attempt("libcuda", ok=False, said=heard.trouble),
        gpus=gpus,
        cuda_version=f"{version // 1000}.{version % 1000 // 10}" if version else "",
        libraries=tuple(fields.get("library", ())),
        init=init,
        trouble=tuple(_trouble(heard.gpus)),
    )
    if init:
        words = init_words(init, fields.get("name", ""), fields.get("words", ""))
        said = f"cuInit: {init} {words.name}: {words.words}"
        return common._replace(
            attempt=Attempt("libcuda", ok=False, said=said, code=init),
            gpus=(),
            name=words.name,
            hint=words.hint,
        )
    if heard.trouble:
        return common
    return common._replace(attempt=Attempt("libcuda", ok=True, said=_count(gpus)))


def ask_nvml(timeout: float) -> Answer:
    """Ask NVML, which knows nothing of CUDA_VISIBLE_DEVICES."""
    heard = _Heard({"source": "nvml", "library": NVML_LIBRARY}, timeout)
    fields = heard.fields
    init = fields.get("init")
    gpus = tuple(_gpus(heard.gpus, "nvml"))
    if init:
        said = f"nvmlInit: {init} {fields.get('words', '')}".rstrip()
    else:
        said = heard.trouble or _count(gpus)
    ok = not init and not heard.trouble
    return Answer(
        attempt=Attempt("nvml", ok=ok, said=said, code=init or 0),
        gpus=gpus,
        driver=str(fields.get("driver", "")),
        init=init,
        trouble=tuple(_trouble(heard.gpus)),
    )


def ask_smi(timeout: float) -> Answer:
    """Run nvidia-smi and read its table; older ones do not say the compute capability."""
    deadline = Deadline(timeout)
    problem = ""
    for columns in (_MORE_COLUMNS, _COLUMNS):
        lines, problem = _run_smi(columns, deadline, timeout)
        if not problem:
            rows = [
                dict(zip(columns, map(str.strip, line.split(",")), strict=False)) for line in lines
            ]
            gpus = tuple(_smi_gpu(row) for row in rows if len(row) == len(columns))
            driver = next((row["driver_version"] for row in rows if "driver_version" in row), "")
            attempt = Attempt("nvidia-smi", ok=True, said=_count(gpus))
            return Answer(attempt, gpus=gpus, driver=driver)
        if "compute_cap" not in problem:
            break
    return Answer(Attempt("nvidia-smi", ok=False, said=problem))


def _run_smi(columns: tuple[str, ...], deadline: Deadline, timeout: float) -> tuple[list[str], str]:
    """Return the lines of nvidia-smi, and what went wrong; one of them is empty."""
    from shutil import which  # noqa: PLC0415 - the last source to be asked

    program = which(_SMI)
    if program is None:
        return [], "not found"
    query = f"--query-gpu={','.join(columns)}"
    command = [program, query, "--format=csv,noheader,nounits"]
    lines: list[str] = []
    try:
        with Child(_WORKER, {"source": "smi", "command": command}) as child:
            while (line := child.line(deadline.left)) and sum(map(len, lines)) < _OUTPUT_BYTES:
                lines.append(line.decode(errors="replace").strip())
            how = child.end()
            errors = child.errors
    except TimedOut:
        return [], f"timed out after {timeout:g} s"
    except DeviceError as exc:
        return [], exc.message
    said = [line for line in lines if line]
    if how:
        return [], ": ".join(filter(None, (how, " ".join(said[:3]) or errors)))
    return said, ""


def _smi_gpu(row: dict[str, str]) -> DetectedGpu:
    memory = row["memory.total"]
    capability = row.get("compute_cap", "")
    return DetectedGpu(
        number=int(row["index"]) if row["index"].isdigit() else 0,
        name=row["name"],
        compute_capability=_capability(capability) or capability_of(row["name"]),
        memory_bytes=int(memory) << 20 if memory.isdigit() else 0,
        uuid=row["uuid"],
        pci=bus_address(row["pci.bus_id"]),
        source="nvidia-smi",
    )


def _gpus(rows: list[dict[str, Any]], source: str) -> Iterator[DetectedGpu]:
    for row in rows:
        if "cc" not in row:
            continue  # the device itself could not be had; see the trouble
        major, minor = row["cc"]
        name = str(row["name"])
        capability = ComputeCapability(major, minor) if major else capability_of(name)
        yield DetectedGpu(
            number=row["index"],
            name=name,
            compute_capability=capability,
            memory_bytes=row["memory"],
            uuid=row["uuid"],
            pci=bus_address(row["pci"]),
            source=source,
            integrated=row["integrated"],
            mig=row["mig"],
        )


def _trouble(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        for failed in row["failed"]:
            yield f"device {row['index']}: {failed}"


def _capability(text: str) -> ComputeCapability | None:
    try:
        return ComputeCapability.parse(text)
    except ArchitectureError:
        return None  # [N/A]


def capability_of(name: str) -> ComputeCapability | None:
    """Return the compute capability that the tables know for a name; None when they do not."""
    from fatbin.judge.facts.gpus import find_gpu  # noqa: PLC0415 - sources seldom need it

    try:
        return find_gpu(name).cc
    except UnknownGpuError:
        return None


def bus_address(text: str) -> str:
    """Return an address on the PCI bus in one spelling: ``00000000:19:00.0`` has too many zeros."""
    domain, _, rest = text.lower().partition(":")
    return f"{domain.lstrip('0').zfill(4)}:{rest}" if rest else text.lower()


def _count(gpus: tuple[DetectedGpu, ...]) -> str:
    return "1 GPU" if len(gpus) == 1 else f"{len(gpus)} GPUs"
