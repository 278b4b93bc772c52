"""A target that holds images, to an inventory."""

from __future__ import annotations

from fatbin.errors import FormatError, UnknownFormatError
from fatbin.inventory import Inventory, Issue
from fatbin.scanning.collector import Collector
from fatbin.scanning.images.choose import find_images, is_layout
from fatbin.scanning.images.layers import Reader
from fatbin.scanning.images.store import Folder, Tar
from fatbin.scanning.images.streams import Placed, open_tar
from fatbin.scanning.spool import Budget, spooled_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.format.view import View
    from fatbin.inventory import Library
    from fatbin.limits import Limits
    from fatbin.scanning.images.layers import Scan
    from fatbin.scanning.images.store import Store


def scan_folder(
    path: str, examine: Scan, limits: Limits, *, platform: str, verify: bool
) -> Inventory:
    """Read the images of an OCI layout on disk."""
    return _scan(Folder(path), examine, Budget(limits), platform, verify=verify)


def scan_archive(
    view: View, examine: Scan, limits: Limits, *, platform: str, verify: bool
) -> Inventory:
    """Read the images of a tar archive; a compressed one is inflated to a file without a name.

    Raises:
        UnknownFormatError: no tar archive, or one without an image.
        FormatError: a damaged one.
        LimitExceededError: it is larger than allowed.
    """
    budget = Budget(limits)
    source = open_tar(view, budget)
    if isinstance(source, Placed):
        return _scan(_layout(view, budget), examine, budget, platform, verify=verify)
    whole = limits._replace(member_bytes=limits.archive_bytes)
    with spooled_view(source, view.name, limits=whole) as inflated:
        return _scan(_layout(inflated, budget), examine, budget, platform, verify=verify)


def _scan(store: Store, examine: Scan, budget: Budget, platform: str, *, verify: bool) -> Inventory:
    collector = Collector(store.location, budget.limits)

    def told(view: View) -> Inventory:
        try:
            return examine(view)
        except FormatError as exc:  # the caller takes such errors for damage of the layer
            return Inventory(issues=(Issue.of(exc, view.name),))

    images = find_images(store, platform, collector, verify=verify)
    libraries: list[Library] = []
    issues: list[Issue] = []
    for image in images:
        location = store.location
        if len(images) > 1:
            location += f"::{image.name or image.platform}"
        reader = Reader(store, location, told, budget, collector)
        found, damage = reader.read(image, verify=verify)
        libraries += found
        issues += damage
    return Inventory(
        libraries=tuple(libraries),
        issues=(*collector.issues, *issues),
        targets=(store.location,),
    )


def _layout(view: View, budget: Budget) -> Store:
    store = Tar(view, budget)
    if not is_layout(store):
        msg = "expected a container image, found a tar archive without manifest.json or index.json"
        raise UnknownFormatError(msg, location=view.name)
    return store
