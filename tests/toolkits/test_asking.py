"""What programs say is read right; and the cuobjdump at hand knows no name that fatbin does not."""

from __future__ import annotations

import os
from pathlib import Path

import asking
import pytest
import unknowns
from support import FIXTURES
from toolkit import Toolkit, local

OLD = (FIXTURES / "saxpy_80.cubin").read_bytes()
NEW = (FIXTURES / "saxpy_100a.cubin").read_bytes()
_HELP = """
--gpu-name <gpu name>                               (-arch)
        Allowed values for this option:  'compute_100','compute_100a','lto_100',
        'sm_100','sm_100a','sm_100f','sm_90','sm_90a', 'sm_75'.
--help                                              (-h)
        Not this: 'sm_1'.
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="stands in for programs with scripts")


def _program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\ncat <<'end'\n{text}\nend\n")
    path.chmod(0o755)


@pytest.fixture
def toolkit(tmp_path: Path) -> Toolkit:
    _program(tmp_path, "ptxas", _HELP)
    _program(tmp_path, "fatbinary", "--compress-mode [default,size,tiny]   (-compress-mode)")
    return Toolkit("13.5", "13.5.37", tmp_path, tmp_path / "cuobjdump", "13.5.37", {})


def test_targets(toolkit: Toolkit) -> None:
    assert asking.targets(toolkit) == {100: {"", "a", "f"}, 90: {"", "a"}, 75: {""}}


def test_isa_versions_and_modes(toolkit: Toolkit) -> None:
    _program(toolkit.programs, "ptxas", "8.8\n9.0")
    assert asking.isa_versions(toolkit) == ["8.8", "9.0"]
    assert asking.compress_modes(toolkit) == {"default", "size", "tiny"}


def test_cuobjdump_names_no_kind_and_no_flag_that_is_not_known(
    cuobjdump: Path, tmp_path: Path
) -> None:
    kinds = asking.kind_names(cuobjdump, OLD, tmp_path)
    assert kinds[256] == "concatenated entry"
    flags = asking.flags_that_matter(cuobjdump, OLD, tmp_path)
    assert list(unknowns.of_answers(kinds, flags, set())) == []


def test_cuobjdump_names_the_attributes_as_fatbin_does(cuobjdump: Path, tmp_path: Path) -> None:
    info = asking.attribute_names(cuobjdump, OLD, ".nv.info.saxpy", tmp_path)
    compat = asking.attribute_names(cuobjdump, NEW, ".nv.compat", tmp_path)
    assert (len(info), len(compat)) == (98, 11)
    assert list(unknowns.of_names(info, compat)) == []


def test_a_toolkit_on_this_machine(
    toolkit: Toolkit, cuobjdump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = toolkit.programs / "bin"
    folder.mkdir()
    _program(folder, "nvcc", "Cuda compilation tools, release 13.9, V13.9.1")
    monkeypatch.setattr("toolkit.cuobjdump", lambda _version: cuobjdump)
    found = local(toolkit.programs)
    assert (found.version, found.build, found.program("ptxas")) == (
        "13.9",
        "13.9.1",
        folder / "ptxas",
    )
    assert found.cuobjdump_version == "13.5.37"
