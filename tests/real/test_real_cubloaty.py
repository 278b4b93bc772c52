"""Sizes by architecture are those of cubloaty, but for what the table of differences says.

cubloaty is no dependency of the development environment: ``pip install cubloaty==0.2.0b1``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import corpus
import expected as libraries
import pytest
from differences import VERSIONS, expected, unused
from support import FIXTURES, manifest, require

import fatbin

pytestmark = pytest.mark.real

_FIXTURES = sorted(row["file"] for row in manifest())
_LIBRARIES = {
    f"{case.wheel.name}-{case.wheel.version}/{Path(case.member).name}": case
    for case in libraries.ALL
}
_VERSION = VERSIONS["cubloaty"][-1]

Sizes = dict[tuple[str, str], tuple[int, int, int]]
"""By kind and architecture: how many images, bytes inflated, bytes in the file with headers."""


def _program() -> str:
    beside = Path(sys.executable).parent
    found = shutil.which("cubloaty", path=os.pathsep.join((str(beside), os.environ["PATH"])))
    try:
        installed = version("cubloaty")
    except PackageNotFoundError:
        installed = ""
    if found is None or installed != _VERSION:
        require("cubloaty", f"cubloaty {_VERSION} is not installed")
    return found


def _theirs(path: Path) -> Sizes | None:
    done = subprocess.run(
        [_program(), path, "--format", "json"], capture_output=True, check=False, timeout=600
    )
    if done.returncode:
        return None
    rows = json.loads(done.stdout)["components"]
    return _summed([(r["kind"], r["arch"], r["images"], r["size"], r["file_size"]) for r in rows])


def _ours(path: Path) -> Sizes:
    return _summed(
        [
            (
                entry.kind,
                str(entry.arch),
                1,
                entry.size,
                entry.header_size + (entry.stored_size + 7) // 8 * 8,
            )
            for entry in fatbin.scan(os.fspath(path)).entries
        ]
    )


def _summed(rows: list[tuple[str, str, int, int, int]]) -> Sizes:
    sums: Counter[tuple[str, str, int]] = Counter()
    for kind, arch, *numbers in rows:
        for index, number in enumerate(numbers):
            sums[kind, arch, index] += number
    keys = dict.fromkeys((kind, arch) for kind, arch, _ in sums)
    return {key: (sums[(*key, 0)], sums[(*key, 1)], sums[(*key, 2)]) for key in keys}


def _respects(path: Path) -> set[str]:
    theirs, ours = _theirs(path), _ours(path)
    if theirs is None:
        return {"fails"} if ours else set()
    if theirs == ours:
        return set()
    return {"words"} if sorted(theirs.values()) == sorted(ours.values()) else {"images"}


def test_every_pattern_of_the_table_names_a_file() -> None:
    assert unused("cubloaty", {*_FIXTURES, *_LIBRARIES}) == []


@pytest.mark.parametrize("name", _FIXTURES)
def test_a_fixture(name: str) -> None:
    assert _respects(FIXTURES / name) == expected("cubloaty", _VERSION, name)


@pytest.mark.parametrize("name", _LIBRARIES)
def test_a_library(name: str) -> None:
    case = _LIBRARIES[name]
    path = corpus.library(case.wheel, case.member)
    assert _respects(path) == expected("cubloaty", _VERSION, name)
