"""Kernels of libraries installed beside this Python, against what a driver enumerated in them.

The rows were written on an H200; a library is compared where the very same file is installed. No GPU
is needed for that.
"""

from __future__ import annotations

import hashlib
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hopper import for_hopper
from support import require

import fatbin

pytestmark = pytest.mark.real
ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "driver_kernels.json").read_text()
)["libraries"]


@cache
def _installed() -> dict[tuple[str, int], list[Path]]:
    """Return the shared libraries of the site-packages folders by name and size."""
    found: dict[tuple[str, int], list[Path]] = {}
    for folder in {Path(entry) for entry in sys.path if entry.endswith("-packages")}:
        for path in folder.rglob("*.so*"):
            if path.is_file():
                found.setdefault((path.name, path.stat().st_size), []).append(path)
    return found


def _find(row: dict[str, Any]) -> Path:
    for path in _installed().get((row["library"], row["size"]), []):
        with path.open("rb") as file:
            digest = hashlib.sha256()
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        if digest.hexdigest() == row["sha256"]:
            return path
    return require("libraries", f"{row['library']} of {row['distribution']} is not installed")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["library"]))
def test_names_are_those_that_the_driver_enumerated(row: dict[str, Any]) -> None:
    names: list[str] = []
    containers = chosen = 0
    with fatbin.open(_find(row)) as file:
        for container in file.containers():
            if container.facts.section != ".nv_fatbin":
                continue
            containers += 1
            entry = for_hopper(container)
            if entry is not None:
                chosen += 1
                image = entry.image()
                assert isinstance(image, (fatbin.Cubin, fatbin.Ptx))
                names += image.kernel_names if isinstance(image, fatbin.Cubin) else image.entries
        assert file.issues == []
    assert (containers, chosen, len(names)) == (row["containers"], row["loads"], row["kernels"])
    joined = "\n".join(sorted(set(names))).encode()
    assert hashlib.sha256(joined).hexdigest() == row["names_sha256"]
