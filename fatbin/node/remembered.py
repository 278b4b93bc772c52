"""What passed before, for the same files on the same machine: small files in the user's cache."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["file_identity", "machine_identity", "recall", "remember"]

DRIVER = "/proc/driver/nvidia"
_OTHERS = 0o022
_MOST = 1 << 14
"""Bytes that are read of a file about the machine."""


def file_identity(path: str) -> str:
    """Return what changes when a file is another one.

    Raises:
        OSError: it cannot be looked at.
    """
    real = os.path.realpath(path)
    found = os.stat(real)
    return f"{real} {found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns}"


def machine_identity(driver: str = DRIVER) -> str:
    """Return what changes when the driver or the GPUs are others; empty when it cannot be told."""
    try:
        parts = [_text(os.path.join(driver, "version"))]
        folder = os.path.join(driver, "gpus")
        for name in sorted(os.listdir(folder)):
            parts.append(name)
            parts.append(_text(os.path.join(folder, name, "information")))
    except OSError:
        return ""
    return "\n".join(parts)


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="backslashreplace") as file:
        return file.read(_MOST)


def recall(parts: Iterable[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether this user remembered the same, where nobody else can write."""
    path = _path(parts, environment)
    if not path:
        return False
    try:
        found, folder = os.lstat(path), os.lstat(os.path.dirname(path))
    except OSError:
        return False
    if not hasattr(os, "geteuid"):
        return True
    return found.st_uid == folder.st_uid == os.geteuid() and not folder.st_mode & _OTHERS


def remember(parts: Iterable[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Keep that something passed; False when there is no place for it, which costs time only."""
    path = _path(parts, environment)
    if not path:
        return False
    temporary = f"{path}.{os.urandom(8).hex()}.tmp"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(temporary, path)
    except OSError:
        return False
    return True


def _path(parts: Iterable[str], environment: Mapping[str, str]) -> str:
    folder = _folder(environment)
    if not folder:
        return ""
    from hashlib import sha256  # noqa: PLC0415 - only the guard needs it

    text = "\0".join(parts).encode("utf-8", "surrogateescape")
    return os.path.join(folder, f"{sha256(text).hexdigest()}.passed")


def _folder(environment: Mapping[str, str]) -> str:
    """Return the folder; empty when the user has none."""
    base = environment.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        home = environment.get("HOME", "")
        base = os.path.join(home, ".cache") if os.path.isabs(home) else ""
    return os.path.join(base, "fatbin", "guard") if base else ""
