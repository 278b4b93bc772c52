"""The choice for devices that nobody here has, against nvJitLink, which links for any.

PTX alone and in pairs, both orders; SASS alone and beside PTX; images in groups.
"""

from __future__ import annotations

from itertools import permutations, product

import corpus
import pytest
from corpus import Wheel
from nvjitlink import NvJitLink
from support import FIXTURES

import fatbin
from fatbin import Certainty, Choice, ComputeCapability, EntrySpec, build
from fatbin.format.build import read_specs
from fatbin.judge.driver import Driver
from fatbin.judge.loader import choose
from fatbin.kinds import EntryKind

pytestmark = pytest.mark.real
MEMBER = "nvidia/cu13/lib/libnvJitLink.so.13"
PLATFORM = "manylinux_2_12_x86_64"
WHEELS = {
    "13.0": Wheel("nvidia-nvjitlink", "13.0.88", PLATFORM),
    "13.2": Wheel("nvidia-nvjitlink", "13.2.86", PLATFORM),
    "13.5": Wheel("nvidia-nvjitlink", "13.5.37", PLATFORM),
}
DRIVERS = {"13.0": Driver.parse("580"), "13.2": Driver.parse("595"), "13.5": None}
DEVICES = {
    "7.5": "sm_75", "8.0": "sm_80", "8.6": "sm_86", "8.7": "sm_87", "8.9": "sm_89", "9.0": "sm_90a",
    "10.0": "sm_100a", "10.3": "sm_103a", "11.0": "sm_110a", "12.0": "sm_120a", "12.1": "sm_121a",
}  # fmt: skip
"""What nvJitLink is asked for: the device's own code may have the suffix ``a``."""
TARGETS = (
    "75", "80", "90", "90a", "100", "100a", "100f", "103", "103a", "103f", "110", "110a", "110f",
    "120", "120a", "120f", "121", "121a", "121f",
)  # fmt: skip
REAL = (*TARGETS, "86", "87", "88", "89")
_TEXT = (FIXTURES / "saxpy_80.ptx").read_text()


@pytest.fixture(scope="module", params=WHEELS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def linker(version: str) -> NvJitLink:
    return NvJitLink(corpus.library(WHEELS[version], MEMBER), version)


def ptx(target: str, kernel: str = "saxpy") -> EntrySpec:
    text = _TEXT.replace("saxpy", kernel).replace(".target sm_80", f".target sm_{target}")
    return EntrySpec.ptx(text, arch=f"compute_{target}")


def sass(arch: str) -> EntrySpec:
    (specs,) = read_specs((FIXTURES / f"sm_{arch}.fatbin").read_bytes())
    return next(spec for spec in specs if spec.kind == EntryKind.ELF)


def answer(data: bytes, device: str, version: str) -> Choice:
    (library,) = fatbin.scan_bytes(data, verify=True).libraries
    assert library.issues == ()
    return choose(library.modules[0], ComputeCapability.parse(device), DRIVERS[version])


def test_ptx(linker: NvJitLink, version: str) -> None:
    compared = 0
    for targets in [*((target,) for target in TARGETS), *permutations(TARGETS, 2)]:
        data = build([ptx(target, f"k{number}") for number, target in enumerate(targets)])
        for device, arch in DEVICES.items():
            choice = answer(data, device, version)
            wanted = (f"k{choice.entry}",) if choice.serves else None
            assert linker.kernels(arch, data) == wanted, (targets, device)
            compared += 1
    assert compared == 361 * len(DEVICES)


def test_sass_alone_and_beside_ptx(linker: NvJitLink, version: str) -> None:
    doubtful = nearer = 0
    for arch, target in product(REAL, ("", *TARGETS)):
        data = build([sass(arch), *([ptx(target)] if target else [])])
        for device, name in DEVICES.items():
            choice = answer(data, device, version)
            kernels = linker.kernels(name, data)
            taken = "none" if kernels is None else "ptx" if kernels else "sass"
            where = (arch, target, device, choice)
            if choice.certainty is not Certainty.YES:
                doubtful += 1  # an answer that is not rounded is not compared
            elif taken != ("none" if not choice.serves else ("sass", "ptx")[choice.entry]):
                # It runs either way: nearer PTX in a family, or the 8.7 code of a Tegra device.
                nearer += 1
                assert choice.serves, where
                assert kernels is not None, where
                assert device in {"8.7", "8.9", "10.3", "12.1"}, where
    assert nearer < 30
    assert doubtful == (0 if version == "13.0" else 72)  # code for discrete GPUs on 8.7, and back


def test_images_of_groups(linker: NvJitLink, version: str) -> None:
    group, plain = EntrySpec.group([ptx("80", "inner")]), ptx("75", "outer")
    alone, beside = build([group]), build([plain, group])
    reads = version != "13.0"
    assert linker.kernels("sm_90a", alone) == (("inner",) if reads else None)
    assert linker.kernels("sm_90a", beside) == (("inner",) if reads else ("outer",))
    for data, code in ((alone, 0 if reads else 209), (beside, 0)):
        choice = answer(data, "9.0", version)
        assert choice.code == code
        assert choice.certainty is (Certainty.LIKELY if reads else Certainty.YES)
