"""Which libraries of two builds belong together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fatbin.survey.matching import Place, match, plain_name, plain_path


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("libfoo-aa62252d.so", "libfoo.so"),
        ("libgfortran-040039e1.so.5.0.0", "libgfortran.so"),
        ("libcublas.so.12", "libcublas.so"),
        ("libnccl.so.2.26.2", "libnccl.so"),
        ("libopencv-4.8.so", "libopencv.so"),
        ("_C.cpython-312-x86_64-linux-gnu.so", "_C.so"),
        ("_C.cpython-313t-aarch64-linux-gnu.so", "_C.so"),
        ("_C.abi3.so", "_C.so"),
        ("_C.cp312-win_amd64.pyd", "_C.pyd"),
        ("_C.pypy310-pp73-x86_64-linux-gnu.so", "_C.so"),
        ("cublas64_12.dll", "cublas64.dll"),
        ("nvrtc64_120_0.dll", "nvrtc64.dll"),
        ("nvidia_nccl_cu12-2.26.2-py3-none-manylinux2014_x86_64.whl", "nvidia_nccl_cu.whl"),
        (
            "libbitsandbytes_cuda128.so",
            "libbitsandbytes_cuda128.so",
        ),  # one of several, not a version
        ("saxpy_80.cubin", "saxpy_80.cubin"),
        ("kernel-1.2.cubin", "kernel-1.2.cubin"),
        ("libm_sm80.so", "libm_sm80.so"),
        ("vacuum13.so", "vacuum13.so"),
    ],
)
def test_names_without_versions(name: str, plain: str) -> None:
    assert plain_name(name) == plain


def test_every_part_of_a_path_loses_its_version() -> None:
    first = "lib/python3.11/site-packages/nvidia/cu12/lib/libx.so.12"
    second = "lib/python3.13t/site-packages/nvidia/cu13/lib/libx.so.13"
    assert (
        plain_path(first) == plain_path(second) == "lib/python/site-packages/nvidia/cu/lib/libx.so"
    )
    assert plain_path("x_cu12-1.0-py3-none-any.whl::a/b.so.1") == "x_cu.whl/a/b.so"


def pairs(first: list[str], second: list[str]) -> list[tuple[str, str]]:
    sides = [[Place(path, path.rpartition("/")[2]) for path in side] for side in (first, second)]
    return sorted(
        (sides[0][a].path if a >= 0 else "", sides[1][b].path if b >= 0 else "")
        for a, b in match(sides[0], sides[1])
    )


def test_the_same_path_comes_before_everything() -> None:
    first, second = ["a/libx.so.1", "b/libx.so.1"], ["b/libx.so.1", "a/libx.so.2"]
    assert pairs(first, second) == [("a/libx.so.1", "a/libx.so.2"), ("b/libx.so.1", "b/libx.so.1")]


def test_what_has_moved_is_found_by_its_name() -> None:
    first = ["nvidia/cublas/lib/libcublas.so.12", "x/same.so"]
    second = ["nvidia/cu13/lib/libcublas.so.13", "x/same.so"]
    assert pairs(first, second)[0] == (first[0], second[0])


def test_what_has_moved_must_be_the_only_one_of_its_name() -> None:
    first, second = ["a/_C.so", "b/_C.so"], ["c/_C.so", "d/_C.so"]
    assert pairs(first, second) == [
        ("", "c/_C.so"),
        ("", "d/_C.so"),
        ("a/_C.so", ""),
        ("b/_C.so", ""),
    ]


def test_code_for_two_architectures_is_not_one_file() -> None:
    assert ("k/saxpy_80.cubin", "") in pairs(["k/saxpy_80.cubin", "z"], ["k/saxpy_90.cubin", "z"])


def test_several_of_one_path_are_taken_in_order() -> None:
    sides = [Place("x", "x")] * 2, [Place("x", "x")] * 3
    assert match(*sides) == [(0, 0), (1, 1), (-1, 2)]


def test_one_and_one_are_compared_whatever_they_are_called() -> None:
    assert match([Place("a", "a")], [Place("b", "c")]) == [(0, 0)]
    assert match([], [Place("b", "c")]) == [(-1, 0)]


NAMES = st.sampled_from(["a/x.so.1", "a/x.so.2", "b/x.so.1", "x.so", "y-0123abcd.so", "y.so"])
SIDES = st.lists(st.builds(Place, NAMES, NAMES), max_size=6)


@given(SIDES, SIDES)
def test_each_library_is_told_once_and_from_both_sides_alike(
    first: list[Place], second: list[Place]
) -> None:
    found = match(first, second)
    assert sorted(a for a, _ in found if a >= 0) == list(range(len(first)))
    assert sorted(b for _, b in found if b >= 0) == list(range(len(second)))
    assert sorted((b, a) for a, b in match(second, first)) == sorted(found)
