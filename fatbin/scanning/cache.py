"""Results of earlier scans: what was read of a file that has not changed since.

One document a target, named by a digest of the target, the options and the version of fatbin. It
begins with a digest of the rest: what is damaged or foreign is not there. A file is known again by
device, inode, size and the times of the last change of content and state; whoever changes a file
changes the last of these, which nobody can set.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time

from fatbin import __version__
from fatbin.arch import Architecture
from fatbin.inventory import Entry, Library, Linkage, Module
from fatbin.kinds import Compression, Place
from fatbin.scanning.many import FileResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fatbin.scanning.scanner import Options

    Identity = tuple[int, int, int, int, int]
    Known = dict[str, tuple[Identity, FileResult]]

_SUFFIX = ".fatbin-scan"
_BYTES = 256 << 20
_RECENT_NS = 2_000_000_000  # a file changed just now may change again within one tick
_PRIVATE = 0o700
_NO_GOOD = (
    OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError,
)  # fmt: skip


def default_cache() -> str:
    """Return the folder of the cache: ``FATBIN_CACHE_DIR``, else one in the user's cache folder."""
    named = os.environ.get("FATBIN_CACHE_DIR")
    if named:
        return named
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or base
    return os.path.join(base, "fatbin", "scans")


class Cache:
    """A folder of documents; whatever goes wrong with it, scanning goes on without.

    Attributes:
        folder: where they are.
        most: bytes that all documents may take; the oldest go first.
    """

    def __init__(self, folder: str, most: int = _BYTES) -> None:
        """Use a folder, which is made when the first document is written."""
        self.folder = folder
        self.most = most

    def load(self, target: str, options: Options) -> Known:
        """Return what is known of the files of a target; nothing when the document is no good."""
        path = self._path(target, options)
        try:
            if not self._own(os.path.dirname(path)):
                return {}
            with open(path, "rb") as file:
                digest, _, body = file.read().partition(b"\n")
            if hashlib.sha256(body).hexdigest().encode() != digest:
                return {}
            known = {name: _read(row) for name, row in json.loads(body).items()}
            os.utime(path)  # what is used stays
        except _NO_GOOD:
            return {}
        return known

    def store(self, target: str, options: Options, known: Known) -> None:
        """Keep what was read whole and is not too new; replaces the document at once."""
        before = time.time_ns() - _RECENT_NS
        rows = {
            name: [list(identity), [_plain(library) for library in result.libraries]]
            for name, (identity, result) in known.items()
            if max(identity[3:]) < before and not _has_issues(result)
        }
        body = json.dumps(rows, separators=(",", ":")).encode()
        if len(body) > self.most:
            return
        data = hashlib.sha256(body).hexdigest().encode() + b"\n" + body
        path = self._path(target, options)
        temporary = ""
        try:
            os.makedirs(self.folder, _PRIVATE, exist_ok=True)
            if not self._own(self.folder):
                return
            descriptor, temporary = tempfile.mkstemp(dir=self.folder, suffix=".new")
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
            temporary = ""
            self._shrink()
        except OSError:
            return
        finally:
            if temporary:
                _remove(temporary)

    def _path(self, target: str, options: Options) -> str:
        here = sys.prefix if target == "env:" else os.path.realpath(target)
        key = repr((__version__, here, target, os.getcwd(), tuple(options)))
        return (
            os.path.join(self.folder, hashlib.sha256(key.encode(errors="replace")).hexdigest())
            + _SUFFIX
        )

    @staticmethod
    def _own(folder: str) -> bool:
        """Tell whether nobody else can write into a folder."""
        if not hasattr(os, "getuid"):
            return True
        status = os.stat(folder)
        return status.st_uid == os.getuid() and not status.st_mode & 0o022

    def _shrink(self) -> None:
        found = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(_SUFFIX):
                    status = entry.stat()
                    found.append((status.st_mtime_ns, status.st_size, entry.path))
        found.sort(reverse=True)
        total = 0
        for _, size, path in found:
            total += size
            if total > self.most:
                _remove(path)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def _has_issues(result: FileResult) -> bool:
    return bool(result.issues) or any(library.issues for library in result.libraries)


def _plain(library: Library) -> list[Any]:
    """Return a library as nested lists, values in the order of the fields."""
    modules = [
        [*module[:-1], [_entry(entry) for entry in module.entries]] for module in library.modules
    ]
    linkage = list(library.linkage) if library.linkage is not None else None
    return [*library[:4], modules, linkage, *library[7:]]


def _entry(entry: Entry) -> list[Any]:
    return [str(value) if isinstance(value, Architecture) else value for value in entry]


_PLACES = {place.value: place for place in Place}
_COMPRESSIONS = {compression.value: compression for compression in Compression}
_ARCHITECTURES = tuple(Entry._fields.index(name) for name in ("arch", "image_arch"))
_COMPRESSION = Entry._fields.index("compression")


def _read(row: list[Any]) -> tuple[Identity, FileResult]:
    numbers, libraries = row
    if len(numbers) != 5 or not all(type(number) is int for number in numbers):  # noqa: PLR2004
        msg = "no identity"
        raise ValueError(msg)
    return tuple(numbers), FileResult(tuple(_library(library) for library in libraries))


def _library(row: list[Any]) -> Library:
    modules, linkage = row[4], row[5]
    row[4] = tuple(_module(module) for module in modules)
    row[5] = ()
    row.insert(6, linkage)
    if linkage is not None:
        row[6] = Linkage._make(tuple(v) if isinstance(v, list) else v for v in linkage)
    row[9] = tuple(row[9])
    return Library._make(row)


def _module(row: list[Any]) -> Module:
    row[0] = _PLACES[row[0]]
    row[-1] = tuple(_entry_of(entry) for entry in row[-1])
    return Module._make(row)


_SHARED: dict[str, Architecture] = {}


def _entry_of(row: list[Any]) -> Entry:
    row[0] = _PLACES[row[0]]
    row[_COMPRESSION] = _COMPRESSIONS[row[_COMPRESSION]]
    for index in _ARCHITECTURES:
        text = row[index]
        if text is not None:
            if text not in _SHARED:
                _SHARED[text] = Architecture.parse(text)
            row[index] = _SHARED[text]
    return Entry._make(row)
