"""Toolkits, the PTX ISA each writes, the driver each came with; CUDA's error codes."""

from __future__ import annotations

from fatbin._record import Record

__all__ = [
    "ERRORS",
    "FLOORS",
    "GROUPS",
    "TOOLKITS",
    "ZSTD",
    "CudaError",
    "Floor",
    "Packing",
    "ToolkitRow",
]


class ToolkitRow(Record):
    """One minor version of the CUDA toolkit.

    Attributes:
        toolkit: the version, ``12.8``.
        ptx_isa: the newest PTX ISA that it writes, and that its driver reads.
        driver_branch: the driver branch released with it, 570; that one is of this CUDA version.
        linux_driver: the first driver that came with it; empty when unknown or not bundled.
        windows_driver: the same for Windows.
        sources: keys of ``SOURCES``.
        certain: False when a fact of the row is not sure; ``note`` says which.
        note: what else there is to know.
    """

    toolkit: str
    ptx_isa: str
    driver_branch: int
    linux_driver: str
    windows_driver: str
    sources: tuple[str, ...]
    certain: bool = True
    note: str = ""

    @property
    def cuda(self) -> tuple[int, int]:
        """The version as numbers."""
        return _numbers(self.toolkit)

    @property
    def isa(self) -> tuple[int, int]:
        """The PTX ISA as numbers."""
        return _numbers(self.ptx_isa)


def _numbers(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


_OLD = ("release-notes", "ptx-isa", "cuda-python")
_NEW = ("ptxas", "release-notes")

TOOLKITS: tuple[ToolkitRow, ...] = (
    ToolkitRow("6.5", "4.1", 340, "", "", ("ptx-isa", "cuda-python")),
    ToolkitRow("7.0", "4.2", 346, "346.46", "347.62", _OLD),
    ToolkitRow("7.5", "4.3", 352, "352.31", "353.66", _OLD),
    ToolkitRow("8.0", "5.0", 367, "367.48", "369.30", _OLD),
    ToolkitRow("9.0", "6.0", 384, "384.81", "385.54", _OLD),
    ToolkitRow(
        "9.1", "6.1", 390, "390.46", "391.29", _OLD, certain=False,
        note="some documents pair it with branch 387",
    ),
    ToolkitRow("9.2", "6.2", 396, "396.26", "397.44", _OLD),
    ToolkitRow("10.0", "6.3", 410, "410.48", "411.31", _OLD),
    ToolkitRow("10.1", "6.4", 418, "418.39", "418.96", _OLD),
    ToolkitRow("10.2", "6.5", 440, "440.33", "441.22", _OLD),
    ToolkitRow("11.0", "7.0", 450, "450.51.05", "451.48", _OLD),
    ToolkitRow("11.1", "7.1", 455, "455.23", "456.38", _OLD),
    ToolkitRow("11.2", "7.2", 460, "460.27.03", "460.82", _OLD),
    ToolkitRow("11.3", "7.3", 465, "465.19.01", "465.89", _OLD),
    ToolkitRow("11.4", "7.4", 470, "470.42.01", "471.11", _OLD),
    ToolkitRow("11.5", "7.5", 495, "495.29.05", "496.04", _OLD),
    ToolkitRow("11.6", "7.6", 510, "510.39.01", "511.23", _OLD),
    ToolkitRow("11.7", "7.7", 515, "515.43.04", "", _NEW),
    ToolkitRow("11.8", "7.8", 520, "520.61.05", "", _NEW),
    ToolkitRow("12.0", "8.0", 525, "525.60.13", "", _NEW),
    ToolkitRow("12.1", "8.1", 530, "530.30.02", "", _NEW),
    ToolkitRow("12.2", "8.2", 535, "535.54.03", "", _NEW),
    ToolkitRow("12.3", "8.3", 545, "545.23.06", "", _NEW),
    ToolkitRow("12.4", "8.4", 550, "550.54.14", "", _NEW),
    ToolkitRow("12.5", "8.5", 555, "555.42.02", "", _NEW),
    ToolkitRow("12.6", "8.5", 560, "560.28.03", "", _NEW),
    ToolkitRow(
        "12.7", "8.6", 565, "", "", ("ptx-isa", "cuda-python"), certain=False,
        note="a driver without a toolkit: ptxas 12.8 is the first that reads PTX ISA 8.6",
    ),
    ToolkitRow("12.8", "8.7", 570, "570.26", "", _NEW),
    ToolkitRow("12.9", "8.8", 575, "575.51.03", "", _NEW),
    ToolkitRow("13.0", "9.0", 580, "580.65.06", "", _NEW),
    ToolkitRow("13.1", "9.1", 590, "590.44.01", "", _NEW, note="bundles no Windows driver"),
    ToolkitRow("13.2", "9.2", 595, "595.45.04", "", _NEW),
    ToolkitRow("13.3", "9.3", 610, "610.43.02", "", _NEW),
    ToolkitRow(
        "13.4", "9.4", 615, "", "", ("ptxas", "data-centre-drivers", "cutlass"), certain=False,
        note="bundles no driver; the branch may be 616",
    ),
    ToolkitRow(
        "13.5", "9.5", 620, "", "", ("ptxas", "data-centre-drivers"), certain=False,
        note="bundles no driver; the branch is assumed",
    ),
)  # fmt: skip
"""One row a minor version, oldest first."""


class Floor(Record):
    """The oldest driver on which programs of any minor version of a CUDA major version start.

    Attributes:
        major: of the toolkit.
        linux_driver: that driver.
        windows_driver: the same for Windows; empty when not sure.
        below_branch: from this branch on the driver is of the next major version; None for the
            newest.
        sources: keys of ``SOURCES``.
    """

    major: int
    linux_driver: str
    windows_driver: str
    below_branch: int | None
    sources: tuple[str, ...]


FLOORS: tuple[Floor, ...] = (
    Floor(11, "450.80.02", "452.39", 525, ("minor-versions",)),
    Floor(12, "525.60.13", "", 580, ("minor-versions",)),
    Floor(13, "580", "580", None, ("minor-versions",)),
)
"""One row a major version."""


class Packing(Record):
    """What a way to store device code asks of the driver.

    Attributes:
        name: as entries have it.
        first_driver: the first branch that reads it.
        code: the error of older ones.
        sources: keys of ``SOURCES``.
    """

    name: str
    first_driver: int
    code: int
    sources: tuple[str, ...]


ZSTD = Packing("zstd", 550, 200, ("ml-explore/mlx#2407", "ollama/ollama#12258"))
"""LZ4 is read by every driver of the tables; zstd came with CUDA 12.4."""

GROUPS = Packing("group", 595, 209, ("h200", "nvjitlink"))
"""A driver of CUDA 13.0 passes over groups, as nvJitLink 13.0 does. That drivers of CUDA 13.2 read
them is inferred from nvJitLink, of which that version is the first that does; none was tried."""


class CudaError(Record):
    """One error code of CUDA.

    Attributes:
        driver: its name in the driver API; empty when it has none.
        runtime: its name in the runtime API.
        meaning: what it says about device code.
    """

    driver: str
    runtime: str
    meaning: str


ERRORS: dict[int, CudaError] = {
    35: CudaError(
        "", "cudaErrorInsufficientDriver", "the driver is older than the CUDA runtime allows"
    ),
    98: CudaError(
        "",
        "cudaErrorInvalidDeviceFunction",
        "the host knows the kernel, no image of it fits the GPU",
    ),
    100: CudaError(
        "CUDA_ERROR_NO_DEVICE",
        "cudaErrorNoDevice",
        "no GPU is visible, or the driver branch no longer drives it",
    ),
    200: CudaError(
        "CUDA_ERROR_INVALID_IMAGE",
        "cudaErrorInvalidKernelImage",
        "container or image not understood: damaged, or zstd on a driver before R550",
    ),
    209: CudaError(
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "cudaErrorNoKernelImageForDevice",
        "nothing in the container fits the GPU",
    ),
    218: CudaError(
        "CUDA_ERROR_INVALID_PTX", "cudaErrorInvalidPtx", "the driver could not compile the PTX"
    ),
    221: CudaError(
        "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
        "cudaErrorJitCompilerNotFound",
        "libnvidia-ptxjitcompiler is missing, as in containers without the compute capability",
    ),
    222: CudaError(
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "cudaErrorUnsupportedPtxVersion",
        "the PTX ISA is newer than the driver",
    ),
    223: CudaError(
        "CUDA_ERROR_JIT_COMPILATION_DISABLED",
        "cudaErrorJitCompilationDisabled",
        "only PTX fits, and CUDA_DISABLE_PTX_JIT is set",
    ),
    225: CudaError(
        "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC",
        "cudaErrorUnsupportedDevSideSync",
        "the PTX waits for kernels on the device, which CUDA no longer has",
    ),
    300: CudaError(
        "CUDA_ERROR_INVALID_SOURCE",
        "cudaErrorInvalidSource",
        "the image is not what the header of its entry says",
    ),
    500: CudaError(
        "CUDA_ERROR_NOT_FOUND",
        "cudaErrorSymbolNotFound",
        "named symbol not found: a module holds no kernel of this name for the GPU",
    ),
    700: CudaError(
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "cudaErrorIllegalAddress",
        "a kernel ran and failed; by itself no sign of a wrong architecture",
    ),
    803: CudaError(
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "cudaErrorSystemDriverMismatch",
        "libcuda and the kernel's driver are of different versions",
    ),
    804: CudaError(
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "cudaErrorCompatNotSupportedOnDevice",
        "a compatibility libcuda on a GPU that may not use one",
    ),
    999: CudaError(
        "CUDA_ERROR_UNKNOWN",
        "cudaErrorUnknown",
        "among much else a compressed image that does not inflate to its declared size",
    ),
}
"""Error codes that device code can cause; names by ``cuda.h`` and ``driver_types.h``."""
