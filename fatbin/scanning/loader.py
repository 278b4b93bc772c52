"""Which of several copies of a library a program gets: the order in which the loader looks.

Source: ld.so(8): RPATH of the library that needs it unless that has a RUNPATH, ``LD_LIBRARY_PATH``,
RUNPATH, the cache of ldconfig, the default folders. A library that is already loaded under the same
soname is used before any of them, which no file can tell.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fatbin.inventory import Inventory, Library

DEFAULT_FOLDERS = (
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/cuda/lib64",
)
"""Where ldconfig is usually told to look, in its order, and where the loader looks without it."""


def loader_order(
    inventory: Inventory, soname: str, environ: Mapping[str, str] = os.environ
) -> tuple[Library, ...]:
    """Return the copies of a library in the order in which the loader would take them.

    The libraries of the inventory that need it look first in the folders of their RPATH, unless
    they have a RUNPATH, then in those of ``LD_LIBRARY_PATH``, of their RUNPATH, and in the default
    folders; ``$ORIGIN`` is the folder of the needing library. Copies that none of these leads to
    come last: only a path, ``dlopen`` or a program that needs them can load them.

    Args:
        inventory: of a directory, an environment, or several targets together.
        soname: such as ``libnccl.so.2``.
        environ: taken for ``LD_LIBRARY_PATH``.

    Returns:
        Every library of this soname once; the first one is loaded, unless one was before.
    """
    copies = [
        library
        for library in inventory.libraries
        if library.linkage is not None and library.linkage.soname == soname
    ]
    by_folder: dict[str, list[Library]] = {}
    for library in copies:
        for path in (library.location, *library.aliases):
            if os.path.basename(path) == soname:  # the loader opens a file of this name only
                by_folder.setdefault(_folder(path), []).append(library)
    before: list[str] = []
    after: list[str] = []
    for library in inventory.libraries:
        links = library.linkage
        if links is not None and soname in links.needed:
            before += _carried(library, links.rpath if not links.runpath else ())
            after += _carried(library, links.runpath)
    named = [f for f in environ.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":") if f]
    found: dict[str, Library] = {}
    for folder in (*_plain(before), *_plain(named), *_plain(after), *DEFAULT_FOLDERS):
        for library in by_folder.get(folder, ()):
            found.setdefault(library.location, library)
    for library in copies:
        found.setdefault(library.location, library)
    return tuple(found.values())


def _carried(library: Library, path: Iterable[str]) -> Iterator[str]:
    origin = _folder(library.location)
    for entry in path:
        for folder in entry.split(":"):
            if folder:
                yield folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)


def _plain(folders: Iterable[str]) -> list[str]:
    return [os.path.normpath(os.path.abspath(folder)) for folder in folders]


def _folder(path: str) -> str:
    return os.path.normpath(os.path.abspath(os.path.dirname(path)))
