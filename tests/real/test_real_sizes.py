"""Real libraries: every byte counted once, and figures that are written down."""

from __future__ import annotations

import corpus
import expected
import pytest

import fatbin
from fatbin.survey.diff import compare
from fatbin.survey.sizes import account

pytestmark = pytest.mark.real

every_library = pytest.mark.parametrize(
    "case", expected.ALL, ids=lambda case: f"{case.wheel.name}-{case.wheel.version}-{case.member}"
)


@every_library
def test_every_byte_is_counted_once(case: expected.Expected) -> None:
    path = corpus.library(case.wheel, case.member)
    found = account(path)
    (library,) = found.libraries
    assert found.all_issues == ()
    assert found.size == library.size == path.stat().st_size
    assert sum(library.parts.values()) == library.size
    assert library.unread == 0
    entries = list(fatbin.scan(path, linkage=False).entries)
    assert sum(piece.stored for piece in library.device) == sum(e.stored_size for e in entries)
    headers = 16 * case.modules + sum(e.header_size for e in entries if e.group < 0)
    assert library.headers == headers


def test_more_than_a_third_of_nccl_is_left_over_from_the_device_link() -> None:
    (library,) = account(corpus.library(*_place(expected.NCCL_2_32))).libraries
    assert library.parts == {
        "host_code": 3_147_674,
        "host_data": 73_057_670,
        "device": 108_786_924,
        "leftovers": 158_720_747,
        "overhead": 151_921,
    }


def test_two_versions_of_nccl() -> None:
    old, new = (corpus.library(*_place(case)) for case in (expected.NCCL_2_26, expected.NCCL_2_29))
    diff = compare(old, new)
    (library,) = diff.libraries
    loadable = fatbin.Place.LOADABLE
    assert [str(h.arch) for h in library.gained if h.place is loadable] == [
        "sm_100",
        "sm_100f",
        "sm_120",
        "compute_120",
    ]
    assert [str(h.arch) for h in library.lost if h.place is loadable] == ["sm_50"]
    assert [(f.fact, f.before, f.after) for f in library.facts] == [
        ("version", "2.26.2+cuda12.2", "2.29.7+cuda12.9")
    ]
    assert compare(new, old) == diff.mirrored()


def _place(case: expected.Expected) -> tuple[corpus.Wheel, str]:
    return case.wheel, case.member
