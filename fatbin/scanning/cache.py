"""Results of earlier scans: what was read of a file that has not changed since.

One document a target, named by the target, the options and the version of fatbin. A file is known
again by device, inode, size and the times of the last change of content and state; whoever changes
a file changes the last of these, which nobody can set.
"""

from __future__ import annotations

import json
import os
import sys
import time

from fatbin.arch import Architecture
from fatbin.inventory import Entry, Library, Linkage, Module
from fatbin.kinds import Compression, Place
from fatbin.scanning.shelf import Shelf
from fatbin.scanning.work import FileResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fatbin.scanning.scanner import Options

    Identity = tuple[int, int, int, int, int]
    Known = dict[str, tuple[Identity, FileResult]]

_RECENT_NS = 2_000_000_000  # a file changed just now may change again within one tick
NO_GOOD = (
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
    """What is known of the files of targets.

    Attributes:
        folder: where it is kept.
        shelf: the documents there.
    """

    def __init__(self, folder: str) -> None:
        """Use a folder, which is made when the first document is written."""
        self.folder = folder
        self.shelf: Shelf = Shelf(folder)

    def load(self, target: str, options: Options) -> Known:
        """Return what is known of the files of a target; nothing when the document is no good."""
        body = self.shelf.read(*_key(target, options))
        if body is None:
            return {}
        try:
            return {name: _read(row) for name, row in json.loads(body).items()}
        except NO_GOOD:
            return {}

    def store(self, target: str, options: Options, known: Known) -> None:
        """Keep what was read whole and is not too new; replaces the document at once."""
        before = time.time_ns() - _RECENT_NS
        rows = {
            name: [list(identity), [plain_library(library) for library in result.libraries]]
            for name, (identity, result) in known.items()
            if max(identity[3:]) < before and result.lasts and not has_issues(result)
        }
        if rows:
            body = json.dumps(rows, separators=(",", ":")).encode()
            self.shelf.write(body, *_key(target, options))


def _key(target: str, options: Options) -> tuple[object, ...]:
    here = sys.prefix if target == "env:" else os.path.realpath(target)
    return ("target", here, target, os.getcwd(), tuple(options))


def has_issues(result: FileResult) -> bool:
    """Tell whether anything of a file could not be read."""
    return bool(result.issues) or any(library.issues for library in result.libraries)


def plain_library(library: Library) -> list[Any]:
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
    return tuple(numbers), FileResult(tuple(library_of(library) for library in libraries))


def library_of(row: list[Any]) -> Library:
    """Return the library of such lists.

    Raises what :data:`NO_GOOD` has where they are none.
    """
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
