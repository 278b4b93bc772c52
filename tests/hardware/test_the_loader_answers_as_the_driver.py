"""The choice of images, against what the driver of an H200 did with the same images."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from h200 import CODES, DRIVER, H200, HERE, images, module, module_rows

import fatbin
from fatbin.inventory import Module
from fatbin.judge.choice import Choice, Environment
from fatbin.judge.loader import Loader, choose
from fatbin.kinds import Place

EMPTY = Module(place=Place.BARE, form="container")
CASES = [(case, environment) for case in images()["cases"] for environment in case["result"]]


def answer(case: dict[str, Any], environment: str) -> tuple[Module, Choice]:
    variables = images()["environments"][environment]
    inventory = fatbin.scan(HERE / "images" / case["file"], verify=True)
    modules = inventory.libraries[0].modules
    assert len(modules) <= 1
    found = modules[0] if modules else EMPTY
    # These ran in one session with one compute cache, the default environment first.
    warm = case["name"].startswith("kit_")
    process = Environment.of(variables)._replace(warm_cache=warm)
    return found, choose(found, H200, DRIVER, process)


def test_all_images_are_there() -> None:
    assert len(images()["cases"]) == 227
    assert len(CASES) > 900
    codes = Counter(result["load"] for case, name in CASES for result in [case["result"][name]])
    assert set(codes) <= set(CODES)
    assert len(codes) >= 7


@pytest.mark.parametrize(
    ("case", "environment"),
    CASES,
    ids=lambda value: value["name"] if isinstance(value, dict) else value,
)
def test_images(case: dict[str, Any], environment: str) -> None:
    recorded = case["result"][environment]
    found, choice = answer(case, environment)
    if "get_function" in recorded:
        assert (recorded["load"], choice.late) == ("CUDA_SUCCESS", True)
        assert choice.code == CODES[recorded["get_function"]]
        return
    assert choice.code == CODES[recorded["load"]]
    assert not choice.late
    marks = case.get("marks")
    if choice.code == 0 and marks and len(marks) == len(found.entries):
        assert marks[choice.entry] == recorded["mark"]


def test_which_image_ran_is_compared_for_many() -> None:
    """The comparison of marks above is no empty one."""
    compared = [
        case["name"]
        for case, environment in CASES
        if case.get("marks") and len(case["marks"]) > 1 and "mark" in case["result"][environment]
    ]
    assert len(compared) > 50


def test_modules() -> None:
    loader = Loader(H200, DRIVER)
    answers: Counter[bool] = Counter()
    for row in module_rows():
        choice = loader.choose(module(row))
        answers[choice.code == CODES[row["result"]]] += row["modules"]
        assert choice.code == CODES[row["result"]], row
    assert answers == {True: 23006}
