"""The host file as the scanner sees it: named ranges of a file, whatever the format."""

from __future__ import annotations

from bisect import bisect_right

from fatbin._record import Record
from fatbin.errors import FormatError
from fatbin.kinds import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.errors import Report
    from fatbin.format.view import View

PLACES = {
    ".nv_fatbin": Place.LOADABLE,
    ".nv_fatb": Place.LOADABLE,  # PE cuts section names at eight characters
    "__nv_relfatbin": Place.RELOCATABLE,
    "__nv_rel": Place.RELOCATABLE,
}
"""Sections that hold nothing but containers. Source: fatbinary_section.h and real files;
``__nv_rel``, the second name cut for PE, is inferred from the rule and not seen in a file."""
ARCHIVE_MAGIC = b"!<arch>\n"
THIN_ARCHIVE_MAGIC = b"!<thin>\n"
LTOIR_MAGIC = b"\xed\x43\x4e\x7f"
ZIP_MAGICS = frozenset((b"PK\x03\x04", b"PK\x05\x06"))
"""A first member, and the end of a zip without any."""
COMPRESSED_MAGICS = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)
WRAPPER_SECTIONS = frozenset((".nvFatBinSegment", ".nvFatBi"))


class HostSection(Record):
    """A range of the file with a name; bytes, clipped to the file.

    Attributes:
        name: section name; PE names are cut at eight characters.
        offset: from the start of the library.
        size: bytes in the file; 0 when the section has none.
        address: in memory, without the image base; 0 in objects.
        searched: whether device code could lie here unnamed: not in host code, nor in tables of
            the linker and debugger, whose content their formats prescribe.
        code: whether the processor may run it.
    """

    name: str
    offset: int
    size: int
    address: int
    searched: bool = True
    code: bool = False


class Host(Record):
    """What the tables of a host file say.

    Attributes:
        format: ``elf``, ``pe`` or ``coff``.
        machine: as ``uname -m`` prints it.
        linked: False for objects, whose pointers are still to be relocated.
        sections: in file order of the section table, or the segments where there is no table.
        image_base: what PE addresses in the file include.
    """

    format: str
    machine: str
    linked: bool
    sections: tuple[HostSection, ...] = ()
    image_base: int = 0


class AddressMap:
    """Where in the file the bytes of memory addresses are."""

    def __init__(self, host: Host) -> None:
        """Sort the sections that have bytes and an address."""
        placed = sorted(
            (s.address, s.offset, s.size) for s in host.sections if s.address and s.size
        )
        self._base = host.image_base
        self._placed = placed
        self._starts = [address for address, _, _ in placed]

    def file_offset(self, address: int) -> int:
        """Return the file offset of an address, or -1 when it has no bytes in the file."""
        address -= self._base
        index = bisect_right(self._starts, address) - 1
        if index >= 0:
            start, offset, size = self._placed[index]
            if address < start + size:
                return address - start + offset
        return -1


def clipped(view: View, name: str, offset: int, size: int, report: Report) -> int:
    """Return the bytes of a section that are inside the file; tell when it is not all of them."""
    inside = max(0, min(size, view.size - offset))
    if inside < size and name in PLACES:
        report(
            FormatError(
                f"section {name} of {size} bytes at {offset:#x} runs past the end of the file "
                f"at {view.size:#x}",
                offset=offset,
                field="size",
                expected=f"{size} bytes",
                found=f"{inside} bytes",
                location=view.name,
            )
        )
    return inside
