"""Containers whose headers, payloads or order were changed, and what an H200 did with each.

Driver 580.159.04 (CUDA 13.0), 2026-11-30: each was given to ``cuModuleLoadData`` in a process of
its own with the compute cache switched off, and asked for its kernels with ``cuModuleGetFunction``.
"""

from __future__ import annotations

from typing import NamedTuple

from support import FIXTURES

from fatbin import Compression, EntrySpec, build
from fatbin.kinds import COMPRESSION_FLAGS

LINUX, BITS_64, WINDOWS, MAC, DEBUG = 0x10, 0x1, 0x40, 0x20, 0x2
SUFFIX_A, SUFFIX_F, MERCURY = 0x100000, 0x200000, 0x1000000
USUAL = LINUX | BITS_64
OK, INVALID_IMAGE, NO_BINARY, INVALID_PTX, TOO_NEW, INVALID_SOURCE, UNKNOWN = (
    0, 200, 209, 218, 222, 300, 999,
)  # fmt: skip
CRASH = -11
_TEXT = (FIXTURES / "saxpy_80.ptx").read_text()


class Row(NamedTuple):
    """One container.

    Attributes:
        entries: in order.
        code: of ``cuModuleLoadData``; ``CRASH`` where the process died of SIGSEGV.
        taken: index of the entry whose kernel was there; -1 where none was.
    """

    entries: tuple[EntrySpec, ...]
    code: int
    taken: int = -1

    @property
    def data(self) -> bytes:
        """The container."""
        return build(list(self.entries))


def sass(flags: int = USUAL, arch: int = 90, name: str = "saxpy_90a", **changes: int) -> EntrySpec:
    spec = EntrySpec.cubin((FIXTURES / f"{name}.cubin").read_bytes())
    return spec._replace(flags=flags, arch=arch, **changes)  # type: ignore[arg-type]


def other(flags: int = USUAL, arch: int = 90) -> EntrySpec:
    return sass(flags, arch, "devfunc_90")


def ptx(
    arch: int = 80,
    flags: int = USUAL,
    *,
    target: str = "sm_80",
    isa: str = "9.0",
    kernel: str = "pa",
) -> EntrySpec:
    text = _TEXT.replace("saxpy", kernel).replace(".target sm_80", f".target {target}")
    spec = EntrySpec.ptx(text.replace(".version 9.0", f".version {isa}"))
    return spec._replace(arch=arch, flags=flags)


def last(arch: int = 80) -> EntrySpec:
    return ptx(arch, kernel="pb")


def broken(spec: EntrySpec) -> EntrySpec:
    return spec.compressed("zstd")._replace(payload=b"\xff" * 90)


def empty(spec: EntrySpec) -> EntrySpec:
    return spec._replace(payload=b"")


def without_version() -> EntrySpec:
    spec = ptx()
    return spec._replace(payload=spec.payload.replace(b".version 9.0", b" " * 12))


def group(*members: EntrySpec, compression: str = "zstd") -> EntrySpec:
    return EntrySpec.group(members, compression=compression)


HEADERS: dict[str, Row] = {
    # Flags that do not count.
    "32 bits": Row((sass(LINUX), other()), OK, 0),
    "no host": Row((sass(BITS_64), other()), OK, 0),
    "windows": Row((sass(WINDOWS | BITS_64), other()), OK, 0),
    "windows, then PTX": Row((sass(WINDOWS | BITS_64), last()), OK, 0),
    "mac": Row((sass(MAC | BITS_64),), OK, 0),
    "no flags": Row((sass(0),), OK, 0),
    "debug first": Row((sass(USUAL | DEBUG), other()), OK, 0),
    "debug last": Row((sass(), other(USUAL | DEBUG)), OK, 0),
    "bit without a name": Row((sass(USUAL | 1 << 40),), OK, 0),
    "PTX of 32 bits": Row((ptx(flags=LINUX),), OK, 0),
    "PTX for windows": Row((ptx(flags=WINDOWS | BITS_64),), OK, 0),
    "entry version 0x102": Row((sass(version=0x102),), OK, 0),
    "code version 9.9": Row((sass(major=9, minor=9),), OK, 0),
    # Which of several.
    "two equal": Row((sass(), other()), OK, 0),
    "two equal, turned": Row((other(), sass()), OK, 0),
    "a first": Row((sass(USUAL | SUFFIX_A), other()), OK, 0),
    "a last": Row((other(), sass(USUAL | SUFFIX_A)), OK, 1),
    "f first": Row((sass(USUAL | SUFFIX_F), other()), OK, 1),
    "f alone": Row((sass(USUAL | SUFFIX_F),), NO_BINARY),
    "a and f": Row((other(), sass(USUAL | SUFFIX_A | SUFFIX_F)), OK, 1),
    "mercury first": Row((sass(USUAL | MERCURY), other()), OK, 1),
    "mercury last": Row((sass(), other(USUAL | MERCURY)), OK, 0),
    "header for 80": Row((sass(arch=80),), NO_BINARY),
    "header for 100": Row((sass(arch=100),), NO_BINARY),
    "image for 80": Row((sass(name="saxpy_80"),), INVALID_SOURCE),
    "image for 80, then PTX": Row((sass(name="saxpy_80"), last()), INVALID_SOURCE),
    "image for 80, then SASS": Row((sass(name="saxpy_80"), other()), INVALID_SOURCE),
    # PTX.
    "two equal PTX": Row((ptx(), last()), OK, 0),
    "two equal PTX, turned": Row((last(), ptx()), OK, 0),
    "PTX 90a first": Row((ptx(90, USUAL | SUFFIX_A), last(90)), OK, 0),
    "PTX 90a last": Row((last(90), ptx(90, USUAL | SUFFIX_A)), OK, 1),
    "PTX 86a, 80": Row((ptx(86, USUAL | SUFFIX_A), last()), OK, 0),
    "PTX 80, 86a": Row((last(), ptx(86, USUAL | SUFFIX_A)), OK, 1),
    "PTX 86f, 80": Row((ptx(86, USUAL | SUFFIX_F), last()), OK, 1),
    "PTX 90f, 80": Row((ptx(90, USUAL | SUFFIX_F), last()), OK, 1),
    "PTX 90f, 90": Row((ptx(90, USUAL | SUFFIX_F), last(90)), OK, 1),
    "PTX 90f": Row((ptx(90, USUAL | SUFFIX_F),), NO_BINARY),
    "PTX 80f": Row((ptx(80, USUAL | SUFFIX_F),), NO_BINARY),
    "PTX header for 100": Row((ptx(100),), NO_BINARY),
    "PTX text for 100": Row((ptx(86, target="sm_100"), last()), INVALID_PTX),
    "PTX text for 100a": Row((ptx(86, USUAL | SUFFIX_A, target="sm_100a"),), INVALID_PTX),
    "PTX text for 100a, 80": Row(
        (ptx(86, USUAL | SUFFIX_A, target="sm_100a"), last()), INVALID_PTX
    ),
    "PTX header of ISA 99.9": Row((ptx(isa="8.0")._replace(major=99, minor=9),), OK, 0),
    "PTX text of ISA 9.9": Row((ptx(isa="9.9")._replace(major=8, minor=0),), TOO_NEW),
    "PTX text of ISA 9.9, 80": Row(
        (ptx(86, isa="9.9")._replace(major=8, minor=0), last()), TOO_NEW
    ),
    "PTX without a version": Row((without_version(),), INVALID_PTX),
    "PTX without a version, 75": Row((without_version(), last(75)), INVALID_PTX),
    # What is broken is not replaced.
    "broken SASS, SASS": Row((broken(sass()), other()), UNKNOWN),
    "broken SASS, PTX": Row((broken(sass()), last()), UNKNOWN),
    "broken SASS for 100, SASS": Row((broken(sass(arch=100)), other()), OK, 1),
    "broken PTX, PTX": Row((broken(ptx(86)), last()), UNKNOWN),
    "empty SASS, SASS": Row((empty(sass()), other()), INVALID_IMAGE),
    "empty PTX, PTX": Row((empty(ptx(86)), last()), INVALID_PTX),
    "no cubin, PTX": Row((sass()._replace(payload=b"\x11" * 512), last()), INVALID_IMAGE),
    # Kinds.
    "kind 77": Row((sass(kind=77), other()), OK, 1),
    "kind 77 alone": Row((sass(kind=77),), NO_BINARY),
    "kind 4": Row((sass(kind=4),), NO_BINARY),
    "kind 16, SASS": Row((sass(kind=16), other()), OK, 1),
    "SASS, kind 16": Row((other(), sass(kind=16)), OK, 0),
    "kind 16, PTX": Row((sass(kind=16), last()), CRASH),
    "kind 16 for 80, PTX": Row((sass(arch=80, kind=16), last()), OK, 1),
    "kind 16 for 100, PTX": Row((sass(arch=100, kind=16), last()), OK, 1),
    # Groups.
    **{
        f"group of SASS, {word}": Row((group(sass(), compression=word),), NO_BINARY)
        for word in ("none", "zlib", "lz4", "lz4-frame", "zstd")
    },
    "group of PTX": Row((group(ptx()),), NO_BINARY),
    "group of SASS, PTX": Row((group(sass()), last()), OK, 1),
    "group of SASS, SASS": Row((group(sass()), other()), OK, 1),
}
"""By what was changed."""

FIRST_BIT = ("zlib", "lz4", "lz4-frame", "zstd")
"""What each of the four bits of compression says, the lowest first: the lowest that is set counts."""

STREAMS: dict[tuple[int, str], int] = {
    (bits, word): OK
    if bits and word == next(w for bit, w in enumerate(FIRST_BIT) if bits & 1 << bit)
    else INVALID_IMAGE if not bits else UNKNOWN if bits & 1 or bits == 8 else NO_BINARY
    for bits in range(16)
    for word in FIRST_BIT
}  # fmt: skip
"""The code for all four bits and all four kinds of streams; all 64 were tried."""


def stream(bits: int, word: str) -> bytes:
    """Return a container with one cubin, stored one way and marked another."""
    spec = other().compressed(word)
    assert spec.flags & 0xF000 == COMPRESSION_FLAGS[Compression(word)]
    return build([spec._replace(flags=USUAL | bits << 12)])
