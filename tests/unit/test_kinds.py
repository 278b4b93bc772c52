from __future__ import annotations

import pytest

from fatbin import EntryFlags, EntryKind
from fatbin.kinds import Compression, compression_of, flag_names, kind_label, variant_of


def test_unknown_kinds_keep_their_number_and_get_a_name() -> None:
    kind = EntryKind(512)
    assert (kind, kind.name, kind.label) == (512, "UNKNOWN_512", "unknown-512")
    assert EntryKind(2) is EntryKind.ELF
    with pytest.raises(ValueError, match="-1"):
        EntryKind(-1)


def test_labels_are_the_words_of_the_listings() -> None:
    assert [kind_label(n) for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 0, 3)] == [
        "ptx", "sass", "legacy-cubin", "ltoir", "sass", "index", "relocatable-ptx", "tileir",
        "group", "unknown-0", "unknown-3",
    ]  # fmt: skip


def test_unknown_flags_survive() -> None:
    flags = EntryFlags(1 << 40 | 0x11)
    assert int(flags) == 1 << 40 | 0x11
    assert flag_names(1 << 40 | 0x2011) == ("bits-64", "host-linux", "lz4", "0x10000000000")
    assert flag_names(0) == ()


@pytest.mark.parametrize(
    ("flags", "compression"),
    [
        (0x11, Compression.NONE),
        (0x1000, Compression.ZLIB),
        (0x2000, Compression.LZ4),
        (0x4000, Compression.LZ4_FRAME),
        (0x8000, Compression.ZSTD),
        (0xA000, Compression.LZ4),  # cuobjdump 13.5 decodes LZ4 where both are set
    ],
)
def test_compression(flags: int, compression: Compression) -> None:
    assert compression_of(flags | 0x11) is compression


def test_variants() -> None:
    assert [variant_of(f) for f in (0x11, 0x100000, 0x200000, 0x300000)] == ["", "a", "f", "a"]
