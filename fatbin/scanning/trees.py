"""Directory trees: which of their files can hold device code, each of them once.

The first bytes of every regular file are looked at, and nothing else of most. Folders behind
symbolic links are not entered; devices, pipes and sockets are never opened.
"""

from __future__ import annotations

import os
import re
import stat

from fatbin._record import Record
from fatbin.errors import SourceError
from fatbin.scanning.host import ZIP_MAGICS
from fatbin.scanning.identify import PTX_HEAD_BYTES
from fatbin.scanning.source import OPEN_FLAGS
from fatbin.scanning.spool import HEAD_BYTES, may_be_text, worth_reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.errors import Report

_PACKAGE = re.compile(
    r"\.(?:whl|zip|egg|conda|tar(?:\.(?:gz|bz2|xz|zst))?|tgz|tbz2?|txz|tzst)$", re.IGNORECASE
)
"""By name: checkpoints and data sets are zips and tar archives too, and large."""


class TreeFile(Record):
    """A file worth reading.

    Attributes:
        path: where it was found, with the root as it was given.
        size: in bytes.
        identity: device, inode, size, times of the last change of content and of state, in
            nanoseconds: who changes the file changes one of them.
        aliases: other paths in the tree that lead to the same file.
    """

    path: str
    size: int
    identity: tuple[int, int, int, int, int]
    aliases: tuple[str, ...] = ()


def tree_files(root: str, report: Report, *, packages: bool = True) -> list[TreeFile]:
    """Return the files of a tree that can hold device code, ordered by path, each one once.

    Of several paths to one file the first that is no symbolic link counts; the others are aliases.
    Links that lead nowhere are passed over.

    Args:
        root: path of the folder.
        report: gets folders and files that cannot be read.
        packages: whether wheels, zips and tar archives count, told by their names.
    """
    paths: dict[tuple[int, int], list[tuple[bool, str]]] = {}
    statuses: dict[tuple[int, int], os.stat_result] = {}
    for path, status, link in _regular_files(root, report):
        key = (status.st_dev, status.st_ino)
        if not status.st_ino:  # some file systems number nothing
            key = (-1, len(paths))
        paths.setdefault(key, []).append((link, path))
        statuses[key] = status
    found = []
    for key, names in paths.items():
        _, path = min(names)
        try:
            good = _worth_reading(path, packages=packages)
        except OSError as exc:
            report(SourceError(exc.strerror or str(exc), location=path))
            continue
        if good:
            status = statuses[key]
            others = tuple(sorted(name for _, name in names if name != path))
            found.append(TreeFile(path, status.st_size, identity(status), others))
    found.sort(key=lambda file: file.path.split(os.sep))
    return found


def identity(status: os.stat_result) -> tuple[int, int, int, int, int]:
    """Return what tells whether a file is still the one that was read."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def target_file(target: str) -> TreeFile:
    """Return a target that is read as one file; of an image in a folder, all its files count.

    Raises:
        SourceError: it is not there.
    """
    if not os.path.isdir(target):
        try:
            status = os.stat(target)
        except (OSError, ValueError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else None
            raise SourceError(reason or str(exc), location=target) from exc
        return TreeFile(target, status.st_size, identity(status))
    import hashlib  # noqa: PLC0415 - only images in folders
    import time  # noqa: PLC0415

    rows = []
    for folder, names, files in os.walk(target, onerror=_raise):
        if any(os.path.islink(os.path.join(folder, name)) for name in names):
            # What lies behind the link is not seen: a target that is never the same again.
            return TreeFile(target, 0, (0, 0, 0, time.time_ns(), 0))
        for path in (os.path.join(folder, name) for name in files):
            try:
                rows.append((path, identity(os.stat(path))))
            except OSError:
                rows.append((path, (0, 0, 0, 0, 0)))  # who reads it says what is wrong
    # One number for which files there are; the rest as for one file.
    digest = hashlib.sha256(repr(sorted(rows)).encode(errors="replace")).digest()
    size = sum(row[2] for _, row in rows)
    changed, touched = (max((row[at] for _, row in rows), default=0) for at in (3, 4))
    return TreeFile(target, size, (0, int.from_bytes(digest[:8], "big"), size, changed, touched))


def _raise(error: OSError) -> None:
    raise SourceError(error.strerror or str(error), location=error.filename) from error


def _regular_files(root: str, report: Report) -> Iterator[tuple[str, os.stat_result, bool]]:
    """Yield ``(path, status, whether a link)`` of each file that is not empty."""
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
                            continue
                        link = entry.is_symlink()
                        status = entry.stat() if os.name != "nt" else os.stat(entry.path)
                    except FileNotFoundError:
                        continue  # a link that leads nowhere, or a file that has just gone
                    except OSError as exc:
                        if not _is_loop(exc):
                            reason = exc.strerror or str(exc)
                            report(SourceError(reason, location=entry.path))
                        continue
                    if stat.S_ISREG(status.st_mode) and status.st_size:
                        yield entry.path, status, link
        except OSError as exc:
            report(SourceError(exc.strerror or str(exc), location=folder))


def _is_loop(error: OSError) -> bool:
    import errno  # noqa: PLC0415 - links that lead to each other are seldom

    return error.errno == errno.ELOOP


def _worth_reading(path: str, *, packages: bool) -> bool:
    descriptor = os.open(path, OPEN_FLAGS)
    try:
        head = os.read(descriptor, HEAD_BYTES)
        if len(head) == HEAD_BYTES and may_be_text(head):
            head += os.read(descriptor, PTX_HEAD_BYTES - HEAD_BYTES)
    finally:
        os.close(descriptor)
    if packages and _PACKAGE.search(path):
        from fatbin.scanning.packages import package_kind  # noqa: PLC0415 - few trees hold any

        return bool(package_kind(head)) or worth_reading(head)
    return head[:4] not in ZIP_MAGICS and worth_reading(head)
