"""A dynamic section without LIEF: soname, needed libraries and search path, and nothing else."""

from __future__ import annotations

from fatbin.format.elf import PT_DYNAMIC, PT_LOAD, read_elf_header, read_segments
from fatbin.format.layouts import ELF32_DYNAMIC, ELF64_DYNAMIC
from fatbin.format.view import View
from fatbin.scanning.lief_bridge import ElfDynamic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.limits import Limits

__all__ = ["plain_dynamic"]

_NULL, _NEEDED, _STRTAB, _SONAME, _RPATH, _RUNPATH = 0, 1, 5, 14, 15, 29


def plain_dynamic(small: bytes, limits: Limits) -> ElfDynamic:
    """Read the file that :func:`fatbin.scanning.linkage.compact_elf` makes.

    Raises:
        FormatError: it is not one of those.
    """
    view = View(small, "dynamic section")
    header = read_elf_header(view)
    segments = read_segments(view, header, limits)
    table = next(s for s in segments if s.type == PT_DYNAMIC)
    strings = [s for s in segments if s.type == PT_LOAD][1]
    layout = ELF64_DYNAMIC if header.bits == 64 else ELF32_DYNAMIC  # noqa: PLR2004
    soname, needed, runpath = "", [], []
    for offset in range(0, table.file_size - layout.size + 1, layout.size):
        tag, value = layout.unpack_from(small, table.offset + offset)
        if tag == _NULL:
            break
        if tag not in (_NEEDED, _SONAME, _RPATH, _RUNPATH) or value >= strings.file_size:
            continue
        text = _text(small, strings.offset + value, strings.offset + strings.file_size)
        if tag == _NEEDED:
            needed.append(text)
        elif tag == _SONAME:
            soname = text
        else:
            runpath += text.split(":")
    return ElfDynamic(soname, tuple(needed), tuple(runpath))


def _text(data: bytes, start: int, stop: int) -> str:
    end = data.find(b"\0", start, stop)
    return data[start : end if end >= 0 else stop].decode("utf-8", "backslashreplace")
