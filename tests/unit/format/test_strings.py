from __future__ import annotations

import pytest

import fatbin
from fatbin.format.strings import StringTable


def test_names_by_offset() -> None:
    table = StringTable(b"\0one\0two\0last")
    assert [table.at(i) for i in (0, 1, 2, 5, 9, 100)] == ["", "one", "ne", "two", "last", ""]


def test_names_that_are_no_text_are_escaped() -> None:
    assert StringTable(b"a\xffb\0").at(0) == "a\\xffb"


def test_overlapping_names_cost_no_more_than_the_table() -> None:
    table = StringTable(b"x" * (1 << 20))
    with pytest.raises(fatbin.LimitExceededError, match="overlap without end"):
        [table.at(offset) for offset in range(1 << 20)]
    again = StringTable(b"x" * (1 << 20))
    for _ in range(100):
        again.at(0)
