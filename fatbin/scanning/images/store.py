"""Where the blobs of an image lie: a folder, or members of a tar archive."""

from __future__ import annotations

import os
from contextlib import contextmanager

from fatbin.errors import SourceError, UnknownFormatError
from fatbin.scanning.images.streams import Placed
from fatbin.scanning.source import open_view
from fatbin.scanning.tape import FILE, HARD_LINK, SYMBOLIC_LINK, read_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import Protocol

    from fatbin.format.view import View
    from fatbin.scanning.spool import Budget

    class Store(Protocol):
        """Blobs by their path in the layout."""

        location: str

        def has(self, name: str) -> bool:
            """Tell whether there is such a file."""

        def open(self, name: str) -> AbstractContextManager[View]:
            """Give a file as a view."""


_LINKS = 10


class Folder:
    """An image layout unpacked on disk."""

    def __init__(self, location: str) -> None:
        """Look into a folder."""
        self.location = location

    def has(self, name: str) -> bool:
        """Tell whether there is such a file."""
        return os.path.isfile(os.path.join(self.location, name))

    @contextmanager
    def open(self, name: str) -> Iterator[View]:
        """Give a file as a view.

        Raises:
            SourceError: missing or unreadable.
        """
        where = f"{self.location}::{name}"
        path = os.path.join(self.location, _clean(name))
        try:
            with open_view(path) as view:
                view.name = where
                view.path = ""  # what it holds is no file beside others
                yield view
        except UnknownFormatError as exc:
            if exc.location != path:
                raise
            msg = "expected a blob, found an empty file"
            raise SourceError(msg, location=where) from exc
        except SourceError as exc:
            if exc.location == path:
                exc.location = where
            raise


class Tar:
    """An image layout as a tar archive that can be read at random."""

    def __init__(self, view: View, budget: Budget) -> None:
        """Read the headers of the archive, not its members.

        Raises:
            FormatError: it is damaged.
            LimitExceededError: it has more members than allowed.
        """
        self.location: str = view.name
        self._view = view
        self._places: dict[str, tuple[int, int]] = {}
        self._links: dict[str, str] = {}
        source = Placed(view)
        for entry in read_entries(source, view.name):
            budget.member(view.name)
            name = _clean(entry.name)
            self._places.pop(name, None)
            self._links.pop(name, None)
            if entry.kind == FILE and entry.holes is None:
                self._places[name] = (source.position, entry.size)
            elif entry.kind == SYMBOLIC_LINK:
                folder = name.rpartition("/")[0]
                self._links[name] = _clean(f"{folder}/{entry.link}")
            elif entry.kind == HARD_LINK:
                self._links[name] = _clean(entry.link)

    def has(self, name: str) -> bool:
        """Tell whether there is such a file."""
        return self._followed(name) in self._places

    @contextmanager
    def open(self, name: str) -> Iterator[View]:
        """Give a file as a view.

        Raises:
            SourceError: there is none.
        """
        where = f"{self.location}::{name}"
        place = self._places.get(self._followed(name))
        if place is None:
            msg = "expected a file of the image, found none"
            raise SourceError(msg, location=where)
        inner = self._view.window(*place, where)
        inner.origin = inner.start
        yield inner

    def _followed(self, name: str) -> str:
        """Follow the links that ``docker save`` writes for a layer that it has already written."""
        name = _clean(name)
        for _ in range(_LINKS):
            if name not in self._links:
                break
            name = self._links[name]
        return name


def _clean(name: str) -> str:
    """Return a path without ``.``, ``..`` and doubled slashes; what leads out stays inside."""
    parts: list[str] = []
    for part in name.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
