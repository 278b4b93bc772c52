"""Every target on every device: SASS for two generations of drivers, PTX."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made import entry

from fatbin.arch import Architecture, ComputeCapability
from fatbin.inventory import Module
from fatbin.judge.driver import Driver
from fatbin.judge.loader import choose
from fatbin.judge.serving import MASK_BITS, ptx_serves, sass_serves
from fatbin.kinds import Place

MATRICES: dict[str, Any] = json.loads((Path(__file__).parent / "matrices.json").read_text())
LETTERS = {"yes": "Y", "no": ".", "likely": "L", "unsure": "?"}
CUDA = {"driver_13.2_or_later": (13, 2), "driver_before_13.2": (13, 1)}
MASKS = {"sm_100": 0x09, "sm_100f": 0x09, "sm_120": 0x50, "sm_120f": 0x50}
"""What ptxas 13 writes; 0 for every other target from SM 100 on."""


def mask(target: str) -> int | None:
    arch = Architecture.parse(target)
    return MASKS.get(target, 0) if arch.number >= 100 else None


@pytest.mark.parametrize("generation", sorted(MATRICES["sass"]))
def test_sass(generation: str) -> None:
    matrix = MATRICES["sass"][generation]
    devices = [ComputeCapability.parse(text) for text in matrix["devices"]]
    for target, wanted in matrix["rows"].items():
        code = Architecture.parse(target)
        for told in (mask(target), None):
            toolkit = "13.0" if told is None else ""
            got = "".join(
                LETTERS[
                    sass_serves(
                        code, device, CUDA[generation], mask=told, toolkit=toolkit
                    ).certainty.value
                ]
                for device in devices
            )
            assert got == wanted, target


def test_ptx() -> None:
    matrix = MATRICES["ptx"]
    devices = [ComputeCapability.parse(text) for text in matrix["devices"]]
    for target, wanted in matrix["rows"].items():
        code = Architecture.parse(target.replace("sm_", "compute_"))
        got = "".join(LETTERS[ptx_serves(code, device).certainty.value] for device in devices)
        assert got == wanted, target


def test_masks_are_those_of_the_known_bits() -> None:
    named = {
        target: {str(cc) for cc, bit in MASK_BITS.items() if value & bit}
        for target, value in MASKS.items()
    }
    assert named["sm_100"] == {"10.0", "10.3"}
    assert named["sm_120"] == {"12.0", "12.1"}


@pytest.mark.parametrize(
    ("code", "device", "trap"),
    [
        ("sm_100", "12.0", "the number is lower and the name is Blackwell too"),
        ("sm_103f", "10.0", "the family is the same"),
        ("sm_86", "8.7", "the minor version is lower, but 8.7 is Tegra"),
        ("sm_86", "8.0", "the major version is the same"),
        ("sm_90", "10.0", "compiled for less"),
        ("compute_120", "9.0", "PTX goes upwards only"),
        ("compute_90a", "10.0", "PTX with a suffix does not go anywhere"),
        ("sm_120a", "12.1", "the same family and major version"),
        ("sm_121", "12.0", "SASS goes upwards only"),
        ("sm_100", "11.0", "11.0 is another major version"),
        ("sm_10", "10.0", "sm_10 is 1.0: every digit but the last is the major version"),
    ],
)
def test_folk_rules_are_refused(code: str, device: str, trap: str) -> None:
    """With a driver of CUDA 13.0, which is before 8.7 may take code for 8.6."""
    module = Module(place=Place.LOADABLE, form="container", entries=(entry(code),))
    choice = choose(module, ComputeCapability.parse(device), Driver.parse("CUDA 13.0"))
    assert not choice.serves, trap
    assert choice.code == 209


def test_the_union_of_a_file_decides_nothing() -> None:
    """Two modules: together they name 8.0 and 9.0, and each serves one of the two only."""
    one = Module(place=Place.LOADABLE, form="container", entries=(entry("sm_80"),))
    other = Module(place=Place.LOADABLE, form="container", entries=(entry("sm_90"),))
    for device in ("8.0", "9.0"):
        answers = [choose(m, ComputeCapability.parse(device)).serves for m in (one, other)]
        assert sorted(answers) == [False, True]
