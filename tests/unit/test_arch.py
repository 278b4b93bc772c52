from __future__ import annotations

import pytest

from fatbin import Architecture, ArchitectureError, ComputeCapability


@pytest.mark.parametrize(
    ("text", "number", "variant", "virtual"),
    [
        ("sm_90a", 90, "a", False),
        ("compute_100f", 100, "f", True),
        ("lto_80", 80, "", True),
        ("9.0", 90, "", False),
        ("9.0a", 90, "a", False),
        ("12.0", 120, "", False),
        (" SM_121 ", 121, "", False),
        ("sm_1000", 1000, "", False),
        ("sm_100?", 100, "?", False),
    ],
)
def test_spellings(text: str, number: int, variant: str, virtual: bool) -> None:  # noqa: FBT001
    assert Architecture.parse(text) == Architecture(number, variant, virtual=virtual)


@pytest.mark.parametrize(
    "text", ["", "sm", "sm_", "sm_9", "90", "sm_90b", "sm_90aa", "compute90", "9", "9.00", "a9.0"]
)
def test_no_architecture(text: str) -> None:
    with pytest.raises(ArchitectureError, match="expected an architecture"):
        Architecture.parse(text)


@pytest.mark.parametrize(
    "text", ["sm_\u0669\u0660", "\u0669.0", "9.\uff10", "compute_\u0967\u0968"]
)
def test_digits_are_those_of_ascii(text: str) -> None:
    with pytest.raises(ArchitectureError, match="expected an architecture"):
        Architecture.parse(text)
    with pytest.raises(ArchitectureError, match="expected an architecture"):
        Architecture.parse_list(f"8.0 {text}+PTX")
    with pytest.raises(ArchitectureError, match="expected a compute capability"):
        ComputeCapability.parse(text.replace("compute_", "sm_"))


def test_lists_as_build_systems_write_them() -> None:
    assert [str(a) for a in Architecture.parse_list("8.0 9.0a;12.0+PTX, sm_120")] == [
        "sm_80",
        "sm_90a",
        "sm_120",
        "compute_120",
    ]
    assert Architecture.parse_list("") == ()


def test_order_is_by_number_then_variant_then_real_before_virtual() -> None:
    text = ["sm_80", "sm_100", "sm_100f", "sm_100a", "compute_100a", "sm_100?", "sm_120"]
    archs = [Architecture.parse(t) for t in text]
    archs.reverse()
    assert [str(a) for a in sorted(archs)] == text


def test_all_digits_count() -> None:
    assert Architecture.parse("sm_120").compute_capability == ComputeCapability(12, 0)
    assert ComputeCapability.parse("120") == ComputeCapability(12, 0)
    assert ComputeCapability.parse("sm_87") == ComputeCapability(8, 7)
    assert str(ComputeCapability.of_sm(1031)) == "103.1"


@pytest.mark.parametrize("text", ["", "9", "9.10", "x", "9.0a", "-1.0", "sm_9", "9.0.0"])
def test_no_compute_capability(text: str) -> None:
    with pytest.raises(ArchitectureError, match="compute capability"):
        ComputeCapability.parse(text)


def test_numbers_that_nothing_spells() -> None:
    with pytest.raises(ArchitectureError):
        ComputeCapability(9, 10)
    with pytest.raises(ArchitectureError):
        Architecture(9)
    with pytest.raises(ArchitectureError):
        Architecture(90, "b")


def test_values_of_different_types_do_not_compare() -> None:
    assert Architecture.parse("sm_90") != ComputeCapability(9, 0)
    assert ComputeCapability(9, 0) != (9, 0)
    with pytest.raises(TypeError):
        assert ComputeCapability(9, 0) < (9, 1)
    assert repr(Architecture.parse("sm_90a")) == "Architecture('sm_90a')"
