"""Which file a process would load for a library's name, without loading anything.

The order is that of a process that uses the libraries of Python packages: what is mapped already,
what LD_PRELOAD names, the packages ``nvidia.*``, LD_LIBRARY_PATH, the loader's own folders.
Programs that name a file to the loader by themselves are not foreseen.
"""

from __future__ import annotations

import os
import sys

from fatbin._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["FoundLibrary", "find_library"]

MAPS = "/proc/self/maps"
CONFIGURATION = "/etc/ld.so.conf"
_DEFAULT = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_DEEPEST = 8
"""Files of the loader's configuration that may include one another."""


class FoundLibrary(Record):
    """One library that a process has loaded or would load.

    Attributes:
        name: asked for, ``libnccl.so.2``.
        path: of the file.
        how: why this one: ``mapped``, ``LD_PRELOAD``, ``package``, ``LD_LIBRARY_PATH``, ``loader``,
            or ``path`` when a path was asked for.
    """

    name: str
    path: str
    how: str


def find_library(
    name: str,
    *,
    environment: Mapping[str, str] = os.environ,
    search: Sequence[str] | None = None,
    maps: str = MAPS,
    configuration: str = CONFIGURATION,
) -> FoundLibrary | None:
    """Return the file that this process would load; None when there is none.

    Args:
        name: ``libnccl.so.2``, or a path, which is taken as it is.
        environment: of the process.
        search: folders with Python packages; those of this process if None.
        maps: what the process has mapped.
        configuration: of the loader.
    """
    if os.sep in name:
        return FoundLibrary(name, name, "path") if os.path.isfile(name) else None
    for how, path in _candidates(name, environment, search, maps, configuration):
        if os.path.isfile(path):
            return FoundLibrary(name, path, how)
    return None


def _candidates(
    name: str,
    environment: Mapping[str, str],
    search: Sequence[str] | None,
    maps: str,
    configuration: str,
) -> Iterator[tuple[str, str]]:
    for path in _mapped(maps):
        if os.path.basename(path) == name:
            yield "mapped", path
    for path in environment.get("LD_PRELOAD", "").replace(":", " ").split():
        if os.path.basename(path) == name:
            yield "LD_PRELOAD", path
    for folder in _packages(sys.path if search is None else search):
        yield "package", os.path.join(folder, name)
    for folder in environment.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":"):
        if folder:
            yield "LD_LIBRARY_PATH", os.path.join(folder, name)
    for folder in (*_configured(configuration), *_DEFAULT):
        yield "loader", os.path.join(folder, name)


def _mapped(maps: str) -> Iterator[str]:
    """Yield the files that the process has mapped."""
    try:
        with open(maps, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                path = line.rstrip("\n").partition("/")[2]
                if path and not path.endswith(" (deleted)"):
                    yield f"/{path}"
    except OSError:
        return  # not Linux


def _packages(search: Sequence[str]) -> Iterator[str]:
    """Yield the folders with libraries of the packages ``nvidia.*``; none of them is imported."""
    for root in search:
        parent = os.path.join(root or os.curdir, "nvidia")
        try:
            names = sorted(os.listdir(parent))
        except OSError:
            continue  # most folders of packages have none
        for name in names:
            yield os.path.join(parent, name, "lib")


def _configured(path: str, depth: int = 0) -> Iterator[str]:
    """Yield the folders of the loader's configuration, with the files that it includes."""
    if depth > _DEEPEST:
        return
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")
    except OSError:
        return  # a system without one
    for line in lines:
        words = line.partition("#")[0].split()
        if words[:1] == ["include"]:
            from glob import glob  # noqa: PLC0415 - only this needs it

            for pattern in words[1:]:
                for included in sorted(glob(os.path.join(os.path.dirname(path), pattern))):
                    yield from _configured(included, depth + 1)
        elif words and words[0].startswith("/"):
            yield words[0]
