"""Laws that hold for every row of the facts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from fatbin import Architecture, ComputeCapability
from fatbin.judge.facts.architectures import ARCHITECTURES, ArchitectureRow, row_of
from fatbin.judge.facts.gpus import GPUS, gpus_of
from fatbin.judge.facts.known_bad import KNOWN_BAD
from fatbin.judge.facts.nccl import BUILDS
from fatbin.judge.facts.sources import SOURCES
from fatbin.judge.facts.statements import STATEMENTS
from fatbin.judge.facts.toolkits import ERRORS, FLOORS, TOOLKITS, ZSTD, ToolkitRow
from fatbin.judge.facts.versions import version_numbers

ROWS: tuple[Any, ...] = (*ARCHITECTURES, *GPUS, *KNOWN_BAD, *BUILDS, *TOOLKITS, *FLOORS, ZSTD)
KNOWN = "2.0 2.1 3.0 3.2 3.5 3.7 5.0 5.2 5.3 6.0 6.1 6.2 7.0 7.2 7.5 8.0 8.6 8.7 8.8 8.9 9.0 10.0 10.1 10.3 10.7 11.0 12.0 12.1"


def test_every_row_has_known_sources() -> None:
    assert [row for row in ROWS if not row.sources or set(row.sources) - set(SOURCES)] == []


def test_every_source_is_used() -> None:
    rows = (*ROWS, *STATEMENTS.values())
    assert set(SOURCES) == {source for row in rows for source in row.sources}


def test_names_stand_once() -> None:
    assert len({row.name.lower() for row in GPUS}) == len(GPUS) > 250
    assert len({row.id for row in KNOWN_BAD}) == len(KNOWN_BAD)
    assert len(SOURCES) == len(set(SOURCES.values()))


# Architectures ------------------------------------------------------------------------------------


def test_architectures_are_in_order() -> None:
    assert [str(row.cc) for row in ARCHITECTURES] == KNOWN.split()
    assert all(row_of(row.cc) is row for row in ARCHITECTURES)
    assert row_of(ComputeCapability.parse("13.0")) is None


def test_integrated_parts_are_those_whose_code_stands_alone() -> None:
    assert [str(row.cc) for row in ARCHITECTURES if row.integrated] == [
        "3.2", "5.3", "6.2", "7.2", "8.7", "8.8", "10.1",
    ]  # fmt: skip


def test_classes_are_few() -> None:
    assert {row.device_class for row in ARCHITECTURES} == {
        "discrete", "data centre", "Tegra", "integrated", "unknown",
    }  # fmt: skip


@pytest.mark.parametrize("row", ARCHITECTURES, ids=lambda row: f"sm_{row.sm}")
def test_an_architecture_is_compiled_for_before_it_is_dropped(row: ArchitectureRow) -> None:
    first, last = version_numbers(row.first_toolkit), version_numbers(row.last_toolkit)
    assert len(first) == 2
    assert not last or first <= last
    assert row.last_driver is None or row.last_toolkit
    assert not (row.first_driver and row.last_driver) or row.first_driver < row.last_driver
    assert row.certain or row.note


@pytest.mark.parametrize("row", ARCHITECTURES, ids=lambda row: f"sm_{row.sm}")
def test_variants_make_architectures(row: ArchitectureRow) -> None:
    assert [str(Architecture(row.sm, variant)) for variant in row.variants] == [
        f"sm_{row.sm}{variant}" for variant in row.variants
    ]
    # Suffixes came with CUDA 12.0 and sm_90.
    assert bool(row.variants) == (row.sm >= 90)


def test_the_first_isa_is_read_by_the_first_driver() -> None:
    isa = {row.driver_branch: row.isa for row in TOOLKITS}
    for row in ARCHITECTURES:
        if row.first_driver is not None:
            newest = max(b for b in isa if b <= row.first_driver)
            assert version_numbers(row.first_ptx_isa) <= isa[newest], row.sm


# Toolkits -----------------------------------------------------------------------------------------


def test_toolkits_are_in_order() -> None:
    for older, newer in pairwise(TOOLKITS):
        assert older.cuda < newer.cuda
        assert older.driver_branch < newer.driver_branch
        assert older.isa < newer.isa or (older.toolkit, newer.toolkit) == ("12.5", "12.6")


@pytest.mark.parametrize("row", TOOLKITS, ids=lambda row: row.toolkit)
def test_paired_drivers_are_of_the_branch(row: ToolkitRow) -> None:
    branches = [row.driver_branch, *(other.driver_branch for other in TOOLKITS), 10_000]
    after = min(branch for branch in branches if branch > row.driver_branch)
    for driver in filter(None, (row.linux_driver, row.windows_driver)):
        assert row.driver_branch <= version_numbers(driver)[0] < after
    assert row.certain or row.note


@pytest.mark.parametrize(
    ("toolkit", "isa", "branch"),
    [
        ("9.0", "6.0", 384),
        ("11.0", "7.0", 450),
        ("11.8", "7.8", 520),
        ("12.0", "8.0", 525),
        ("12.5", "8.5", 555),
        ("12.6", "8.5", 560),
        ("12.7", "8.6", 565),
        ("12.8", "8.7", 570),
        ("13.0", "9.0", 580),
        ("13.4", "9.4", 615),
        ("13.5", "9.5", 620),
    ],
)
def test_some_toolkits(toolkit: str, isa: str, branch: int) -> None:
    (row,) = (row for row in TOOLKITS if row.toolkit == toolkit)
    assert (row.ptx_isa, row.driver_branch) == (isa, branch)


def test_uncertain_toolkits_are_marked() -> None:
    assert [row.toolkit for row in TOOLKITS if not row.certain] == ["9.1", "12.7", "13.4", "13.5"]


def test_floors_join() -> None:
    assert [(row.major, row.below_branch) for row in FLOORS] == [(11, 525), (12, 580), (13, None)]
    for row, after in pairwise(FLOORS):
        assert row.below_branch == version_numbers(after.linux_driver)[0]


def test_error_codes() -> None:
    assert list(ERRORS) == sorted(ERRORS)
    assert ERRORS[209].driver == "CUDA_ERROR_NO_BINARY_FOR_GPU"
    assert ERRORS[222].runtime == "cudaErrorUnsupportedPtxVersion"
    assert ERRORS[500].driver == "CUDA_ERROR_NOT_FOUND"
    assert (ZSTD.first_driver, ZSTD.code) == (550, 200)
    assert ZSTD.code in ERRORS
    assert [code for code, error in ERRORS.items() if not error.driver] == [35, 98]


# GPUs ---------------------------------------------------------------------------------------------


def test_every_gpu_has_an_architecture() -> None:
    assert [row.name for row in GPUS if row_of(row.cc) is None] == []


def test_every_architecture_but_two_has_gpus() -> None:
    assert [str(row.cc) for row in ARCHITECTURES if not gpus_of(row.cc)] == ["8.8", "10.1"]


def test_tegras_are_tegras() -> None:
    for row in GPUS:
        found = row_of(row.cc)
        assert found is not None
        assert (row.kind == "Tegra") == (found.device_class == "Tegra"), row.name
