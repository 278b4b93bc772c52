"""A target that holds images, to an inventory."""

from __future__ import annotations

from contextlib import ExitStack

from fatbin.errors import (
    FatbinError,
    FormatError,
    LimitExceededError,
    MissingDependencyError,
    SourceError,
    UnknownFormatError,
)
from fatbin.inventory import Inventory, Issue
from fatbin.scanning.aids import NO_AIDS
from fatbin.scanning.collector import Collector
from fatbin.scanning.images.choose import find_images, is_layout
from fatbin.scanning.images.layers import Reader
from fatbin.scanning.images.opening import open_found
from fatbin.scanning.images.store import Folder, Tar
from fatbin.scanning.parts import any_parts
from fatbin.scanning.scanner import scan_view
from fatbin.scanning.spool import Budget, read_head, spooled_view
from fatbin.scanning.streams import ViewStream, inflated
from fatbin.scanning.tape import is_tar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.inventory import Library
    from fatbin.scanning.aids import Aids
    from fatbin.scanning.images.choose import Image
    from fatbin.scanning.images.store import Store
    from fatbin.scanning.parts import Part
    from fatbin.scanning.scanner import Options


def scan_folder(path: str, options: Options, aids: Aids = NO_AIDS) -> Inventory:
    """Read the images of an OCI layout on disk.

    Raises:
        SourceError: it holds none for the platform, or several and none is asked for.
        FormatError: a document that is none.
        LimitExceededError: a document that is too large.
        MissingDependencyError: a layer compressed with zstd, and nothing to inflate it.
    """
    return _scan(Folder(path), options, Budget(options.limits), aids)


def scan_image(view: View, kind: str, options: Options, aids: Aids = NO_AIDS) -> Inventory | None:
    """Read the images of a tar archive; None when it holds none, or breaks off before it tells.

    A compressed archive is inflated to a file without a name: what tells where its parts are may
    come last.

    Args:
        view: of the archive.
        kind: ``tar``, or how it is compressed.
        options: of the scan.
        aids: what the result does not depend on.

    Raises:
        SourceError: nothing there for the platform, or several and none is asked for.
        FormatError: a document that is none.
        LimitExceededError: a document that is too large.
        MissingDependencyError: something compressed with zstd, and nothing to inflate it.
    """
    budget = Budget(options.limits)
    with ExitStack() as stack:
        store = _store(view, kind, budget, stack)
        return _scan(store, options, budget, aids) if store is not None else None


def folder_parts(path: str, options: Options, report: Report) -> Generator[Part, None, None]:
    """Yield the libraries of the images of an OCI layout on disk, each valid until the next.

    Raises:
        SourceError: as :func:`scan_folder`, which also says what else is raised.
    """
    yield from _parts(Folder(path), options, report)


def image_parts(
    view: View, kind: str, options: Options, report: Report
) -> Generator[Part, None, bool]:
    """Yield the libraries of the images of a tar archive, each valid until the next.

    Returns:
        False when the archive holds no image, or breaks off before it tells.

    Raises:
        SourceError: as :func:`scan_image`, which also says what else is raised.
    """
    with ExitStack() as stack:
        store = _store(view, kind, Budget(options.limits), stack)
        if store is None:
            return False
        yield from _parts(store, options, report)
        return True


def _store(view: View, kind: str, budget: Budget, stack: ExitStack) -> Tar | None:
    """Return a tar archive, plain or compressed, that is an image; None for others."""
    try:
        plain = _plain(view, kind, budget, stack)
        store = Tar(plain, budget) if plain is not None else None
    except MissingDependencyError:
        raise
    except FatbinError:  # told by who reads it from front to back
        return None
    return store if store is not None and is_layout(store) else None


def _plain(view: View, kind: str, budget: Budget, stack: ExitStack) -> View | None:
    """Return a tar archive that can be read at random; None when what is compressed is none."""
    if kind == "tar":
        return view
    limits = budget.limits._replace(member_bytes=budget.limits.archive_bytes)
    stream = inflated(ViewStream(view), kind, view.name, limits)
    head = read_head(stream, view.name)
    if not is_tar(head):
        return None
    return stack.enter_context(
        spooled_view(stream, view.name, limits=limits, head=head, budget=budget)
    )


def _scan(store: Store, options: Options, budget: Budget, aids: Aids) -> Inventory:
    collector = Collector(store.location, options.limits)

    def examine(view: View) -> Inventory:
        try:
            return scan_view(view, options, member=True, budget=budget)
        except FormatError as exc:  # the caller takes such errors for damage of the layer
            return Inventory(issues=(Issue.of(exc, view.name),))

    libraries: list[Library] = []
    issues: list[Issue] = []
    for image, location in _images(store, options, collector):
        reader = Reader(store, location, examine, budget, collector, aids)
        found, damage = reader.read(image, verify=options.verify)
        libraries += found
        issues += damage
    return Inventory(
        libraries=tuple(libraries),
        issues=(*collector.issues, *issues),
        targets=(store.location,),
    )


def _images(store: Store, options: Options, report: Report) -> Iterator[tuple[Image, str]]:
    """Yield the images asked for, with the location of each."""
    images = find_images(store, options.platform, report, verify=options.verify)
    for image in images:
        location = store.location
        if len(images) > 1:
            location += f"::{image.name or image.platform}"
        yield image, location


def _parts(store: Store, options: Options, report: Report) -> Generator[Part, None, None]:
    """Yield the libraries that are left at the end; what they lie in is opened once more."""
    for image, location in _images(store, options, report):
        reader = Reader(store, location, None, Budget(options.limits), report, NO_AIDS)
        found = reader.names(image, verify=options.verify)
        budget = Budget(options.limits)
        for view, holder in open_found(store, image, found, budget, report):
            try:
                yield from any_parts(view, holder, options, report, budget)
            except UnknownFormatError:
                continue  # absent is not broken
            except (FormatError, SourceError, LimitExceededError) as exc:
                exc.location = exc.location or view.name
                report(exc)
