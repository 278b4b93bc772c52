"""All bare cubins of a wheel that holds them by the thousand."""

from __future__ import annotations

import re
import struct
import zipfile
from collections import Counter

import corpus
import pytest

import fatbin

pytestmark = pytest.mark.real

# 60 cubins for SM 100 carry no command line, the only thing that would tell sm_100 from sm_100f.
_ARCHITECTURES = {"sm_100a": 312, "sm_100f": 13_646, "sm_100?": 60, "sm_103a": 1952}


def _architecture_in_flags(image: bytes) -> str:
    """Return SM number and ``a`` from ``e_flags``; toolkit 12.9 writes both there."""
    assert image[8] == 8  # ELF ABI version
    (flags,) = struct.unpack_from("<I", image, 48)
    return f"{flags >> 8 & 0xFF}{'a' if flags & 8 else ''}"


def test_every_bare_cubin_is_read() -> None:
    counts: Counter[str] = Counter()
    with zipfile.ZipFile(corpus.wheel_path(corpus.FLASHINFER_CUBIN)) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".cubin"):
                continue
            image = archive.read(info)
            inventory = fatbin.scan_bytes(image, info.filename)
            assert inventory.all_issues == ()
            (library,) = inventory.libraries
            (entry,) = library.entries
            assert (library.format, entry.kind, entry.relocatable) == ("cubin", "sass", False)
            assert entry.toolkit == "12.9"
            assert entry.size == len(image)
            assert entry.arch is not None
            arch = str(entry.arch)
            assert arch.removeprefix("sm_").rstrip("f?") == _architecture_in_flags(image)
            named = re.search(r"[sS]m(10\d[af])(?:Kernel|\.cubin)", info.filename)
            if named is not None:
                assert arch in {f"sm_{named[1]}", f"sm_{entry.arch.number}?"}
            counts[arch] += 1
    assert counts == _ARCHITECTURES
