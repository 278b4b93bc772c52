"""Hypothesis profiles: dev (quick), ci (the same examples every time), nightly (many)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support import find_cuobjdump

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
