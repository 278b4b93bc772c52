"""nvJitLink, which takes an image out of a container for any device without having it."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import fatbin

if TYPE_CHECKING:
    from pathlib import Path

_FATBIN = 4
_BAD_INPUT = 3


class NvJitLink:
    """One version of the library."""

    def __init__(self, path: Path, version: str) -> None:
        self._library = ctypes.CDLL(str(path))
        self._suffix = version.replace(".", "_")

    def kernels(self, arch: str, data: bytes) -> tuple[str, ...] | None:
        """Return the kernels of what is linked of a container; None where nothing in it fits.

        Cubins that are no input of a link come to a cubin without kernels.
        """
        option = (ctypes.c_char_p * 1)(f"-arch={arch}".encode())
        handle = ctypes.c_void_p()
        assert self._call("Create", ctypes.byref(handle), ctypes.c_uint32(1), option) == 0
        try:
            size = ctypes.c_size_t(len(data))
            added = self._call("AddData", handle, ctypes.c_int(_FATBIN), data, size, b"container")
            if added == _BAD_INPUT:
                return None
            assert added == 0, self._log(handle)
            assert self._call("Complete", handle) == 0, self._log(handle)
            length = ctypes.c_size_t()
            assert self._call("GetLinkedCubinSize", handle, ctypes.byref(length)) == 0
            cubin = ctypes.create_string_buffer(length.value)
            assert self._call("GetLinkedCubin", handle, cubin) == 0
            return fatbin.Cubin(cubin.raw).kernel_names
        finally:
            self._call("Destroy", ctypes.byref(handle))

    def _log(self, handle: ctypes.c_void_p) -> bytes:
        length = ctypes.c_size_t()
        self._call("GetErrorLogSize", handle, ctypes.byref(length))
        log = ctypes.create_string_buffer(length.value + 1)
        self._call("GetErrorLog", handle, log)
        return log.value

    def _call(self, name: str, *arguments: Any) -> int:  # noqa: ANN401 - of ctypes
        versioned = f"__nvJitLink{name}_{self._suffix}"
        try:
            function = getattr(self._library, versioned)
        except AttributeError:
            function = getattr(self._library, f"nvJitLink{name}")
        result: int = function(*arguments)
        return result
