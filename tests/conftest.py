"""Hypothesis profiles: dev (quick), ci (the same examples every time), nightly (many)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from machine import HERE, Machine, compiled
from support import find_cuobjdump, require

import fatbin

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=50, **_COMMON)  # type: ignore[arg-type]
settings.register_profile("ci", max_examples=200, derandomize=True, **_COMMON)  # type: ignore[arg-type]
settings.register_profile("nightly", max_examples=5000, **_COMMON)  # type: ignore[arg-type]
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switch that rewrites expected documents; a person reads the diff."""
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden")


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what commands remember out of the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FATBIN_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def cuobjdump() -> Path:
    """Return NVIDIA's cuobjdump, or skip."""
    return find_cuobjdump()


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a libcuda and an NVML that say what variables tell them to."""
    folder = tmp_path_factory.mktemp("libraries")
    compiled(HERE / "libcuda.c", folder / "libcuda.so.1")
    compiled(HERE / "libcuda.c", folder / "libcuda.old", "-DOLD")
    compiled(HERE / "libnvml.c", folder / "libnvidia-ml.so.1")
    return folder


@pytest.fixture
def machine(libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Return a machine with the stand-ins and without nvidia-smi; no child may be left of it."""
    made = Machine(tmp_path, monkeypatch, libraries)
    yield made
    assert made.left_over() == []


@pytest.fixture(scope="session")
def here() -> fatbin.Detection:
    """Return what the machine that the tests run on has, or skip."""
    found = fatbin.detect()
    if not found.usable:
        require("gpu", str(found.error()))
    return found
