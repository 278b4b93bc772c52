"""Entry kinds, entry flags, compressions and places: the vocabulary of the format.

Unknown values are values: they keep their number, print a name, and survive a round trip.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

from fatbin._record import Word


class EntryKind(IntEnum):
    """The u16 at offset 0 of an entry header.

    Source: the names that cuobjdump 13.5 prints when only this field is changed. A number without
    a name becomes a member ``UNKNOWN_<number>``.
    """

    PTX = 1
    ELF = 2
    LEGACY_CUBIN = 4
    """A cubin from before ELF, historic."""
    LTOIR = 8
    """NVVM IR for link-time optimisation; cuobjdump calls it nvvm."""
    ELF_16 = 16
    """Listed as an ELF image by cuobjdump; no tool is known to write it. The driver of CUDA 13.0
    takes it where kind 2 has nothing, before PTX, and crashes when it is a plain cubin."""
    INDEX = 32
    """A list of names; no valid sample was seen."""
    RELOCATABLE_PTX = 64
    """PTX that nvFatbin took over from a host object, with its module id as identifier."""
    TILE_IR = 128
    """CUDA Tile IR, by nvFatbin 13.5."""
    GROUP = 256
    """Several images in one compressed payload; cuobjdump calls it a concatenated entry."""

    @classmethod
    def _missing_(cls, value: object) -> EntryKind | None:
        if not isinstance(value, int) or value < 0:
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNKNOWN_{value}"
        member._value_ = value
        return member

    @property
    def label(self) -> str:
        """The lower-case word used in listings and in JSON: ``sass``, ``ptx``, ``unknown-512``."""
        return kind_label(self)


_LABELS = {
    1: "ptx",
    2: "sass",
    4: "legacy-cubin",
    8: "ltoir",
    16: "sass",
    32: "index",
    64: "relocatable-ptx",
    128: "tileir",
    256: "group",
}
SASS_KINDS = frozenset((2, 16))
VIRTUAL_KINDS = frozenset((1, 8, 64, 128))
"""Kinds whose architecture is a virtual one."""


def kind_label(kind: int) -> str:
    """Return the word for a raw kind number; never fails."""
    return _LABELS.get(kind) or f"unknown-{int(kind)}"


class EntryFlags(IntFlag):
    """The u64 at offset 40 of an entry header; bits without a name are kept.

    Source: fatbinary's and nvFatbin's options, and what cuobjdump 13.5 prints when one bit is
    changed; PRODUCER_CUDA has a public name and was never seen set.
    """

    BITS_64 = 0x1
    """Code for a 64-bit host."""
    DEBUG = 0x2
    """Compiled with -G, or with debug information."""
    PRODUCER_CUDA = 0x4
    """Never seen set."""
    PRODUCER_OPENCL = 0x8
    """nvFatbin -opencl."""
    HOST_LINUX = 0x10
    """fatbinary --host=linux."""
    HOST_MAC = 0x20
    """fatbinary --host=mac."""
    HOST_WINDOWS = 0x40
    """fatbinary --host=windows; set in DLLs."""
    ZLIB = 0x1000
    """zlib stream; decoded by cuobjdump and the driver, not seen in files."""
    LZ4 = 0x2000
    """LZ4 block; what toolkits up to 12.9 write."""
    LZ4_FRAME = 0x4000
    """LZ4 frame; decoded by cuobjdump and the driver, not seen in files."""
    ZSTD = 0x8000
    """zstd frame; what toolkits from 13.0 on write."""
    OBFUSCATED = 0x10000
    """Compressed LTO-IR is also obfuscated, with the key at offset 48."""
    ARCH_SPECIFIC = 0x100000
    """Suffix a."""
    FAMILY = 0x200000
    """Suffix f."""
    MERCURY = 0x1000000
    """The cubin carries Mercury sections; set on every cubin for SM 100 and later."""


def flag_names(flags: int) -> tuple[str, ...]:
    """Return the names of the bits set, lowest first; a bit without a name prints as hexadecimal.

    >>> flag_names(0x2011 | 1 << 40)
    ('bits-64', 'host-linux', 'lz4', '0x10000000000')
    """
    names = []
    for bit in range(64):
        value = flags & 1 << bit
        if value:
            name = _FLAG_NAMES.get(value)
            names.append(name or hex(value))
    return tuple(names)


_FLAG_NAMES = {
    flag.value: (flag.name or "").lower().replace("_", "-")
    for flag in EntryFlags.__members__.values()
}

COMPRESSION_MASK = 0xF000


class Compression(Word):
    """How a payload is stored; the value is the word used in JSON."""

    NONE = "none"
    ZLIB = "zlib"
    LZ4 = "lz4"
    """A raw LZ4 block: no header, no size prefix."""
    LZ4_FRAME = "lz4-frame"
    ZSTD = "zstd"


def compression_of(flags: int) -> Compression:
    """Return what the flags say; where several bits are set, what the lowest of them says.

    Source: cuobjdump 13.5 and the driver of CUDA 13.0, given all 16 combinations of the four bits
    before streams of each kind.
    """
    return _COMPRESSIONS[(flags & COMPRESSION_MASK) >> 12]


def _first_compression(bits: int) -> Compression:
    for bit, compression in (
        (1, Compression.ZLIB),
        (2, Compression.LZ4),
        (4, Compression.LZ4_FRAME),
        (8, Compression.ZSTD),
    ):
        if bits & bit:
            return compression
    return Compression.NONE


_COMPRESSIONS = tuple(_first_compression(bits) for bits in range(16))
COMPRESSION_FLAGS = {
    Compression.NONE: 0,
    Compression.ZLIB: 0x1000,
    Compression.LZ4: 0x2000,
    Compression.LZ4_FRAME: 0x4000,
    Compression.ZSTD: 0x8000,
}


def variant_of(flags: int) -> str:
    """Return the architecture suffix that the flags say: ``a``, ``f`` or none."""
    if flags & 0x100000:
        return "a"
    return "f" if flags & 0x200000 else ""


class Place(Word):
    """Where in its file device code was found; the value is the word used in JSON."""

    LOADABLE = "loadable"
    """Section ``.nv_fatbin`` or ``.nv_fatb``: what the CUDA runtime registers and loads."""
    RELOCATABLE = "relocatable"
    """Section ``__nv_relfatbin``: input for a device link."""
    EMBEDDED = "embedded"
    """Anywhere else in a host file: registered by a wrapper all the same, or loaded by the code of
    the library, or not at all."""
    BARE = "bare"
    """The file itself is the device code: ``.fatbin``, ``.cubin``, ``.ptx``, ``.ltoir``."""
