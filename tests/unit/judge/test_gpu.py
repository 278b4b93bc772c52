"""Which GPUs a user means."""

from __future__ import annotations

import pytest

from fatbin import ArchitectureError, ComputeCapability, UnknownGpuError
from fatbin.judge.gpu import Gpu, parse_gpus

CC = ComputeCapability.parse


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("12.0", "12.0"),
        ("90", "9.0"),
        ("sm_120 sm_80", "12.0|8.0"),
        ("SM_90 sm89", "9.0|8.9"),
        ("8.0 9.0", "8.0|9.0"),
        ("8.0,9.0;12.0\n12.1", "8.0|9.0|12.0|12.1"),
        (" RTX 5090 , 9.0,", "RTX 5090 (12.0)|9.0"),
        ("NVIDIA GeForce RTX 5090", "RTX 5090 (12.0)"),
        ("980", "GTX 980 (5.2)"),
        ("5090", "RTX 5090 (12.0)"),
        ("13.0 sm_130", "13.0"),
        ("8.0, RTX 5090, sm_80, GeForce RTX 5090", "8.0|RTX 5090 (12.0)"),
        (
            ["H100", CC("8.0"), Gpu("mine", CC("9.0")), "8.6 8.9"],
            "H100 (9.0)|8.0|mine (9.0)|8.6|8.9",
        ),
        (CC("8.0"), "8.0"),
        (Gpu("", CC("8.0")), "8.0"),
    ],
)
def test_what_is_read(given: str, printed: str) -> None:
    assert "|".join(map(str, parse_gpus(given))) == printed


@pytest.mark.parametrize("text", ["compute_90", "sm_90a", "9.0+PTX", "9.0a", "lto_90", "8.0 90f"])
def test_architectures_of_code_are_no_gpus(text: str) -> None:
    with pytest.raises(ArchitectureError, match="is an architecture of code") as caught:
        parse_gpus(text)
    assert caught.value.hint == "write the GPU's compute capability: 9.0"


@pytest.mark.parametrize("given", ["", " , ;", [], ["", " "]])
def test_nothing_is_an_error(given: str) -> None:
    with pytest.raises(ArchitectureError, match=r"expected GPUs such as 9\.0 or RTX 5090"):
        parse_gpus(given)


@pytest.mark.parametrize(
    "text", ["\u0669.\u0660", "sm_\uff11\uff12\uff10", "RTX \uff15090", "\xb2"]
)
def test_other_digits_are_refused(text: str) -> None:
    with pytest.raises(ArchitectureError, match="digits 0 to 9"):
        parse_gpus(text)


@pytest.mark.parametrize(("text", "meant"), [("78", "7.8"), ("130", "13.0")])
def test_a_number_that_is_no_known_architecture(text: str, meant: str) -> None:
    with pytest.raises(UnknownGpuError) as caught:
        parse_gpus(text)
    assert caught.value.hint == f"if compute capability {meant} is meant, write {meant}"


@pytest.mark.parametrize("text", ["banana", "9", "RTX 5090 9.0", "9.0.1", "sm_", "-1", "8,9"])
def test_no_gpu(text: str) -> None:
    with pytest.raises(UnknownGpuError):
        parse_gpus(text)
