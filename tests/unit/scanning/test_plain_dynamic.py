"""Without LIEF the dynamic section says the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import FIXTURES, manifest

from fatbin.errors import MissingDependencyError
from fatbin.limits import Limits
from fatbin.scanning import lief_bridge
from fatbin.scanning.dynamic import plain_dynamic
from fatbin.scanning.targets import scan

LIBRARIES = sorted(FIXTURES.glob("*.so"))


@pytest.mark.parametrize("path", LIBRARIES, ids=lambda path: path.name)
def test_both_readers_agree(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_lief = scan(path, linkage=True)
    monkeypatch.setitem(sys.modules, "lief", None)
    with pytest.raises(MissingDependencyError):
        lief_bridge.elf_dynamic(b"")
    assert scan(path, linkage=True) == with_lief


def test_what_python_itself_needs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    extension = next(
        (
            m.__file__
            for m in list(sys.modules.values())
            if str(getattr(m, "__file__", "")).endswith(".so")
        ),
        None,
    )
    if extension is None:
        pytest.skip("no extension module is loaded")
    expected = scan(extension, linkage=True)
    monkeypatch.setitem(sys.modules, "lief", None)
    found = scan(extension, linkage=True)
    assert found == expected
    assert found.libraries[0].linkage is not None


def test_names_beyond_the_strings_are_left_out() -> None:
    import struct

    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0)
    tags = struct.pack("<8Q", 1, 1, 14, 7, 15, 9999, 29, 3)
    strings = b"\0lib.so\0x:y"
    at = 64 + 3 * 56
    rows = b"".join(
        struct.pack("<IIQQQQQQ", kind, 4, offset, 0, 0, size, size, 1)
        for kind, offset, size in (
            (1, at, len(tags)),
            (1, at + len(tags), len(strings)),
            (2, at, len(tags)),
        )
    )
    found = plain_dynamic(ident + header + rows + tags + strings, Limits())
    assert (found.soname, found.needed, found.runpath) == ("", ("lib.so",), ("b.so",))


def test_there_are_libraries_to_compare() -> None:
    assert len(LIBRARIES) >= 5
    assert len(manifest()) > len(LIBRARIES)
