"""Names of GPUs as people and nvidia-smi write them."""

from __future__ import annotations

import pytest

from fatbin import FatbinError, UnknownGpuError
from fatbin.judge.facts.gpus import find_gpu


@pytest.mark.parametrize(
    ("text", "name", "capability"),
    [
        ("NVIDIA H100 80GB HBM3", "H100", "9.0"),
        ("NVIDIA H100 PCIe", "H100", "9.0"),
        ("NVIDIA H100 NVL", "H100", "9.0"),
        ("NVIDIA H200", "H200", "9.0"),
        ("NVIDIA H20-3e", "H20", "9.0"),
        ("NVIDIA GH200 480GB", "GH200", "9.0"),
        ("NVIDIA GH200 144G HBM3e", "GH200", "9.0"),
        ("NVIDIA A100-SXM4-80GB", "A100", "8.0"),
        ("NVIDIA A100 80GB PCIe", "A100", "8.0"),
        ("A100-PCIE-40GB", "A100", "8.0"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100", "8.0"),
        ("GRID A100-4-20C", "A100", "8.0"),
        ("NVIDIA A40-48Q", "A40", "8.6"),
        ("NVIDIA A10G", "A10G", "8.6"),
        ("NVIDIA A800 40GB Active", "A800 40GB Active", "8.0"),
        ("NVIDIA A800-SXM4-80GB", "A800", "8.0"),
        ("Tesla T4", "T4", "7.5"),
        ("Tesla V100-SXM2-16GB", "V100", "7.0"),
        ("Tesla V100S-PCIE-32GB", "V100S", "7.0"),
        ("Tesla P100-PCIE-16GB", "P100", "6.0"),
        ("Tesla K80", "K80", "3.7"),
        ("Tesla K40m", "K40", "3.5"),
        ("NVIDIA B300 SXM6 AC", "B300", "10.3"),
        ("GB200 NVL72", "GB200", "10.0"),
        ("NVIDIA L40S", "L40S", "8.9"),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", "RTX 3060", "8.6"),
        ("NVIDIA GeForce RTX 4090 D", "RTX 4090 D", "8.9"),
        ("GeForce RTX(TM) 3080 Ti", "RTX 3080 Ti", "8.6"),
        ("NVIDIA® GeForce RTX™ 5090", "RTX 5090", "12.0"),
        ("GeForce GTX 1660 Ti with Max-Q Design", "GTX 1660 Ti", "7.5"),
        ("GeForce GTX 1060 6GB", "GTX 1060", "6.1"),
        ("gtx1080ti", "GTX 1080 Ti", "6.1"),
        ("rtx-4070-ti-super", "RTX 4070 Ti SUPER", "8.9"),
        ("5090", "RTX 5090", "12.0"),
        ("5090D", "RTX 5090 D", "12.0"),
        ("GTX 745", "GTX 745", "5.0"),
        ("GTX 750", "GTX 750", "5.0"),
        ("GTX 960", "GTX 960", "5.2"),
        ("GTX 960M", "GTX 960M", "5.0"),
        ("GTX 960 Mobile", "GTX 960M", "5.0"),
        ("GTX 1650", "GTX 1650", "7.5"),
        ("NVIDIA GeForce MX450", "MX450", "7.5"),
        ("GeForce MX 130", "MX130", "5.0"),
        ("GeForce GTX TITAN X", "GTX TITAN X", "5.2"),
        ("NVIDIA TITAN X (Pascal)", "TITAN X (Pascal)", "6.1"),
        ("TITAN Xp", "TITAN Xp", "6.1"),
        ("NVIDIA TITAN RTX", "TITAN RTX", "7.5"),
        ("Quadro RTX 6000", "Quadro RTX 6000", "7.5"),
        ("Quadro RTX 5000 with Max-Q Design", "Quadro RTX 5000", "7.5"),
        ("RTX A6000", "RTX A6000", "8.6"),
        ("A6000", "RTX A6000", "8.6"),
        ("NVIDIA RTX A2000 12GB", "RTX A2000", "8.6"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada Generation", "8.9"),
        ("RTX 6000 Ada 48GB", "RTX 6000 Ada Generation", "8.9"),
        ("Quadro RTX 6000 Ada", "RTX 6000 Ada Generation", "8.9"),
        ("NVIDIA RTX 5000 Ada Generation Laptop GPU", "RTX 5000 Ada Generation", "8.9"),
        ("NVIDIA RTX PRO 5000 Blackwell Generation Laptop GPU", "RTX PRO 5000 Blackwell", "12.0"),
        ("RTX PRO 5000", "RTX PRO 5000 Blackwell", "12.0"),
        (
            "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
            "RTX PRO 6000 Blackwell Max-Q Workstation Edition",
            "12.0",
        ),
        ("Orin (nvgpu)", "Jetson AGX Orin", "8.7"),
        ("Orin Nano", "Jetson Orin Nano", "8.7"),
        ("Xavier", "Jetson AGX Xavier", "7.2"),
        ("Jetson Nano", "Jetson Nano", "5.3"),
        ("NVIDIA Tegra X2", "Tegra X2", "6.2"),
        ("NVIDIA Thor", "Jetson AGX Thor", "11.0"),
        ("T5000", "Jetson T5000", "11.0"),
        ("NVIDIA GB10", "GB10", "12.1"),
        ("DGX Spark", "GB10", "12.1"),
        ("Rubin", "Vera Rubin", "10.7"),
    ],
)
def test_a_name_resolves(text: str, name: str, capability: str) -> None:
    row = find_gpu(text)
    assert (row.name, row.capability, str(row.cc)) == (name, capability, capability)


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("RTX 6000", ("Quadro RTX 6000 (7.5)", "RTX 6000 Ada Generation (8.9)")),
        ("NVIDIA RTX 5000", ("Quadro RTX 5000 (7.5)", "RTX 5000 Ada Generation (8.9)")),
        ("RTX 4000", ("Quadro RTX 4000 (7.5)", "RTX 4000 Ada Generation (8.9)")),
        ("Titan X", ("GTX TITAN X (5.2)", "TITAN X (Pascal) (6.1)")),
        ("Titan", ("GTX TITAN (3.5)", "TITAN RTX (7.5)")),
        ("GT 730", ("2.1", "3.5")),
        ("GeForce GTX 860M", ("3.0", "5.0")),
    ],
)
def test_an_ambiguous_name_is_an_error_with_the_candidates(
    text: str, candidates: tuple[str, ...]
) -> None:
    with pytest.raises(UnknownGpuError) as caught:
        find_gpu(text)
    assert repr(text) in str(caught.value)
    assert all(candidate in str(caught.value) for candidate in candidates)
    assert "compute capability" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "nearest"),
    [("RTX 9090", "RTX 5090"), ("NVIDIA H1000", "H100"), ("Jetson AGX Orion", "Jetson AGX Orin")],
)
def test_an_unknown_name_has_neighbours(text: str, nearest: str) -> None:
    with pytest.raises(UnknownGpuError) as caught:
        find_gpu(text)
    assert str(caught.value).startswith(f"no GPU is known as {text!r}; the nearest are ")
    assert nearest in str(caught.value)
    assert "fatbin gpus" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["", "NVIDIA", "Graphics Device", "MIG 1g.10gb", "80GB", "RTX", "Jetson", "banana"]
)
def test_no_name_is_no_gpu(text: str) -> None:
    with pytest.raises(UnknownGpuError, match="no GPU is known as") as caught:
        find_gpu(text)
    assert isinstance(caught.value, FatbinError)
    assert isinstance(caught.value, ValueError)
