"""Bare files that are shipped together: cubins of a package or a folder, which its code picks from.

Each is compiled for one architecture, so most are not for a given GPU, by design: what the modules
of a library are to each other, the files of a package are. They are therefore judged as one library
whose modules they are. A file that is named as a target stands alone, and so does a damaged one.
"""

from __future__ import annotations

from collections import Counter

from fatbin.inventory import Inventory, Library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

FILES = "*"
"""What stands in place of a file's name for all that were gathered from a folder."""
_BARE = frozenset(("fatbin", "cubin", "ptx"))


def gather(inventory: Inventory) -> Inventory:
    """Return an inventory in which bare files that were shipped together are one library.

    It stands where the first of them stood; its location is the folder they have in common, and
    ``/*``.
    """
    origins = _Origins(inventory.targets)
    groups: dict[tuple[str, str], list[Library]] = {}
    order: list[Library | tuple[str, str]] = []
    for library in inventory.libraries:
        key = origins.of(library)
        if key is None:
            order.append(library)
            continue
        if key not in groups:
            groups[key] = []
            order.append(key)
        groups[key].append(library)
    if not groups:
        return inventory
    libraries = [one if isinstance(one, Library) else _one(groups[one]) for one in order]
    return inventory._replace(libraries=tuple(libraries))


def is_gathered(library: Library) -> bool:
    """Tell whether a library is the bare files of a folder together."""
    return library.location.endswith((f"/{FILES}", f"\\{FILES}", f"::{FILES}"))


class _Origins:
    """Where the bare files of some targets come from."""

    def __init__(self, targets: Sequence[str]) -> None:
        self._targets = frozenset(targets)
        self._folders = sorted((each.rstrip("/\\") for each in targets), key=len, reverse=True)

    def of(self, library: Library) -> tuple[str, str] | None:
        """Return package or archive, and distribution, of a bare file; None where it is alone."""
        if library.format not in _BARE or library.issues or library.location in self._targets:
            return None
        outer, inside, _ = library.location.rpartition("::")
        named = f"{library.distribution} {library.distribution_version}".strip()
        if inside or named:
            return outer, named
        location = library.location
        for folder in self._folders:
            if location.startswith((f"{folder}/", f"{folder}\\")):
                return folder, ""
        return None


def _one(files: list[Library]) -> Library:
    if len(files) == 1:
        return files[0]
    first = files[0]
    layers = {library.layer for library in files}
    (form, _), *_ = Counter(library.format for library in files).most_common(1)
    return Library(
        location=_folder([library.location for library in files]) + FILES,
        format=form,
        size=sum(library.size for library in files),
        modules=tuple(module for library in files for module in library.modules),
        distribution=first.distribution,
        distribution_version=first.distribution_version,
        layer=layers.pop() if len(layers) == 1 else "",
    )


def _folder(paths: list[str]) -> str:
    """Return what all paths begin with, up to the last separator in it."""
    low, high = min(paths), max(paths)
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    ends = (
        low.rfind(mark, 0, same) + len(mark) for mark in ("/", "\\", "::") if mark in low[:same]
    )
    return low[: max(ends, default=0)]
