"""parse and str are inverse; order and hash agree with equality."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import architectures

from fatbin import Architecture, ArchitectureError, ComputeCapability

capabilities = st.builds(ComputeCapability, st.integers(1, 999), st.integers(0, 9))


@given(architectures)
def test_architecture_text_round_trip(arch: Architecture) -> None:
    assert Architecture.parse(str(arch)) == arch
    assert Architecture.parse(arch) is arch
    assert pickle.loads(pickle.dumps(arch)) == arch  # noqa: S301 - our own


@given(capabilities)
def test_capability_text_round_trip(cc: ComputeCapability) -> None:
    assert ComputeCapability.parse(str(cc)) == cc
    assert ComputeCapability.parse(f"sm_{cc.sm}") == cc
    assert ComputeCapability.of_sm(cc.sm) == cc
    assert pickle.loads(pickle.dumps(cc)) == cc  # noqa: S301


@given(architectures, architectures)
def test_order_is_total_and_agrees_with_equality(a: Architecture, b: Architecture) -> None:
    assert (a < b) + (a == b) + (a > b) == 1
    assert (a <= b) == (a < b or a == b)
    assert (a >= b) == (b <= a)
    if a == b:
        assert hash(a) == hash(b)
    if a.number < b.number:
        assert a < b


@given(st.lists(architectures, max_size=6), st.sampled_from([" ", ",", ";", ", "]))
def test_lists_keep_order_and_drop_repeats(archs: list[Architecture], separator: str) -> None:
    text = separator.join(map(str, archs))
    assert list(Architecture.parse_list(text)) == list(dict.fromkeys(archs))


@given(st.text(max_size=12))
def test_any_text_is_an_architecture_or_an_error(text: str) -> None:
    for parse in (Architecture.parse, ComputeCapability.parse, Architecture.parse_list):
        try:
            parse(text)
        except ArchitectureError as exc:
            assert repr(text) in str(exc) or "," in text or ";" in text or text.split()


@given(architectures)
def test_values_do_not_change(arch: Architecture) -> None:
    with pytest.raises(AttributeError):
        arch.number = 1
    with pytest.raises(AttributeError):
        del arch.number
