"""What every test may use: where things are, the fixtures' manifest, loud skips."""

from __future__ import annotations

import json
import os
from functools import lru_cache
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
