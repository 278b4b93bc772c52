"""In a child process: modules given to the driver, one line to the parent for each.

``cuModuleLoadData`` answers for the GPU whose context is current; ``cuLibraryLoadData``, which
belongs to no context, then tells the kernels where the driver has it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import time

from fatbin.node.child_side import Channel, DriverApi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PADDING = 64
_MOST_KERNELS = 1 << 20
_LISTED = ("cuLibraryLoadData", "cuLibraryGetKernelCount", "cuLibraryUnload")
_NAMED = ("cuLibraryEnumerateKernels", "cuKernelGetName")


def main(request: dict[str, Any]) -> None:
    """Load every module of the request on its GPU."""
    channel = Channel()
    try:
        api = DriverApi(request["library"])
    except OSError as exc:
        channel.send(failed=str(exc), call="libcuda", code=0, name="")
        channel.end()
        return
    if _start(api, channel, request):
        channel.send(ready=True)
        _Loads(api, channel, request).run()
        channel.send(done=True)
    channel.end()


def _start(api: DriverApi, channel: Channel, request: dict[str, Any]) -> bool:
    """Make the context of the GPU current; what fails is told."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    for function, *arguments in (
        ("cuInit", 0),
        ("cuDeviceGet", ctypes.byref(device), request["device"]),
        ("cuDevicePrimaryCtxRetain", ctypes.byref(context), device),
        ("cuCtxSetCurrent", context),
    ):
        code = api.call(str(function), *arguments)
        if code != 0:
            channel.send(
                failed=api.words_of(code), call=function, code=code, name=api.name_of(code)
            )
            return False
    uuid = api.uuid(device.value, "GPU").partition("-")[2]
    if uuid != request["uuid"]:
        channel.send(failed="it is another GPU than before", call="cuDeviceGet", code=0, name="")
        return False
    return True


class _Loads:
    """The modules of a request, from files that are mapped when they are first needed."""

    def __init__(self, api: DriverApi, channel: Channel, request: dict[str, Any]) -> None:
        self._api = api
        self._channel = channel
        self._request = request
        self._mapped: dict[int, mmap.mmap] = {}
        self._counts = all(map(api.has, _LISTED))
        self._names = request["names"] and all(map(api.has, _NAMED))

    def run(self) -> None:
        for number, file, offset, size in self._request["modules"]:
            try:
                image = self._image(file, offset, size)
            except (OSError, ValueError) as exc:
                self._channel.send(at=number, unreadable=str(exc))
                continue
            self._channel.send(at=number, **self._load(image))

    def _image(self, file: int, offset: int, size: int) -> ctypes.Array[ctypes.c_char]:
        """Return a copy: aligned, and with zeros behind it, which end a PTX text."""
        if file not in self._mapped:
            self._mapped[file] = _map(*self._request["files"][file])
        if offset + size > len(self._mapped[file]):
            msg = "the module is not inside the file"
            raise ValueError(msg)
        image = ctypes.create_string_buffer(size + _PADDING)
        ctypes.memmove(image, self._mapped[file][offset : offset + size], size)
        return image

    def _load(self, image: ctypes.Array[ctypes.c_char]) -> dict[str, Any]:
        api, module = self._api, ctypes.c_void_p()
        started = time.perf_counter()
        code = api.call("cuModuleLoadData", ctypes.byref(module), image)
        told: dict[str, Any] = {
            "code": code,
            "name": api.name_of(code),
            "seconds": round(time.perf_counter() - started, 6),
        }
        if code == 0:
            api.call("cuModuleUnload", module)
            if self._counts:
                told |= self._kernels(image)
        return told

    def _kernels(self, image: ctypes.Array[ctypes.c_char]) -> dict[str, Any]:
        api, library, count = self._api, ctypes.c_void_p(), ctypes.c_uint()
        code = api.call(
            "cuLibraryLoadData", ctypes.byref(library), image, None, None, 0, None, None, 0
        )
        if code != 0:
            return {"library": code, "library_name": api.name_of(code)}
        told: dict[str, Any] = {}
        if api.call("cuLibraryGetKernelCount", ctypes.byref(count), library) == 0:
            told["kernels"] = count.value
            if self._names:
                told["names"] = self._named(library, min(count.value, _MOST_KERNELS))
        api.call("cuLibraryUnload", library)
        return told

    def _named(self, library: ctypes.c_void_p, count: int) -> list[str]:
        api, kernels, name = self._api, (ctypes.c_void_p * count)(), ctypes.c_char_p()
        if api.call("cuLibraryEnumerateKernels", kernels, count, library) != 0:
            return []
        return [
            (name.value or b"").decode(errors="replace")
            for kernel in kernels
            if api.call("cuKernelGetName", ctypes.byref(name), ctypes.c_void_p(kernel)) == 0
        ]


def _map(path: str, size: int, modified: int) -> mmap.mmap:
    """Map a file that is still the one that the parent read.

    Raises:
        OSError: it cannot be read.
        ValueError: it is another one.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        if (status.st_size, status.st_mtime_ns) != (size, modified):
            msg = "the file was changed while it was probed"
            raise ValueError(msg)
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)
