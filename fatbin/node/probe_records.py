"""What the driver did with the modules of a file, beside what was predicted."""

from __future__ import annotations

from fatbin._record import Record, plain
from fatbin.judge.choice import How
from fatbin.judge.serving import Certainty
from fatbin.node.codes import cuda_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fatbin.inventory import Issue
    from fatbin.kinds import Place
    from fatbin.node.records import DetectedGpu

SCHEMA_VERSION = 1
"""Of the JSON document; raised when a key changes its meaning or goes away."""


class ProbeResult(Record):
    """One module on one GPU.

    Attributes:
        location: of the library.
        offset: of the module, in the library.
        place: where it was found.
        form: ``container``, ``cubin`` or ``ptx``.
        predicted: the CUresult that loading it should give, 0 when it should load.
        how: in which way it should serve the GPU.
        certainty: of the prediction.
        status: ``loaded``, ``refused``, ``crashed``, ``timed-out``, ``skipped`` or ``not-tried``.
        said: what happened, or why nothing was tried.
        code: the CUresult of ``cuModuleLoadData``; 0 when there is none.
        name: of that code; empty when there is none.
        seconds: that loading took.
        kernels: how many the driver counts in it; None when it was not asked or cannot tell.
        kernel_names: as the driver enumerates them; empty when they were not asked for.
        agrees: whether what happened is what was predicted; None when nothing was tried.
    """

    location: str
    offset: int
    place: Place
    form: str
    predicted: int
    how: How
    certainty: Certainty
    status: str
    said: str
    code: int = 0
    name: str = ""
    seconds: float = 0.0
    kernels: int | None = None
    kernel_names: tuple[str, ...] = ()
    agrees: bool | None = None

    @property
    def prediction(self) -> str:
        """The prediction in words: ``loads (native)``, ``209 CUDA_ERROR_NO_BINARY_FOR_GPU``."""
        if self.predicted:
            return f"{self.predicted} {cuda_name(self.predicted)}"
        sure = "" if self.certainty is Certainty.YES else f", {self.certainty}"
        return f"loads ({self.how}{sure})" if self.how is not How.NONE else "loads"


class GpuProbe(Record):
    """The modules of a file on one GPU.

    Attributes:
        gpu: that they were given to.
        results: one for each module, in the order of the file.
        restarts: how often a new child process was needed.
    """

    gpu: DetectedGpu
    results: tuple[ProbeResult, ...] = ()
    restarts: int = 0

    def having(self, *statuses: str) -> tuple[ProbeResult, ...]:
        """Return the results of some statuses."""
        return tuple(result for result in self.results if result.status in statuses)

    @property
    def tried(self) -> tuple[ProbeResult, ...]:
        """The results of modules that were given to the driver."""
        return tuple(result for result in self.results if result.agrees is not None)

    @property
    def disagreements(self) -> tuple[ProbeResult, ...]:
        """The results that are not what was predicted."""
        return tuple(result for result in self.results if result.agrees is False)


class Probe(Record):
    """What the driver of this machine did with the modules of a file.

    Attributes:
        target: the file, as given.
        driver: the kernel's driver; empty when not known.
        cuda_version: of libcuda.
        gpus: one for each GPU that was asked.
        issues: what could not be read of the file.
    """

    target: str
    driver: str = ""
    cuda_version: str = ""
    gpus: tuple[GpuProbe, ...] = ()
    issues: tuple[Issue, ...] = ()

    @property
    def tried(self) -> int:
        """How many modules were given to the driver, on all GPUs."""
        return sum(len(probed.tried) for probed in self.gpus)

    @property
    def agrees(self) -> bool:
        """Whether the driver did what was predicted wherever it was asked, and was asked of all."""
        return not any(g.disagreements or g.having("not-tried") for g in self.gpus)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, with the version of its schema."""
        return {"schema_version": SCHEMA_VERSION, "agrees": self.agrees, **plain(self)}
