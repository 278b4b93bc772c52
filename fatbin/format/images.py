"""Images opened: a cubin with its kernels, a PTX text with its entry points, LTO-IR.

An image is made from the inflated payload of one entry and keeps those bytes; nothing else is held.
"""

from __future__ import annotations

import re

from fatbin.errors import FatbinError, FormatError, raise_error
from fatbin.format.attributes import attributes
from fatbin.format.cubin import (
    CubinHead,
    ToolNote,
    read_cubin_head,
    read_notes,
    tool_notes,
)
from fatbin.format.elf import read_elf_header, read_sections
from fatbin.format.functions import read_functions, read_symbols, read_undefined
from fatbin.format.ptx import read_ptx_head
from fatbin.format.view import View
from fatbin.limits import DEFAULT_LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.arch import Architecture
    from fatbin.errors import Report
    from fatbin.format.elf import ElfHeader, ElfSection
    from fatbin.kernel import Kernel
    from fatbin.limits import Limits

LTOIR_MAGIC = b"\xed\x43\x4e\x7f"

BUILT_IN = frozenset(("vprintf", "malloc", "free", "__assertfail"))
"""Functions that the driver provides. Source: PTX Writer's Guide to Interoperability, "System
Calls"."""

LINKER_DEFINED = ("__UDT", "__UFT", ".nv.")
"""How undefined symbols of relocatable images begin that every link defines by itself. Evidence:
images with no others load on an H200."""

# Each begins with a literal, which the search finds at memory speed.
_ENTRY = rb"\.entry\s+([\w$.]+)"
_FUNC = rb"\.func\s*(?:\([^()]*\)\s*)?([\w$.]+)"
# A comment can hold the beginning of the other sort, and a string that of both.
_COMMENT = rb'"[^"\n]*"|//[^\n]*|/\*[^*]*(?:\*+[^*/][^*]*)*(?:\*+/|\*+\Z|\Z)'
_ADDRESS_SIZE = rb"\.address_size[ \t]+(\d+)"


class Cubin:
    """A device ELF image.

    Attributes:
        arch: what it was compiled for; None when the number is no SM number.
        toolkit: such as ``12.4``; empty when the image does not tell.
        relocatable: True for input of a device link.
        abi: ELF ABI version, 7 or 8.
        virtual_sm: SM number of the PTX it was compiled from, 0 when not told (ELF ABI 8).
        size: of the image in bytes, from its tables.
    """

    __slots__ = ("_header", "_limits", "_report", "_sections", "_view", "head")

    def __init__(
        self,
        data: bytes | bytearray,
        *,
        name: str = "cubin",
        limits: Limits = DEFAULT_LIMITS,
        report: Report | None = None,
    ) -> None:
        """Read the tables of an image.

        Args:
            data: the image; bytes behind its end are ignored.
            name: location for messages.
            limits: ``header_bytes`` bounds each table.
            report: gets an error for each damaged table that is asked for later; without it the
                first error is raised.

        Raises:
            FormatError: not a cubin, or its section table is not inside the bytes.
            LimitExceededError: a table larger than ``limits.header_bytes``.
        """
        self._view = View(data, name)
        self._limits = limits
        self._report = report or raise_error
        self._header: ElfHeader = read_elf_header(self._view)
        self._sections: tuple[ElfSection, ...] = read_sections(self._view, self._header, limits)
        self.head: CubinHead = read_cubin_head(self._view, limits, self._header, self._sections)

    @property
    def arch(self) -> Architecture | None:
        """What the image was compiled for."""
        return self.head.arch

    @property
    def toolkit(self) -> str:
        """The toolkit that made it, such as ``12.4``; empty when the image does not tell."""
        return self.head.toolkit

    @property
    def relocatable(self) -> bool:
        """Whether it must be linked before it can be loaded."""
        return self.head.relocatable

    @property
    def size(self) -> int:
        """Bytes of the image, from its tables."""
        return self.head.size

    @property
    def tools(self) -> tuple[ToolNote, ...]:
        """What made the image, with command lines; of a linked one the linker first.

        Empty for images of toolkits before 12.8 (``.note.nv.tkinfo``).
        """
        by_name = {section.name: section for section in self._sections}
        return tool_notes(read_notes(self._view, by_name, self._limits))

    @property
    def sections(self) -> tuple[ElfSection, ...]:
        """The section headers with their names."""
        return self._sections

    @property
    def functions(self) -> tuple[Kernel, ...]:
        """Kernels and device functions with their resources, in the order of the symbols."""
        return read_functions(
            self._view, self._header, self._sections, self.arch, self._limits, self._report
        )

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels among the functions."""
        return tuple(function for function in self.functions if function.entry)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The names of the kernels, without reading their resources."""
        symbols = read_symbols(self._view, self._header, self._sections, self._limits, self._report)
        return tuple(name for _, name, entry, _ in symbols if entry)

    @property
    def is_empty(self) -> bool:
        """Whether the image holds no kernel, as the image of a device link without any does."""
        return not self.kernel_names

    @property
    def unresolved(self) -> tuple[str, ...]:
        """Symbols that the image needs from others; the driver provides its own :data:`BUILT_IN`.

        A relocatable image with any loads only after a device link.
        """
        names = read_undefined(self._view, self._header, self._sections, self._limits, self._report)
        return tuple(
            name for name in names if name not in BUILT_IN and not name.startswith(LINKER_DEFINED)
        )

    def code(self) -> Iterator[tuple[str, bool, bytes]]:
        """Yield ``(name, is a kernel, machine code)`` of each function, in symbol order.

        Raises:
            FormatError: a section is not inside the image, when no ``report`` was given.
        """
        view, sections = self._view, self._sections
        for _, name, entry, index in read_symbols(
            view, self._header, sections, self._limits, self._report
        ):
            section = sections[index]
            try:
                code = view.read(
                    section.offset,
                    section.file_size,
                    section.name,
                    self._limits.image_bytes,
                    "image_bytes",
                )
            except FatbinError as exc:
                self._report(exc)
                continue
            yield name, entry, code

    def section_bytes(self, name: str) -> bytes:
        """Return the bytes of a section; empty when there is none.

        Raises:
            FormatError: the section is not inside the image, when no ``report`` was given.
        """
        for section in self._sections:
            if section.name == name:
                try:
                    return self._view.read(
                        section.offset,
                        section.file_size,
                        name,
                        self._limits.image_bytes,
                        "image_bytes",
                    )
                except FatbinError as exc:
                    self._report(exc)
        return b""

    def attributes(self, section: str = ".nv.info") -> Iterator[tuple[int, int, int, bytes]]:
        """Yield the attribute records of a section as ``(format, id, value, data)``.

        Names of the ids are in :mod:`fatbin.format.attributes`; unknown ones are yielded too.
        """
        return attributes(self.section_bytes(section))

    def __repr__(self) -> str:
        """Return architecture and size."""
        return f"<Cubin {self.arch} of {self.size} bytes>"


class Ptx:
    """A PTX text.

    Attributes:
        text: the bytes without NULs around them.
        isa_version: of ``.version``, such as ``8.8``; empty when the text has none.
        arch: of ``.target``; None when the text has none.
        target_options: what follows the architecture, such as ``("debug",)``.
    """

    __slots__ = ("_entries", "_externs", "arch", "isa_version", "target_options", "text")

    def __init__(self, data: bytes | bytearray) -> None:
        """Read the head of a text; nvFatbin 12.4 stores texts without ``.version``."""
        self.text: bytes = bytes(data).strip(b"\0")
        head = read_ptx_head(self.text)
        self.isa_version: str = head.isa_version if head else ""
        self.arch: Architecture | None = head.arch if head else None
        self.target_options: tuple[str, ...] = head.options if head else ()
        self._entries: tuple[str, ...] | None = None
        self._externs: tuple[str, ...] = ()

    @property
    def address_size(self) -> int:
        """Bits of an address; 0 when the text does not say (PTX then means 32)."""
        match = re.search(_ADDRESS_SIZE, self.text)
        return int(match[1][:9]) if match else 0

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the kernels, in the order of the text."""
        self._read_names()
        return self._entries or ()

    @property
    def unresolved(self) -> tuple[str, ...]:
        """Functions that the text declares external, does not define, and the driver does not have.

        A text with any loads only after a device link.
        """
        self._read_names()
        return self._externs

    def _read_names(self) -> None:
        if self._entries is not None:
            return
        text = self.text
        if b"/*" in text:
            text = re.sub(_COMMENT, b" ", text)
        self._entries = tuple(dict.fromkeys(name for _, name in _matches(_ENTRY, text)))
        externs: dict[str, None] = {}
        defined = set()
        for start, name in _matches(_FUNC, text):
            if text[max(0, start - 16) : start].rstrip().endswith(b".extern"):
                externs[name] = None
            else:
                defined.add(name)
        self._externs = tuple(n for n in externs if n not in defined and n not in BUILT_IN)

    def __repr__(self) -> str:
        """Return target and version."""
        return f"<Ptx {self.arch}, version {self.isa_version or 'unknown'}>"


class Ltoir:
    """LTO-IR: what can honestly be said of it is where it is and how large.

    Attributes:
        data: the bytes.
        plain: whether it begins with the magic of NVVM IR (ED 43 4E 7F).
        version: the two bytes behind the magic as ``major.minor``; empty when not plain.
    """

    __slots__ = ("data", "plain", "version")

    def __init__(self, data: bytes | bytearray) -> None:
        """Look at the first bytes."""
        self.data: bytes | bytearray = data
        self.plain: bool = bytes(data[:4]) == LTOIR_MAGIC
        self.version: str = f"{data[4]}.{data[5]}" if self.plain and len(data) > 5 else ""  # noqa: PLR2004

    def __repr__(self) -> str:
        """Return the size."""
        return f"<Ltoir of {len(self.data)} bytes>"


def _matches(pattern: bytes, text: bytes) -> Iterator[tuple[int, str]]:
    """Yield ``(start, name)`` of each match that is not in a comment to the end of the line.

    Each byte is looked at once, however long a line is.
    """
    since, comment = 0, False
    for match in re.finditer(pattern, text):
        start = match.start()
        newline = text.rfind(b"\n", since, start)
        if newline >= 0:
            since, comment = newline, False
        comment = comment or text.find(b"//", since, start) >= 0
        since = start
        if not comment:
            yield start, match[1].decode("ascii", "backslashreplace")


def open_image(
    kind: str,
    data: bytes | bytearray,
    *,
    name: str = "image",
    limits: Limits = DEFAULT_LIMITS,
    report: Report | None = None,
) -> Cubin | Ptx | Ltoir | bytes | bytearray:
    """Open an inflated payload by the kind of its entry; bytes where nothing is known of the kind.

    Raises:
        FormatError: the payload is not what its kind says.
    """
    if kind == "sass":
        return Cubin(data, name=name, limits=limits, report=report)
    if kind in ("ptx", "relocatable-ptx"):
        if b".target" not in data:
            msg = "expected PTX with a .target directive, found none"
            raise FormatError(
                msg,
                offset=0,
                field="payload",
                expected=".target",
                found=bytes(data[:16]).hex(" "),
                location=name,
            )
        return Ptx(data)
    if kind == "ltoir":
        return Ltoir(data)
    return data
