"""Libraries read on a node, where fatbin may be alone: without LIEF, which reads their linkage."""

from __future__ import annotations

import mmap
import os

from fatbin.errors import SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.inventory import Inventory


def read_library(path: str) -> Inventory:
    """Return the inventory of a file; without LIEF its linkage is the version of an NCCL alone.

    Raises:
        SourceError: the file cannot be read.
        UnknownFormatError: the file is none of the known formats.
    """
    from fatbin.scanning.targets import scan  # noqa: PLC0415 - only where there is a GPU

    if _has_lief():
        return scan(path)
    inventory = scan(path, linkage=False)
    if len(inventory.libraries) != 1:
        return inventory
    from fatbin.inventory import Linkage  # noqa: PLC0415 - it is there already

    version = _version(path)
    library = inventory.libraries[0]._replace(linkage=Linkage(version=version))
    return inventory._replace(libraries=(library,)) if version else inventory


def _has_lief() -> bool:
    from importlib.util import find_spec  # noqa: PLC0415 - once a library

    return find_spec("lief") is not None


def _version(path: str) -> str:
    """Return the version that a library with such a name holds as text; empty if it does not."""
    from fatbin.scanning.linkage import VERSION_MARKS  # noqa: PLC0415 - as above

    name = os.path.basename(path).lower()
    pattern = next((pattern for part, pattern in VERSION_MARKS if part in name), None)
    if pattern is None:
        return ""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = pattern.search(data)
            return found[1].decode() if found else ""
    except OSError as exc:
        raise SourceError(f"cannot be read: {exc.strerror or exc}", location=path) from exc
