"""What every test may use: where things are, the fixtures' manifest, loud skips."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"


@lru_cache(maxsize=1)
def manifest() -> list[dict[str, Any]]:
    """Return the rows of fixtures/manifest.json: one a file, with cuobjdump's listings."""
    rows: list[dict[str, Any]] = json.loads((FIXTURES / "manifest.json").read_text())["fixtures"]
    return rows


def require(name: str, reason: str) -> NoReturn:
    """Skip because something is missing, or fail when FATBIN_REQUIRE names it (``a,b`` or all)."""
    wanted = os.environ.get("FATBIN_REQUIRE", "").split(",")
    if name in wanted or "all" in wanted:
        pytest.fail(f"{name} is required: {reason}")
    pytest.skip(f"{name}: {reason}")


def find_cuobjdump() -> Path:
    """Return cuobjdump of the wheel ``nvidia-cuda-cuobjdump``, or skip."""
    try:
        installed = files("nvidia-cuda-cuobjdump") or []
    except PackageNotFoundError:
        installed = []
    paths = [Path(str(file.locate())) for file in installed if file.name == "cuobjdump"]
    return paths[0] if paths else require("cuobjdump", "nvidia-cuda-cuobjdump is not installed")
