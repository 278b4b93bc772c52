"""NVIDIA's own writer of fat binaries, libnvfatbin, called through ctypes; it needs no GPU.

``python toolkits/nvfatbin.py`` prints what several versions write for the cubins among the
fixtures, as hashes: ``tests/differential/nvfatbin.json``.
"""

from __future__ import annotations

import ctypes
import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from from_index import nvfatbin

from fatbin.format.images import Cubin

if TYPE_CHECKING:
    from collections.abc import Sequence


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


RECORDED_VERSIONS = ("12.4.127", "12.9.82", "13.0.85", "13.5.37")
IDENTIFIER = "id"
"""Of every entry that is recorded."""


def written(library: Path, image: bytes, arch: str, options: Sequence[str] = ()) -> bytes:
    """Return a fat binary of one cubin or PTX text, uncompressed unless the options say more."""
    out = NvFatbin(library, ("-compress=false", *options))
    if image[:4] == b"\x7fELF":
        out.cubin(image, arch, IDENTIFIER)
    else:
        out.ptx(image, arch, IDENTIFIER)
    return out.get()


def recorded(library: Path, cubins: dict[str, tuple[bytes, str]]) -> dict[str, str]:
    """Return the hash of what a version writes for each cubin, or what it says instead."""
    found = {}
    for name, (image, arch) in sorted(cubins.items()):
        try:
            found[name] = sha256(written(library, image, arch)).hexdigest()
        except NvFatbinError as exc:
            found[name] = str(exc)
    return found


def fixture_cubins() -> dict[str, tuple[bytes, str]]:
    """Return the bytes of each cubin among the fixtures, and its architecture without prefix."""
    found = {}
    for path in sorted((Path(__file__).resolve().parent.parent / "fixtures").glob("*.cubin")):
        image = path.read_bytes()
        found[path.name] = image, str(Cubin(image).arch).removeprefix("sm_")
    return found


def main() -> None:
    """Print ``tests/differential/nvfatbin.json``."""
    cubins = fixture_cubins()
    answers = {v: recorded(nvfatbin(v), cubins) for v in RECORDED_VERSIONS}
    print(json.dumps(answers, indent=1))


if __name__ == "__main__":
    main()
