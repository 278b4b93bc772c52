"""In a child process: what libcuda, NVML or nvidia-smi says about the GPUs.

Answers go out as they come, so that the parent knows what was said before a call that never
returned, and which call that is.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

from fatbin.node.child_side import Channel, DriverApi, loaded_as, text_buffer, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAJOR, _MINOR, _INTEGRATED = 75, 76, 18
_MOST_DEVICES = 1024
_NVML = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"


def main(request: dict[str, Any]) -> None:
    """Ask one source."""
    {"cuda": ask_cuda, "nvml": ask_nvml, "smi": run_smi}[request["source"]](request)


# libcuda ------------------------------------------------------------------------------------------


def ask_cuda(request: dict[str, Any]) -> None:
    """Ask libcuda, which sees what a CUDA program sees."""
    channel = Channel()
    channel.send(stage="loading libcuda")
    try:
        api = DriverApi(request.get("library", ""))
    except OSError as exc:
        channel.send(failed=str(exc))
        channel.end()
        return
    channel.send(library=loaded_as("libcuda.so"), stage="cuDriverGetVersion")
    version = ctypes.c_int()
    code = api.call("cuDriverGetVersion", ctypes.byref(version))
    channel.send(version=version.value if code == 0 else 0, stage="cuInit")
    code = api.call("cuInit", 0)
    # A libcuda of another place can be brought in by the first.
    channel.send(init=code, name=api.name_of(code), words=api.words_of(code))
    if code == 0:
        _cuda_devices(api, channel)
    channel.send(library=loaded_as("libcuda.so"), done=True)
    channel.end()


def _cuda_devices(api: DriverApi, channel: Channel) -> None:
    count = ctypes.c_int()
    code = api.call("cuDeviceGetCount", ctypes.byref(count))
    if code != 0:
        channel.send(init=code, name=api.name_of(code), words=api.words_of(code))
        return
    for index in range(min(count.value, _MOST_DEVICES)):
        channel.send(stage=f"device {index}")
        channel.send(gpu=_cuda_device(api, index))


def _cuda_device(api: DriverApi, index: int) -> dict[str, Any]:
    failed = []

    def ask(function: str, *arguments: Any) -> bool:  # noqa: ANN401 - of C
        code = api.call(function, *arguments)
        if code != 0:
            failed.append(f"{function}: {code} {api.name_of(code)}".rstrip())
        return code == 0

    device, number, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    name, pci = text_buffer(), text_buffer()
    if not ask("cuDeviceGet", ctypes.byref(device), index):
        return {"index": index, "failed": failed}
    values = {}
    for attribute in (_MAJOR, _MINOR, _INTEGRATED):
        if ask("cuDeviceGetAttribute", ctypes.byref(number), attribute, device):
            values[attribute] = number.value
    ask("cuDeviceGetName", name, len(name), device)
    ask("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
    ask("cuDeviceGetPCIBusId", pci, len(pci), device)
    mig = " MIG " in f"{text_of(name)} "
    return {
        "index": index,
        "name": text_of(name),
        "cc": [values.get(_MAJOR, 0), values.get(_MINOR, 0)],
        "memory": memory.value,
        "uuid": api.uuid(device.value, "MIG" if mig else "GPU"),
        "pci": text_of(pci),
        "integrated": bool(values.get(_INTEGRATED)),
        "mig": mig,
        "failed": failed,
    }


# NVML ---------------------------------------------------------------------------------------------


class _Memory(ctypes.Structure):
    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


class _Pci(ctypes.Structure):
    _fields_ = (
        ("bus_id_legacy", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("pci_device_id", ctypes.c_uint),
        ("pci_subsystem_id", ctypes.c_uint),
        ("bus_id", ctypes.c_char * 32),
    )


def ask_nvml(request: dict[str, Any]) -> None:
    """Ask NVML, which sees every GPU of the machine or container."""
    channel = Channel()
    channel.send(stage="loading NVML")
    try:
        library = ctypes.CDLL(request.get("library") or _NVML)
    except OSError as exc:
        channel.send(failed=str(exc))
        channel.end()
        return
    channel.send(stage="nvmlInit_v2")
    code = int(library.nvmlInit_v2())
    library.nvmlErrorString.restype = ctypes.c_char_p
    words = (library.nvmlErrorString(code) or b"").decode(errors="replace")
    channel.send(init=code, words=words)
    if code == 0:
        _nvml_devices(library, channel)
    channel.send(done=True)
    channel.end()


def _nvml_devices(library: ctypes.CDLL, channel: Channel) -> None:
    text, count = text_buffer(), ctypes.c_uint()
    if library.nvmlSystemGetDriverVersion(text, len(text)) == 0:
        channel.send(driver=text_of(text))
    code = library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    if code != 0:
        channel.send(init=code, words="nvmlDeviceGetCount_v2")
        return
    for index in range(min(count.value, _MOST_DEVICES)):
        channel.send(stage=f"device {index}")
        channel.send(gpu=_nvml_device(library, index))


def _nvml_device(library: ctypes.CDLL, index: int) -> dict[str, Any]:
    failed = []

    def ask(function: str, *arguments: Any) -> bool:  # noqa: ANN401 - of C
        code = -1 if not hasattr(library, function) else getattr(library, function)(*arguments)
        if code != 0:
            failed.append(f"{function}: {code}" if code > 0 else f"{function}: not there")
        return bool(code == 0)

    handle = ctypes.c_void_p()
    if not ask("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(handle)):
        return {"index": index, "failed": failed}
    name, uuid = text_buffer(), text_buffer()
    major, minor = ctypes.c_int(), ctypes.c_int()
    memory, pci = _Memory(), _Pci()
    mode, pending = ctypes.c_uint(), ctypes.c_uint()
    ask("nvmlDeviceGetName", handle, name, len(name))
    ask(
        "nvmlDeviceGetCudaComputeCapability",
        handle,
        ctypes.byref(major),
        ctypes.byref(minor),
    )
    ask("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
    ask("nvmlDeviceGetUUID", handle, uuid, len(uuid))
    ask("nvmlDeviceGetPciInfo_v3", handle, ctypes.byref(pci))
    # Most GPUs know no such mode, and old libraries no such question.
    ask_mode = getattr(library, "nvmlDeviceGetMigMode", None)
    if ask_mode is None or ask_mode(handle, ctypes.byref(mode), ctypes.byref(pending)) != 0:
        mode.value = 0
    return {
        "index": index,
        "name": text_of(name),
        "cc": [major.value, minor.value],
        "memory": memory.total,
        "uuid": text_of(uuid),
        "pci": pci.bus_id.decode(errors="replace"),
        "integrated": False,
        "mig": mode.value == 1,
        "failed": failed,
    }


# nvidia-smi ---------------------------------------------------------------------------------------


def run_smi(request: dict[str, Any]) -> None:
    """Become nvidia-smi, which then ends with the parent as this process would."""
    command = request["command"]
    if os.name == "posix":
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    raise SystemExit(subprocess.call(command))  # noqa: S603 - made by fatbin, not by a user
