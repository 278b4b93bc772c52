"""Sharing out bytes: against a painter that colours one byte after the other."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fatbin.survey.ranges import common, grant

CLAIMS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


def painted(claims: list[tuple[int, int]], size: int) -> list[int]:
    owners = [-1] * size
    for index, (start, stop) in enumerate(claims):
        for position in range(start, min(stop, size)):
            if owners[position] < 0:
                owners[position] = index
    return owners


@given(CLAIMS, st.integers(0, 50))
def test_the_first_claim_wins_each_byte(claims: list[tuple[int, int]], size: int) -> None:
    owners = [-1] * size
    for index, ranges in enumerate(grant(claims, size)):
        for start, stop in ranges:
            assert start < stop
            assert set(owners[start:stop]) == {-1}
            owners[start:stop] = [index] * (stop - start)
    assert owners == painted(claims, size)


@given(CLAIMS)
def test_granted_ranges_are_in_order_and_joined(claims: list[tuple[int, int]]) -> None:
    for ranges in grant(claims, 40):
        for (_, stop), (start, _) in pairwise(ranges):
            assert stop < start


def test_a_claim_around_another_gets_both_sides() -> None:
    assert grant([(3, 5), (0, 9)], 8) == [[(3, 5)], [(0, 3), (5, 8)]]


def test_common_bytes() -> None:
    assert common([(0, 3), (5, 8)], 2, 6) == 2
    assert common([], 0, 9) == 0
