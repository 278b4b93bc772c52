"""Layers of images that were read before: what they do to the file system, and what is in them.

A layer is known by the digest of its bytes as they are stored. The digest is computed each time, so
that nobody need be believed: what an image says of its layers counts for nothing here. Kept is
every member in order, with what was found in it; the file system is made of them anew for each
image, so that whiteouts, links and what replaces what are those of that image. A layer in which
anything could not be read is not kept.
"""

from __future__ import annotations

import json

from fatbin._record import Record
from fatbin.scanning.cache import NO_GOOD, library_of, plain_library
from fatbin.scanning.images.owners import Note
from fatbin.scanning.images.streams import digest_of
from fatbin.scanning.shelf import Shelf
from fatbin.scanning.tape import DIRECTORY, FILE, HARD_LINK, OTHER, SYMBOLIC_LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.format.view import View
    from fatbin.inventory import Library
    from fatbin.scanning.scanner import Options
    from fatbin.scanning.spool import Budget

LEAST_BYTES = 1 << 20
"""Layers below are read as quickly as looked up."""
_KINDS = (FILE, DIRECTORY, SYMBOLIC_LINK, HARD_LINK, OTHER)


class KeptFile(Record):
    """What was found in a file of a layer.

    Attributes:
        location: under which it was scanned.
        libraries: found in it.
    """

    location: str
    libraries: tuple[Library, ...]


class Step(Record):
    """One member of a layer.

    Attributes:
        kind: a word of :mod:`fatbin.scanning.tape`.
        name: as the layer spells it.
        link: what a link names.
        content: of a file, where something is to be said about it.
    """

    kind: str
    name: str
    link: str = ""
    content: KeptFile | Note | None = None


class KeptLayer(Record):
    """A layer.

    Attributes:
        steps: its members in order.
        members: counted, with those of packages in it.
        inflated: bytes counted.
    """

    steps: list[Step]
    members: int
    inflated: int

    def fits(self, budget: Budget, notes_left: int) -> bool:
        """Tell whether what an image may cost allows this; otherwise it is read, to say where."""
        notes = sum(len(s.content.data) for s in self.steps if isinstance(s.content, Note))
        return (
            budget.members + self.members <= budget.limits.archive_members
            and budget.inflated + self.inflated <= budget.limits.archive_bytes
            and notes <= notes_left
        )


class Layers:
    """What is known of layers, for one set of options."""

    def __init__(self, folder: str, options: Options) -> None:
        """Use a folder, which may be that of a cache of targets."""
        self._shelf = Shelf(folder)
        self._options = tuple(options._replace(platform=""))

    def name(self, view: View) -> str:
        """Return what a layer is known by; empty when it is not worth it."""
        return digest_of(view, "sha256") if view.size >= LEAST_BYTES else ""

    def load(self, name: str, location: str) -> KeptLayer | None:
        """Return what is known of a layer; None when there is nothing, or it is no good.

        Args:
            name: of the layer, by :meth:`name`.
            location: of the image, under which its files are to be found.
        """
        body = self._shelf.read("layer", name, self._options)
        if body is None:
            return None
        try:
            members, inflated, rows = json.loads(body)
            steps = [_step(row, location) for row in rows]
            return KeptLayer(steps, int(members), int(inflated))
        except NO_GOOD:
            return None

    def store(self, name: str, location: str, layer: KeptLayer) -> None:
        """Keep a layer that was read whole and without any issue."""
        rows = [_row(step, location) for step in layer.steps]
        body = json.dumps([layer.members, layer.inflated, rows], separators=(",", ":"))
        self._shelf.write(body.encode(), "layer", name, self._options)


def _row(step: Step, location: str) -> list[object]:
    kind, name, link, content = step
    row: list[object] = [_KINDS.index(kind), name]
    if link or content is not None:
        row.append(link)
    if isinstance(content, Note):
        row.append(content.data.decode("latin-1"))
    elif content is not None:
        cut = len(location)
        libraries = [
            plain_library(library._replace(location=library.location[cut:]))
            for library in content.libraries
        ]
        row.append([content.location[cut:], libraries])
    return row


def _step(row: list[object], location: str) -> Step:
    kind, name, *more = row
    if not isinstance(kind, int) or not isinstance(name, str):
        raise TypeError
    link = more[0] if more else ""
    if not isinstance(link, str):
        raise TypeError
    content: KeptFile | Note | None = None
    if len(more) > 1:
        found = more[1]
        if isinstance(found, str):
            content = Note(found.encode("latin-1"))
        elif isinstance(found, list):
            where, libraries = found
            content = KeptFile(
                location + where, tuple(_moved(library_of(each), location) for each in libraries)
            )
    return Step(_KINDS[kind], name, link, content)


def _moved(library: Library, location: str) -> Library:
    return library._replace(location=location + library.location)
