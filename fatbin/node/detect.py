"""Which GPUs and which driver this machine has, without a toolkit and without torch."""

from __future__ import annotations

import os

from fatbin.node import system_files
from fatbin.node.records import Attempt, DetectedGpu, Detection
from fatbin.node.sources import Answer, ask_cuda, ask_nvml, ask_smi, bus_address, capability_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NO_DEVICE = 100
INVALID_DEVICE = 101
VISIBLE = "CUDA_VISIBLE_DEVICES"
CAPABILITIES = "NVIDIA_DRIVER_CAPABILITIES"


def detect(*, timeout: float = 20.0, root: str = "/") -> Detection:
    """Say which GPUs and which driver this machine has.

    libcuda is asked first: it alone sees what a CUDA program sees, with CUDA_VISIBLE_DEVICES, MIG
    and compatibility libraries. NVML, then nvidia-smi, then the files of the kernel's driver name
    the GPUs where libcuda cannot. Libraries are loaded in child processes only, so this process can
    still fork CUDA programs, and a driver that hangs is given up after the timeout.

    Args:
        timeout: seconds for each source.
        root: folder in which ``proc``, ``sys`` and ``etc`` are looked for.

    Returns:
        What was found; without a GPU or a driver it says why.
    """
    return _Survey(timeout, root).detection()


def listed(root: str = "/") -> Detection:
    """Say which GPUs and which driver the files of the kernel's driver name; nothing is loaded.

    These are all GPUs of the machine or container, whatever CUDA_VISIBLE_DEVICES says, and whether
    or not CUDA can use them. There is no such list on WSL and Jetson.

    Args:
        root: folder in which ``proc`` is looked for.
    """
    gpus = tuple(_listed(root))
    driver, line = system_files.kernel_driver(root)
    attempt = Attempt("proc", ok=bool(line), said=line or "no driver of NVIDIA's in this kernel")
    return Detection(gpus, "proc" if gpus else "", driver, attempts=(attempt,))


class _Survey:
    """The sources in order, and what they come to."""

    def __init__(self, timeout: float, root: str) -> None:
        self._root = root
        self._visible = os.environ.get(VISIBLE)
        self._kernel, self._line = system_files.kernel_driver(root)
        self._tegra = system_files.tegra_release(root)
        self._cuda = ask_cuda(timeout)
        self._nvml = ask_nvml(timeout)
        self._smi: Answer | None = None
        if not self._cuda.attempt.ok and not self._nvml.attempt.ok:
            self._smi = ask_smi(timeout)
        self._listed = tuple(_listed(root))
        self._cards = system_files.pci_cards(root)
        self._driver = self._kernel or self._nvml.driver or (self._smi.driver if self._smi else "")
        self._path, self._kind = self._libcuda()

    def detection(self) -> Detection:
        gpus = self._gpus()
        return Detection(
            gpus=gpus,
            source=gpus[0].source if gpus else "",
            driver=self._driver,
            cuda_version=self._cuda.cuda_version,
            libcuda=self._path,
            libcuda_kind=self._kind,
            code=self._cuda.init or 0,
            name=self._cuda.name,
            hint=self._cuda.hint or self._hint(),
            visible=self._visible,
            attempts=tuple(self._attempts()),
            notes=tuple(self._notes(gpus)),
        )

    def _gpus(self) -> tuple[DetectedGpu, ...]:
        if self._cuda.attempt.ok or self._hidden:
            return self._cuda.gpus
        if self._nvml.attempt.ok:
            return self._nvml.gpus
        if self._smi is not None and self._smi.attempt.ok:
            return self._smi.gpus
        return self._listed

    @property
    def _hidden(self) -> bool:
        """Whether libcuda names no GPU because CUDA_VISIBLE_DEVICES says so."""
        return self._visible is not None and self._cuda.init in (NO_DEVICE, INVALID_DEVICE)

    def _libcuda(self) -> tuple[str, str]:
        """Return the path of the libcuda that was loaded, and what kind of one it is."""
        files = self._cuda.libraries
        if not files:
            return "", ""
        for path in files:
            folders = path.split("/")
            if "wsl" in folders:
                return path, "wsl"
            if "stubs" in folders:
                return path, "stub"
            if "compat" in folders:
                return path, "compat"
        version = files[0].rpartition(".so.")[2]
        own = not self._kernel or "." not in version or version == self._kernel
        return files[0], "driver" if own else "compat"

    def _attempts(self) -> Iterator[Attempt]:
        yield self._cuda.attempt
        yield self._nvml.attempt
        if self._smi is not None:
            yield self._smi.attempt
        if self._tegra:
            yield Attempt("tegra", ok=True, said=self._tegra)
        if self._line:
            count = _plural(len(self._listed), "GPU")
            yield Attempt("proc", ok=True, said=f"{self._line}; {count}")
        else:
            yield Attempt("proc", ok=False, said="no driver of NVIDIA's is loaded in this kernel")
        found = _plural(len(self._cards), "NVIDIA card")
        yield Attempt("pci", ok=bool(self._cards), said=f"{found} on the bus")

    def _hint(self) -> str:
        """Say what helps where libcuda was not reached."""
        if self._cuda.attempt.ok:
            return ""
        if self._cuda.libraries:
            return "look at the kernel's log (dmesg), and whether nvidia-smi answers"
        if self._line or self._nvml.attempt.ok:
            set_to = os.environ.get(CAPABILITIES)
            now = f"; it is {set_to}" if set_to is not None else ""
            return f"libcuda is missing: in a container {CAPABILITIES} must name compute{now}"
        if self._cards:
            return "install NVIDIA's driver, or load its module (modprobe nvidia)"
        return ""

    def _notes(self, gpus: tuple[DetectedGpu, ...]) -> Iterator[str]:
        yield from self._about_visible()
        capabilities = {gpu.compute_capability for gpu in gpus}
        if len(capabilities) > 1:
            named = ", ".join(sorted({str(c or "unknown") for c in capabilities}))
            yield f"the GPUs differ in compute capability: {named}"
        if any(gpu.mig for gpu in gpus):
            if gpus[0].source == "libcuda":
                yield "a MIG instance: a CUDA program sees one instance at a time"
            else:
                yield "MIG is on: a CUDA program gets an instance, not the whole GPU"
        if gpus and gpus[0].source != "libcuda":
            yield f"the GPUs are named by {gpus[0].source}; CUDA cannot use them now"
        if any(gpu.compute_capability is None for gpu in gpus):
            yield "a GPU's compute capability is not known: no source says it and no table has it"
        if self._kind == "compat":
            yield (
                f"libcuda is not the one of driver {self._driver or 'unknown'}: it decides which "
                "PTX is read, the driver which GPUs there are"
            )
        if self._kind == "wsl" or system_files.is_wsl(self._root):
            yield "WSL: the driver is that of the Windows host"
        if self._cards and not self._line and not gpus:
            where = ", ".join(self._cards)
            yield f"there is an NVIDIA card ({where}), but no driver for it"
        yield from self._cuda.trouble
        yield from self._nvml.trouble

    def _about_visible(self) -> Iterator[str]:
        if self._visible is None:
            if self._cuda.attempt.ok and len(self._nvml.gpus) > len(self._cuda.gpus):
                yield f"CUDA sees {len(self._cuda.gpus)} of the {len(self._nvml.gpus)} GPUs of NVML"
            return
        told = f"{VISIBLE}={self._visible}"
        if self._cuda.attempt.ok or self._hidden:
            of = f" of the {len(self._nvml.gpus)} GPUs of NVML" if self._nvml.gpus else " GPUs"
            yield f"{told}: CUDA sees {len(self._cuda.gpus)}{of}"
        else:
            yield f"{told} is set, which only libcuda heeds"


def _listed(root: str) -> Iterator[DetectedGpu]:
    for index, gpu in enumerate(system_files.kernel_gpus(root)):
        yield DetectedGpu(
            number=index,
            name=gpu.name,
            compute_capability=capability_of(gpu.name) if gpu.name else None,
            uuid=gpu.uuid,
            pci=bus_address(gpu.pci),
            source="proc",
        )


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
