"""What NCCL is built for, and which libraries are known to fail where."""

from __future__ import annotations

import pytest

from fatbin import ComputeCapability
from fatbin.judge.facts.known_bad import KNOWN_BAD, KnownBad, matching
from fatbin.judge.facts.nccl import expected_architectures, first_build_with
from fatbin.judge.facts.versions import version_numbers


@pytest.mark.parametrize(
    ("version", "cuda", "archs"),
    [
        ("2.12.7", "10.2", "sm_35 sm_50 sm_60 sm_61 sm_70 compute_70"),
        ("2.12.12", "11.7", "sm_35 sm_50 sm_60 sm_61 sm_70 sm_80 compute_80"),
        ("2.14.3", "11.8", "sm_35 sm_50 sm_60 sm_61 sm_70 sm_80 compute_80"),
        ("2.15.1", "12.0", "sm_35 sm_50 sm_60 sm_61 sm_70 sm_80 sm_90 compute_90"),
        ("2.16.2", "11.8", "sm_35 sm_50 sm_60 sm_61 sm_70 sm_80 sm_90 compute_90"),
        ("2.26.2", "12.2", "sm_50 sm_60 sm_61 sm_70 sm_80 sm_90 compute_90"),
        ("2.24.3", "12.8", "sm_50 sm_60 sm_61 sm_70 sm_80 sm_90 compute_90"),
        ("2.25.1", "12.8", "sm_50 sm_60 sm_61 sm_70 sm_80 sm_90 sm_100 sm_120 compute_120"),
        ("2.27.3", "13.0", "sm_80 sm_90 sm_100 sm_120 compute_120"),
        ("2.27.7", "13.0", "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120"),
        ("2.28.9", "12.4", "sm_60 sm_61 sm_70 sm_80 sm_90 compute_90"),
        ("2.29.7", "12.9", "sm_60 sm_61 sm_70 sm_80 sm_90 sm_100 sm_120 compute_120"),
        ("2.32.3", "13.4", "sm_75 sm_80 sm_90 sm_100 sm_107 sm_110 sm_120 compute_120"),
        ("2.8.3", "11.0", ""),
        ("", "12.2", ""),
        ("2.26.2", "", ""),
    ],
)
def test_architectures_of_a_build(version: str, cuda: str, archs: str) -> None:
    assert " ".join(map(str, expected_architectures(version, cuda))) == archs


@pytest.mark.parametrize(
    ("cc", "words"),
    [
        ("3.5", "NCCL 2.12 or later and before 2.28 built by CUDA before 12.0"),
        ("5.3", ""),
        ("7.0", "NCCL 2.12 or later built by CUDA before 13.0"),
        ("7.5", "NCCL 2.12 or later"),
        ("8.7", ""),
        ("9.0", "NCCL 2.15 or later built by CUDA 11.8 or later"),
        ("10.3", "NCCL 2.27.3 or later built by CUDA 13.0 or later"),
        ("10.7", "NCCL 2.32 or later built by CUDA 13.4 or later"),
        ("11.0", "NCCL 2.27.5 or later built by CUDA 13.0 or later"),
        ("12.0", "NCCL 2.26 or later built by CUDA 12.8 or later"),
        ("12.1", "NCCL 2.27.3 or later built by CUDA 13.0 or later"),
        ("13.0", ""),
    ],
)
def test_the_first_build_that_has_code(cc: str, words: str) -> None:
    assert first_build_with(ComputeCapability.parse(cc)) == words


@pytest.mark.parametrize(
    ("library", "version", "cuda", "cc", "ids"),
    [
        ("libnccl.so.2", "2.26.2", "12.2", "12.0", ["KB-NCCL-1"]),
        ("libnccl.so.2", "2.27.5", "12.4", "12.1", ["KB-NCCL-1"]),
        ("libnccl.so.2", "2.31.2", "12.9", "12.0", []),
        ("libnccl.so.2", "2.26.2", "12.8", "12.0", []),
        ("libnccl.so.2", "2.26.2", "12.2", "9.0", []),
        ("libnccl.so.2", "2.25.1", "12.8", "12.0", ["KB-NCCL-2"]),
        ("libnccl.so.2", "2.25.1", "12.8", "12.1", []),
        ("libnccl.so.2", "2.25.1", "12.4", "12.0", ["KB-NCCL-1", "KB-NCCL-2"]),
        ("libnccl.so.2", "2.26.0", "12.8", "12.0", []),
        ("libnccl.so", "2.21.5", "12.4", "12.0", ["KB-NCCL-1"]),
        ("libnccl_static.a", "2.26.2", "12.2", "12.0", []),
        ("libcudnn.so.9", "2.26.2", "12.2", "12.0", []),
        ("libnccl.so.2", "", "", "12.0", []),
        ("libnccl.so.2", "", "12.2", "12.0", ["KB-NCCL-1"]),
        ("libnccl.so.2", "2.25.1", "", "12.0", ["KB-NCCL-2"]),
    ],
)
def test_known_faults(library: str, version: str, cuda: str, cc: str, ids: list[str]) -> None:
    found = matching(library, version, cuda, ComputeCapability.parse(cc))
    assert [row.id for row in found] == ids


@pytest.mark.parametrize("row", KNOWN_BAD, ids=lambda row: str(row.id))
def test_the_remedy_of_nccl_is_the_first_good_build(row: KnownBad) -> None:
    assert row.remedy == first_build_with(ComputeCapability(12, 0))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("2.26.2", (2, 26, 2)), ("12.2", (12, 2)), ("", ()), ("2.x", ()), ("\u0662", ())],
)
def test_versions_as_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert version_numbers(text) == numbers
