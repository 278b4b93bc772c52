"""Headers, tails, payloads and gaps cover a file exactly once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from strategies import containers

from fatbin.format.build import EntrySpec, build
from fatbin.format.container import HEADER_SIZE, walk
from fatbin.format.view import View


@given(containers, st.lists(st.integers(0, 31), min_size=5, max_size=5))
def test_every_byte_belongs_to_one_thing(wanted: list[list[EntrySpec]], gaps: list[int]) -> None:
    data = bytes(8 * gaps[4])
    for entries, gap in zip(wanted, gaps, strict=False):
        data += build(entries) + bytes(8 * gap)
    position = 0
    found = list(walk(View(data)))
    for container in found:
        assert not any(data[position : container.offset])
        position = container.offset + HEADER_SIZE
        for header in container.headers:
            assert header.offset == position
            assert header.payload_offset == header.offset + header.header_size
            position = header.payload_offset + header.padded_size
        assert position == container.offset + container.size
        assert container.whole
    assert not any(data[position:])
    assert [len(container.raw) for container in found] == [len(entries) for entries in wanted]
