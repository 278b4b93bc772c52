"""Specs to bytes: the mirror of the walk.

:func:`build` writes a container as fatbinary does; :func:`read_specs` gives the specs of what is
there, so that ``build(read_specs(data)[0])`` is the container again, byte for byte. Headers are
written with the schema.
"""

from __future__ import annotations

from fatbin._record import Record
from fatbin.arch import Architecture
from fatbin.errors import ArchitectureError, FormatError, raise_error
from fatbin.format.codec import compress
from fatbin.format.container import HEADER_SIZE, MAGIC, walk
from fatbin.format.cubin import read_compat, read_cubin_head
from fatbin.format.entry import ENTRY_SIZE, ENTRY_VERSION, EntryHeader, read_tail, unfold
from fatbin.format.ptx import read_ptx_head
from fatbin.format.schema import (
    CONTAINER_HEADER,
    ENTRY_HEADER,
    GROUP_HEADER,
    GROUP_MEMBER,
    OPTIONS_RECORD,
)
from fatbin.format.view import View
from fatbin.kinds import (
    COMPRESSION_FLAGS,
    COMPRESSION_MASK,
    SASS_KINDS,
    Compression,
    EntryFlags,
    EntryKind,
)
from fatbin.limits import DEFAULT_LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_USUAL_FLAGS = int(EntryFlags.BITS_64 | EntryFlags.HOST_LINUX)
_FIRST_MERCURY_SM = 100
_PADDING = 8


class EntrySpec(Record):
    """One entry to write; the constructors :meth:`ptx`, :meth:`cubin` and :meth:`group` fill it.

    Attributes:
        kind: raw kind number.
        payload: the bytes as they are to be stored, compressed or plain, without padding.
        arch: raw SM number.
        flags: raw flags, compression bits included.
        uncompressed_size: bytes of the payload when inflated, 0 for a plain one.
        major: code version.
        minor: code version.
        identifier: written when not empty.
        options: command line or options; None for no record.
        compat: of a cubin's record: the bytes of its ``.nv.compat`` section.
        bare_record: write an options record of two zeros without data, as CUDA 11 does.
        key: obfuscation seed of LTO-IR.
        version: of the entry header.
        members: of a group: its images, whose payloads are plain and stand in ``payload`` together.
    """

    kind: int
    payload: bytes
    arch: int = 0
    flags: int = _USUAL_FLAGS
    uncompressed_size: int = 0
    major: int = 0
    minor: int = 0
    identifier: str = ""
    options: str | None = None
    compat: bytes = b""
    bare_record: bool = False
    key: int = 0
    version: int = ENTRY_VERSION
    members: tuple[EntrySpec, ...] = ()

    @classmethod
    def ptx(
        cls,
        text: str | bytes,
        *,
        arch: str | Architecture | None = None,
        compression: str | Compression = Compression.NONE,
        options: str = "",
        identifier: str = "",
    ) -> EntrySpec:
        """Describe a PTX text; architecture and version come from the text itself.

        Args:
            text: PTX; one NUL is added at its end.
            arch: to be written instead of the text's ``.target``, such as ``compute_90``.
            compression: how to store it.
            options: command line for ptxas.
            identifier: usually the source file's name.

        Raises:
            FormatError: not PTX.
            ArchitectureError: ``arch`` is none, or a real one.
        """
        data = text.encode() if isinstance(text, str) else bytes(text)
        head = read_ptx_head(data)
        if head is None:
            msg = "expected PTX with .version and .target, found none"
            raise FormatError(msg, offset=0, field="payload")
        target = _architecture(arch or head.arch, virtual=True)
        major, _, minor = head.isa_version.partition(".")
        spec = cls(
            kind=EntryKind.PTX,
            payload=data.rstrip(b"\0") + b"\0",
            arch=target.number,
            flags=_USUAL_FLAGS | _variant_flag(target),
            major=int(major),
            minor=int(minor),
            identifier=identifier,
            options=options,
        )
        return spec.compressed(compression)

    @classmethod
    def cubin(
        cls,
        elf: bytes,
        *,
        arch: str | Architecture | None = None,
        compression: str | Compression = Compression.NONE,
        identifier: str = "",
    ) -> EntrySpec:
        """Describe a cubin; architecture, version and ``.nv.compat`` come from the image itself.

        Args:
            elf: the image.
            arch: to be written instead of the image's, such as ``sm_90a``.
            compression: how to store it.
            identifier: usually the source file's name.

        Raises:
            FormatError: not a cubin.
            ArchitectureError: ``arch`` is none, or a virtual one.
        """
        view = View(bytes(elf), "cubin")
        head = read_cubin_head(view, DEFAULT_LIMITS)
        target = _architecture(arch or head.arch, virtual=False)
        mercury = target.number >= _FIRST_MERCURY_SM
        spec = cls(
            kind=EntryKind.ELF,
            payload=bytes(elf),
            arch=target.number,
            flags=_USUAL_FLAGS
            | _variant_flag(target)
            | (int(EntryFlags.MERCURY) if mercury else 0),
            major=1,
            minor=head.abi,
            identifier=identifier,
            options="" if mercury else None,
            compat=read_compat(view, DEFAULT_LIMITS) if mercury else b"",
        )
        return spec.compressed(compression)

    @classmethod
    def group(
        cls, members: Iterable[EntrySpec], compression: str | Compression = Compression.ZSTD
    ) -> EntrySpec:
        """Describe images stored together in one payload (kind 256).

        Raises:
            FormatError: a member is compressed or a group itself.
        """
        images = tuple(members)
        for member in images:
            if member.flags & COMPRESSION_MASK or member.kind == EntryKind.GROUP:
                msg = "expected plain images in a group, found a compressed one or a group"
                raise FormatError(msg, field="members")
        blob = b"".join(member.payload for member in images)
        spec = cls(kind=EntryKind.GROUP, payload=blob, minor=1, members=images)
        return spec.compressed(compression)

    def compressed(self, compression: str | Compression) -> EntrySpec:
        """Return this entry with its plain payload compressed.

        Raises:
            FormatError: the payload is compressed already.
            ValueError: no such compression.
        """
        wanted = Compression(compression)
        if wanted is Compression.NONE:
            return self
        if self.flags & COMPRESSION_MASK:
            msg = "expected a plain payload, found a compressed one"
            raise FormatError(msg, field="payload")
        return self._replace(
            payload=compress(self.payload, wanted),
            uncompressed_size=len(self.payload),
            flags=self.flags | COMPRESSION_FLAGS[wanted],
        )


def build(specs: Iterable[EntrySpec]) -> bytes:
    """Return one container with these entries, in this order.

    Raises:
        FormatError: a number that does not fit its field.
    """
    body = b"".join(_entry(spec) for spec in specs)
    header = {"magic": MAGIC, "version": 1, "header_size": HEADER_SIZE, "size": len(body)}
    return bytes(CONTAINER_HEADER.build(header)) + body


def read_specs(data: bytes) -> list[list[EntrySpec]]:
    """Return the specs of each container of some bytes; :func:`build` is the inverse.

    Payloads are taken as stored. Of a plain payload the padding is kept, since its length is not.

    Raises:
        FormatError: damage.
        LimitExceededError: a group declares images that its bytes cannot hold.
    """
    view = View(bytes(data), "fatbin")
    return [[_spec(view, header) for header in found.headers] for found in walk(view)]


def _spec(view: View, header: EntryHeader) -> EntrySpec:
    tail = read_tail(view, header, raise_error)
    stored = header.compressed_size or header.padded_size
    members: tuple[EntrySpec, ...] = ()
    if header.kind == EntryKind.GROUP:
        members = tuple(_member_specs(view, header, stored))
    return EntrySpec(
        kind=header.kind,
        payload=view.read(header.payload_offset, stored, "payload"),
        arch=header.arch,
        flags=header.flags,
        uncompressed_size=header.uncompressed_size,
        major=header.major,
        minor=header.minor,
        identifier=tail.identifier,
        options=tail.options,
        compat=tail.compat,
        bare_record=_is_bare_record(view, header),
        key=header.key,
        version=header.version,
        members=members,
    )


def _member_specs(view: View, group: EntryHeader, stored: int) -> Iterator[EntrySpec]:
    total = 0
    for header in unfold(view, group, raise_error):
        total += header.padded_size
        DEFAULT_LIMITS.check_inflated(stored, total, view.report_offset(group.offset))
        yield _member_spec(view, header)


def _member_spec(view: View, header: EntryHeader) -> EntrySpec:
    """Describe an image of a group; its payload is stood for by zeros of its size."""
    tail = read_tail(view, header, raise_error)
    return EntrySpec(
        kind=header.kind,
        payload=bytes(header.padded_size),
        arch=header.arch,
        flags=header.flags,
        major=header.major,
        minor=header.minor,
        identifier=tail.identifier,
        options=tail.options,
        compat=tail.compat,
        key=header.key,
        version=header.version,
    )


def _is_bare_record(view: View, header: EntryHeader) -> bool:
    at = header.options_offset
    return bool(at) and view.peek(header.offset + at, OPTIONS_RECORD.sizeof()) == bytes(
        OPTIONS_RECORD.sizeof()
    )


def _entry(spec: EntrySpec) -> bytes:
    tail, options_offset = _group_tail(spec) if spec.members else _tail(spec)
    compressed = bool(spec.flags & COMPRESSION_MASK)
    padding = -len(spec.payload) % _PADDING
    fields = _common(spec, options_offset) | {
        "header_size": ENTRY_SIZE + len(tail),
        "padded_size": len(spec.payload) + padding,
        "compressed_size": len(spec.payload) if compressed else 0,
        "uncompressed_size": spec.uncompressed_size,
    }
    return _built(ENTRY_HEADER, fields) + tail + spec.payload + bytes(padding)


def _common(spec: EntrySpec, options_offset: int) -> dict[str, int]:
    identifier = spec.identifier.encode()
    return {
        "kind": spec.kind,
        "version": spec.version,
        "options_offset": options_offset,
        "minor": spec.minor,
        "major": spec.major,
        "arch": spec.arch,
        "name_offset": ENTRY_SIZE if identifier else 0,
        "name_length": len(identifier),
        "flags": spec.flags,
        "key": spec.key,
    }


def _tail(spec: EntrySpec) -> tuple[bytes, int]:
    """Return identifier and options record, padded, and the offset of the record or 0."""
    tail = b""
    if spec.identifier:
        tail = _padded(spec.identifier.encode() + b"\0")
    if spec.options is None:
        return tail, 0
    offset = ENTRY_SIZE + len(tail)
    if spec.bare_record:
        return tail + bytes(OPTIONS_RECORD.sizeof()), offset
    if spec.kind in SASS_KINDS:
        data, length = b"\0" + spec.compat, len(spec.compat)
    else:
        data, length = spec.options.encode() + b"\0", len(spec.options.encode())
    record = {"data_offset": offset + OPTIONS_RECORD.sizeof(), "length": length}
    return tail + _padded(_built(OPTIONS_RECORD, record) + data), offset


def _group_tail(spec: EntrySpec) -> tuple[bytes, int]:
    headers = b""
    image_offset = 0
    for member in spec.members:
        tail, options_offset = _tail(member)
        fields = _common(member, options_offset) | {
            "image_offset": image_offset,
            "image_size": len(member.payload),
            "compressed_size": 0,
            "uncompressed_size": 0,
        }
        headers += _built(GROUP_MEMBER, fields) + tail
        image_offset += len(member.payload)
    size = GROUP_HEADER.sizeof() + len(headers)
    counts = {"count": len(spec.members), "tail_length": size}
    return _built(GROUP_HEADER, counts) + headers, ENTRY_SIZE


def _built(layout: object, fields: dict[str, int]) -> bytes:
    from construct import ConstructError  # noqa: PLC0415 - beside its one use

    try:
        return bytes(layout.build(fields))  # type: ignore[attr-defined]
    except ConstructError as exc:
        reason = " ".join(str(exc).split())
        msg = f"a value does not fit its field: {reason}"
        raise FormatError(msg, expected="a value that fits", found=reason) from exc


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _PADDING)


def _architecture(arch: str | Architecture | None, *, virtual: bool) -> Architecture:
    wanted = "a virtual architecture such as compute_90" if virtual else "a real one such as sm_90"
    if arch is None:
        msg = f"expected {wanted}, found none in the image"
        raise ArchitectureError(msg)
    parsed = Architecture.parse(arch)
    if parsed.virtual is not virtual:
        msg = f"expected {wanted}, found {parsed}"
        raise ArchitectureError(msg)
    return parsed


def _variant_flag(arch: Architecture) -> int:
    return {"a": int(EntryFlags.ARCH_SPECIFIC), "f": int(EntryFlags.FAMILY)}.get(arch.variant, 0)
