"""The payloads of a library's entries, inflated one at a time."""

from __future__ import annotations

from fatbin.errors import FatbinError, FormatError, LimitExceededError
from fatbin.format.entry import entry_header_at, read_payload
from fatbin.format.images import Cubin, Ptx
from fatbin.kinds import Compression, EntryFlags, EntryKind, Place
from fatbin.limits import DEFAULT_LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.inventory import Entry, Module
    from fatbin.limits import Limits

PTX_WORDS = ("ptx", "relocatable-ptx")
EMPTY_IMAGE_BYTES = 64 << 10
"""Inflated size up to which an image may turn out to hold no kernel; the largest such image seen in
real libraries has 5 kB (cuBLASLt 13.1)."""


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
            LimitExceededError: larger than the limits allow, or the time is over.
            MissingDependencyError: LZ4 or zstd without cramjam.
        """
        late = self._limits.late(self._view.name)
        if late is not None:
            raise late
        if not entry.header_size:
            self.forget()
            return self._view.read(
                entry.offset, entry.size, "image", self._limits.image_bytes, "image_bytes"
            )
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
        return self._view.read(offset, size, "payload", self._limits.image_bytes, "image_bytes")

    def _inflated(self, offset: int) -> bytes | bytearray:
        return read_payload(self._view, entry_header_at(self._view, offset), self._limits)


def is_obfuscated(entry: Entry) -> bool:
    """Tell whether a payload is LTO-IR that nobody outside NVIDIA can read."""
    obfuscated = entry.flags & EntryFlags.OBFUSCATED
    return bool(obfuscated) and entry.compression is not Compression.NONE


def verify_module(view: View, module: Module, limits: Limits, report: Report) -> Module:
    """Inflate every payload; check its size and, of cubins, that it is what its entry says.

    Obfuscated LTO-IR is passed over. One payload is in memory at a time. Errors go to ``report``.

    Returns:
        The module with what only the images tell: the toolkit of each cubin, whether it is
        relocatable and misses functions, the number of kernels, an architecture of another number,
        the ISA version of PTX.
    """
    payloads = Payloads(view, limits)
    entries = []
    for entry in module.entries:
        told = entry
        try:
            if not is_obfuscated(entry):
                told = _verified(view.name, entry, payloads.read(entry), limits, report)
        except FatbinError as exc:
            report(exc)
        entries.append(told)
    return module._replace(entries=tuple(entries))


def _verified(
    location: str, entry: Entry, data: bytes | bytearray, limits: Limits, report: Report
) -> Entry:
    told, arch = entry, None
    if entry.kind == "sass":
        try:
            image = Cubin(data, name=location, limits=limits, report=_inside(entry, report))
            told = entry._replace(
                toolkit=image.toolkit,
                relocatable=image.relocatable,
                kernels=len(image.kernel_names),
                unresolved=bool(image.unresolved) if image.relocatable else False,
            )
            arch = image.arch
        except (FormatError, LimitExceededError) as exc:
            _inside(entry, report)(exc)
    elif entry.kind in PTX_WORDS:
        text = Ptx(data)
        told = entry._replace(kernels=len(text.entries), unresolved=bool(text.unresolved))
        arch = text.arch
        if text.isa_version != entry.isa_version:
            report(_other_version(location, entry, text))
            told = told._replace(isa_version=text.isa_version or entry.isa_version)
    # The variant is not compared: the entry knows an f that the image does not.
    if entry.arch and arch and entry.arch.number != arch.number:
        report(
            FormatError(
                f"entry is for {entry.arch} but its image is for {arch}; the driver goes by "
                "the entry",
                offset=entry.offset,
                field="arch",
                expected=str(entry.arch),
                found=str(arch),
                location=location,
            )
        )
        told = told._replace(image_arch=arch)
    return told


def _other_version(location: str, entry: Entry, text: Ptx) -> FormatError:
    if text.isa_version:
        message = (
            f"entry is PTX of ISA {entry.isa_version} but its text is of {text.isa_version}; the "
            "driver goes by the text"
        )
    else:
        message = (
            "expected .version and .target at the start of the PTX, found no .version; the driver "
            "refuses it with 218"
        )
    return FormatError(
        message,
        offset=entry.offset,
        field="version",
        expected=entry.isa_version or "a version",
        found=text.isa_version or "none",
        location=location,
    )


def count_kernels(view: View, module: Module, limits: Limits) -> Module:
    """Open the small images of a module, smallest first, until one with a kernel is found.

    That tells modules without any kernel, as a device link of nothing and files of host code alone
    leave them, from the others, for the price of one small image each. Images over
    ``EMPTY_IMAGE_BYTES`` are taken to hold kernels. The count of an image that cannot be opened
    stays unknown; what is wrong with it is for :func:`verify_module` to say.
    """
    if module.place is Place.RELOCATABLE:
        return module  # nothing is loaded from it by itself
    payloads = Payloads(view, limits)
    counts: dict[int, int] = {}
    order = sorted(
        (entry.size, index)
        for index, entry in enumerate(module.entries)
        if entry.kind in ("sass", *PTX_WORDS)
    )
    for size, index in order:
        entry = module.entries[index]
        if size > EMPTY_IMAGE_BYTES:
            break
        try:
            data = payloads.read(entry)
            if entry.kind == "sass":
                names = Cubin(data, name=view.name, limits=limits).kernel_names
            else:
                names = Ptx(data).entries
        except FatbinError:
            break
        counts[index] = len(names)
        if names:
            break
    if not counts:
        return module
    entries = list(module.entries)
    for index, count in counts.items():
        entries[index] = entries[index]._replace(kernels=count)
    return module._replace(entries=tuple(entries))


def _inside(entry: Entry, report: Report) -> Report:
    """Report at the entry: offsets inside an inflated image say nothing in the file."""

    def told(error: FatbinError) -> None:
        if isinstance(error, (FormatError, LimitExceededError)):
            error.offset = entry.offset
        error.message = f"image: {error.message}"
        report(error)

    return told
