"""What a process that gives no answer is doing, seen from outside: its time and the driver's cache.

The cache is where the CUDA driver keeps what it has compiled from PTX. When it grows, something is
being compiled.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_FILES = 20_000
_USER_TIME, _SYSTEM_TIME = 11, 12


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used or waited for so far; 0 when it has ended.

    What waits for a processor on a crowded machine is no less busy than what has one.
    """
    return _used(pid) + _waited(pid)


def _waited(pid: int) -> float:
    """Return the seconds that the threads of a process waited for a processor, where known."""
    folder = f"/proc/{pid}/task"
    nanoseconds = 0
    try:
        for thread in os.listdir(folder):
            with open(f"{folder}/{thread}/schedstat", encoding="utf-8") as file:
                nanoseconds += int(file.read().split()[1])
    except (OSError, IndexError):
        return 0.0  # a thread has ended, or the kernel does not count this
    return nanoseconds / 1e9


def _used(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return 0.0  # it has ended, or this is not Linux
    fields = text.rpartition(")")[2].split()  # the name before it can hold anything
    ticks = int(fields[_USER_TIME]) + int(fields[_SYSTEM_TIME])
    return ticks / os.sysconf("SC_CLK_TCK")


def compute_cache(env: Mapping[str, str]) -> str:
    """Return the folder of the driver's compute cache; empty when it is switched off.

    Source: CUDA C++ Programming Guide, "CUDA Environment Variables": CUDA_CACHE_PATH,
    CUDA_CACHE_DISABLE.
    """
    if env.get("CUDA_CACHE_DISABLE") == "1":
        return ""
    given = env.get("CUDA_CACHE_PATH", "")
    home = env.get("HOME", "")
    return given or (os.path.join(home, ".nv", "ComputeCache") if home else "")


def folder_size(folder: str) -> int | None:
    """Return the bytes of all files below a folder; None without a folder or with too many files.

    A folder that does not exist yet has none.
    """
    if not folder:
        return None
    size = seen = 0
    for where, _, names in os.walk(folder):
        for name in names:
            seen += 1
            if seen > _FILES:
                return None
            try:
                size += os.lstat(os.path.join(where, name)).st_size
            except OSError:
                continue  # taken out meanwhile
    return size
