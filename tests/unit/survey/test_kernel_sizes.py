"""Machine code by kernel name, and what a library holds twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from hosts import archive
from support import FIXTURES

import fatbin
from fatbin.format.build import EntrySpec, build
from fatbin.format.images import Cubin
from fatbin.survey.kernel_sizes import LibraryKernels, kernel_sizes

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
NEWER = (FIXTURES / "saxpy_90a.cubin").read_bytes()
PTX = (FIXTURES / "saxpy_80.ptx").read_text()


def only(path: Path) -> LibraryKernels:
    (library,) = kernel_sizes(path)
    return library


def written(folder: Path, data: bytes) -> Path:
    path = folder / "file"
    path.write_bytes(data)
    return path


def code_size(cubin: bytes) -> int:
    return sum(kernel.code_size for kernel in Cubin(cubin).kernels)


def test_the_same_code_in_two_containers_is_a_duplicate(tmp_path: Path) -> None:
    data = build([EntrySpec.cubin(CUBIN)]) + build([EntrySpec.cubin(CUBIN, compression="zstd")])
    library = only(written(tmp_path, data))
    (kernel,) = library.kernels
    assert (kernel.name, kernel.archs, kernel.images) == ("saxpy", ("sm_80",), 2)
    assert kernel.code == 2 * code_size(CUBIN)
    assert (kernel.duplicates, kernel.duplicate_code) == (1, code_size(CUBIN))
    assert (library.code, library.duplicate_code) == (kernel.code, kernel.duplicate_code)


def test_other_architectures_and_changed_code_are_no_duplicates(tmp_path: Path) -> None:
    cubin = Cubin(CUBIN)
    text = next(section for section in cubin.sections if section.name == ".text.saxpy")
    changed = bytearray(CUBIN)
    changed[text.offset] ^= 1
    specs = [EntrySpec.cubin(data) for data in (CUBIN, bytes(changed), NEWER)]
    (kernel,) = only(written(tmp_path, build(specs))).kernels
    assert (kernel.images, kernel.duplicates, kernel.duplicate_code) == (3, 0, 0)
    assert kernel.archs == ("sm_80", "sm_90a")
    assert kernel.code == 2 * code_size(CUBIN) + code_size(NEWER)


def test_images_of_groups_are_opened() -> None:
    library = only(FIXTURES / "concat.fatbin")
    assert library.images == 3
    (kernel,) = library.kernels
    assert kernel.archs == ("sm_80", "sm_90a", "sm_100f")


def test_ptx_has_no_machine_code(tmp_path: Path) -> None:
    library = only(written(tmp_path, build([EntrySpec.ptx(PTX)])))
    assert (library.images, library.kernels, library.code) == (0, (), 0)


def test_device_functions_are_counted_by_themselves() -> None:
    library = only(FIXTURES / "lib_rdc.so")
    assert [(kernel.name, kernel.images, kernel.code) for kernel in library.kernels] == [
        ("_Z2k1Pf", 4, 1_536),
        ("_Z2k2Pf", 4, 1_536),
    ]
    # helper() of fixtures/src/rd2.cu: 256 bytes in two linked and two relocatable images.
    assert (library.functions, library.function_code) == (4, 1_024)


@pytest.mark.parametrize("name", ["multi.fatbin", "lib_3arch.so", "libstatic.a"])
def test_code_is_that_of_the_images(name: str) -> None:
    total = 0
    with fatbin.open(FIXTURES / name) as opened:
        for container in opened.containers():
            for entry in container.entries:
                if entry.facts.kind == "sass":
                    total += code_size(bytes(entry.read()))
    assert total > 0
    assert sum(library.code for library in kernel_sizes(FIXTURES / name)) == total


def test_members_without_sass_are_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, archive(("a.ptx", PTX.encode()), ("b.cubin", CUBIN)))
    (library,) = kernel_sizes(path)
    assert library.location == f"{path}::b.cubin"


def test_a_damaged_image_is_told_and_the_rest_is_counted(tmp_path: Path) -> None:
    damaged = EntrySpec(kind=2, payload=b"no cubin" * 9, arch=80)
    path = written(tmp_path, build([damaged, EntrySpec.cubin(CUBIN)]))
    library = only(path)
    assert library.images == 1
    (issue,) = library.issues
    assert issue.location == str(path)
    assert issue.message.startswith("cubin of entry at 0x10: expected an ELF magic")


def test_a_payload_that_does_not_inflate_is_told() -> None:
    library = only(FIXTURES / "hostile_usz_small.fatbin")
    assert library.images == 0
    assert library.issues
