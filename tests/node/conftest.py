"""Stand-ins for the driver's libraries, built once, and a machine that has nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import HERE, Machine, compiled


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a libcuda and an NVML that say what variables tell them to."""
    folder = tmp_path_factory.mktemp("libraries")
    compiled(HERE / "libcuda.c", folder / "libcuda.so.1")
    compiled(HERE / "libcuda.c", folder / "libcuda.old", "-DOLD")
    compiled(HERE / "libnvml.c", folder / "libnvidia-ml.so.1")
    return folder


@pytest.fixture(autouse=True)
def machine(libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Return a machine with the stand-ins and without nvidia-smi; no child may be left of it."""
    made = Machine(tmp_path, monkeypatch, libraries)
    yield made
    assert made.left_over() == []
