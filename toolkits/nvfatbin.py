"""NVIDIA's own writer of fat binaries, libnvfatbin, called through ctypes; it needs no GPU."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class NvFatbinError(Exception):
    """libnvfatbin refuses something; the text is its own."""


class NvFatbin:
    """One fat binary being written."""

    def __init__(self, library: Path, options: Sequence[str] = ()) -> None:
        """Start one.

        Args:
            library: path of ``libnvfatbin.so``.
            options: as documented in ``nvFatbin.h``, such as ``-compress=false``.

        Raises:
            NvFatbinError: an option that this version does not know.
        """
        self._library = ctypes.CDLL(str(library))
        self._library.nvFatbinGetErrorString.restype = ctypes.c_char_p
        self._handle = ctypes.c_void_p()
        texts = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        self._call("Create", ctypes.byref(self._handle), texts, ctypes.c_size_t(len(options)))

    def cubin(self, image: bytes, arch: str, identifier: str = "") -> None:
        """Add a cubin; ``arch`` without its prefix, such as ``90a``."""
        self._call("AddCubin", self._handle, *_sized(image), *_texts(arch, identifier))

    def ptx(self, text: bytes, arch: str, identifier: str = "", options: str = "") -> None:
        """Add PTX, with the command line for ptxas."""
        data = text.rstrip(b"\0") + b"\0"
        self._call("AddPTX", self._handle, *_sized(data), *_texts(arch, identifier, options))

    def ltoir(self, image: bytes, arch: str, identifier: str = "", options: str = "") -> None:
        """Add LTO-IR."""
        self._call("AddLTOIR", self._handle, *_sized(image), *_texts(arch, identifier, options))

    def relocatable(self, host_object: bytes) -> None:
        """Take the PTX over from a host object."""
        self._call("AddReloc", self._handle, *_sized(host_object))

    def get(self) -> bytes:
        """Return the fat binary, and end."""
        size = ctypes.c_size_t()
        self._call("Size", self._handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call("Get", self._handle, buffer)
        self._call("Destroy", ctypes.byref(self._handle))
        return buffer.raw

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._library, f"nvFatbin{name}")(*arguments)
        if code:
            text = self._library.nvFatbinGetErrorString(code).decode()
            msg = f"nvFatbin{name}: {text} (error {code})"
            raise NvFatbinError(msg)


def _sized(data: bytes) -> tuple[ctypes.c_char_p, ctypes.c_size_t]:
    return ctypes.c_char_p(data), ctypes.c_size_t(len(data))


def _texts(*texts: str) -> list[ctypes.c_char_p]:
    return [ctypes.c_char_p(text.encode()) for text in texts]
