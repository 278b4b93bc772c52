from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest
from hosts import Section, archive, elf
from support import FIXTURES

import fatbin
from fatbin.format.build import EntrySpec, build
from fatbin.format.entry import EntryHeader, read_payload
from fatbin.format.view import View
from fatbin.survey.extract import Extracted, Extraction, Form
from fatbin.survey.folder import Folder
from fatbin.survey.selection import KINDS, Selection, select

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
TEXT = (FIXTURES / "saxpy_80.ptx").read_bytes()
MADE_FROM: dict[str, list[str | None]] = {  # the same compiler and source made the cubin and what holds it
    "lib_1arch.so": ["saxpy_80"],
    "lib_3arch.so": ["saxpy_75", "saxpy_90a", "saxpy_120"],
    "host_3arch.o": ["saxpy_75", "saxpy_90a", "saxpy_120"],
    "host_1arch.obj": ["saxpy_80"],
    "host_rdc.o": ["rdc_80", None],
    "embedded_rodata.o": ["saxpy_75", "saxpy_90a", "saxpy_100f"],
    "multi.fatbin": ["saxpy_75", "saxpy_90a", "saxpy_100f"],
    "concat.fatbin": ["saxpy_100f", "saxpy_80", "saxpy_90a"],
    "concat_ident.fatbin": [
        "saxpy_75", "saxpy_80", "saxpy_90a", "saxpy_100", "saxpy_100f", "saxpy_120",
    ],
    "ident.fatbin": ["saxpy_80", "saxpy_100a"],
    "cmode_speed.fatbin": ["saxpy_80"],
    "cmode_size.fatbin": ["saxpy_80"],
    "cmode_none.fatbin": ["saxpy_80"],
    "zlib_flag1000.fatbin": ["saxpy_80"],
    "lz4frame_flag4000.fatbin": ["saxpy_80"],
    "resources_80.fatbin": ["res_80"],
    "nvfatbin124.fatbin": ["ptxas12.4_sm80"],
    "invalid_elf_midway.fatbin": [
        "ptxas12.1_sm75", "ptxas12.1_sm80", "ptxas12.1_sm90", "ptxas12.9_sm80",
    ],
    "sm35_first.fatbin": ["ptxas11.8_sm35", "ptxas11.8_sm80"],
    "libmixed.a": ["saxpy_80", "saxpy_75", "saxpy_90a", "saxpy_100f", "saxpy_80"],
    "saxpy_90a.cubin": ["saxpy_90a"],
}  # fmt: skip


def extract(
    source: str | Path,
    folder: Path,
    selection: Selection = Selection(),  # noqa: B008 - immutable
    form: Form = Form(),  # noqa: B008 - immutable
) -> tuple[list[Extracted], Extraction]:
    extraction = Extraction(Folder(str(folder)), selection, form)
    files = list(extraction.run(str(FIXTURES / source)))
    for file in files:
        if form.write:
            content = Path(file.path).read_bytes()
            assert (len(content), sha256(content).hexdigest()) == (file.size, file.sha256)
    if form.write and folder.exists():
        assert sorted(p.name for p in folder.iterdir()) == sorted(
            os.path.basename(file.path) for file in files
        )
    return files, extraction


@pytest.mark.parametrize("name", MADE_FROM)
def test_cubins_come_out_as_they_went_in(name: str, tmp_path: Path) -> None:
    files, extraction = extract(name, tmp_path / "out", select("sass"))
    assert extraction.issues == []
    assert len(files) == len(MADE_FROM[name])
    for file, original in zip(files, MADE_FROM[name], strict=True):
        if original is not None:
            expected = (FIXTURES / f"{original}.cubin").read_bytes()
            assert Path(file.path).read_bytes() == expected


def test_ptx_comes_out_without_nuls(tmp_path: Path) -> None:
    (file,), _ = extract("cuda11_ptxhdr72.fatbin", tmp_path / "out", select("ptx"))
    assert Path(file.path).read_bytes() == TEXT
    files, _ = extract("lib_rdc.so", tmp_path / "two", select("ptx"))
    for file in files:
        content = Path(file.path).read_bytes()
        assert b"\0" not in content
        assert content.endswith((b"}\n\n", b";\n\n"))


def test_padding_of_a_plain_cubin_is_left_out(tmp_path: Path) -> None:
    source = tmp_path / "x.fatbin"
    source.write_bytes(build([EntrySpec(kind=2, payload=CUBIN + bytes(8), arch=80)]))
    assert [entry.size for entry in fatbin.scan(source).entries] == [len(CUBIN) + 8]
    (file,), extraction = extract(source, tmp_path / "out")
    assert Path(file.path).read_bytes() == CUBIN
    assert extraction.issues == []


def test_only_zeros_are_padding(tmp_path: Path) -> None:
    source = tmp_path / "x.fatbin"
    source.write_bytes(build([EntrySpec(kind=2, payload=CUBIN + b"\0\1\0\0\0\0\0\0", arch=80)]))
    (file,), extraction = extract(source, tmp_path / "out")
    assert Path(file.path).read_bytes() == CUBIN + b"\0\1\0\0\0\0\0\0"
    assert extraction.issues == []


def test_what_is_said_of_a_file(tmp_path: Path) -> None:
    files, _ = extract("concat_ident.fatbin", tmp_path, select("sass", "sm_100f"))
    (file,) = files
    assert file == Extracted(
        path=str(tmp_path / "concat_ident.fatbin.1.9.same.sm_100f.cubin"),
        library=str(FIXTURES / "concat_ident.fatbin"),
        place=fatbin.Place.BARE,
        module=1,
        entry=9,
        offset=file.offset,
        kind="sass",
        arch=fatbin.Architecture(100, "f"),
        identifier="same",
        size=5600,
        sha256=sha256((FIXTURES / "saxpy_100f.cubin").read_bytes()).hexdigest(),
    )
    (entry,) = (
        entry
        for entry in fatbin.scan(FIXTURES / "concat_ident.fatbin").entries
        if str(entry.arch) == "sm_100f"
    )
    assert file.offset == entry.offset


def test_equal_identifiers_overwrite_nothing(tmp_path: Path) -> None:
    """Where ``cuobjdump -xelf all`` writes seven images to six files."""
    files, _ = extract("concat_ident.fatbin", tmp_path)
    assert len(files) == 7
    assert {file.identifier for file in files} == {"same"}


def test_members_of_an_archive_are_libraries_of_their_own(tmp_path: Path) -> None:
    data = archive(
        ("same.o", build([EntrySpec.cubin(CUBIN)])), ("same.o", build([EntrySpec.cubin(CUBIN)]))
    )
    (tmp_path / "x.a").write_bytes(data)
    files, _ = extract(tmp_path / "x.a", tmp_path / "out")
    assert [os.path.basename(file.path) for file in files] == [
        "x.a-same.o.1.1.sm_80.cubin",
        "x.a-same.o.1.1.sm_80~2.cubin",
    ]


def test_modules_are_numbered_by_offset(tmp_path: Path) -> None:
    """As ``inspect`` shows them, whatever the order they are found in."""
    files, _ = extract("lib_rdc.so", tmp_path)
    modules = fatbin.scan(FIXTURES / "lib_rdc.so").libraries[0].modules
    for file in files:
        assert modules[file.module - 1].entries[file.entry - 1].offset == file.offset
    assert [file.offset for file in files] == sorted(file.offset for file in files)


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (select(), ["sm_75", "sm_90a", "compute_90a", "sm_100f", "compute_100f"]),
        (select("ptx"), ["compute_90a", "compute_100f"]),
        (select("sass,ptx", "sm_75, compute_100f"), ["sm_75", "compute_100f"]),
        (select(architectures="9.0"), ["sm_90a", "compute_90a"]),
        (select(architectures="10.0;7.5"), ["sm_75", "sm_100f", "compute_100f"]),
        (select(architectures="sm_90"), []),
        (select(places="loadable"), []),
        (select(places="bare,loadable", kinds="sass", architectures="9.0"), ["sm_90a"]),
        (select(kernels=["sax*"]), ["sm_75", "sm_90a", "compute_90a", "sm_100f", "compute_100f"]),
        (select(kernels=["SAXPY", "axpy"]), []),
        (select("ptx", kernels=["none", "s?xp[xy]"]), ["compute_90a", "compute_100f"]),
    ],
)  # fmt: skip
def test_selection(selection: Selection, expected: list[str], tmp_path: Path) -> None:
    files, extraction = extract("multi.fatbin", tmp_path / "out", selection)
    assert [str(file.arch) for file in files] == expected
    assert extraction.selected == len(expected)
    assert extraction.issues == []


def test_kernels_of_one_image_among_many(tmp_path: Path) -> None:
    files, _ = extract("lib_rdc.so", tmp_path, select(kernels=["_Z2k2*"]))
    assert [(file.module, str(file.arch)) for file in files] == [
        (2, "sm_80"), (2, "compute_80"), (2, "sm_100f"), (3, "sm_80"), (3, "sm_100f"),
    ]  # fmt: skip


def test_words_of_a_selection() -> None:
    assert "group" not in KINDS
    assert {"sass", "ptx", "ltoir", "relocatable-ptx", "tileir"} <= set(KINDS)
    assert select("unknown-512").kinds == {"unknown-512"}
    with pytest.raises(fatbin.FatbinError, match=r"expected a kind out of .*, found 'cubin'"):
        select("sass,cubin")
    with pytest.raises(fatbin.FatbinError, match=r"expected a place out of .*, found 'here'"):
        select(places="here")
    with pytest.raises(fatbin.ArchitectureError, match="found '90b'"):
        select(architectures="90b")


def test_unknown_kinds_are_written_as_they_are(tmp_path: Path) -> None:
    (file,), _ = extract("unknown_kind.fatbin", tmp_path, select("unknown-512"))
    assert os.path.basename(file.path) == "unknown_kind.fatbin.1.1.sm_80.unknown-512.bin"
    assert Path(file.path).read_bytes() == CUBIN


def test_obfuscated_ltoir_is_an_issue_and_the_rest_is_written(tmp_path: Path) -> None:
    files, extraction = extract("host_dlto.o", tmp_path / "out")
    assert [file.kind for file in files] == ["ptx"]
    (issue,) = extraction.issues
    assert issue.code == "UnsupportedVersion"
    assert "obfuscated" in issue.message
    assert extraction.selected == 2
    raw, extraction = extract("host_dlto.o", tmp_path / "raw", select("ltoir"), Form(raw=True))
    assert [os.path.basename(file.path) for file in raw] == [
        "host_dlto.o.1.2.compute_80.ltoir.zstd-obfuscated"
    ]
    assert extraction.issues == []


def test_plain_ltoir(tmp_path: Path) -> None:
    (file,), _ = extract("lto_plain.fatbin", tmp_path)
    assert file.path.endswith("lto_plain.fatbin.1.1.lid.compute_80.ltoir")
    assert Path(file.path).read_bytes()[:4] == b"\xed\x43\x4e\x7f"


def test_raw_bytes_are_those_of_the_file(tmp_path: Path) -> None:
    source = FIXTURES / "lib_3arch.so"
    files, _ = extract(source, tmp_path, form=Form(raw=True))
    entries = list(fatbin.scan(source).entries)
    assert [os.path.basename(file.path).split(".", 3)[3] for file in files] == [
        "1.sm_75.cubin.zstd", "2.sm_90a.cubin.zstd", "3.sm_120.cubin.zstd",
    ]  # fmt: skip
    for file, entry in zip(files, entries, strict=True):
        at = entry.offset + entry.header_size
        stored = source.read_bytes()[at : at + entry.stored_size]
        assert Path(file.path).read_bytes() == stored


def test_raw_group_is_written_once(tmp_path: Path) -> None:
    selection = select("sass", "sm_75,sm_80,sm_120")
    files, extraction = extract("concat_ident.fatbin", tmp_path, selection, Form(raw=True))
    assert [os.path.basename(file.path) for file in files] == [
        "concat_ident.fatbin.1.3.group.bin.zstd",
        "concat_ident.fatbin.1.7.group.bin.zstd",
    ]
    assert extraction.selected == 2


def test_raw_bytes_stay_inside_the_entry(tmp_path: Path) -> None:
    files, extraction = extract("hostile_csz_gt_psz.fatbin", tmp_path, form=Form(raw=True))
    assert [file.size for file in files] == [960]
    assert [issue.code for issue in extraction.issues] == ["SizeMismatch"]


def test_containers_can_be_read_again(tmp_path: Path) -> None:
    files, _ = extract("lib_rdc.so", tmp_path, select("ptx"), Form(containers=True))
    assert [os.path.basename(file.path) for file in files] == [
        "lib_rdc.so.1.fatbin", "lib_rdc.so.2.fatbin",
    ]  # fmt: skip
    for file in files:
        inner = fatbin.scan(file.path)
        assert inner.all_issues == ()
        assert [f"{entry.kind} {entry.arch}" for entry in inner.entries] == [
            "sass sm_80", "ptx compute_80", "sass sm_100f",
        ]  # fmt: skip


def test_a_container_of_a_bare_fatbin_is_the_file(tmp_path: Path) -> None:
    (file,), _ = extract("multi.fatbin", tmp_path / "out", form=Form(containers=True))
    assert Path(file.path).read_bytes() == (FIXTURES / "multi.fatbin").read_bytes()
    files, extraction = extract("saxpy_80.cubin", tmp_path / "out2", form=Form(containers=True))
    assert (files, extraction.selected) == ([], 0)


def test_a_large_container_is_copied_whole(tmp_path: Path) -> None:
    data = build([EntrySpec(kind=512, payload=os.urandom(3_000_001), arch=80)])
    (tmp_path / "x.so").write_bytes(elf(Section(".nv_fatbin", data)))
    (file,), _ = extract(tmp_path / "x.so", tmp_path / "out", form=Form(containers=True))
    assert Path(file.path).read_bytes() == data


def test_without_writing_everything_else_is_the_same(tmp_path: Path) -> None:
    written, _ = extract("lib_rdc.so", tmp_path / "out")
    said, _ = extract("lib_rdc.so", tmp_path / "out", form=Form(write=False))
    assert said == written
    extract("lib_rdc.so", tmp_path / "none", form=Form(write=False))
    assert not (tmp_path / "none").exists()


# Damage -------------------------------------------------------------------------------------------


def test_a_damaged_payload_does_not_stop_the_rest(tmp_path: Path) -> None:
    good = EntrySpec.cubin(CUBIN, compression="zstd")
    bad = good._replace(payload=b"\xff" * len(good.payload))
    (tmp_path / "x.fatbin").write_bytes(build([good, bad, good]))
    files, extraction = extract(tmp_path / "x.fatbin", tmp_path / "out")
    assert [file.entry for file in files] == [1, 3]
    assert [issue.code for issue in extraction.issues] == ["Decompression"]


def test_what_is_no_cubin_is_written_under_another_name(tmp_path: Path) -> None:
    payload = b"\x7fELG" + CUBIN[4:]
    (tmp_path / "x.fatbin").write_bytes(build([EntrySpec(kind=2, payload=payload, arch=80)]))
    (file,), extraction = extract(tmp_path / "x.fatbin", tmp_path / "out")
    assert os.path.basename(file.path) == "x.fatbin.1.1.sm_80.damaged.cubin.bin"
    assert Path(file.path).read_bytes() == payload
    assert [issue.code for issue in extraction.issues] == ["BadMagic"]


def test_members_that_cannot_be_read_do_not_stop_the_rest(tmp_path: Path) -> None:
    broken = CUBIN[:100]
    (tmp_path / "x.a").write_bytes(archive(("bad.cubin", broken), ("good.cubin", CUBIN)))
    files, extraction = extract(tmp_path / "x.a", tmp_path / "out")
    assert [file.library.rpartition("::")[2] for file in files] == ["good.cubin"]
    assert [issue.location.rpartition("::")[2] for issue in extraction.issues] == ["bad.cubin"]


def test_images_of_a_group_cannot_write_more_than_the_group(tmp_path: Path) -> None:
    """Members of a hostile group can all claim the whole of it."""
    from patching import patched

    from fatbin.format.layouts import GROUP_MEMBER

    member = EntrySpec.cubin(CUBIN)
    data = build([EntrySpec.group([member] * 3, "zstd")])
    first = 16 + 64 + 8
    for index in (1, 2):
        data = patched(
            data, GROUP_MEMBER, first + index * 64, image_offset=0, image_size=2 * len(CUBIN)
        )
    (tmp_path / "x.fatbin").write_bytes(data)
    files, extraction = extract(tmp_path / "x.fatbin", tmp_path / "out")
    assert sum(file.size for file in files) <= 3 * len(CUBIN)
    assert len(files) == 2
    assert ["together larger than the group" in issue.message for issue in extraction.issues] == [
        True
    ]


def test_a_group_that_does_not_inflate_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = EntrySpec.group([EntrySpec.cubin(CUBIN)] * 5, "zstd")
    (tmp_path / "x.fatbin").write_bytes(build([group._replace(payload=b"x" * len(group.payload))]))
    calls = []

    def counting(view: View, header: EntryHeader, limits: fatbin.Limits) -> bytes | bytearray:
        calls.append(header.offset)
        return read_payload(view, header, limits)

    monkeypatch.setattr("fatbin.scanning.payloads.read_payload", counting)
    files, extraction = extract(tmp_path / "x.fatbin", tmp_path / "out")
    assert (files, len(calls)) == ([], 1)
    assert [issue.code for issue in extraction.issues] == ["Decompression"]


# The folder ---------------------------------------------------------------------------------------


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    taken = tmp_path / "sm_80.fatbin.1.1.sm_80.cubin"
    taken.write_text("mine")
    extraction = Extraction(Folder(str(tmp_path)))
    assert list(extraction.run(str(FIXTURES / "sm_80.fatbin"))) == []
    assert [str(issue) for issue in extraction.issues] == [
        f"{taken}: exists already and was not overwritten"
    ]
    assert taken.read_text() == "mine"
    assert os.listdir(tmp_path) == [taken.name]
    forced = Extraction(Folder(str(tmp_path), force=True))
    assert len(list(forced.run(str(FIXTURES / "sm_80.fatbin")))) == 1
    assert taken.read_bytes() == CUBIN


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("dangling", [False, True])
def test_links_are_not_followed(tmp_path: Path, force: bool, dangling: bool) -> None:  # noqa: FBT001
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    folder.mkdir()
    if not dangling:
        outside.write_text("mine")
    link = folder / "sm_80.fatbin.1.1.sm_80.cubin"
    link.symlink_to(outside)
    extraction = Extraction(Folder(str(folder), force=force))
    files = list(extraction.run(str(FIXTURES / "sm_80.fatbin")))
    assert len(files) == force
    assert link.is_symlink() is not force
    assert outside.exists() is not dangling
    if not dangling:
        assert outside.read_text() == "mine"


def test_a_name_taken_between_look_and_write(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    folder.require_free("x")
    (tmp_path / "x").write_text("mine")
    with pytest.raises(fatbin.SourceError, match="exists already"):
        folder.write("x", [b"theirs"])
    assert (tmp_path / "x").read_text() == "mine"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("force", [False, True])
def test_a_file_is_whole_or_not_there(tmp_path: Path, force: bool) -> None:  # noqa: FBT001
    def chunks() -> object:
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Folder(str(tmp_path), force=force).write("x", chunks())  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []


def test_file_systems_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    folder = Folder(str(tmp_path))
    folder.write("x", [b"a", bytearray(b"b"), memoryview(b"c")])
    assert (tmp_path / "x").read_bytes() == b"abc"
    with pytest.raises(fatbin.SourceError, match="exists already"):
        folder.write("x", [b"theirs"])
    assert (tmp_path / "x").read_bytes() == b"abc"
    assert os.listdir(tmp_path) == ["x"]


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in ("file", "file/below"):
        extraction = Extraction(Folder(str(tmp_path / path)))
        with pytest.raises(fatbin.SourceError, match="cannot be written"):
            list(extraction.run(str(FIXTURES / "sm_80.fatbin")))
