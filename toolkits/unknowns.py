"""What a toolkit knows or writes that the tables of fatbin do not have: rows to add."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import fatbin
from fatbin.format.attributes import COMPAT_NAMES, INFO_NAMES, NAMELESS
from fatbin.format.elf import read_elf_header
from fatbin.format.images import Cubin
from fatbin.format.view import View
from fatbin.judge.facts.architectures import ARCHITECTURES
from fatbin.judge.facts.toolkits import TOOLKITS
from fatbin.kinds import EntryKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_MODES = {"default", "size", "speed", "balance", "none"}
"""The compression modes that the format reference describes."""
_ENTRY_HEADER = 64
_OLD_ABI, _NEW_ABI = 7, 8
_OS_ABI = {_OLD_ABI: 0x33, _NEW_ABI: 0x41}
_OLD_FLAGS = 0x00FF_0FFF
"""Of ELF ABI 7: SM, texture mode, 64 bit, ``a``, virtual SM."""
_LOW_BYTES = frozenset((0x02, 0x04, 0x0A))
_HIGH_BYTES = frozenset((0x05, 0x06))
"""Of ELF ABI 8, besides the SM number; the high byte has other values in images for debugging."""
_DEBUG = (".debug_line", ".nv_debug_line_sass")


class Row(NamedTuple):
    """One thing that is not known here.

    Attributes:
        table: the module, and the table in it, that would know it.
        text: what it is.
    """

    table: str
    text: str


_ARCHITECTURES = "fatbin/judge/facts/architectures.py, ARCHITECTURES"
_TOOLKITS = "fatbin/judge/facts/toolkits.py, TOOLKITS"
_KINDS = "fatbin/kinds.py, EntryKind"
_FLAGS = "fatbin/kinds.py, EntryFlags"
_ATTRIBUTES = "fatbin/format/attributes.py"
_CUBIN = "fatbin/format/cubin.py"
_LAYOUTS = "fatbin/format/schema.py"
_COMPRESSION = "docs/reference/format.md, compression"


def of_toolkit(version: str, isa: list[str]) -> Iterator[Row]:
    """Yield what is missing of a toolkit and its PTX ISA.

    Args:
        version: of the toolkit.
        isa: what its ptxas reads, oldest first.
    """
    row = next((row for row in TOOLKITS if row.toolkit == version), None)
    newest = isa[-1] if isa else "none"
    if row is None:
        yield Row(_TOOLKITS, f"toolkit {version}: PTX ISA {newest}; its driver branch")
    elif row.ptx_isa != newest:
        yield Row(_TOOLKITS, f"toolkit {version}: PTX ISA {newest}, the table says {row.ptx_isa}")


def of_targets(version: str, targets: dict[int, set[str]]) -> Iterator[Row]:
    """Yield what is missing of the architectures that a toolkit compiles for, or too much.

    Args:
        version: of the toolkit.
        targets: SM numbers with their suffixes, as its ptxas lists them.
    """
    now = _numbers(version)
    rows = {row.sm: row for row in ARCHITECTURES}
    for number in sorted(targets):
        suffixes = targets[number] - {""}
        row = rows.get(number)
        if row is None:
            shown = " ".join(sorted(suffixes)) or "no suffixes"
            yield Row(_ARCHITECTURES, f"sm_{number} ({shown}), compiled for by {version}")
            continue
        for suffix in sorted(suffixes - set(row.variants)):
            yield Row(_ARCHITECTURES, f"sm_{number}: suffix {suffix}, compiled for by {version}")
        if _numbers(row.first_toolkit) > now:
            text = f"sm_{number}: {version} compiles for it, the table says {row.first_toolkit}"
            yield Row(_ARCHITECTURES, f"{text} is the first")
        if row.last_toolkit and _numbers(row.last_toolkit) < now:
            text = f"sm_{number}: {version} compiles for it, the table says {row.last_toolkit}"
            yield Row(_ARCHITECTURES, f"{text} is the last")
    for number, row in rows.items():
        last = _numbers(row.last_toolkit or "9999.0")
        if number not in targets and _numbers(row.first_toolkit) <= now <= last:
            yield Row(_ARCHITECTURES, f"sm_{number}: {version} does not compile for it (any more)")


def of_answers(kinds: dict[int, str], flags: set[int], modes: set[str]) -> Iterator[Row]:
    """Yield kinds, flags and compression modes that the programs know and fatbin does not."""
    named = {kind.value for kind in EntryKind.__members__.values()}
    for kind in sorted(set(kinds) - named):
        yield Row(_KINDS, f"kind {kind}, which cuobjdump calls {kinds[kind]}")
    for flag in sorted(flags):
        yield Row(_FLAGS, f"flag {flag:#x}, which changes what cuobjdump prints")
    for mode in sorted(modes - _MODES):
        yield Row(_COMPRESSION, f"fatbinary -compress-mode={mode}")


def of_names(info: dict[int, str], compat: dict[int, str]) -> Iterator[Row]:
    """Yield attributes that cuobjdump names otherwise than fatbin, or fatbin not at all."""
    for table, known, named in (
        ("INFO_NAMES", INFO_NAMES, info),
        ("COMPAT_NAMES", COMPAT_NAMES, compat),
    ):
        for ident in sorted(named):
            if known.get(ident) != named[ident]:
                yield Row(f"{_ATTRIBUTES}, {table}", f"attribute {ident:#04x} {named[ident]}")


def of_files(paths: Iterable[Path]) -> Iterator[Row]:
    """Yield values in files that the tables do not have; each once.

    Args:
        paths: of files that are whole.
    """
    seen: dict[Row, None] = {}
    for path in paths:
        inventory = fatbin.scan(path, verify=True)
        for issue in inventory.all_issues:
            seen[Row(_LAYOUTS, f"{path.name}: {issue.message}")] = None
        for entry in inventory.entries:
            seen |= dict.fromkeys(_of_entry(entry))
        with fatbin.open(path) as opened:
            for library in opened.containers():
                for one in library.entries:
                    if one.facts.kind == "sass":
                        seen |= dict.fromkeys(_of_cubin(bytes(one.read())))
        if path.suffix == ".cubin":
            seen |= dict.fromkeys(_of_cubin(path.read_bytes()))
    yield from seen


def _of_entry(entry: fatbin.Entry) -> Iterator[Row]:
    if entry.kind.startswith("unknown"):
        yield Row(_KINDS, f"kind {entry.kind_number}")
    for name in entry.flag_names:
        if name.startswith("0x"):
            yield Row(_FLAGS, f"flag {name}, of {entry.kind} {entry.arch}")
    if entry.arch is not None and entry.arch.variant == "?":
        yield Row(_CUBIN, f"the suffix of {entry.arch} cannot be told")
    if 0 < entry.header_size < _ENTRY_HEADER or entry.header_size % 8:
        yield Row(_LAYOUTS, f"an entry header of {entry.header_size} bytes")


def _of_cubin(image: bytes) -> Iterator[Row]:
    header, cubin = read_elf_header(View(image, "cubin")), Cubin(image)
    abi, flags = header.abi_version, header.flags
    debug = any(section.name in _DEBUG for section in cubin.sections)
    if _OS_ABI.get(abi) != header.os_abi:
        yield Row(_CUBIN, f"ELF ABI version {abi} of OS ABI {header.os_abi:#x}")
    elif abi == _OLD_ABI and flags & ~_OLD_FLAGS:
        yield Row(_CUBIN, f"e_flags {flags & ~_OLD_FLAGS:#x} of ELF ABI 7")
    elif abi == _NEW_ABI:
        low, middle, high = flags & 0xFF, flags >> 16 & 0xFF, flags >> 24
        if low not in _LOW_BYTES or middle or not (debug or high in _HIGH_BYTES):
            yield Row(_CUBIN, f"e_flags {flags:#010x} of ELF ABI 8")
    for section in cubin.sections:
        if section.name.startswith(".nv.info"):
            table, known = "INFO_NAMES", set(INFO_NAMES) | NAMELESS
        elif section.name == ".nv.compat":
            table, known = "COMPAT_NAMES", set(COMPAT_NAMES)
        else:
            continue
        for _, ident, _, _ in cubin.attributes(section.name):
            if ident not in known:
                yield Row(f"{_ATTRIBUTES}, {table}", f"attribute {ident:#04x}, without a name")


def _numbers(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)
