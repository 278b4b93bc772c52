"""One image: its layers from the lowest to the highest, and what of them is left at the end.

Every layer is read once, from front to back. What can hold device code is scanned as it comes by,
also where an upper layer will remove it: only that way links, which may lead anywhere in lower
layers, are followed exactly as a runtime does it. What was found in files that do not survive is
dropped.
"""

from __future__ import annotations

from contextlib import closing

from fatbin._record import Record
from fatbin.errors import (
    FormatError,
    LimitExceededError,
    SourceError,
    UnknownFormatError,
)
from fatbin.inventory import Inventory, Issue
from fatbin.scanning.holes import filled
from fatbin.scanning.images.documents import check
from fatbin.scanning.images.kept import KeptFile, KeptLayer, Step
from fatbin.scanning.images.owners import ALL_BYTES, METADATA, RECORD, Note, owners_of
from fatbin.scanning.images.streams import Member, open_tar
from fatbin.scanning.images.tree import WHITEOUT, Tree
from fatbin.scanning.packages import NO_DISTRIBUTION
from fatbin.scanning.spool import FIRST_BYTES, HEAD_BYTES, read_head, spooled_view, worth_reading
from fatbin.scanning.streams import Rest
from fatbin.scanning.tape import (
    DIRECTORY,
    FILE,
    HARD_LINK,
    SYMBOLIC_LINK,
    printable_path,
    read_entries,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from fatbin.errors import FatbinError, Report
    from fatbin.format.view import View
    from fatbin.inventory import Library
    from fatbin.scanning.aids import Aids
    from fatbin.scanning.holes import Holes
    from fatbin.scanning.images.choose import Image, Layer
    from fatbin.scanning.images.store import Store
    from fatbin.scanning.images.streams import Inflating, Placed
    from fatbin.scanning.packages import Distribution
    from fatbin.scanning.spool import Budget
    from fatbin.scanning.tape import TarEntry

    Scan = Callable[[View], Inventory]


class Content:
    """What a file that may survive holds.

    Attributes:
        location: under which it was scanned.
        layer: that brought it.
        libraries: found in it.
        issues: of what could not be read.
        place: number of the layer and of its member, where only names were read.
    """

    __slots__ = ("issues", "layer", "libraries", "location", "place")

    def __init__(
        self,
        location: str,
        layer: str,
        libraries: tuple[Library, ...],
        issues: tuple[Issue, ...],
    ) -> None:
        """Keep the findings."""
        self.location: str = location
        self.layer: str = layer
        self.libraries: tuple[Library, ...] = libraries
        self.issues: tuple[Issue, ...] = issues
        self.place: tuple[int, int] | None = None


class Survivor(Record):
    """A file of the final file system that can hold device code, and where it lies.

    Attributes:
        place: number of the layer and of its member.
        location: under its name in the image.
        distribution: that it belongs to.
    """

    place: tuple[int, int]
    location: str
    distribution: Distribution


class Reader:
    """Reads one image."""

    def __init__(
        self,
        store: Store,
        location: str,
        examine: Scan | None,
        budget: Budget,
        report: Report,
        aids: Aids,
    ) -> None:
        """Prepare.

        Args:
            store: where the blobs are.
            location: of the image, for the locations of what is in it.
            examine: scans a file; None to find out only which files are left.
            budget: of the whole target.
            report: takes what could not be read.
            aids: what the result does not depend on.
        """
        self._store = store
        self._location = location
        self._examine = examine
        self._budget = budget
        self._told = report
        self._doubts = 0  # what keeps layers from being known
        self._watch = aids.watch
        self._layers = aids.layers if examine is not None else None  # names have places
        self._stored = 0
        self._notes_left = ALL_BYTES
        self._tree: Tree[Content | Note] = Tree(budget.limits.archive_members)

    def read(self, image: Image, *, verify: bool) -> tuple[list[Library], list[Issue]]:
        """Return the libraries of the final file system by path, and the issues of its files.

        Damage of a layer is reported; what the others hold is kept.

        Raises:
            MissingDependencyError: a layer compressed with zstd, and nothing to inflate it.
        """
        self._read(image, verify=verify)
        libraries: list[Library] = []
        issues: list[Issue] = []
        for content, paths, owner in self._survivors():
            location, *aliases = (f"{self._location}::{printable_path(path)}" for path in paths)
            libraries += _libraries(content, location, tuple(aliases), owner)
            issues += _moved(content.issues, content.location, location)
        return libraries, issues

    def names(self, image: Image, *, verify: bool) -> list[Survivor]:
        """Return the files of the final file system that can hold device code.

        Damage of a layer is reported, and files that cannot be read at all.

        Raises:
            MissingDependencyError: a layer compressed with zstd, and nothing to inflate it.
        """
        self._read(image, verify=verify)
        found = []
        for content, paths, owner in self._survivors():
            location = f"{self._location}::{printable_path(paths[0])}"
            for issue in content.issues:
                self._report(FormatError(issue.message, location=location))
            if content.place is not None:
                found.append(Survivor(content.place, location, owner))
        return found

    def _read(self, image: Image, *, verify: bool) -> None:
        for number, layer in enumerate(image.layers):
            name = f"{layer.name} ({number + 1} of {len(image.layers)})"
            where = f"{self._location}::{printable_path(layer.name)}"
            try:
                with self._store.open(layer.path) as view:
                    self._check(view, layer, verify=verify)
                    self._layer(view, number, name, where)
                    self._stored += view.size
            except LimitExceededError as exc:
                exc.location = exc.location or where
                self._report(exc)
                if exc.limit.startswith("archive"):
                    break
            except (FormatError, SourceError, UnknownFormatError) as exc:
                exc.location = exc.location or where
                self._report(exc)

    def _survivors(self) -> Iterator[tuple[Content, list[str], Distribution]]:
        """Yield what is left, each once, with all its names and the distribution it belongs to."""
        names: dict[Content, list[str]] = {}
        notes: list[tuple[str, Note]] = []
        for path, file in self._tree.files():
            content = file.content
            if isinstance(content, Note):
                notes.append((path, content))
            else:
                names.setdefault(content, []).append(path)
        owners = owners_of({path for paths in names.values() for path in paths}, notes)
        for content, paths in names.items():
            owner = next((owners[path] for path in paths if path in owners), NO_DISTRIBUTION)
            yield content, paths, owner

    def _check(self, view: View, layer: Layer, *, verify: bool) -> None:
        if layer.descriptor is not None:
            try:
                check(view, layer.descriptor, verify=verify)
            except FormatError as exc:
                self._report(exc)

    def _report(self, error: FatbinError) -> None:
        self._doubts += 1
        self._told(error)

    def _layer(self, view: View, number: int, name: str, where: str) -> None:
        """Apply a layer: as it is known, or as it is read, and then it is known."""
        budget, layers = self._budget, self._layers
        digest = layers.name(view) if layers is not None else ""
        if layers is None or not digest:
            with closing(open_tar(view, budget)) as source:
                for _ in self._steps(source, number, name, where):
                    pass
            return
        kept = layers.load(digest, self._location)
        if kept is not None and kept.fits(budget, self._notes_left):
            self._repeat(kept, number, name, where)
            return
        before = budget.members, budget.inflated, self._doubts
        with closing(open_tar(view, budget)) as source:
            steps = list(self._steps(source, number, name, where))
        members, inflated, doubts = before
        if self._doubts == doubts:
            spent = budget.members - members, budget.inflated - inflated
            layers.store(digest, self._location, KeptLayer(steps, *spent))

    def _steps(
        self, source: Placed | Inflating, number: int, name: str, where: str
    ) -> Iterator[Step]:
        """Apply a layer as it is read; yield what was done."""
        watch = self._watch
        for index, entry in enumerate(read_entries(source, where)):
            self._budget.member(where)
            if watch is not None:
                watch(entry.name, self._stored + source.stored)
            content = None
            try:
                if WHITEOUT not in entry.name or not self._tree.white_out(entry.name, number):
                    if entry.kind == FILE:
                        content = self._content(source, entry, name)
                        if isinstance(content, Content) and not content.issues:
                            content.place = (number, index)
                    self._put(entry.kind, entry.name, entry.link, number, content)
            except FormatError as exc:
                if exc.location:  # of the stream, not of a name
                    raise
                exc.location = where
                self._report(exc)
            yield Step(entry.kind, entry.name, entry.link, self._kept(content))

    def _repeat(self, kept: KeptLayer, number: int, name: str, where: str) -> None:
        """Apply a layer as it is known."""
        for kind, path, link, found in kept.steps:
            content: Content | Note | None = None
            if isinstance(found, Note):
                self._notes_left -= len(found.data)
                content = found
            elif found is not None:
                content = Content(found.location, name, found.libraries, ())
            try:
                if WHITEOUT not in path or not self._tree.white_out(path, number):
                    self._put(kind, path, link, number, content)
            except FormatError as exc:  # it can be another image
                exc.location = where
                self._report(exc)
        self._budget.members += kept.members
        self._budget.inflated += kept.inflated

    def _put(
        self, kind: str, name: str, link: str, number: int, content: Content | Note | None
    ) -> None:
        tree = self._tree
        if kind == DIRECTORY:
            tree.put_directory(name, number)
        elif kind == SYMBOLIC_LINK:
            tree.put_symbolic_link(name, number, link)
        elif kind == HARD_LINK:
            tree.put_hard_link(name, number, link)
        else:
            tree.put(name, number, content)

    def _kept(self, content: Content | Note | None) -> KeptFile | Note | None:
        if not isinstance(content, Content):
            return content
        self._doubts += len(content.issues) + sum(len(each.issues) for each in content.libraries)
        return KeptFile(content.location, content.libraries)

    def _content(
        self, source: Placed | Inflating, entry: TarEntry, layer: str
    ) -> Content | Note | None:
        """Scan a file if it is worth it; None when nothing is to be said about it."""
        if entry.holes is not None:
            return self._with_holes(source, entry, entry.holes, layer)
        head = source.read(min(entry.size, HEAD_BYTES))
        if entry.name.endswith((METADATA, RECORD)) and not worth_reading(head):
            if entry.size <= self._notes_left:
                self._notes_left -= entry.size
                return Note(head + source.read(entry.size - len(head)))
            self._doubts += 1  # another image has room for it
            return None
        if not head or head[0] not in FIRST_BYTES:
            return None
        location = f"{self._location}::{printable_path(entry.name)}"
        head = read_head(Rest(head, Member(source, entry.size - len(head), location)), location)
        if not worth_reading(head):
            return None
        return self._scanned(source, entry, head, Content(location, layer, (), ()))

    def _scanned(
        self, source: Placed | Inflating, entry: TarEntry, head: bytes, content: Content
    ) -> Content | None:
        """Scan a file; what is wrong with it, and not with the layer, is an issue of the file.

        Where only names are read it is passed over.
        """
        if self._examine is None:
            source.skip(entry.size - len(head))  # damage of the layer shows now, not later
            return content
        limits = self._budget.limits
        opened = source.member(entry.size, head, content.location, limits)
        return self._examined(self._examine, opened, content)

    def _with_holes(
        self, source: Placed | Inflating, entry: TarEntry, holes: Holes, layer: str
    ) -> Content | None:
        location = f"{self._location}::{printable_path(entry.name)}"
        content = Content(location, layer, (), ())
        stored = Member(source, entry.size, location)
        try:
            stream = filled(stored, holes, entry.size, location)
        except FormatError as exc:
            content.issues = (Issue.of(exc, location),)
            return content
        head = read_head(stream, location)
        if not worth_reading(head):
            return None
        if self._examine is None:
            return content
        opened = spooled_view(
            stream, location, limits=self._budget.limits, head=head, stored=entry.size
        )
        return self._examined(self._examine, opened, content)

    @staticmethod
    def _examined(
        examine: Callable[[View], Inventory],
        opened: AbstractContextManager[View],
        content: Content,
    ) -> Content | None:
        try:
            with opened as view:
                found = examine(view)
        except UnknownFormatError:
            return None
        except (LimitExceededError, SourceError) as exc:
            found = Inventory(issues=(Issue.of(exc, content.location),))
        content.libraries, content.issues = found.libraries, found.issues
        return content if content.libraries or content.issues else None


def _libraries(
    content: Content, location: str, aliases: tuple[str, ...], owner: Distribution
) -> Iterator[Library]:
    for library in content.libraries:
        yield library._replace(
            location=_renamed(library.location, content.location, location),
            issues=_moved(library.issues, content.location, location),
            layer=content.layer,
            aliases=aliases if library.location == content.location else (),
            distribution=library.distribution or owner.name,
            distribution_version=library.distribution_version or owner.version,
        )


def _moved(issues: tuple[Issue, ...], before: str, after: str) -> tuple[Issue, ...]:
    if before == after:
        return issues
    return tuple(
        issue._replace(location=_renamed(issue.location, before, after)) for issue in issues
    )


def _renamed(location: str, before: str, after: str) -> str:
    """Return a location under the name that a file has in the end."""
    return after + location[len(before) :] if location.startswith(before) else location
