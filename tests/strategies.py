"""Hypothesis strategies shared by the property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from fatbin.arch import VARIANTS, Architecture
from fatbin.format.build import EntrySpec
from fatbin.kinds import COMPRESSION_FLAGS, COMPRESSION_MASK, Compression, EntryKind

U16 = st.integers(0, 0xFFFF)
U32 = st.integers(0, 0xFFFFFFFF)
U64 = st.integers(0, 0xFFFFFFFFFFFFFFFF)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)

architectures = st.builds(
    Architecture, st.integers(10, 99_999), st.sampled_from(VARIANTS), virtual=st.booleans()
)
compressions = st.sampled_from(list(Compression))
kinds = st.one_of(
    st.sampled_from([int(kind) for kind in EntryKind if kind is not EntryKind.GROUP]),
    U16.filter(lambda kind: kind != EntryKind.GROUP),
)


@st.composite
def plain_specs(draw: st.DrawFn) -> EntrySpec:
    """An entry with any kind, flags and tail, stored plain."""
    options = draw(st.none() | TEXT)
    kind = draw(kinds)
    sass = kind in (2, 16)
    # Without data a record of an empty text reads back as what it is; a cubin's holds bytes.
    return EntrySpec(
        kind=kind,
        payload=draw(st.binary(max_size=200)),
        arch=draw(st.just(0) | st.integers(10, 0xFFFFFFFF)),
        flags=draw(U64) & ~COMPRESSION_MASK,
        major=draw(U16),
        minor=draw(U16),
        identifier=draw(TEXT),
        options="" if sass and options is not None else options,
        compat=draw(st.binary(max_size=40)) if sass and options is not None else b"",
        key=draw(U64),
        version=0x0101,
    )


@st.composite
def specs(draw: st.DrawFn) -> EntrySpec:
    """Any entry: plain, compressed, or a group of images."""
    compression = draw(compressions)
    if draw(st.integers(0, 5)) == 0:
        members = draw(st.lists(plain_specs(), min_size=1, max_size=4))
        return EntrySpec.group(members, draw(st.sampled_from(list(COMPRESSION_FLAGS)[1:])))
    return draw(plain_specs()).compressed(compression)


containers = st.lists(st.lists(specs(), max_size=5), max_size=4)
