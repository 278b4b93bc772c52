"""Fifty worked cases: entries of a module, a device, a driver, and the right answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made import example, inventory, library

from fatbin.arch import ComputeCapability
from fatbin.judge.check import check
from fatbin.judge.choice import Choice, Environment, How
from fatbin.judge.driver import Driver
from fatbin.judge.loader import choose

EXAMPLES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "worked_examples.json").read_text()
)
HOWS = {How.NATIVE: "sass", How.JIT: "jit"}


def words(choice: Choice) -> str:
    """Return a choice as the examples write it: ``YES sass``, ``LIKELY sass``, ``NO 209``."""
    if not choice.serves:
        return f"NO {choice.code}"
    return f"{choice.certainty.value.upper()} {HOWS[choice.how]}"


def answer(case: dict[str, Any], index: int) -> str:
    return words(
        choose(
            example(case["modules"][index]),
            ComputeCapability.parse(case["device_cc"]),
            Driver.parse(f"CUDA {case['driver_cuda']}"),
            Environment.of(case["env"]),
        )
    )


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case["id"])
def test_modules(case: dict[str, Any]) -> None:
    if case["level"] == "module":
        assert [answer(case, i) for i in range(len(case["modules"]))] == [case["verdict"]]
        return
    wanted: dict[int, str] = {}
    for part in case["verdict"].split("; "):
        where, verdict = part.split(" ", 2)[1], part.split(" ", 2)[2]
        first, _, last = where.partition("-")
        wanted |= dict.fromkeys(range(int(first), int(last or first) + 1), verdict)
    assert [answer(case, i) for i in range(len(case["modules"]))] == list(wanted.values())


@pytest.mark.parametrize(
    "case", [case for case in EXAMPLES if case["level"] == "library"], ids=lambda case: case["id"]
)
def test_libraries(case: dict[str, Any]) -> None:
    made = library(*(example(rows) for rows in case["modules"]))
    verdict = check(inventory(made), gpus=case["device_cc"], driver=f"CUDA {case['driver_cuda']}")
    outcome, _, note = case["library_outcome"].partition(" with a ")
    assert str(verdict.outcome) == outcome
    if note:
        assert {str(finding.severity) for finding in verdict.findings} == {note}


def test_all_are_there() -> None:
    assert [case["id"] for case in EXAMPLES] == [f"E{i:02}" for i in range(1, 51)]
    assert sum(case["level"] == "library" for case in EXAMPLES) == 4
