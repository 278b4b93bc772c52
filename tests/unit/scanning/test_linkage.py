from __future__ import annotations

import pytest
from hosts import Section, pe
from support import FIXTURES

import fatbin
from fatbin.errors import raise_error
from fatbin.format.view import View
from fatbin.inventory import Linkage
from fatbin.scanning import linkage
from fatbin.scanning.parts import Part, holder_of, read_host


def links(name: str) -> Linkage:
    found = fatbin.scan(FIXTURES / name).libraries[0].linkage
    assert found is not None
    return found


def test_an_elf_library() -> None:
    found = links("lib_rdc.so")
    assert found.needed == ("libstdc++.so.6", "libgcc_s.so.1", "libc.so.6")
    assert found.build_id == "9fb531b31212799f3a784f596552862e783bce62"
    assert (found.soname, found.runpath, found.cuda_runtime, found.version) == ("", (), "", "")


def test_an_executable_and_one_without_section_headers() -> None:
    assert "libc.so.6" in links("exe_static_cudart").needed
    assert links("noshdr.so") == links("lib_rdc.so")


def test_objects_and_bare_code_have_none() -> None:
    for name in ("host_rdc.o", "multi.fatbin", "saxpy_80.cubin"):
        assert fatbin.scan(FIXTURES / name).libraries[0].linkage is None


def imports() -> bytes:
    """An import directory at address 0x1000 with two libraries."""
    table = bytearray(0x200)
    for index, (name, at) in enumerate(((b"cudart64_12.dll", 0x100), (b"KERNEL32.dll", 0x120))):
        for word, value in ((3, 0x1000 + at), (0, 0x1000 + 0x180), (4, 0x1000 + 0x180)):
            begin = index * 20 + word * 4
            table[begin : begin + 4] = value.to_bytes(4, "little")
        table[at : at + len(name)] = name
    return bytes(table)


def windows(directory: int) -> bytes:
    data = bytearray(pe(Section(".rdata", imports() + b"cudaErrorCudartUnloading\0")))
    at = 0x40 + 24 + 112 + 8  # the second data directory of the optional header
    data[at : at + 4] = directory.to_bytes(4, "little")
    data[at + 4 : at + 8] = (60).to_bytes(4, "little")
    return bytes(data)


def test_a_dll_names_its_cuda_runtime() -> None:
    view = View(windows(0x1000), "x.dll")
    host = read_host(Part(view, "pe", holder_of(view)), fatbin.Limits(), raise_error)
    assert host is not None
    found = linkage.read_linkage(view, host, fatbin.Limits())
    assert found.needed == ("cudart64_12.dll", "KERNEL32.dll")
    assert found.cuda_runtime == "cudart64_12.dll"


def test_a_static_runtime_leaves_its_mark() -> None:
    view = View(windows(0), "x.dll")
    host = read_host(Part(view, "pe", holder_of(view)), fatbin.Limits(), raise_error)
    assert host is not None
    found = linkage.read_linkage(view, host, fatbin.Limits())
    assert (found.needed, found.cuda_runtime) == ((), "static")


def test_nccl_tells_its_version() -> None:
    data = pe(Section(".rdata", b"x\0NCCL version 2.26.2+cuda12.2\n\0"))
    for name, version in (("libnccl.so.2", "2.26.2+cuda12.2"), ("other.so", "")):
        view = View(data, name)
        host = read_host(Part(view, "pe", holder_of(view)), fatbin.Limits(), raise_error)
        assert host is not None
        assert linkage.read_linkage(view, host, fatbin.Limits()).version == version


def test_without_lief_elf_files_are_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "lief", None)
    inventory = fatbin.scan(FIXTURES / "lib_rdc.so")
    assert len(list(inventory.entries)) == 8
    assert inventory.all_issues == ()
    assert inventory.libraries[0].linkage is not None
    with pytest.raises(fatbin.MissingDependencyError, match="LIEF"):
        fatbin.scan_bytes(pe(Section(".nv_fatb", b"")))
