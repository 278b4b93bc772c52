"""The payloads of a library's entries, inflated one at a time."""

from __future__ import annotations

from fatbin.errors import FatbinError, FormatError
from fatbin.format.elf import ELF_MAGIC
from fatbin.format.entry import entry_header_at, read_payload
from fatbin.kinds import Compression, EntryFlags, EntryKind
from fatbin.limits import DEFAULT_LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.inventory import Entry, Module
    from fatbin.limits import Limits


class Payloads:
    """Reads payloads and holds at most that of one group, which serves all images of the group."""

    __slots__ = ("_at", "_error", "_group", "_limits", "_view")

    def __init__(self, view: View, limits: Limits = DEFAULT_LIMITS) -> None:
        """Read from a library; nothing is held yet."""
        self._view = view
        self._limits = limits
        self.forget()

    def forget(self) -> None:
        """Let go of what is held."""
        self._at = -1
        self._group: bytes | bytearray = b""
        self._error: FatbinError | None = None

    def read(self, entry: Entry) -> bytes | bytearray:
        """Return the bytes of an entry, inflated; of an image of a group, its part of the group.

        Of a plain payload the up to 7 bytes of padding are included: their number is not stored. A
        group that does not inflate is tried once, whatever the number of its images.

        Raises:
            FormatError: the payload is not inside the file or does not inflate to its declared
                size; UnsupportedVersionError for obfuscated LTO-IR.
            LimitExceededError: larger than the limits allow.
            MissingDependencyError: LZ4 or zstd without cramjam.
        """
        if not entry.header_size:
            self.forget()
            return self._view.read(entry.offset, entry.size, "image", self._limits.image_bytes)
        if entry.group < 0 and entry.kind_number != EntryKind.GROUP:
            self.forget()
            return self._inflated(entry.offset)
        at = entry.group if entry.group >= 0 else entry.offset
        if at != self._at:
            self.forget()  # before the next is made
            self._at = at
            try:
                self._group = self._inflated(at)
            except FatbinError as exc:
                self._error = exc
        if self._error is not None:
            raise self._error
        if entry.group < 0:
            return self._group
        return self._group[entry.image_offset : entry.image_offset + entry.size]

    def stored(self, entry: Entry) -> bytes:
        """Return the bytes of an entry as they stand in the file, without padding where known.

        Raises:
            TruncatedError: they are not inside the file.
            LimitExceededError: larger than the limits allow.
        """
        offset, size = entry.offset, entry.stored_size
        if entry.header_size:
            header = entry_header_at(self._view, offset)
            offset, size = header.payload_offset, min(size, header.padded_size)
        return self._view.read(offset, size, "payload", self._limits.image_bytes)

    def _inflated(self, offset: int) -> bytes | bytearray:
        return read_payload(self._view, entry_header_at(self._view, offset), self._limits)


def is_obfuscated(entry: Entry) -> bool:
    """Tell whether a payload is LTO-IR that nobody outside NVIDIA can read."""
    obfuscated = entry.flags & EntryFlags.OBFUSCATED
    return bool(obfuscated) and entry.compression is not Compression.NONE


def verify_module(view: View, module: Module, limits: Limits, report: Report) -> None:
    """Inflate every payload and check its size and, of cubins, its magic; errors go to ``report``.

    Obfuscated LTO-IR is passed over. One payload is in memory at a time.
    """
    payloads = Payloads(view, limits)
    for entry in module.entries:
        if is_obfuscated(entry):
            continue
        try:
            found = bytes(payloads.read(entry)[:4])
        except FatbinError as exc:
            report(exc)
            continue
        if entry.kind == "sass" and found != ELF_MAGIC:
            report(_not_elf(view, entry, found))


def _not_elf(view: View, entry: Entry, found: bytes) -> FormatError:
    return FormatError(
        f"expected a cubin to begin with 7F 45 4C 46, found {found.hex(' ').upper()}",
        offset=entry.offset,
        field="payload",
        expected="7F 45 4C 46",
        found=found.hex(" ").upper(),
        location=view.name,
    )
