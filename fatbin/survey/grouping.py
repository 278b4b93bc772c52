"""An account added up by one property of its device code."""

from __future__ import annotations

from fatbin._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fatbin.survey.sizes import LibrarySize, Slice

GROUPINGS = ("arch", "kind", "place", "library", "distribution")


class Row(Record):
    """Device code added up.

    Attributes:
        part: ``device`` or ``leftovers``, as in the account.
        name: the architecture, kind or place, or nothing; with ``in group`` behind it for images
            that are stored in groups.
        entries: how many.
        stored: bytes in the file; 0 for what is in groups.
        inflated: bytes when inflated.
    """

    part: str
    name: str
    entries: int
    stored: int
    inflated: int


def rows(libraries: Iterable[LibrarySize], by: str) -> tuple[Row, ...]:
    """Add up the device code of libraries by architecture, kind, place, or altogether.

    Args:
        libraries: of one file or of several.
        by: one of :data:`GROUPINGS`.

    Returns:
        Device code before leftovers, in each the largest first.
    """
    sums: dict[tuple[str, str], list[int]] = {}
    for library in libraries:
        leftovers = set(library.leftovers)
        for piece in library.device:
            part = "leftovers" if piece in leftovers else "device"
            total = sums.setdefault((part, _name(piece, by)), [0, 0, 0])
            total[0] += piece.entries
            total[1] += piece.stored
            total[2] += piece.inflated
    found = [Row(part, name, *total) for (part, name), total in sums.items()]
    return tuple(sorted(found, key=lambda r: (r.part, -r.stored, -r.inflated, r.name)))


def _name(piece: Slice, by: str) -> str:
    if by == "arch":
        name = str(piece.arch) if piece.arch is not None else piece.kind
    else:
        name = {"kind": piece.kind, "place": piece.place.value}.get(by, "")
    return f"{name} in group".strip() if piece.in_group else name
