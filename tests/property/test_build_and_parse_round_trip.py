"""What is built is what is read: specs, unknown kinds and flags, tails, groups, padding between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import containers, specs

from fatbin.errors import UnsupportedVersionError, raise_error
from fatbin.format.build import EntrySpec, build, read_specs
from fatbin.format.container import walk
from fatbin.format.entry import read_payload, unfold
from fatbin.format.view import View
from fatbin.kinds import COMPRESSION_MASK, EntryFlags, EntryKind
from fatbin.limits import Limits


@given(containers)
def test_specs_survive(wanted: list[list[EntrySpec]]) -> None:
    data = b"".join(build(entries) for entries in wanted)
    assert [[_comparable(s) for s in entries] for entries in read_specs(data)] == [
        [_comparable(s) for s in entries] for entries in wanted
    ]


@given(containers)
def test_reading_and_building_again_gives_the_same_bytes(wanted: list[list[EntrySpec]]) -> None:
    data = b"".join(build(entries) for entries in wanted)
    assert b"".join(build(entries) for entries in read_specs(data)) == data


@given(containers, st.lists(st.integers(0, 40), min_size=4, max_size=4))
def test_zeros_between_containers_do_not_matter(
    wanted: list[list[EntrySpec]], gaps: list[int]
) -> None:
    built = [build(entries) for entries in wanted]
    padded = b"".join(data + bytes(8 * gap) for data, gap in zip(built, gaps, strict=False))
    assert read_specs(padded) == read_specs(b"".join(built))


@given(st.lists(specs(), min_size=1, max_size=4))
def test_payloads_come_back_whole(wanted: list[EntrySpec]) -> None:
    data = build(wanted)
    (container,) = walk(View(data))
    for spec, header in zip(wanted, container.headers, strict=True):
        if spec.flags & EntryFlags.OBFUSCATED and spec.flags & COMPRESSION_MASK:
            with pytest.raises(UnsupportedVersionError, match="obfuscated"):
                read_payload(View(data), header)
            continue
        payload = read_payload(View(data), header, Limits(ratio=10**6))
        if spec.flags & COMPRESSION_MASK:
            assert len(payload) == spec.uncompressed_size
        else:
            assert payload == spec.payload + bytes(-len(spec.payload) % 8)
        for member, image in zip(
            spec.members,
            unfold(View(data), header, raise_error) if spec.kind == EntryKind.GROUP else (),
            strict=True,
        ):
            end = image.image_offset + image.padded_size
            assert payload[image.image_offset : end] == member.payload


def _comparable(spec: EntrySpec) -> EntrySpec:
    """Leave out what the format does not store: padding of plain payloads, images of groups."""
    payload = spec.payload
    if not spec.flags & COMPRESSION_MASK:
        payload += bytes(-len(payload) % 8)
    members = tuple(member._replace(payload=bytes(len(member.payload))) for member in spec.members)
    return spec._replace(payload=payload, members=members)
