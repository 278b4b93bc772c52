"""Documents into files: whole, or not at all."""

from __future__ import annotations

import os
import stat

from fatbin.errors import SourceError


def require_place(path: str) -> None:
    """Raise when it is plain that a file cannot be written, before anything is read for it.

    Raises:
        SourceError: no name, the name of a folder, or one in a folder that does not exist.
    """
    folder = os.path.dirname(path)
    reason = ""
    if not path or os.path.isdir(path):
        reason = "expected the name of a file"
    elif folder and not os.path.isdir(folder):
        reason = "there is no such folder"
    if reason:
        raise SourceError(f"cannot be written: {reason}", location=path or repr(path))


def write_document(path: str, text: str) -> None:
    """Write a file; who reads it meanwhile sees the old one or the new one, never a part.

    Links are followed. A device or a pipe is written to as it is.

    Raises:
        SourceError: the file cannot be written; what was there is as it was.
    """
    data = text.encode("utf-8", "backslashreplace")
    try:
        mode = _mode(path)
        if mode is not None and not stat.S_ISREG(mode):
            with open(path, "wb") as file:
                file.write(data)
            return
        _replace(os.path.realpath(path), data, mode)
    except OSError as exc:
        raise SourceError(f"cannot be written: {exc.strerror or exc}", location=path) from exc
    except ValueError as exc:  # a NUL in the path
        raise SourceError(f"cannot be written: {exc}", location=path) from exc


def _mode(path: str) -> int | None:
    """Return the mode of a file; None where there is none yet."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _replace(target: str, data: bytes, mode: int | None) -> None:
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:200]}.{os.urandom(8).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
