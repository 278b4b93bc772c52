"""What a machine says of its GPUs, as plain frozen data."""

from __future__ import annotations

from fatbin._record import Record, plain
from fatbin.errors import DeviceError, DriverError
from fatbin.judge.driver import Driver
from fatbin.judge.gpu import Gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fatbin.arch import ComputeCapability

SCHEMA_VERSION = 1
"""Of the JSON document; raised when a key changes its meaning or goes away."""


class DetectedGpu(Record):
    """One GPU, or MIG instance, of this machine.

    Attributes:
        number: as the source that names it counts, from 0; CUDA's own order where that is libcuda.
        name: ``NVIDIA H200``.
        compute_capability: None where the source does not say it and the name is not known.
        memory_bytes: of the device; 0 when not known.
        uuid: ``GPU-...`` or ``MIG-...``; empty when not known.
        pci: address on the bus, ``0000:19:00.0``; empty when not known.
        source: who named it: ``libcuda``, ``nvml``, ``nvidia-smi`` or ``proc``.
        integrated: whether it shares memory with the processor.
        mig: whether it is a MIG instance or, of a source other than libcuda, divided into such.
    """

    number: int
    name: str
    compute_capability: ComputeCapability | None
    memory_bytes: int = 0
    uuid: str = ""
    pci: str = ""
    source: str = ""
    integrated: bool = False
    mig: bool = False

    @property
    def gpu(self) -> Gpu | None:
        """The GPU as :func:`fatbin.check` takes it; None without a compute capability."""
        if self.compute_capability is None:
            return None
        return Gpu(self.name, self.compute_capability)

    def __str__(self) -> str:
        """Return ``0: NVIDIA H200 (9.0)``."""
        return f"{self.number}: {self.name} ({self.compute_capability or 'unknown'})"


class Attempt(Record):
    """One source that was asked, and what it said.

    Attributes:
        source: ``libcuda``, ``nvml``, ``nvidia-smi``, ``proc`` or ``pci``.
        ok: whether it answered.
        said: its answer in words, or why there is none; codes and messages as it gave them.
        code: the CUresult or NVML code; 0 when there is none.
    """

    source: str
    ok: bool
    said: str
    code: int = 0


class Detection(Record):
    """The GPUs and the driver of this machine.

    Attributes:
        gpus: what the best source names; empty when there is none that a program could use.
        source: which one that is: ``libcuda``, ``nvml``, ``nvidia-smi`` or ``proc``; empty when
            none named a GPU.
        driver: version of the kernel's driver, ``580.159.04``; empty when not known.
        cuda_version: of the libcuda that a program gets, ``13.0``; empty when it did not load.
        libcuda: path of the file that was loaded; empty when none was or it is not known.
        libcuda_kind: ``driver``, ``compat``, ``wsl`` or ``stub``; empty when none was loaded.
        code: what ``cuInit`` returned; 0 when it went well or was not reached.
        name: of that code; empty when there is none.
        hint: what to do about it; empty when there is nothing to say.
        visible: CUDA_VISIBLE_DEVICES; None when it is not set.
        attempts: every source that was asked, in order.
        notes: what else there is to know.
    """

    gpus: tuple[DetectedGpu, ...] = ()
    source: str = ""
    driver: str = ""
    cuda_version: str = ""
    libcuda: str = ""
    libcuda_kind: str = ""
    code: int = 0
    name: str = ""
    hint: str = ""
    visible: str | None = None
    attempts: tuple[Attempt, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether a CUDA program finds GPUs here now: libcuda named them."""
        return self.source == "libcuda"

    @property
    def judged_driver(self) -> Driver | None:
        """The driver as :func:`fatbin.check` takes it; None when nothing that is known names one.

        The kernel's driver says which GPUs it drives, the loaded libcuda which PTX it reads.
        """
        for branch, cuda in ((self.driver, self.cuda_version), ("", self.cuda_version)):
            try:
                return Driver.of(branch, cuda)
            except DriverError:
                continue  # a driver that the tables do not reach, or none
        return None

    def require_gpus(self) -> tuple[DetectedGpu, ...]:
        """Return the GPUs; raise when there are none.

        Raises:
            DeviceError: no source named one; the message says what libcuda said.
        """
        if self.gpus:
            return self.gpus
        raise self.error()

    def require_usable(self) -> tuple[DetectedGpu, ...]:
        """Return the GPUs that a CUDA program finds; raise when there are none.

        Raises:
            DeviceError: libcuda named none.
        """
        if self.usable:
            return self.gpus
        raise self.error()

    def error(self) -> DeviceError:
        """Return why libcuda named no GPU, as an error to raise."""
        said = next((a.said for a in self.attempts if a.source == "libcuda"), "libcuda not asked")
        return DeviceError(
            f"no GPU that CUDA can use: {said}", code=self.code, name=self.name, hint=self.hint
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, with the version of its schema."""
        return {"schema_version": SCHEMA_VERSION, **plain(self)}
