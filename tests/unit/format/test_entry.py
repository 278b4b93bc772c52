"""Tails, groups and sizes of entries, with one named field changed at a time."""

from __future__ import annotations

import pytest
from patching import patched
from support import FIXTURES

import fatbin
from fatbin.errors import raise_error
from fatbin.format.build import EntrySpec, build
from fatbin.format.container import walk
from fatbin.format.entry import (
    EntryHeader,
    check_entry,
    entry_header_at,
    read_payload,
    read_tail,
    unfold,
)
from fatbin.format.layouts import ENTRY_HEADER, GROUP_HEADER, GROUP_MEMBER, OPTIONS_RECORD
from fatbin.format.view import View

FIRST = 16


def headers(data: bytes) -> list[EntryHeader]:
    return [header for container in walk(View(data)) for header in container.headers]


def tail_problem(data: bytes) -> fatbin.FormatError:
    errors: list[fatbin.FatbinError] = []
    read_tail(View(data, "x"), headers(data)[0], errors.append)
    (problem,) = errors
    assert isinstance(problem, fatbin.TruncatedError)
    return problem


def test_identifier_and_options_of_a_fixture() -> None:
    data = (FIXTURES / "ident.fatbin").read_bytes()
    tails = [read_tail(View(data), header, raise_error) for header in headers(data)]
    assert {tail.identifier for tail in tails} == {"some/ident.cu"}
    assert [tail.options for tail in tails if tail.options] == ["-v -maxrregcount 32"]
    assert [len(tail.compat) for tail in tails] == [0, 0, 36]


def test_cuda_11_record_without_data() -> None:
    data = (FIXTURES / "cuda11_ptxhdr72.fatbin").read_bytes()
    (header,) = headers(data)
    assert header.header_size == 72
    assert read_tail(View(data), header, raise_error).options == ""


PTX = build([EntrySpec(kind=1, payload=b"x", identifier="a.cu", options="-v")])


@pytest.mark.parametrize(
    "fields", [{"name_offset": 1 << 31}, {"name_length": 1 << 30}, {"name_offset": 8}]
)
def test_an_identifier_outside_the_tail(fields: dict[str, int]) -> None:
    assert tail_problem(patched(PTX, ENTRY_HEADER, FIRST, **fields)).field == "name_offset"


def test_an_options_record_outside_the_tail() -> None:
    assert (
        tail_problem(patched(PTX, ENTRY_HEADER, FIRST, options_offset=88)).field == "options_offset"
    )
    data = patched(PTX, OPTIONS_RECORD, FIRST + 72, length=1000)
    assert tail_problem(data).field == "data_offset"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"compressed_size": 5000}, "larger than the padded size"),
        ({"flags": 0x11}, "without a compression flag"),
        ({"compressed_size": 0}, "compressed size 0 with the flag for zstd"),
    ],
)
def test_sizes_that_contradict_each_other(fields: dict[str, int], text: str) -> None:
    data = build([EntrySpec(kind=2, payload=bytes(64)).compressed("zstd")])
    data = patched(data, ENTRY_HEADER, FIRST, **fields)
    errors: list[fatbin.FatbinError] = []
    check_entry(View(data, "x"), headers(data)[0], fatbin.Limits(), errors.append)
    (problem,) = errors
    assert isinstance(problem, fatbin.SizeMismatchError)
    assert text in str(problem)
    assert problem.offset == FIRST + 16
    with pytest.raises(fatbin.SizeMismatchError):
        read_payload(View(data, "x"), headers(data)[0])


def test_a_bomb_is_told_from_its_header() -> None:
    data = (FIXTURES / "hostile_bomb64m.fatbin").read_bytes()
    errors: list[fatbin.FatbinError] = []
    check_entry(View(data), headers(data)[0], fatbin.Limits(), errors.append)
    (problem,) = errors
    assert isinstance(problem, fatbin.LimitExceededError)
    assert problem.limit == "ratio"


def group() -> bytes:
    return build(
        [
            EntrySpec.group(
                [
                    EntrySpec(kind=2, payload=b"one"),
                    EntrySpec(kind=1, payload=b"three", options="-g"),
                ]
            )
        ]
    )


def test_a_group_unfolds() -> None:
    data = group()
    (header,) = headers(data)
    members = unfold(View(data), header, raise_error)
    assert [(m.kind, m.image_offset, m.padded_size) for m in members] == [(2, 0, 3), (1, 3, 5)]
    assert read_payload(View(data), header) == b"onethree"
    assert read_tail(View(data), members[1], raise_error).options == "-g"


@pytest.mark.parametrize(
    ("layout", "at", "fields", "field", "left"),
    [
        (GROUP_HEADER, 64, {"count": 1 << 31}, "count", 2),
        (GROUP_HEADER, 64, {"tail_length": 16}, "count", 0),
        (GROUP_MEMBER, 72, {"kind": 256}, "kind", 0),
        (GROUP_MEMBER, 72 + 64, {"image_offset": 100}, "image_offset", 1),
        (GROUP_MEMBER, 72 + 64, {"image_size": 1 << 60}, "image_offset", 1),
        (GROUP_MEMBER, 72, {"name_length": 1 << 30}, "group member", 0),
    ],
)
def test_a_damaged_group_gives_the_images_before_the_damage(
    layout: object, at: int, fields: dict[str, int], field: str, left: int
) -> None:
    data = patched(group(), layout, FIRST + at, **fields)  # type: ignore[arg-type]
    errors: list[fatbin.FatbinError] = []
    members = unfold(View(data, "x"), headers(data)[0], errors.append)
    assert len(members) == left
    assert isinstance(errors[0], fatbin.FormatError)
    assert errors[0].field == field
    assert errors[0].offset >= FIRST + 64


def test_a_header_outside_the_file() -> None:
    with pytest.raises(fatbin.TruncatedError):
        entry_header_at(View(bytes(70)), 10)
