"""What helps a scan and what its result does not depend on."""

from __future__ import annotations

from fatbin._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fatbin.scanning.images.kept import Layers

    Watch = Callable[[str, int], object]
    """Called often: where the scan of one file is, and how many bytes of the file lie behind it."""


class Aids(Record):
    """What a scan may use.

    Attributes:
        watch: hears how far it is.
        layers: knows layers of images that were read before.
    """

    watch: Watch | None = None
    layers: Layers | None = None


NO_AIDS = Aids()
