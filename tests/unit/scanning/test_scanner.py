"""What scan takes and refuses, how issues are kept, and the open file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import FIXTURES, manifest

import fatbin
from fatbin.format.build import EntrySpec, build
from fatbin.kinds import Compression

HOSTILE = sorted(path.name for path in FIXTURES.glob("hostile_*"))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_give_what_is_whole_and_an_issue(name: str) -> None:
    inventory = fatbin.scan(FIXTURES / name, verify=True)
    (library,) = inventory.libraries
    assert library.issues
    for issue in library.issues:
        assert issue.offset >= 0
        assert issue.expected
        assert issue.found
        assert issue.message
    listed = next(row for row in manifest() if row["file"] == name)["cuobjdump"]["lelf_all"][
        "stdout"
    ]
    assert len([e for e in library.entries if e.kind == "sass"]) >= len(listed)


def test_headers_alone_find_all_hostile_files_but_the_one_that_must_be_inflated() -> None:
    silent = [name for name in HOSTILE if not fatbin.scan(FIXTURES / name).all_issues]
    assert silent == ["hostile_usz_small.fatbin"]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"hello world, this is text", "text"),
        (b"BC\xc0\xde", "LLVM bitcode"),
        (b"\x00\x01\x02\x03", "bytes 00 01 02 03"),
        (b"\xff" * 70, "bytes ff ff"),
    ],
)
def test_what_is_no_known_format(data: bytes, found: str, tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(data)
    with pytest.raises(fatbin.UnknownFormatError, match=found) as caught:
        fatbin.scan(path)
    assert caught.value.location == str(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(fatbin.SourceError, match="No such file"):
        fatbin.scan(tmp_path / "missing")
    with pytest.raises(fatbin.UnknownFormatError, match="expected a directory with"):
        fatbin.open(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(fatbin.UnknownFormatError, match="empty file"):
        fatbin.scan(tmp_path / "empty")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(fatbin.SourceError, match="found a FIFO"):
        fatbin.scan(tmp_path / "fifo")
    with pytest.raises(fatbin.SourceError, match="null"):
        fatbin.scan("a\0b")


def test_the_format_is_told_by_content(tmp_path: Path) -> None:
    for name, form in {
        "multi.fatbin": "fatbin", "saxpy_80.cubin": "cubin", "saxpy_80.ptx": "ptx",
        "saxpy.ltoir": "ltoir", "lib_1arch.so": "elf", "host_1arch.obj": "coff",
    }.items():  # fmt: skip
        path = tmp_path / "a file without a telling name"
        path.write_bytes((FIXTURES / name).read_bytes())
        assert [lib.format for lib in fatbin.scan(path).libraries] == [form]


def test_a_format_from_before_cuda_6() -> None:
    inventory = fatbin.scan_bytes((0x1EE55A01).to_bytes(4, "little") + bytes(60))
    assert inventory.all_issues[0].code == "UnsupportedVersion"


def test_issues_are_limited_and_counted() -> None:
    data = fatbin.build([EntrySpec(kind=2, payload=b"x", flags=0x8011, uncompressed_size=5000)] * 9)
    inventory = fatbin.scan_bytes(data, limits=fatbin.Limits(issues=4))
    assert len(inventory.all_issues) == 5
    assert inventory.all_issues[-1].message == "5 more issues were left out (limit issues)"


def test_relocatable_is_known_where_the_headers_tell() -> None:
    facts = {(e.kind, e.relocatable) for e in fatbin.scan(FIXTURES / "rdc.fatbin").entries}
    assert facts == {("sass", None), ("ptx", True)}
    facts = {(e.kind, e.relocatable) for e in fatbin.scan(FIXTURES / "multi.fatbin").entries}
    assert facts == {("sass", None), ("ptx", False)}
    assert [e.relocatable for e in fatbin.scan(FIXTURES / "rdc_80.cubin").entries] == [True]


def test_every_compression_is_named() -> None:
    found = {
        name: {e.compression for e in fatbin.scan(FIXTURES / name).entries if e.kind == "sass"}
        for name in (
            "zlib_flag1000.fatbin", "compress_all_speed.fatbin", "lz4frame_flag4000.fatbin",
            "compress_all_default.fatbin", "nocompress.fatbin",
        )
    }  # fmt: skip
    assert list(found.values()) == [
        {Compression.ZLIB}, {Compression.LZ4}, {Compression.LZ4_FRAME}, {Compression.ZSTD},
        {Compression.NONE},
    ]  # fmt: skip


CLEAN = [
    row["file"]
    for row in manifest()
    if not row["file"].startswith(("hostile", "truncated"))
    and not row["file"].endswith(("nocuda.o", "nocuda.a", ".debug"))
]


@pytest.mark.parametrize("name", CLEAN)
def test_every_whole_fixture_inflates_without_issue(name: str) -> None:
    inventory = fatbin.scan(FIXTURES / name, verify=True)
    said = [issue.message for issue in inventory.all_issues]
    if name == "nvfatbin124.fatbin":  # nvFatbin 12.4 leaves it out, and the driver refuses the text
        assert said.pop().endswith("found no .version; the driver refuses it with 218")
    assert said == []
    assert list(inventory.entries) or name == "empty.fatbin"


@pytest.mark.parametrize("name", CLEAN)
def test_an_open_file_reads_what_the_scan_describes(name: str) -> None:
    wanted = fatbin.scan(FIXTURES / name, linkage=False, kernels=False)
    with fatbin.open(FIXTURES / name) as file:
        modules = []
        for container in file.containers():
            modules.append(container.facts)
            for entry in container.entries:
                assert repr(entry).startswith(f"<{entry.facts.kind} ")
                if entry.facts.flags & fatbin.EntryFlags.OBFUSCATED:
                    with pytest.raises(fatbin.UnsupportedVersionError, match="obfuscated"):
                        entry.read()
                    continue
                data = entry.read()
                assert len(data) == entry.facts.size
                if entry.facts.kind == "sass":
                    assert data[:4] == b"\x7fELF"
                elif entry.facts.kind == "ptx":
                    assert b".target" in data
            assert container.location in repr(container)
        assert file.issues == []
    assert sorted(modules) == sorted(m for lib in wanted.libraries for m in lib.modules)


def test_payloads_equal_the_files_they_were_made_of() -> None:
    cubin = (FIXTURES / "saxpy_80.cubin").read_bytes()
    for name in ("compress_all_speed.fatbin", "compress_all_default.fatbin", "nocompress.fatbin",
                 "zlib_flag1000.fatbin", "lz4frame_flag4000.fatbin", "concat.fatbin"):  # fmt: skip
        with fatbin.open(FIXTURES / name) as file:
            images = [
                bytes(entry.read())
                for container in file.containers()
                for entry in container.entries
                if str(entry.facts.arch) == "sm_80"
            ]
        assert images == [cubin], name


def test_an_open_file_keeps_issues_and_refuses_over_the_limits() -> None:
    with fatbin.open(FIXTURES / "hostile_usz_huge.fatbin") as file:
        (container,) = file.containers()
        assert [issue.code for issue in file.issues] == ["LimitExceeded"]
        with pytest.raises(fatbin.LimitExceededError):
            container.entries[0].read()
    with fatbin.open(FIXTURES / "cmode_size.fatbin", limits=fatbin.Limits(image_bytes=100)) as file:
        (container,) = file.containers()
        with pytest.raises(fatbin.LimitExceededError, match="limit of 100 bytes"):
            container.entries[0].read()


def test_without_cramjam_headers_are_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cramjam", None)
    assert not fatbin.scan(FIXTURES / "lib_3arch.so", linkage=False).all_issues
    issues = fatbin.scan(FIXTURES / "lib_3arch.so", linkage=False, verify=True).all_issues
    assert {issue.code for issue in issues} == {"MissingDependency"}


def test_a_broken_member_does_not_end_an_open_archive(tmp_path: Path) -> None:
    from hosts import archive

    good = (FIXTURES / "host_1arch.o").read_bytes()
    path = tmp_path / "lib.a"
    path.write_bytes(
        archive(("bad.cubin", (FIXTURES / "saxpy_80.cubin").read_bytes()[:100]), ("good.o", good))
    )
    with fatbin.open(path) as file:
        assert [library.location for library in file.libraries()] == [f"{path}::good.o"]
        assert [issue.location for issue in file.issues] == [f"{path}::bad.cubin"]


def test_verify_tells_what_only_the_images_know() -> None:
    before = fatbin.scan(FIXTURES / "rdc.fatbin")
    after = fatbin.scan(FIXTURES / "rdc.fatbin", verify=True)
    assert [(e.kind, e.toolkit, e.relocatable) for e in before.entries] == [
        ("sass", "", None),
        ("ptx", "", True),
    ]
    assert [(e.kind, e.toolkit, e.relocatable) for e in after.entries] == [
        ("sass", "13.0", True),
        ("ptx", "", True),
    ]
    toolkits = {
        e.toolkit for e in fatbin.scan(FIXTURES / "invalid_elf_midway.fatbin", verify=True).entries
    }
    assert toolkits == {"12.1", "12.9"}


def test_verify_finds_an_image_for_another_architecture_and_one_that_is_no_cubin() -> None:
    cubin = (FIXTURES / "saxpy_80.cubin").read_bytes()
    data = fatbin.build(
        [
            EntrySpec.cubin(cubin, arch="sm_90"),
            EntrySpec.cubin(cubin)._replace(payload=b"not an ELF image").compressed("zstd"),
        ]
    )
    assert not fatbin.scan_bytes(data).all_issues
    mismatch, damage = fatbin.scan_bytes(data, verify=True).all_issues
    assert "entry is for sm_90 but its image is for sm_80" in mismatch.message
    assert (mismatch.offset, mismatch.field) == (16, "arch")
    assert damage.message.startswith("image: ")
    assert damage.offset == 16 + 64 + len(cubin)


def test_the_name_of_a_tar_format_makes_no_tar_archive() -> None:
    payload = bytearray((FIXTURES / "saxpy_80.cubin").read_bytes())
    blob = bytearray(build([EntrySpec.cubin(bytes(payload))]))
    blob[257:262] = b"ustar"
    assert [library.format for library in fatbin.scan_bytes(bytes(blob)).libraries] == ["fatbin"]
