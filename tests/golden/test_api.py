"""What users build upon changes only on purpose."""

from __future__ import annotations

import difflib
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

GOLDEN = Path(__file__).parent / "api.txt"
ADVICE = (
    "what users build upon has changed. If that is meant: run "
    "`python -m pytest tests/golden/test_api.py --update-golden`, read the difference, and add a "
    "line to CHANGELOG.md; docs/versioning.md says what a release may change"
)


@pytest.fixture(scope="module")
def surface() -> ModuleType:
    spec = importlib.util.spec_from_file_location("surface", GOLDEN.with_name("surface.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_surface_is_what_was_agreed(
    request: pytest.FixtureRequest, surface: ModuleType
) -> None:
    found = surface.surface()
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(found, encoding="utf-8")
    agreed = GOLDEN.read_text(encoding="utf-8")
    if found != agreed:
        difference = difflib.unified_diff(
            agreed.splitlines(), found.splitlines(), "agreed", "found", n=0, lineterm=""
        )
        pytest.fail("\n".join([ADVICE, "", *difference]), pytrace=False)


def test_a_change_is_seen(surface: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import fatbin

    def scan(target: str) -> fatbin.Inventory:
        return fatbin.Inventory(libraries=(), issues=(), targets=(target,))

    monkeypatch.setattr(fatbin, "scan", scan)
    monkeypatch.setattr("fatbin.cli.exits.NOTHING", 4)
    before = set(GOLDEN.read_text(encoding="utf-8").splitlines())
    after = set(surface.surface().splitlines())
    assert after - before == {"fatbin.scan(target: str) -> fatbin.Inventory", "4 NOTHING"}
    assert {line.split("(")[0] for line in before - after} == {"fatbin.scan", "3 NOTHING"}
