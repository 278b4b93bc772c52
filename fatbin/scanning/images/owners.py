"""Which installed distribution a file of an image belongs to.

Source: PyPA, "Recording installed projects": ``RECORD`` in ``*.dist-info`` lists the files, paths
from the folder that ``*.dist-info`` lies in; ``METADATA`` has name and version.
"""

from __future__ import annotations

import posixpath

from fatbin.scanning.environments import recorded
from fatbin.scanning.packages import distribution_of_metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fatbin.scanning.packages import Distribution

METADATA, RECORD = ".dist-info/METADATA", ".dist-info/RECORD"
ALL_BYTES = 32 << 20
"""How much of such files is kept for one image; PyTorch's RECORD has a mebibyte."""


class Note:
    """A file that says something about distributions.

    Attributes:
        data: its bytes.
    """

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        """Keep the bytes."""
        self.data: bytes = data


def owners_of(wanted: set[str], notes: Iterable[tuple[str, Note]]) -> dict[str, Distribution]:
    """Return the distributions of files, as far as notes tell.

    Args:
        wanted: paths of the files in the image.
        notes: with their paths in the image.
    """
    found: dict[str, Distribution] = {}
    by_path = {path: note.data for path, note in notes}
    for path, data in by_path.items():
        if not path.endswith(RECORD) or not wanted:
            continue
        folder = path.removesuffix("/RECORD")
        distribution = distribution_of_metadata(by_path.get(f"{folder}/METADATA", b""))
        if distribution is None:
            continue
        base = posixpath.dirname(folder)
        for name in recorded(data.decode("utf-8", "surrogateescape"), comma=True):
            file = posixpath.normpath(posixpath.join("/", base, name)).lstrip("/")
            if file in wanted:
                found.setdefault(file, distribution)
    return found
