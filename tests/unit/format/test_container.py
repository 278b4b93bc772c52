"""The walk on damaged containers: each test changes one named field of a whole one."""

from __future__ import annotations

import pytest
from patching import patched
from support import FIXTURES

import fatbin
from fatbin.format.build import EntrySpec, build
from fatbin.format.container import Container, walk
from fatbin.format.layouts import CONTAINER_HEADER, ENTRY_HEADER
from fatbin.format.view import View

ONE = EntrySpec(kind=2, payload=b"\x7fELF" + bytes(60), arch=80)
TWO = EntrySpec(kind=1, payload=b".version 8.0\0", arch=90, options="")
GOOD = build([ONE, TWO])
FIRST, SECOND = 16, 16 + 64 + 64


def read(
    data: bytes, limits: fatbin.Limits | None = None
) -> tuple[list[Container], list[fatbin.FatbinError]]:
    errors: list[fatbin.FatbinError] = []
    found = list(walk(View(data, "x"), report=errors.append, limits=limits or fatbin.Limits()))
    return found, errors


def test_a_whole_container() -> None:
    (container,), errors = read(GOOD)
    assert not errors
    assert container.whole
    assert [(h.offset, h.kind, h.arch) for h in container.headers] == [
        (FIRST, 2, 80),
        (SECOND, 1, 90),
    ]


@pytest.mark.parametrize(
    ("fields", "error", "field", "where"),
    [
        ({"header_size": 0, "padded_size": 0}, fatbin.SizeMismatchError, "header_size", 4),
        ({"header_size": 63}, fatbin.SizeMismatchError, "header_size", 4),
        ({"header_size": 68}, fatbin.SizeMismatchError, "header_size", 4),
        ({"header_size": 1 << 31}, fatbin.TruncatedError, "header_size", 4),
        ({"padded_size": 1 << 62}, fatbin.TruncatedError, "padded_size", 8),
        ({"padded_size": (1 << 64) - 64}, fatbin.TruncatedError, "padded_size", 8),
    ],
)
def test_an_entry_that_cannot_be_keeps_those_before_it(
    fields: dict[str, int], error: type[fatbin.FormatError], field: str, where: int
) -> None:
    data = patched(GOOD, ENTRY_HEADER, SECOND, **fields) + build([ONE])
    (damaged, whole), (problem,) = read(data)
    assert len(damaged.raw) == 1
    assert not damaged.whole
    assert isinstance(problem, error)
    assert (problem.field, problem.offset) == (field, SECOND + where)
    assert problem.expected
    assert problem.found
    assert whole.whole
    assert whole.offset == len(GOOD)


def test_a_container_that_is_declared_too_long() -> None:
    data = patched(GOOD, CONTAINER_HEADER, 0, size=1 << 62)
    (container,), (problem,) = read(data)
    assert len(container.raw) == 2
    assert isinstance(problem, fatbin.TruncatedError)
    assert problem.offset == len(GOOD)


def test_a_container_that_is_declared_too_short_keeps_the_entry_across_its_end() -> None:
    data = patched(GOOD, CONTAINER_HEADER, 0, size=64 + 8)
    (container,), problems = read(data)
    assert [h.arch for h in container.headers] == [80]
    assert len(problems) == 1
    assert "past the end of the container" in str(problems[0])


def test_a_tail_too_short_for_an_entry_header() -> None:
    _, (problem,) = read(patched(GOOD, CONTAINER_HEADER, 0, size=64 + 64 + 8))
    assert isinstance(problem, fatbin.TruncatedError)
    assert problem.field == "entry header"
    assert problem.offset == SECOND


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"magic": 0x12345678}, fatbin.BadMagicError, "found 0x12345678"),
        ({"magic": 0x1EE55A01}, fatbin.UnsupportedVersionError, "before CUDA 6"),
        ({"header_size": 64}, fatbin.UnsupportedVersionError, "header size 64"),
        ({"version": 2}, fatbin.UnsupportedVersionError, "version 2"),
    ],
)
def test_a_bad_container_header(
    fields: dict[str, int], error: type[fatbin.FormatError], text: str
) -> None:
    found, problems = read(patched(GOOD, CONTAINER_HEADER, 0, **fields) + GOOD)
    assert isinstance(problems[0], error)
    assert text in str(problems[0])
    assert found[-1].offset == len(GOOD)
    assert found[-1].whole
    assert len(found) == (2 if "version" in fields else 1)


def test_strict_walk_raises() -> None:
    with pytest.raises(fatbin.SizeMismatchError):
        list(walk(View(patched(GOOD, ENTRY_HEADER, FIRST, header_size=0))))


def test_junk_behind_the_last_container() -> None:
    _, (problem,) = read(GOOD + b"\0\0junk")
    assert isinstance(problem, fatbin.TruncatedError)
    _, (problem,) = read(GOOD + b"junk and more than a header")
    assert isinstance(problem, fatbin.BadMagicError)
    assert problem.offset == len(GOOD)


def test_gaps_of_any_size_are_stepped_over() -> None:
    for gap in (0, 1, 7, 8, 240, 10_000):
        found, errors = read(bytes(gap) + GOOD + bytes(gap) + GOOD + bytes(gap))
        assert not errors
        assert [c.offset for c in found] == [gap, gap + len(GOOD) + gap]


def test_an_empty_container() -> None:
    (container,), errors = read(build([]))
    assert not errors
    assert (container.raw, container.size, container.whole) == ([], 16, True)


def test_limits_on_containers_and_entries() -> None:
    found, (problem,) = read(GOOD * 5, fatbin.Limits(containers=3))
    assert len(found) == 3
    assert isinstance(problem, fatbin.LimitExceededError)
    assert (problem.limit, problem.allowed) == ("containers", 3)
    found, (problem,) = read(GOOD * 5, fatbin.Limits(entries=3))
    assert len(found) == 2
    assert isinstance(problem, fatbin.LimitExceededError)
    assert problem.limit == "entries"


def test_offsets_count_from_the_library_inside_a_window() -> None:
    data = bytes(100) + patched(GOOD, ENTRY_HEADER, SECOND, header_size=0)
    view = View(data, "lib")
    errors: list[fatbin.FatbinError] = []
    (container,) = walk(view.window(100, len(GOOD)), report=errors.append)
    assert container.offset == 100
    assert str(errors[0]).startswith(f"lib+{100 + SECOND + 4:#x}: ")


def test_two_containers_fixture() -> None:
    found, errors = read((FIXTURES / "two_containers.fatbin").read_bytes())
    assert not errors
    assert [len(c.raw) for c in found] == [5, 2]
