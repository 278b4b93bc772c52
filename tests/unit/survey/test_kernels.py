from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support import FIXTURES

import fatbin
from fatbin.format.build import EntrySpec, build
from fatbin.survey.kernels import KernelRow, kernels, missing

REAL = sorted(
    path
    for path in FIXTURES.iterdir()
    if path.suffix in (".fatbin", ".cubin", ".so", ".o", ".a", ".obj", ".lib")
    and not path.name.startswith(("hostile", "truncated"))
)


def rows(name: str, **options: bool) -> list[KernelRow]:
    return list(kernels(FIXTURES / name, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_every_cubin_of_the_inventory_is_opened(path: Path) -> None:
    """Each cubin of our sources holds at least one kernel, but those of empty.cu."""
    wanted = Counter(
        (library.location, entry.offset)
        for library in fatbin.scan(path, linkage=False).libraries
        for entry in library.entries
        if entry.kind == "sass"
    )
    found = {(row.location, row.offset) for row in kernels(path, relocatable=True, functions=True)}
    if path.name == "host_emptycu.o":
        assert not found
    else:
        assert found == set(wanted)


def test_finished_images_come_before_relocatable_ones() -> None:
    finished = rows("lib_rdc.so")
    assert {row.place for row in finished} == {fatbin.Place.LOADABLE}
    assert Counter(row.kernel.name for row in finished) == {"_Z2k1Pf": 2, "_Z2k2Pf": 2}
    everything = rows("lib_rdc.so", relocatable=True)
    assert len(everything) == 8
    objects = rows("host_rdc.o")
    assert {row.place for row in objects} == {fatbin.Place.RELOCATABLE}


def test_the_entry_knows_the_variant_better_than_the_image() -> None:
    assert {str(row.kernel.arch) for row in rows("sm_100f.fatbin")} == {"sm_100f"}


def test_device_functions_are_asked_for() -> None:
    assert [row.kernel.name for row in rows("devfunc_90.cubin")] == ["_Z2kkPf"]
    found = {row.kernel.name: row.kernel for row in rows("devfunc_90.cubin", functions=True)}
    assert not found["_Z4devff"].entry
    assert found["_Z4devff"].registers == 38


def test_ptx_gives_names() -> None:
    found = list(kernels(FIXTURES / "multi.fatbin", wanted=lambda entry: entry.kind == "ptx"))
    assert [(row.kind, str(row.kernel.arch), row.kernel.name) for row in found] == [
        ("ptx", "compute_90a", "saxpy"),
        ("ptx", "compute_100f", "saxpy"),
    ]


def test_missing() -> None:
    found = rows("multi.fatbin")
    assert missing(found, 90) == []
    assert missing(found, 120) == [("saxpy", ("sm_75", "sm_90a", "sm_100f"))]


def test_damage_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    cubin = (FIXTURES / "saxpy_80.cubin").read_bytes()
    path = tmp_path / "x.fatbin"
    good = EntrySpec.cubin(cubin)
    bad = good._replace(payload=cubin[:64] + b"\xff" * (len(cubin) - 64))
    path.write_bytes(build([bad, good.compressed("zstd")]))
    errors: list[fatbin.FatbinError] = []
    (row,) = kernels(path, report=errors.append)
    assert row.kernel.name == "saxpy"
    assert len(errors) == 1
    with pytest.raises(fatbin.FormatError):
        list(kernels(path))


def test_images_of_a_group_are_read_from_one_payload() -> None:
    assert sorted(str(row.kernel.arch) for row in rows("concat.fatbin")) == [
        "sm_100f",
        "sm_80",
        "sm_90a",
    ]
