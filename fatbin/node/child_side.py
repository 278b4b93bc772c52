"""What runs in a child process: the end of its life, its lines to the parent, calls of libraries.

The parent (:mod:`fatbin.node.children`) sends the text of this module and of a worker to a fresh
Python, so that neither where fatbin lies nor how it was started matters there. Only the standard
library is imported here and in the workers, and nothing else of fatbin.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PR_SET_PDEATHSIG = 1
_TEXT_BYTES = 256
_CUDA = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


def end_with_parent(parent: int) -> None:
    """See to it that this process never outlives its parent, whatever either is doing.

    On Linux the kernel kills it. Everywhere a thread waits for the end of standard input, which the
    parent keeps open as long as it lives; a call into a library does not stop the thread.
    """
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.name == "posix":
        import resource  # noqa: PLC0415 - not everywhere

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash is expected, its memory is not
    if hasattr(os, "getppid") and parent and os.getppid() != parent:
        os._exit(1)  # it was gone before the kernel was told
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


class Channel:
    """Lines of JSON to the parent, apart from whatever libraries print."""

    def __init__(self) -> None:
        """Keep standard output for this, and send what others print to standard error."""
        self._descriptor = os.dup(1)
        os.dup2(2, 1)

    def send(self, **fields: Any) -> None:  # noqa: ANN401 - JSON
        """Write one line."""
        data = json.dumps(fields).encode() + b"\n"
        while data:
            data = data[os.write(self._descriptor, data) :]

    def end(self) -> None:
        """Leave at once; what libraries do at the end of a process can hang."""
        os._exit(0)


class DriverApi:
    """libcuda, with the names that it gives to its codes."""

    def __init__(self, name: str = "") -> None:
        """Load the library.

        Raises:
            OSError: it cannot be loaded.
        """
        self.library: ctypes.CDLL = ctypes.CDLL(name or _CUDA)

    def has(self, function: str) -> bool:
        """Tell whether the library has a function."""
        return hasattr(self.library, function)

    def call(self, function: str, *arguments: Any) -> int:  # noqa: ANN401 - of C
        """Call a function and return its CUresult."""
        return int(getattr(self.library, function)(*arguments))

    def name_of(self, code: int) -> str:
        """Return the library's name of a code; empty when it knows none."""
        return self._text("cuGetErrorName", code)

    def words_of(self, code: int) -> str:
        """Return what the library says about a code; empty when it says nothing."""
        return self._text("cuGetErrorString", code)

    def _text(self, function: str, code: int) -> str:
        text = ctypes.c_char_p()
        if not self.has(function) or self.call(function, code, ctypes.byref(text)) != 0:
            return ""
        return (text.value or b"").decode(errors="replace")

    def uuid(self, device: int, kind: str) -> str:
        """Return the UUID of a device as ``nvidia-smi -L`` prints it; empty when it has none."""
        raw = (ctypes.c_ubyte * 16)()
        function = "cuDeviceGetUuid_v2" if self.has("cuDeviceGetUuid_v2") else "cuDeviceGetUuid"
        if not self.has(function) or self.call(function, ctypes.byref(raw), device) != 0:
            return ""
        digits = bytes(raw).hex()
        parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        return f"{kind}-{'-'.join(parts)}"


def text_of(buffer: ctypes.Array[ctypes.c_char]) -> str:
    """Return the text that C wrote into a buffer."""
    return buffer.value.decode(errors="replace")


def text_buffer() -> ctypes.Array[ctypes.c_char]:
    """Return room for a name."""
    return ctypes.create_string_buffer(_TEXT_BYTES)


def loaded_as(word: str) -> list[str]:
    """Return the files that this process has loaded whose names begin with a word."""
    found: dict[str, None] = {}
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")
                if path[1] and os.path.basename(path[2]).startswith(word):
                    found["/" + path[2]] = None
    except FileNotFoundError:
        return []  # not Linux
    return list(found)
