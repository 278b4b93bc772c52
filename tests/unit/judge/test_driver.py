"""Drivers as a user names them."""

from __future__ import annotations

import pytest
from support import FIXTURES

import fatbin
from fatbin import DriverError, FatbinError
from fatbin.judge.driver import (
    Driver,
    minimum_driver_for_isa,
    minimum_driver_for_toolkit_major,
)


@pytest.mark.parametrize(
    ("text", "branch", "cuda", "isa"),
    [
        ("340", 340, (6, 5), (4, 1)),
        ("345", 340, (6, 5), (4, 1)),
        ("390.157", 390, (9, 1), (6, 1)),
        ("450.80.02", 450, (11, 0), (7, 0)),
        ("474.44", 470, (11, 4), (7, 4)),
        ("535", 535, (12, 2), (8, 2)),
        ("551.61", 550, (12, 4), (8, 4)),
        ("560", 560, (12, 6), (8, 5)),
        ("565", 565, (12, 7), (8, 6)),
        ("570", 570, (12, 8), (8, 7)),
        ("r570", 570, (12, 8), (8, 7)),
        (" 570.124.06 ", 570, (12, 8), (8, 7)),
        ("572.16", 570, (12, 8), (8, 7)),
        ("576.02", 575, (12, 9), (8, 8)),
        ("580.159.04", 580, (13, 0), (9, 0)),
        ("582", 580, (13, 0), (9, 0)),
        ("616", 615, (13, 4), (9, 4)),
        ("CUDA 12.8", 570, (12, 8), (8, 7)),
        ("cuda12.6", 560, (12, 6), (8, 5)),
        ("cuda-13.0", 580, (13, 0), (9, 0)),
        ("CUDA 12.8.1", 570, (12, 8), (8, 7)),
    ],
)
def test_a_driver_is_read(
    text: str, branch: int, cuda: tuple[int, int], isa: tuple[int, int]
) -> None:
    driver = Driver.parse(text)
    assert (driver.branch, driver.cuda, driver.ptx_isa) == (branch, cuda, isa)
    assert not driver.newer_than_table
    assert str(driver) == driver.text == text.strip()
    assert Driver.parse(driver) is driver


@pytest.mark.parametrize(
    ("text", "branch"),
    [("621", 621), ("700.10", 700), ("9999", 9999), ("CUDA 13.6", 620), ("CUDA 14.0", 620)],
)
def test_a_driver_beyond_the_table_is_of_the_newest_row_and_says_so(text: str, branch: int) -> None:
    driver = Driver.parse(text)
    assert driver.newer_than_table
    assert not driver.certain
    assert (driver.cuda, driver.ptx_isa) == ((13, 5), (9, 5))
    assert driver.branch == branch


@pytest.mark.parametrize(("text", "certain"), [("570", True), ("565", False), ("CUDA 13.5", False)])
def test_certainty_is_that_of_the_row(text: str, certain: bool) -> None:  # noqa: FBT001
    assert Driver.parse(text).certain is certain


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("banana", "expected a driver such as 570.124 or CUDA 12.8"),
        ("", "expected a driver such as 570.124 or CUDA 12.8"),
        ("-1", "expected a driver such as 570.124 or CUDA 12.8"),
        ("570.x", "expected a driver such as 570.124 or CUDA 12.8"),
        ("570.", "expected a driver such as 570.124 or CUDA 12.8"),
        ("57\uff10", "expected a driver such as 570.124 or CUDA 12.8"),
        ("12345", "expected a driver such as 570.124 or CUDA 12.8"),
        ("CUDA 12", "expected a driver such as 570.124 or CUDA 12.8"),
        ("12.8", "which looks like a CUDA version"),
        ("13", "which looks like a CUDA version"),
        ("339.99", "expected a driver of branch 340 or later"),
        ("100", "expected a driver of branch 340 or later"),
        ("CUDA 10.5", "no driver is known of the CUDA version"),
        ("CUDA 5.0", "no driver is known of the CUDA version"),
    ],
)
def test_what_is_no_driver(text: str, message: str) -> None:
    with pytest.raises(DriverError) as caught:
        Driver.parse(text)
    assert message in str(caught.value)
    assert repr(text) in str(caught.value)
    assert "CUDA" in caught.value.hint
    assert isinstance(caught.value, FatbinError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("isa", "branch"),
    [
        ((1, 4), 340),
        ((8, 0), 525),
        ((8, 5), 555),
        ((8, 6), 565),
        ((8, 7), 570),
        ((9, 1), 590),
        ((9, 5), 620),
        ((9, 6), None),
        ((10, 0), None),
    ],
)
def test_the_first_driver_for_an_isa(isa: tuple[int, int], branch: int | None) -> None:
    assert minimum_driver_for_isa(isa) == branch


@pytest.mark.parametrize(
    ("major", "driver"), [(10, ""), (11, "450.80.02"), (12, "525.60.13"), (13, "580"), (14, "")]
)
def test_the_first_driver_for_a_major_version(major: int, driver: str) -> None:
    assert minimum_driver_for_toolkit_major(major) == driver


@pytest.mark.parametrize(
    ("branch", "cuda", "text", "known", "reads"),
    [
        ("580.159.04", "13.0", "580.159.04", 580, (13, 0)),
        ("535.183.01", "13.0", "535.183.01 with libcuda of CUDA 13.0", 535, (13, 0)),
        ("570.124", "12.4", "570.124 with libcuda of CUDA 12.4", 570, (12, 4)),
        ("", "12.8", "CUDA 12.8", 570, (12, 8)),
        ("550.54.14", "", "550.54.14", 550, (12, 4)),
    ],
)
def test_a_machines_driver_is_its_kernels_and_its_libcuda(
    branch: str, cuda: str, text: str, known: int, reads: tuple[int, int]
) -> None:
    driver = Driver.of(branch, cuda)
    assert (str(driver), driver.branch, driver.cuda) == (text, known, reads)
    assert not driver.newer_than_table
    assert driver.certain


@pytest.mark.parametrize(("branch", "cuda"), [("565.57", "12.4"), ("570.124", "12.7")])
def test_a_machines_driver_is_as_certain_as_both_of_its_rows(branch: str, cuda: str) -> None:
    assert not Driver.of(branch, cuda).certain


def test_libcuda_decides_what_is_read_and_the_kernel_which_gpus_there_are() -> None:
    compat = Driver.of("535.183.01", "13.0")
    assert (compat.ptx_isa, compat.reader, compat.reading_branch) == ((9, 0), 580, 580)
    assert Driver.parse("535").reading_branch == 535
    zstd = fatbin.scan(FIXTURES / "cmode_size.fatbin").libraries[0].modules[0]
    assert {str(entry.compression) for entry in zstd.entries} == {"zstd"}
    arch = next(entry.arch for entry in zstd.entries if entry.kind == "sass" and entry.arch)
    device = arch.compute_capability
    assert fatbin.choose(zstd, device, Driver.parse("535")).code == 200
    assert fatbin.choose(zstd, device, compat).code == 0
    blackwell = fatbin.ComputeCapability(12, 0)
    assert fatbin.choose(zstd, blackwell, compat).code == 100


@pytest.mark.parametrize(
    ("cuda", "found", "newer"),
    [("14.2", (13, 5), True), ("13.0", (13, 0), False), ("11.9", (11, 8), False)],
)
def test_a_libcuda_between_or_beyond_known_ones(
    cuda: str,
    found: tuple[int, int],
    newer: bool,  # noqa: FBT001 - a column
) -> None:
    driver = Driver.of("", cuda)
    assert (driver.cuda, driver.newer_than_table, driver.certain) == (found, newer, not newer)


@pytest.mark.parametrize("wrong", ["13", "x.y", "5.0", "\u0661\u0663.0"])
def test_what_is_no_cuda_version_is_refused(wrong: str) -> None:
    with pytest.raises(DriverError):
        Driver.of("580", wrong)


def test_a_machine_that_says_nothing_is_refused() -> None:
    with pytest.raises(DriverError):
        Driver.of("", "")
