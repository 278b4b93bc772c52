"""What makes two files differ, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hosts import Section, archive, elf
from images_made import docker_archive, file, tar
from packing import WHEEL, wheel, zipped
from support import FIXTURES

import fatbin
from fatbin.format.build import EntrySpec, build
from fatbin.survey.diff import compare
from fatbin.survey.differences import Diff, FactChange, LibraryDiff, Sizes

FILES = sorted(p for p in FIXTURES.iterdir() if p.is_file() and p.suffix != ".json")
CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
NEWER = (FIXTURES / "saxpy_90a.cubin").read_bytes()
PTX = (FIXTURES / "saxpy_80.ptx").read_text()


def written(folder: Path, name: str, data: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(data)
    return path


def only(diff: Diff) -> LibraryDiff:
    (library,) = diff.libraries
    return library


def archs(library: LibraryDiff) -> tuple[list[str], list[str]]:
    return [str(held.arch) for held in library.gained], [str(held.arch) for held in library.lost]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_does_not_differ_from_itself(path: Path) -> None:
    diff = compare(path, path, kernels=True)
    assert diff.libraries == ()
    assert not diff.differs


PAIRS = [
    ("lib_1arch.so", "lib_3arch.so"),
    ("lib_rdc.so", "multi.fatbin"),
    ("libmixed.a", "libstatic.a"),
    ("libnvcc.a", "lib_rdc.so"),
    ("concat.fatbin", "truncated.fatbin"),
    ("ptx_only.fatbin", "cuda11_ptxhdr72.fatbin"),
    ("host_nocuda.o", "host_1arch.o"),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_diff_the_other_way_round_is_the_mirror_image(first: str, second: str) -> None:
    there = compare(FIXTURES / first, FIXTURES / second, kernels=True)
    back = compare(FIXTURES / second, FIXTURES / first, kernels=True)
    assert there.libraries != ()
    assert there.libraries != back.libraries
    assert there.mirrored()._replace(issues=()) == back._replace(issues=())
    assert set(there.issues) == set(back.issues)
    assert there.mirrored().mirrored() == there


def test_architectures_gained_and_lost_by_kind_and_place() -> None:
    library = only(compare(FIXTURES / "lib_1arch.so", FIXTURES / "lib_3arch.so"))
    held = [(h.place, h.kind, str(h.arch)) for h in library.gained]
    assert held == [
        (fatbin.Place.LOADABLE, "sass", "sm_75"),
        (fatbin.Place.LOADABLE, "sass", "sm_90a"),
        (fatbin.Place.LOADABLE, "sass", "sm_120"),
    ]
    assert archs(library)[1] == ["sm_80", "compute_80"]
    assert library.sizes_before.file == (FIXTURES / "lib_1arch.so").stat().st_size


def test_the_same_code_compressed_or_grouped_otherwise_differs_in_size_only(tmp_path: Path) -> None:
    specs = [EntrySpec.cubin(CUBIN), EntrySpec.cubin(NEWER), EntrySpec.ptx(PTX)]
    plain = written(tmp_path, "plain", build(specs))
    others = {
        "compressed": build([spec.compressed(fatbin.Compression.ZSTD) for spec in specs]),
        "grouped": build([EntrySpec.group(specs, fatbin.Compression.ZSTD)]),
        "reordered": build(specs[::-1]) + bytes(64),
        "split": build(specs[:1]) + build(specs[1:]),
        "named": build([spec._replace(identifier="other.cu") for spec in specs]),
    }
    for name, data in others.items():
        diff = compare(plain, written(tmp_path, name, data), kernels=True)
        assert not diff.differs, name
        library = only(diff)
        assert library.sizes_before.file != library.sizes_after.file
        assert library.sizes_before.images == library.sizes_after.images == 3
        assert library.facts == ()


def test_ptx_of_another_version(tmp_path: Path) -> None:
    text = PTX.replace(".version 9.0", ".version 8.9")
    assert text != PTX
    both = written(tmp_path, "a", build([EntrySpec.ptx(PTX), EntrySpec.ptx(text)]))
    one = written(tmp_path, "b", build([EntrySpec.ptx(PTX)]))
    library = only(compare(both, one))
    (change,) = library.versions
    assert (str(change.held.arch), change.before, change.after) == (
        "compute_80",
        ("8.9", "9.0"),
        ("9.0",),
    )
    assert library.differs
    assert archs(library) == ([], [])


def test_kernels_are_compared_when_asked_for() -> None:
    first, second = FIXTURES / "saxpy_80.cubin", FIXTURES / "devfunc_80.cubin"
    assert not compare(first, second).differs
    diff = compare(first, second, kernels=True)
    assert diff.differs
    library = only(diff)
    assert [(k.name, k.archs, k.known) for k in library.kernels_lost] == [
        ("saxpy", ("sm_80",), False)
    ]
    assert [kernel.archs for kernel in library.kernels_gained] == [("sm_80",)]


def test_a_kernel_for_more_architectures_is_known() -> None:
    diff = compare(FIXTURES / "lib_1arch.so", FIXTURES / "lib_3arch.so", kernels=True)
    (kernel,) = only(diff).kernels_gained
    assert (kernel.name, kernel.archs, kernel.known) == (
        "saxpy",
        ("sm_75", "sm_90a", "sm_120"),
        True,
    )


def test_single_files_are_matched_whatever_their_names(tmp_path: Path) -> None:
    first = written(tmp_path, "libx-1.so", build([EntrySpec.cubin(CUBIN)]))
    second = written(tmp_path, "liby-2.so", build([EntrySpec.cubin(NEWER)]))
    library = only(compare(first, second))
    assert (library.before, library.after) == ("libx-1.so", "liby-2.so")
    assert archs(library) == (["sm_90a"], ["sm_80"])


def test_members_are_matched_by_name(tmp_path: Path) -> None:
    old, new = build([EntrySpec.cubin(CUBIN)]), build([EntrySpec.cubin(NEWER)])
    first = written(tmp_path, "a.a", archive(("x", old), ("y", old), ("gone", old)))
    second = written(tmp_path, "b.a", archive(("y", new), ("new", new), ("x", old)))
    diff = compare(first, second, kernels=True)
    assert diff.unchanged == 1
    assert [(library.before, library.after) for library in diff.libraries] == [
        ("gone", ""),
        ("", "new"),
        ("y", "y"),
    ]
    gone, came, _ = diff.libraries
    assert gone.sizes_after == came.sizes_before == Sizes(0, 0, 0, 0)
    assert [kernel.name for kernel in gone.kernels_lost] == ["saxpy"]
    assert [kernel.name for kernel in came.kernels_gained] == ["saxpy"]
    assert gone.facts == came.facts == ()


def test_members_of_one_name_are_matched_in_order(tmp_path: Path) -> None:
    old, new = build([EntrySpec.cubin(CUBIN)]), build([EntrySpec.cubin(NEWER)])
    other = build([EntrySpec.cubin((FIXTURES / "devfunc_80.cubin").read_bytes())])
    first = written(tmp_path, "a.a", archive(("x", old), ("x", new), ("x", old)))
    second = written(tmp_path, "b.a", archive(("x", old), ("x", new), ("x", other)))
    diff = compare(first, second, kernels=True)
    assert diff.unchanged == 2
    assert [kernel.name for kernel in only(diff).kernels_lost] == ["saxpy"]


def test_facts_of_the_host(tmp_path: Path) -> None:
    container = build([EntrySpec.cubin(CUBIN)])
    first = written(tmp_path, "a", elf(Section(".nv_fatbin", container), kind=1))
    second = written(tmp_path, "b", elf(Section(".nv_fatbin", container), kind=1, machine=183))
    diff = compare(first, second)
    assert only(diff).facts == (FactChange("machine", "x86_64", "aarch64"),)
    assert not diff.differs


def test_linkage_is_told() -> None:
    library = only(compare(FIXTURES / "host_1arch.o", FIXTURES / "lib_1arch.so"))
    facts = {fact.fact: (fact.before, fact.after) for fact in library.facts}
    assert facts["needed"] == ("", "libstdc++.so.6 libgcc_s.so.1 libc.so.6")


def test_damage_on_either_side_is_told() -> None:
    whole, damaged = FIXTURES / "multi.fatbin", FIXTURES / "truncated.fatbin"
    there, back = compare(whole, damaged), compare(damaged, whole)
    assert there.issues == back.issues != ()
    assert {issue.location for issue in there.issues} == {str(damaged)}


def test_the_runtime_is_told(tmp_path: Path) -> None:
    # An error name that only the runtime's own table holds stands for the runtime.
    data = [elf(Section(".rodata", text)) for text in (bytes(24), b"cudaErrorCudartUnloading")]
    first, second = (written(tmp_path, str(i), d) for i, d in enumerate(data))
    assert only(compare(first, second)).facts == (FactChange("cuda_runtime", "", "static"),)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(fatbin.SourceError):
        compare(FIXTURES / "multi.fatbin", tmp_path / "missing")


def library_of(*cubins: bytes) -> bytes:
    return elf(Section(".nv_fatbin", build([EntrySpec.cubin(cubin) for cubin in cubins])))


def test_two_wheels(tmp_path: Path) -> None:
    first = wheel(
        ("pkg.libs/libx-0123abcd.so", library_of(CUBIN)),
        ("pkg/_C.cpython-311-x86_64-linux-gnu.so", library_of(CUBIN)),
        ("pkg/gone.so", library_of(CUBIN)),
    )
    second = wheel(
        ("pkg.libs/libx-89ab4567.so", library_of(CUBIN, NEWER)),
        ("pkg/_C.cpython-312-x86_64-linux-gnu.so", library_of(CUBIN)),
        ("pkg/new.so", library_of(NEWER)),
    )
    old = written(tmp_path / "1", WHEEL, first)
    new = written(tmp_path / "2", WHEEL.replace("1.2.3", "1.3.0"), second)
    for kernels in (False, True):
        diff = compare(old, new, kernels=kernels)
        assert not diff.single
        assert diff.unchanged == 1
        assert [(x.before, x.after) for x in diff.libraries] == [
            ("pkg.libs/libx-0123abcd.so", "pkg.libs/libx-89ab4567.so"),
            ("pkg/gone.so", ""),
            ("", "pkg/new.so"),
        ]
        assert archs(diff.libraries[0]) == (["sm_90a"], [])
        assert [str(code.arch) for code in diff.summary.gained] == ["sm_90a"]
        assert diff.summary.lost == ()  # gone from one library only
        assert (diff.summary.libraries_before, diff.summary.libraries_after) == (3, 3)
        assert diff.mirrored() == compare(new, old, kernels=kernels)


def test_the_package_is_told_and_does_not_count(tmp_path: Path) -> None:
    data = library_of(CUBIN)
    old = written(tmp_path, "some-1.0-py3-none-any.whl", zipped(("a.so", data), ("b.so", data)))
    new = written(tmp_path, "some-1.1-py3-none-any.whl", zipped(("a.so", data), ("b.so", data)))
    diff = compare(old, new)
    assert not diff.differs
    assert {fact for x in diff.libraries for fact in x.facts} == {
        FactChange("package", "some 1.0", "some 1.1")
    }


def test_the_same_in_a_package_a_folder_an_environment_and_an_image(tmp_path: Path) -> None:
    path = "lib/python3.12/site-packages/"
    files = {path + "a.so": library_of(CUBIN), path + "p/b.so": library_of(NEWER)}
    folder = tmp_path / "env"
    for name, data in files.items():
        written_to = folder / name
        written_to.parent.mkdir(parents=True, exist_ok=True)
        written_to.write_bytes(data)
    targets = [
        str(written(tmp_path, "x.zip", zipped(*files.items()))),
        str(folder),
        f"env:{folder}",
        str(
            written(tmp_path, "image.tar", docker_archive(tar(*(file(*f) for f in files.items()))))
        ),
    ]
    for first in targets:
        for second in targets:
            for kernels in (False, True):
                diff = compare(first, second, kernels=kernels)
                assert diff.libraries == (), (first, second)
                assert diff.unchanged == 2


def test_ptx_versions_of_all_libraries(tmp_path: Path) -> None:
    newer = PTX.replace(".version 9.0", ".version 8.10")
    first = written(tmp_path, "a.zip", zipped(("x", build([EntrySpec.ptx(PTX)]))))
    second = written(
        tmp_path,
        "b.zip",
        zipped(("x", build([EntrySpec.ptx(newer)])), ("y", build([EntrySpec.ptx(PTX)]))),
    )
    summary = compare(first, second).summary
    assert (summary.versions_before, summary.versions_after) == (("9.0",), ("8.10", "9.0"))
    assert summary.gained == summary.lost == ()


def test_the_input_of_a_device_link_is_no_gain_of_the_target() -> None:
    diff = compare(FIXTURES / "lib_1arch.so", FIXTURES / "lib_rdc.so")
    relocatable = {str(h.arch) for h in only(diff).gained if h.place is fatbin.Place.RELOCATABLE}
    assert "compute_80" in relocatable
    assert [str(code.arch) for code in diff.summary.gained] == ["sm_100f"]
    assert [str(code.arch) for code in diff.summary.lost] == ["compute_80"]
