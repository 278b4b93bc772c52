from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from support import ROOT
from verdicts import example_with_baseline

from fatbin.judge import verdict as records
from fatbin.report.verdict_json import render

SCHEMA = json.loads((ROOT / "fatbin" / "report" / "verdict.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
Path = tuple[str | int, ...]


def at(document: Any, path: Path) -> Any:  # noqa: ANN401 - JSON
    for step in path:
        document = document[step]
    return document


PLACES: list[Path] = [
    (),
    ("libraries", 0),
    ("libraries", 0, "answers", 0),
    ("libraries", 0, "answers", 0, "coverage"),
    ("findings", 0),
    ("findings", 0, "because", 0),
    ("ignored", 0),
    ("ignored", 0, "finding"),
    ("known", 0),
]


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    VALIDATOR.validate(json.loads(render(example_with_baseline())))


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_misspelt_key_fails(place: Path) -> None:
    for key in at(example_with_baseline().to_dict(), place):
        document = json.loads(render(example_with_baseline()))
        here = at(document, place)
        here[f"{key}x"] = here.pop(key)
        assert not VALIDATOR.is_valid(document), key


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_new_key_passes(place: Path) -> None:
    document = json.loads(render(example_with_baseline()))
    at(document, place)["new"] = 1
    assert VALIDATOR.is_valid(document)


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        ((), "outcome", "pass"),
        ((), "schema_version", 2),
        ((), "gpus", "9.0"),
        (("libraries", 0), "outcome", "OK"),
        (("libraries", 0, "answers", 0), "outcome", ""),
        (("libraries", 0, "answers", 0), "required_driver", "570"),
        (("libraries", 0, "answers", 0, "coverage"), "native", -1),
        (("findings", 0), "severity", "error"),
        (("findings", 0), "code", "101"),
        (("findings", 0, "because", 0), "kind", "rumour"),
    ],
)
def test_an_unknown_word_or_a_wrong_type_fails(place: Path, key: str, value: object) -> None:
    document = json.loads(render(example_with_baseline()))
    at(document, place)[key] = value
    assert not VALIDATOR.is_valid(document)


def test_the_schema_has_the_keys_of_the_records() -> None:
    assert set(SCHEMA["properties"]) == {"schema_version", *records.Verdict._fields}
    for name in ("Answer", "Coverage", "Evidence", "Finding", "IgnoredFinding", "LibraryVerdict"):
        assert set(SCHEMA["$defs"][name]["properties"]) == set(getattr(records, name)._fields)
    assert SCHEMA["properties"]["schema_version"]["const"] == records.SCHEMA_VERSION
    for name in ("Outcome", "Severity"):
        assert set(SCHEMA["$defs"][name]["enum"]) == {str(w) for w in getattr(records, name)}
