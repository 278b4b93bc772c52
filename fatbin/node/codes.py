"""What libcuda's codes say about a machine: words, and what to do."""

from __future__ import annotations

from fatbin._record import Record

__all__ = ["INIT", "Words", "cuda_name", "init_words"]


class Words(Record):
    """What a code means when ``cuInit`` returns it.

    Attributes:
        name: as ``cuda.h`` has it.
        words: what it says.
        hint: what to do.
    """

    name: str
    words: str
    hint: str


INIT: dict[int, Words] = {
    3: Words(
        "CUDA_ERROR_NOT_INITIALIZED",
        "the driver could not be initialised",
        "look whether the devices /dev/nvidia* are there and may be opened by this user",
    ),
    34: Words(
        "CUDA_ERROR_STUB_LIBRARY",
        "the libcuda that was loaded is the toolkit's stub, made for linking only",
        "take the folder 'stubs' out of LD_LIBRARY_PATH",
    ),
    46: Words(
        "CUDA_ERROR_DEVICE_UNAVAILABLE",
        "the GPU is busy or in exclusive use",
        "end the process that holds the GPU, or change its compute mode",
    ),
    100: Words(
        "CUDA_ERROR_NO_DEVICE",
        "no GPU that CUDA may use",
        "look at CUDA_VISIBLE_DEVICES, at the devices given to the container, at MIG instances, "
        "and whether the driver still supports the GPU",
    ),
    101: Words(
        "CUDA_ERROR_INVALID_DEVICE",
        "CUDA_VISIBLE_DEVICES names a GPU that is not there",
        "correct or unset CUDA_VISIBLE_DEVICES",
    ),
    304: Words(
        "CUDA_ERROR_OPERATING_SYSTEM",
        "the operating system refused a call of the driver",
        "look at the kernel's log (dmesg) and at the rights of /dev/nvidia*",
    ),
    802: Words(
        "CUDA_ERROR_SYSTEM_NOT_READY",
        "the GPUs are not initialised yet",
        "on machines with NVSwitch the fabric manager must be running, of the driver's version",
    ),
    803: Words(
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "libcuda and the kernel's driver are of different versions",
        "reboot or reload the kernel's module after an update; in containers use the host's "
        "libcuda",
    ),
    804: Words(
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "the compatibility libcuda was loaded, and this GPU or driver may not use one",
        "take the folder 'compat' out of the library path, or update the kernel's driver",
    ),
    999: Words(
        "CUDA_ERROR_UNKNOWN",
        "the driver says no more than that",
        "load the module nvidia_uvm (nvidia-modprobe -u), look at dmesg, or reboot",
    ),
}
"""The codes of ``cuInit``; names by ``cuda.h`` of CUDA 13."""

_OTHERS = {
    0: "CUDA_SUCCESS",
    1: "CUDA_ERROR_INVALID_VALUE",
    2: "CUDA_ERROR_OUT_OF_MEMORY",
    36: "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
    200: "CUDA_ERROR_INVALID_IMAGE",
    201: "CUDA_ERROR_INVALID_CONTEXT",
    209: "CUDA_ERROR_NO_BINARY_FOR_GPU",
    218: "CUDA_ERROR_INVALID_PTX",
    221: "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
    222: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    223: "CUDA_ERROR_JIT_COMPILATION_DISABLED",
    225: "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC",
    300: "CUDA_ERROR_INVALID_SOURCE",
    500: "CUDA_ERROR_NOT_FOUND",
    801: "CUDA_ERROR_NOT_SUPPORTED",
}


def cuda_name(code: int) -> str:
    """Return the name of a CUresult for when libcuda gives none; ``CUresult 12345`` if unknown."""
    known = INIT.get(code)
    return known.name if known is not None else _OTHERS.get(code, f"CUresult {code}")


def init_words(code: int, name: str, words: str) -> Words:
    """Return what a code of ``cuInit`` says: ours, and libcuda's own for one that is not known."""
    known = INIT.get(code)
    if known is not None:
        return known._replace(name=name or known.name)
    return Words(name or cuda_name(code), words or "a code that fatbin has no words for", "")
