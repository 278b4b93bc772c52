"""The dynamic section of an ELF file: soname, needed libraries and search paths.

Read here and not by LIEF, whose import takes longer than the whole verdict on a library; the tests
hold both against each other. What the tags mean: System V ABI, chapter 5, "Dynamic Section".
"""

from __future__ import annotations

from fatbin._record import Record
from fatbin.errors import FormatError
from fatbin.format.elf import PT_DYNAMIC, PT_LOAD
from fatbin.format.layouts import ELF32_DYNAMIC, ELF64_DYNAMIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.format.elf import ElfHeader, ElfSegment
    from fatbin.format.view import View
    from fatbin.limits import Limits

__all__ = ["Dynamic", "read_dynamic"]

_NULL, _NEEDED, _STRTAB, _STRSZ, _SONAME, _RPATH, _RUNPATH = 0, 1, 5, 10, 14, 15, 29
_NAMES = {_NEEDED: "DT_NEEDED", _SONAME: "DT_SONAME", _RPATH: "DT_RPATH", _RUNPATH: "DT_RUNPATH"}


class Dynamic(Record):
    """What a dynamic section says.

    Attributes:
        soname: empty when it has none.
        needed: libraries, in order.
        rpath: folders of DT_RPATH, in order.
        runpath: folders of DT_RUNPATH, in order.
    """

    soname: str = ""
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


def read_dynamic(
    view: View, header: ElfHeader, segments: tuple[ElfSegment, ...], limits: Limits
) -> Dynamic:
    """Read the dynamic section that the program headers name; without one, nothing.

    Names that are not UTF-8 are kept with their bytes escaped.

    Raises:
        FormatError: the tables are not inside the file, or a name is not inside its table.
        LimitExceededError: a table is larger than ``header_bytes``.
    """
    segment = next((s for s in segments if s.type == PT_DYNAMIC and s.file_size), None)
    if segment is None:
        return Dynamic()
    table = view.read(segment.offset, segment.file_size, "dynamic section", limits.header_bytes)
    layout = ELF64_DYNAMIC if header.bits == 64 else ELF32_DYNAMIC  # noqa: PLR2004
    first: dict[int, int] = {}
    named: list[tuple[int, int, int]] = []
    for position in range(0, len(table) - layout.size + 1, layout.size):
        tag, value = layout.unpack_from(table, position)
        if tag == _NULL:
            break
        first.setdefault(tag, value)
        if tag in _NAMES:
            named.append((tag, value, segment.offset + position))
    strings = _strings(view, segments, first, limits)
    texts: dict[int, list[str]] = {tag: [] for tag in _NAMES}
    for tag, value, position in named:
        if value >= len(strings):
            msg = f"expected a name inside a string table of {len(strings)} bytes, found {value}"
            raise FormatError(msg, offset=view.report_offset(position), field=_NAMES[tag])
        end = strings.find(b"\0", value)
        name = strings[value : end if end >= 0 else len(strings)]
        texts[tag].append(name.decode("utf-8", "backslashreplace"))
    return Dynamic(
        soname=texts[_SONAME][-1] if texts[_SONAME] else "",
        needed=tuple(texts[_NEEDED]),
        rpath=_folders(texts[_RPATH]),
        runpath=_folders(texts[_RUNPATH]),
    )


def _strings(
    view: View, segments: tuple[ElfSegment, ...], tags: dict[int, int], limits: Limits
) -> bytes:
    """Return the string table, which the tags place by its address; empty where none is mapped."""
    address, size = tags.get(_STRTAB, 0), tags.get(_STRSZ, 0)
    for segment in segments:
        inside = address - segment.address
        if segment.type == PT_LOAD and 0 <= inside < segment.file_size:
            offset = segment.offset + inside
            return view.read(offset, size, "dynamic string table", limits.header_bytes)
    return b""


def _folders(paths: list[str]) -> tuple[str, ...]:
    return tuple(folder for path in paths for folder in path.split(":"))
