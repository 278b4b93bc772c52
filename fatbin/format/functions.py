"""The functions of a cubin with the resources that they need.

Tables are read once and indexed by name; images with thousands of sections are common. ``sh_link``
of relocation sections is never looked at: toolkits 12.0 to 12.2 wrote it wrongly.
"""

from __future__ import annotations

from fatbin.errors import FormatError, LimitExceededError, SizeMismatchError
from fatbin.format import attributes as attr
from fatbin.format.layouts import ELF32_SYMBOL, ELF64_SYMBOL
from fatbin.format.strings import StringTable
from fatbin.kernel import Kernel, Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fatbin.arch import Architecture
    from fatbin.errors import Report
    from fatbin.format.elf import ElfHeader, ElfSection
    from fatbin.format.view import View
    from fatbin.limits import Limits

    Symbols = list[tuple[int, str, bool, int]]

SHT_SYMTAB = 2
STT_FUNC = 2
SHN_UNDEF = 0
_KERNEL_BIT = 0x10
_TEXT = ".text."
_CONSTANT = ".nv.constant"
_MAX_THREADS_BYTES = 12


def read_symbols(
    view: View,
    header: ElfHeader,
    sections: tuple[ElfSection, ...],
    limits: Limits,
    report: Report,
) -> Symbols:
    """Return the functions that own a ``.text.<name>`` section.

    Returns:
        ``(symbol index, name, is a kernel, section index)`` in the order of the symbol table, one
        for each section.
    """
    found: Symbols = []
    owned: set[int] = set()  # hostile tables name the same section again and again
    try:
        for index, name_at, info, other, shndx, names in _rows(
            view, header, sections, limits, report
        ):
            if info & 15 == STT_FUNC and shndx < len(sections) and shndx not in owned:
                owner = sections[shndx].name
                if owner.startswith(_TEXT) and names.at(name_at) == owner[6:]:
                    owned.add(shndx)
                    found.append((index, owner[6:], bool(other & _KERNEL_BIT), shndx))
    except LimitExceededError as exc:
        report(exc)
    return found


def read_undefined(
    view: View,
    header: ElfHeader,
    sections: tuple[ElfSection, ...],
    limits: Limits,
    report: Report,
) -> tuple[str, ...]:
    """Return the names of the undefined symbols, in the order of the symbol table."""
    found: dict[str, None] = {}
    try:
        for _, name_at, _, _, shndx, names in _rows(view, header, sections, limits, report):
            if shndx == SHN_UNDEF and name_at:
                found[names.at(name_at)] = None
    except LimitExceededError as exc:
        report(exc)
    return tuple(found)


def _rows(
    view: View,
    header: ElfHeader,
    sections: tuple[ElfSection, ...],
    limits: Limits,
    report: Report,
) -> Iterator[tuple[int, int, int, int, int, StringTable]]:
    """Yield ``(index, name offset, info, other, section index, string table)`` of each symbol."""
    table = next((s for s in sections if s.type == SHT_SYMTAB), None)
    if table is None or not table.link < len(sections):
        return
    strings = sections[table.link]
    wide = header.bits == 64  # noqa: PLR2004
    layout = ELF64_SYMBOL if wide else ELF32_SYMBOL
    try:
        rows = view.read(table.offset, table.file_size, "symbol table", limits.header_bytes)
        text = view.read(strings.offset, strings.file_size, "string table", limits.header_bytes)
    except (FormatError, LimitExceededError) as exc:
        report(exc)
        return
    names = StringTable(text, view.name)
    whole = len(rows) - len(rows) % layout.size
    for index, row in enumerate(layout.struct.iter_unpack(rows[:whole])):
        if wide:
            yield index, row[0], row[1], row[2], row[3], names
        else:
            yield index, row[0], row[3], row[4], row[5], names


def read_functions(
    view: View,
    header: ElfHeader,
    sections: tuple[ElfSection, ...],
    arch: Architecture | None,
    limits: Limits,
    report: Report,
) -> tuple[Kernel, ...]:
    """Return kernels and device functions with their resources, in the order of the symbols.

    Damage in one table is reported; what the others say is kept.
    """
    symbols = read_symbols(view, header, sections, limits, report)
    if not symbols:
        return ()
    by_name = {section.name: section for section in sections}
    banks = _constant_banks(by_name)
    left = view.size  # sections of an honest image do not overlap

    def data_of(name: str) -> bytes:
        nonlocal left
        section = by_name.get(name)
        if section is None:
            return b""
        try:
            data = view.read(section.offset, section.file_size, name, limits.header_bytes)
            left -= len(data)
            if left < 0:
                raise _overlap(view, section)
            return data  # noqa: TRY300 - what is read counts
        except (FormatError, LimitExceededError) as exc:
            report(exc)
            return b""

    indexes = {index for index, _, _, _ in symbols}
    registers, stacks, frames = _per_symbol(data_of(".nv.info"), indexes)
    functions = []
    for index, name, entry, section in symbols:
        facts = _facts(data_of(f".nv.info.{name}"))
        functions.append(
            Kernel(
                name=name,
                entry=entry,
                arch=arch,
                registers=registers.get(index, 0),
                stack=stacks.get(index, 0),
                frame=frames.get(index, 0),
                shared=_size(by_name, f".nv.shared.{name}"),
                local=_size(by_name, f".nv.local.{name}"),
                constant=banks.get(name, ()),
                code_size=sections[section].size,
                **facts,
            )
        )
    return tuple(functions)


def _size(by_name: dict[str, ElfSection], name: str) -> int:
    section = by_name.get(name)
    return section.size if section is not None else 0


def _overlap(view: View, section: ElfSection) -> SizeMismatchError:
    return SizeMismatchError(
        f"sections are together larger than the image of {view.size} bytes",
        offset=view.report_offset(section.offset),
        field="size",
        expected=f"at most {view.size} bytes",
        found=f"{section.size} bytes more",
        location=view.name,
    )


def _constant_banks(by_name: dict[str, ElfSection]) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the constant banks of each function: ``.nv.constant2.<name>`` is bank 2."""
    banks: dict[str, list[tuple[int, int]]] = {}
    for name, section in by_name.items():
        if name.startswith(_CONSTANT):
            number, _, function = name[len(_CONSTANT) :].partition(".")
            if function and len(number) <= 2 and number.isascii() and number.isdigit():  # noqa: PLR2004 - 18 banks
                banks.setdefault(function, []).append((int(number), section.size))
    return {name: tuple(sorted(found)) for name, found in banks.items()}


def _per_symbol(
    data: bytes, indexes: set[int]
) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """Return registers, stack and frame by symbol index, from the image's ``.nv.info``."""
    registers: dict[int, int] = {}
    stacks: dict[int, int] = {}
    frames: dict[int, int] = {}
    tables = {attr.REGCOUNT: registers, attr.MIN_STACK_SIZE: stacks, attr.FRAME_SIZE: frames}
    for _, ident, _, sized in attr.attributes(data):
        table = tables.get(ident)
        if table is not None and len(sized) == 8:  # noqa: PLR2004 - symbol and number
            index = int.from_bytes(sized[:4], "little")
            if index in indexes:
                table[index] = int.from_bytes(sized[4:], "little")
    return registers, stacks, frames


def _facts(data: bytes) -> dict[str, Any]:
    """Return what a function's own ``.nv.info.<name>`` says, as fields of a kernel."""
    facts: dict[str, Any] = {}
    parameters: dict[int, Parameter] = {}
    for _, ident, value, sized in attr.attributes(data):
        if ident == attr.KPARAM_INFO and len(sized) == 12:  # noqa: PLR2004
            ordinal = int.from_bytes(sized[4:6], "little")
            offset = int.from_bytes(sized[6:8], "little")
            size = int.from_bytes(sized[8:12], "little") >> 18
            parameters[ordinal] = Parameter(ordinal, offset, size)
        elif ident in (attr.MAX_THREADS, attr.REQNTID) and len(sized) == _MAX_THREADS_BYTES:
            sizes = tuple(int.from_bytes(sized[i : i + 4], "little") for i in (0, 4, 8))
            facts["max_threads" if ident == attr.MAX_THREADS else "required_threads"] = sizes
        elif ident == attr.CBANK_PARAM_SIZE:
            facts["parameter_bytes"] = value
        elif ident == attr.MAXREG_COUNT:
            facts["max_registers"] = 0 if value == 0xFF else value  # noqa: PLR2004
        elif ident == attr.NUM_BARRIERS:
            facts["barriers"] = value & 0xFF
    if parameters:
        facts["parameters"] = tuple(sorted(parameters.values()))
    return facts
