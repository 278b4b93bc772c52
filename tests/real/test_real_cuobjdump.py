"""Fixtures and real libraries against several versions of cuobjdump, by the table of differences."""

from __future__ import annotations

import os
import zipfile
from functools import cache
from pathlib import Path

import corpus
import expected as libraries
import pytest
from cuobjdump_answers import EXTRACTIONS, ask, images, our_images, respects
from differences import VERSIONS, expected, unused
from from_index import NotOnIndexError, cuobjdump
from support import FIXTURES, manifest, require

import fatbin

pytestmark = pytest.mark.real

_FIXTURES = sorted(row["file"] for row in manifest())
_LIBRARIES = {
    f"{case.wheel.name}-{case.wheel.version}/{Path(case.member).name}": case
    for case in libraries.ALL
}
_ASKED = os.environ.get("FATBIN_CUOBJDUMP", "")
_VERSIONS = tuple(_ASKED.split(",")) if _ASKED else VERSIONS["cuobjdump"]
"""Versions to compare with; the variable names others."""
_CHUNK = 2000

every_version = pytest.mark.parametrize("version", _VERSIONS)


@cache
def _tool(version: str) -> Path:
    try:
        return cuobjdump(version)
    except NotOnIndexError as exc:
        require("real", str(exc))


@cache
def _scan(path: Path) -> fatbin.Inventory:
    return fatbin.scan(os.fspath(path))


def _library(name: str) -> Path:
    case = _LIBRARIES[name]
    return corpus.library(case.wheel, case.member)


def test_every_pattern_of_the_table_names_a_file() -> None:
    assert unused("cuobjdump", {*_FIXTURES, *_LIBRARIES}) == []


@every_version
@pytest.mark.parametrize("name", _FIXTURES)
def test_a_fixture(version: str, name: str, tmp_path: Path) -> None:
    path = FIXTURES / name
    found = respects(_scan(path), ask(_tool(version), path))
    for option in EXTRACTIONS:
        theirs, ours = images(_tool(version), option, path, tmp_path), our_images(option, path)
        assert theirs <= ours
        found |= {option} if theirs != ours else set()
    assert found == expected("cuobjdump", version, name)


@every_version
@pytest.mark.parametrize("name", _LIBRARIES)
def test_a_library(version: str, name: str) -> None:
    path = _library(name)
    found = respects(_scan(path), ask(_tool(version), path))
    assert found == expected("cuobjdump", version, name) - set(EXTRACTIONS)


@pytest.mark.parametrize("option", EXTRACTIONS)
@pytest.mark.parametrize("name", _LIBRARIES)
def test_images_of_a_library(name: str, option: str, tmp_path: Path) -> None:
    path, version = _library(name), _VERSIONS[-1]
    theirs, ours = images(_tool(version), option, path, tmp_path), our_images(option, path)
    assert theirs <= ours
    assert (theirs != ours) == (option in expected("cuobjdump", version, name))


def test_every_cubin_of_a_package_in_containers_of_ours(tmp_path: Path) -> None:
    """Thousands of bare cubins, packed with the builder: cuobjdump lists what they are."""
    found: set[str] = set()
    listed = 0
    with zipfile.ZipFile(corpus.wheel_path(corpus.FLASHINFER_CUBIN)) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".cubin"))
        for start in range(0, len(names), _CHUNK):
            path = tmp_path / "packed.fatbin"
            specs = [
                fatbin.EntrySpec.cubin(archive.read(name)) for name in names[start : start + _CHUNK]
            ]
            path.write_bytes(fatbin.build(specs))
            inventory = fatbin.scan(os.fspath(path))
            answers = ask(_tool(_VERSIONS[-1]), path)
            assert inventory.all_issues == ()
            found |= respects(inventory, answers)
            listed += len(answers["lelf"].lines)
    assert listed == len(names) == 15_970
    assert found <= {"suffix"}
