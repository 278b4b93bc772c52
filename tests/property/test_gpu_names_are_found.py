"""Every GPU of the table is found by its name, and by its name as drivers decorate it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fatbin import ArchitectureError, UnknownGpuError
from fatbin.judge.facts.gpus import GPUS, GpuRow, find_gpu
from fatbin.judge.gpu import parse_gpus

PREFIXES = ("", "NVIDIA ", "NVIDIA Corporation ", "nvidia(R) ", "  ")
SUFFIXES = ("", " 24GB", "-80 GB", " PCIe", "-SXM4-40GB", " NVL", " HBM3", " GPU", " MIG 1g.10gb")
CASES = (str, str.lower, str.upper, str.title)
BLANKS = (" ", "-", "  ", "_")

rows = st.sampled_from(GPUS)


@pytest.mark.parametrize("row", GPUS, ids=lambda row: str(row.name))
def test_a_name_finds_its_row(row: GpuRow) -> None:
    assert find_gpu(row.name) == row


@given(
    rows,
    st.sampled_from(PREFIXES),
    st.sampled_from(SUFFIXES),
    st.sampled_from(CASES),
    st.sampled_from(BLANKS),
)
def test_decorations_do_not_count(
    row: GpuRow, prefix: str, suffix: str, case: Callable[[str], str], blank: str
) -> None:
    text = case(prefix + row.name.replace(" ", blank) + suffix)
    found = find_gpu(text)
    assert found.capability == row.capability
    # A form factor can only be of another edition of the same GPU.
    assert found == row or found.name.split()[0] == row.name.split()[0]
    assert [gpu.cc for gpu in parse_gpus(f"{text}, {row.capability}")] == [row.cc, row.cc]


@given(st.lists(rows, min_size=1, max_size=6, unique=True))
def test_lists_keep_their_order(found: list[GpuRow]) -> None:
    text = ", ".join(row.name for row in found)
    assert [gpu.name for gpu in parse_gpus(text)] == [row.name for row in found]
    assert (
        parse_gpus(text) == parse_gpus([row.name for row in found]) == parse_gpus(parse_gpus(text))
    )


@given(st.text(max_size=20))
def test_any_text_is_gpus_or_an_error(text: str) -> None:
    try:
        found = parse_gpus(text)
    except (ArchitectureError, UnknownGpuError) as exc:
        assert "\n" not in exc.message
    else:
        assert found
