"""What a toolkit's programs know: targets, PTX versions, names of kinds, flags and attributes.

ptxas lists what it accepts. cuobjdump has no such lists; it is shown files in which one field was
changed, and says what it makes of each value.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from toolkit import Toolkit, run

from fatbin import EntryFlags, EntrySpec, build
from fatbin.format.attributes import attributes
from fatbin.format.images import Cubin
from fatbin.kinds import COMPRESSION_MASK

if TYPE_CHECKING:
    from pathlib import Path

_GPU_NAME = re.compile(r"--gpu-name.*?\n--", re.DOTALL)
_TARGET = re.compile(r"'sm_(\d+)([a-z]*)'")
_MODES = re.compile(r"--compress-mode \[([\w,]+)\]")
_ATTRIBUTE = re.compile(r"Attribute:\t(.+)")
_TITLE = re.compile(r"^Fatbin (.+) code:$", re.MULTILINE)
_NAMELESS = {
    "<unknown kind>", "<invalid kind>", "unknown Attribute", "ERROR", "ERROR_LAST", "PAD",
}  # fmt: skip
_KEPT = 8
"""The first bytes of a section, left as they are: .nv.compat is no good without."""
_FORM = 1
"""A record without a value: 4 bytes each, and cuobjdump names the attribute all the same."""
_LAST_BIT = 63


def targets(toolkit: Toolkit) -> dict[int, set[str]]:
    """Return the SM numbers that ptxas compiles for, each with its suffixes."""
    said = _GPU_NAME.search(run([toolkit.program("ptxas"), "--help"]))
    found: dict[int, set[str]] = {}
    for number, suffix in _TARGET.findall(said[0] if said else ""):
        found.setdefault(int(number), set()).add(suffix)
    return found


def isa_versions(toolkit: Toolkit) -> list[str]:
    """Return the PTX ISA versions that ptxas reads, oldest first."""
    return run([toolkit.program("ptxas"), "--list-version"]).split()


def compress_modes(toolkit: Toolkit) -> set[str]:
    """Return the compression modes of fatbinary."""
    said = _MODES.search(run([toolkit.program("fatbinary"), "--help"]))
    return set(said[1].split(",")) if said else set()


def kind_names(cuobjdump: Path, cubin: bytes, folder: Path) -> dict[int, str]:
    """Return the kinds of entries that cuobjdump has a name for: each bit of the field alone."""
    found = {}
    for bit in range(16):
        kind = 1 << bit
        path = folder / "kind.fatbin"
        path.write_bytes(build([EntrySpec.cubin(cubin)._replace(kind=kind)]))
        title = _TITLE.search(run([cuobjdump, path]))
        if title and title[1] not in _NAMELESS:
            found[kind] = title[1]
    return found


def flags_that_matter(cuobjdump: Path, cubin: bytes, folder: Path) -> set[int]:
    """Return the flags without a name here that change what cuobjdump prints of an entry."""
    spec = EntrySpec.cubin(cubin)
    named = COMPRESSION_MASK
    for known in EntryFlags.__members__.values():
        named |= known.value
    found: set[int] = set()
    plain = _headers(cuobjdump, spec, folder)
    for bit in range(_LAST_BIT + 1):
        flag = 1 << bit
        if not flag & named:
            changed = spec._replace(flags=spec.flags | flag)
            if _headers(cuobjdump, changed, folder) != plain:
                found.add(flag)
    return found


def _headers(cuobjdump: Path, spec: EntrySpec, folder: Path) -> str:
    path = folder / "flags.fatbin"
    path.write_bytes(build([spec]))
    return run([cuobjdump, path])


def attribute_names(cuobjdump: Path, cubin: bytes, section: str, folder: Path) -> dict[int, str]:
    """Return the ids of attributes that cuobjdump has a name for.

    Args:
        cuobjdump: to ask.
        cubin: an image that has the section, which is filled with made-up records.
        section: ``.nv.info.<kernel>`` or ``.nv.compat``.
        folder: for files.
    """
    place = next(s for s in Cubin(cubin).sections if s.name == section)
    start = place.offset + _KEPT
    kept = len(list(attributes(cubin[place.offset : start])))
    room = (place.size - _KEPT) // 4
    path = folder / "attributes.cubin"
    found = {}
    for first in range(0, 256, room):
        ids = list(range(first, min(first + room, 256)))
        ids += ids[-1:] * (room - len(ids))
        records = b"".join(struct.pack("<BBH", _FORM, ident, 0) for ident in ids)
        path.write_bytes(cubin[:start] + records + cubin[start + len(records) :])
        said = run([cuobjdump, "-elf", path]).partition(f"\n{section}\n")[2]
        names = _ATTRIBUTE.findall(said.partition("\n\n")[0])
        for ident, full in zip(ids, names[kept:], strict=False):
            name = re.sub(r"^EI(COMPAT_)?ATTR_", "", full)
            if name not in _NAMELESS:
                found[ident] = name
    return found
