"""What the builder writes is what NVIDIA's libnvfatbin wrote for the same cubins, byte for byte."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from differences import VERSIONS, expected
from nvfatbin import IDENTIFIER, fixture_cubins

import fatbin

_CUBINS = fixture_cubins()
_RECORDED: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parent / "nvfatbin.json").read_text()
)


def test_every_version_and_cubin_is_recorded() -> None:
    assert tuple(_RECORDED) == VERSIONS["nvFatbin"]
    assert all(set(answers) == set(_CUBINS) for answers in _RECORDED.values())
    assert len(_CUBINS) >= 32


@pytest.mark.parametrize("version", _RECORDED)
@pytest.mark.parametrize("name", _CUBINS)
def test_the_same_bytes(version: str, name: str) -> None:
    image, arch = _CUBINS[name]
    spec = fatbin.EntrySpec.cubin(image, arch=f"sm_{arch}", identifier=IDENTIFIER)
    ours = sha256(fatbin.build([spec])).hexdigest()
    theirs = _RECORDED[version][name]
    found = set() if ours == theirs else {"refused" if "error" in theirs else "bytes"}
    assert found == expected("nvFatbin", version, name)
