"""Kernels of real libraries: names as a driver enumerated them, resources as cuobjdump prints them."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import corpus
import pytest
from hopper import for_hopper
from res_usage import columns

import fatbin
from fatbin.survey.kernels import kernels

pytestmark = pytest.mark.real


class Driver(NamedTuple):
    """What an H200 with driver 580.159.04 enumerated in the containers of ``.nv_fatbin``.

    Attributes:
        wheel: the distribution.
        member: the library in it.
        kernels: counted container by container.
        names: sorted and unique, joined by newlines, SHA-256.
    """

    wheel: corpus.Wheel
    member: str
    kernels: int
    names: str


def wheel(name: str, version: str, platform: str = "manylinux_2_27_x86_64") -> corpus.Wheel:
    return corpus.Wheel(name, version, platform)


DRIVER = (
    Driver(
        wheel("nvidia-nccl-cu13", "2.28.9", "manylinux_2_18_x86_64"),
        "nvidia/nccl/lib/libnccl.so.2",
        87,
        "69e1d055ef7a21fca387268fa6458271f0e1f94658f97f1fe8d4397c8bd9accd",
    ),
    Driver(
        wheel("nvidia-curand", "10.4.0.35"),
        "nvidia/cu13/lib/libcurand.so.10",
        296,
        "48348b3656cc3c251aae7db6be2c0fef1d78890ecf4e014277014a76b1981019",
    ),
    Driver(
        wheel("nvidia-cusparse", "12.6.3.3", "manylinux2014_x86_64"),
        "nvidia/cu13/lib/libcusparse.so.12",
        4989,
        "232c0ed9fb47b95e8141e3efca0e4807045173acd8f5486e7c83028b426bb16e",
    ),
    Driver(
        wheel("nvidia-cublas", "13.1.0.3"),
        "nvidia/cu13/lib/libcublas.so.13",
        4137,
        "47eabfc9f4c7afabe8bdab0b1d5262b97e715e39b04c4683d421035deabdc3e7",
    ),
    Driver(
        wheel("nvidia-cublas", "13.1.0.3"),
        "nvidia/cu13/lib/libcublasLt.so.13",
        10626,
        "0678eb647063decbf3ff934100e3febf131c640c67bb9ec3e6af7bc18a7102a8",
    ),
)


@pytest.mark.parametrize("case", DRIVER, ids=lambda case: case.member.rsplit("/", 1)[-1])
def test_names_are_those_that_the_driver_enumerated(case: Driver) -> None:
    names: list[str] = []
    with fatbin.open(corpus.library(case.wheel, case.member)) as file:
        for container in file.containers():
            entry = for_hopper(container) if container.facts.section == ".nv_fatbin" else None
            if entry is not None:
                image = entry.image()
                assert isinstance(image, (fatbin.Cubin, fatbin.Ptx))
                names += image.kernel_names if isinstance(image, fatbin.Cubin) else image.entries
        assert file.issues == []
    assert len(names) == case.kernels
    joined = "\n".join(sorted(set(names))).encode()
    assert hashlib.sha256(joined).hexdigest() == case.names


@pytest.mark.parametrize(
    ("wheel", "member", "functions"),
    [
        (corpus.NCCL_2_29, "nvidia/nccl/lib/libnccl.so.2", 5880),
        (corpus.NCCL_2_32, "nvidia/nccl/lib/libnccl.so.2", 7268),
        (corpus.CUSPARSE, "nvidia/cusparse/lib/libcusparse.so.12", 68163),
    ],
)
def test_resources_are_those_that_cuobjdump_prints(
    cuobjdump: Path, wheel: corpus.Wheel, member: str, functions: int
) -> None:
    """All columns but one: cuobjdump prints REG:0 for device functions from SM 90 on."""
    path = corpus.library(wheel, member)
    printed = subprocess.run(
        [cuobjdump, "-res-usage", path], check=True, capture_output=True, text=True
    ).stdout
    wanted: Counter[tuple[str, str, frozenset[tuple[str, int]]]] = Counter()
    arch = name = ""
    for line in map(str.strip, printed.splitlines()):
        if line.startswith("arch = "):
            arch = line[7:]
        elif line.startswith("Function "):
            name = line[9:-1]
        elif line.startswith("REG:"):
            printed_columns = re.findall(r"([A-Z]+(?:\[\d+\])?):(\d+)", line)
            wanted[arch, name, frozenset((key, int(value)) for key, value in printed_columns)] += 1
    found: Counter[tuple[str, str, frozenset[tuple[str, int]]]] = Counter()
    for row in kernels(path, functions=True):
        kernel = row.kernel
        if row.place is not fatbin.Place.LOADABLE or kernel.arch is None:
            continue
        hidden = not kernel.entry and kernel.arch.number >= 90
        resources = columns(kernel) | ({"REG": 0} if hidden else {})
        found[str(kernel.arch), kernel.name, frozenset(resources.items())] += 1
    assert found == wanted
    assert found.total() == functions


def test_a_library_on_which_cuobjdump_dies() -> None:
    """Toolkit 12.2 wrote links of relocation sections that cuobjdump refuses."""
    path = corpus.library(corpus.NCCL_2_26, "nvidia/nccl/lib/libnccl.so.2")
    found = {row.kernel for row in kernels(path)}
    assert Counter(str(kernel.arch) for kernel in found) == {
        "sm_50": 50,
        "sm_60": 50,
        "sm_61": 50,
        "sm_70": 50,
        "sm_80": 50,
        "sm_90": 52,
    }
    assert all(kernel.registers and kernel.code_size for kernel in found)
