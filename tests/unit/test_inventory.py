"""Inventories to JSON and back."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from support import FIXTURES

import fatbin
from fatbin.inventory import SCHEMA_VERSION, Inventory, Issue

FILES = sorted(path for path in FIXTURES.iterdir() if path.is_file() and path.suffix != ".json")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_json_round_trip(path: Path) -> None:
    inventory = fatbin.scan(path)
    assert Inventory.from_json(inventory.to_json()) == inventory
    assert pickle.loads(pickle.dumps(inventory)) == inventory  # noqa: S301 - our own


def test_the_keys_that_other_tools_rely_on() -> None:
    data = json.loads(fatbin.scan(FIXTURES / "lib_rdc.so").to_json())
    assert data["schema_version"] == SCHEMA_VERSION == 1
    library = data["libraries"][0]
    assert library["location"] == str(FIXTURES / "lib_rdc.so")
    assert library["issues"] == []
    ptx = library["modules"][0]["entries"][1]
    assert {key: ptx[key] for key in (
        "place", "kind", "arch", "isa_version", "compression", "stored_size", "size", "offset",
    )} == {
        "place": "relocatable", "kind": "ptx", "arch": "compute_80", "isa_version": "9.0",
        "compression": "zstd", "stored_size": 365, "size": 642, "offset": 0x2488,
    }  # fmt: skip


def document() -> dict[str, Any]:
    return fatbin.scan(FIXTURES / "hostile_hs0.fatbin").to_dict() | {"later_key": 1}


def test_unknown_keys_are_ignored() -> None:
    assert Inventory.from_dict(document()).all_issues


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("schema_version",), 2, "expected schema_version 1 to 1, found 2"),
        (("schema_version",), "1", "expected schema_version"),
        (("libraries",), {}, "inventory.libraries: expected a list, found {}"),
        (("libraries", 0), 5, "inventory.libraries[0]: expected an object, found 5"),
        (
            ("libraries", 0, "size"),
            "x",
            "inventory.libraries[0].size: expected an integer, found 'x'",
        ),
        (("libraries", 0, "size"), True, "expected an integer, found True"),
        (("libraries", 0, "location"), None, "expected a string, found None"),
        (("libraries", 0, "modules", 0, "place"), "here", "expected one of loadable, relocatable"),
        (("libraries", 0, "modules", 0, "whole"), 1, "expected a boolean, found 1"),
        (("libraries", 0, "issues", 0, "offset"), [], "issues[0].offset: expected an integer"),
    ],
)
def test_a_wrong_value_is_named_by_its_path(
    path: tuple[Any, ...], value: object, text: str
) -> None:
    data = document()
    inner: Any = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(fatbin.InventoryError) as caught:
        Inventory.from_dict(json.loads(json.dumps(data)))
    assert text in str(caught.value)


def test_a_wrong_architecture_and_a_missing_key() -> None:
    data = fatbin.scan(FIXTURES / "sm_80.fatbin").to_dict()
    entry = data["libraries"][0]["modules"][0]["entries"][0]
    entry["arch"] = "gfx90a"
    with pytest.raises(fatbin.InventoryError, match=r"entries\[0\].arch: expected an architecture"):
        Inventory.from_dict(data)
    entry["arch"] = "sm_80"
    del data["libraries"][0]["location"]
    with pytest.raises(fatbin.InventoryError, match="expected the key 'location'"):
        Inventory.from_dict(data)


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", '"x"', "[" * 100_000])
def test_what_is_no_inventory(text: str) -> None:
    with pytest.raises(fatbin.InventoryError, match="expected"):
        Inventory.from_json(text)


def test_an_issue_prints_like_its_error() -> None:
    error = fatbin.TruncatedError("cut", offset=16, location="a.so")
    assert str(Issue.of(error)) == str(error) == "a.so+0x10: cut"
    assert Issue.of(fatbin.SourceError("gone"), "b").location == "b"


@pytest.mark.parametrize("indent", [0, 2, 5])
def test_indented_documents_are_those_of_the_standard_library(indent: int) -> None:
    inventory = fatbin.scan_many([*FILES, FIXTURES / "images" / "demo.tar", "mis\x1bs\udce9ng"])
    assert len(inventory.libraries) > 20
    assert inventory.all_issues
    for each in (inventory, Inventory()):
        assert each.to_json(indent=indent) == json.dumps(each.to_dict(), indent=indent)
