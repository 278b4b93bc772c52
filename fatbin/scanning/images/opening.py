"""The files of an image that are left at the end, opened where they lie."""

from __future__ import annotations

from contextlib import closing

from fatbin.errors import FormatError, LimitExceededError, SourceError
from fatbin.scanning.images.streams import Placed, open_tar
from fatbin.scanning.parts import Holder
from fatbin.scanning.tape import read_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.scanning.images.choose import Image
    from fatbin.scanning.images.layers import Survivor
    from fatbin.scanning.images.store import Store
    from fatbin.scanning.spool import Budget


def open_found(
    store: Store, image: Image, found: Sequence[Survivor], budget: Budget, report: Report
) -> Iterator[tuple[View, Holder]]:
    """Yield the bytes of files, layer by layer; each view is valid until the next.

    A layer is read up to the last file that is wanted of it, so that damage behind that, which was
    reported when the names were read, is not met again.

    Args:
        store: where the blobs are.
        image: whose layers they are.
        found: the files.
        budget: counts what is inflated.
        report: gets files that cannot be read.
    """
    wanted: dict[int, dict[int, Survivor]] = {}
    for survivor in found:
        number, index = survivor.place
        wanted.setdefault(number, {})[index] = survivor
    for number in sorted(wanted):
        try:
            with store.open(image.layers[number].path) as layer:
                yield from _of_layer(layer, wanted[number], budget, report)
        except (FormatError, SourceError, LimitExceededError) as exc:
            exc.location = exc.location or store.location
            report(exc)
            if isinstance(exc, LimitExceededError) and exc.limit.startswith("archive"):
                return


def _of_layer(
    layer: View, wanted: dict[int, Survivor], budget: Budget, report: Report
) -> Iterator[tuple[View, Holder]]:
    with closing(open_tar(layer, budget)) as source:
        plain = isinstance(source, Placed)
        last = max(wanted)
        for index, entry in enumerate(read_entries(source, layer.name)):
            survivor = wanted.get(index)
            if survivor is not None:
                location, (name, version) = survivor.location, survivor.distribution
                packed = entry.size if plain else -1
                holder = Holder(location, entry.size, packed, True, name, version)  # noqa: FBT003
                try:
                    with source.member(entry.size, b"", location, budget.limits) as view:
                        yield view, holder
                except (LimitExceededError, SourceError) as exc:
                    if isinstance(exc, LimitExceededError) and exc.limit.startswith("archive"):
                        raise
                    report(exc)
            if index == last:
                return
