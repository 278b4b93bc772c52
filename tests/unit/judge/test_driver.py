"""Drivers as a user names them."""

from __future__ import annotations

import pytest

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
