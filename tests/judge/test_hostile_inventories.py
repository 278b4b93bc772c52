"""What a file or a saved inventory can claim does not stop a check."""

from __future__ import annotations

from typing import Any

import pytest
from made import inventory, library, module

import fatbin
from fatbin.inventory import Inventory, Module

LONG = "9" * 5000
"""More digits than Python makes a number of."""


@pytest.mark.parametrize(
    ("made", "device", "wanted"),
    [
        (module("sm_120", toolkit=f"{LONG}.1"), "12.1", "WARN"),
        (module("sm_120", toolkit="twelve"), "12.1", "WARN"),
        (module(f"compute_80 {LONG}.1"), "8.0", "FAIL"),
        (module("compute_80 x.y"), "8.0", "FAIL"),
        (module("compute_80 8.1.2"), "8.0", "WARN"),
    ],
)
def test_versions_that_are_none(made: Module, device: str, wanted: str) -> None:
    saved = Inventory.from_dict(inventory(library(made)).to_dict())
    verdict = fatbin.check(saved, gpus=device, driver="580")
    assert verdict.outcome == wanted
    assert verdict.to_dict()


@pytest.mark.parametrize(
    "more",
    [
        {"cuda_runtime": f"libcudart.so.{LONG}"},
        {"cuda_runtime": f"cudart64_{LONG}.dll"},
        {"cuda_runtime": "static", "version": f"{LONG}+cuda{LONG}", "name": "libnccl.so.2"},
    ],
)
def test_names_with_too_many_digits(more: dict[str, Any]) -> None:
    verdict = fatbin.check(inventory(library(module("sm_80"), **more)), gpus="8.0", driver="570")
    assert verdict.outcome == "PASS"
