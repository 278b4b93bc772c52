"""What records become in documents."""

from __future__ import annotations

import json

import pytest

from fatbin import Architecture, Outcome
from fatbin._record import Record, plain


class Inner(Record):
    words: tuple[Outcome, ...]
    arch: Architecture | None


class Outer(Record):
    inner: Inner
    seconds: float
    modules: int
    holds: bool
    document: dict[str, int]


def test_records_become_json() -> None:
    inner = Inner((Outcome.PASS, Outcome.FAIL), Architecture.parse("sm_90a"))
    data = plain(Outer(inner, 0.12345, 7, holds=True, document={"a": 1}))
    assert json.loads(json.dumps(data)) == {
        "inner": {"words": ["PASS", "FAIL"], "arch": "sm_90a"},
        "seconds": 0.123,
        "modules": 7,
        "holds": True,
        "document": {"a": 1},
    }
    assert plain(Inner((), None)) == {"words": [], "arch": None}


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object()])
def test_what_json_has_no_word_for_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match=type(value).__name__):
        plain((value,))


def test_words_are_their_text() -> None:
    assert f"{Outcome.PASS}" == str(Outcome.PASS) == "PASS"
    assert Outcome("PASS") is Outcome.PASS
