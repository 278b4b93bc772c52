"""What a toolkit knows that fatbin does not is named, and what both know is not."""

from __future__ import annotations

from pathlib import Path

import pytest
import unknowns
from support import FIXTURES

from fatbin import EntrySpec, build
from fatbin.format.attributes import COMPAT_NAMES, INFO_NAMES

_TARGETS_13_5 = {
    **{n: {""} for n in (75, 80, 86, 87, 88, 89)},
    90: {"", "a"},
    **{n: {"", "a", "f"} for n in (100, 103, 107, 110, 120, 121)},
}
_KINDS = {
    1: "ptx",
    2: "elf",
    4: "cubin",
    8: "nvvm",
    32: "index",
    64: "relocatable ptx",
    128: "tile ir",
    256: "concatenated entry",
}
_WHOLE = (
    "multi.fatbin",
    "host_rdc.o",
    "debug_G.fatbin",
    "concat.fatbin",
    "lto_100f.fatbin",
    "res_90a.cubin",
    "ptxas11.8_sm80.cubin",
)


def _texts(rows: object) -> list[str]:
    return [row.text for row in rows]  # type: ignore[attr-defined]


def test_the_newest_toolkit_of_the_tables_is_known() -> None:
    assert _texts(unknowns.of_toolkit("13.5", ["9.4", "9.5"])) == []
    assert _texts(unknowns.of_targets("13.5", _TARGETS_13_5)) == []


def test_a_toolkit_and_its_isa() -> None:
    (row,) = unknowns.of_toolkit("99.1", ["9.5", "77.0"])
    assert row.table.endswith("TOOLKITS")
    assert "99.1" in row.text
    assert "77.0" in row.text
    (text,) = _texts(unknowns.of_toolkit("13.5", ["9.6"]))
    assert text == "toolkit 13.5: PTX ISA 9.6, the table says 9.5"


def test_an_architecture_and_a_suffix() -> None:
    targets = {**_TARGETS_13_5, 990: {"", "a"}, 90: {"", "a", "f"}}
    assert _texts(unknowns.of_targets("13.5", targets)) == [
        "sm_90: suffix f, compiled for by 13.5",
        "sm_990 (a), compiled for by 13.5",
    ]


def test_an_architecture_that_is_gone_or_older_than_the_table_says() -> None:
    gone = {number: _TARGETS_13_5[number] for number in _TARGETS_13_5 if number != 75}
    assert _texts(unknowns.of_targets("13.5", gone)) == [
        "sm_75: 13.5 does not compile for it (any more)"
    ]
    back = {**_TARGETS_13_5, 70: {""}}
    assert _texts(unknowns.of_targets("13.5", back)) == [
        "sm_70: 13.5 compiles for it, the table says 12.9 is the last"
    ]
    (first, *_) = _texts(unknowns.of_targets("12.9", {107: {""}}))
    assert "is the first" in first


def test_kinds_flags_modes_and_names() -> None:
    modes = {"default", "size", "speed", "balance", "none"}
    assert _texts(unknowns.of_answers(_KINDS, set(), modes)) == []
    assert _texts(unknowns.of_answers({**_KINDS, 512: "new"}, {1 << 40}, {*modes, "tiny"})) == [
        "kind 512, which cuobjdump calls new",
        "flag 0x10000000000, which changes what cuobjdump prints",
        "fatbinary -compress-mode=tiny",
    ]
    assert _texts(unknowns.of_names(INFO_NAMES, COMPAT_NAMES)) == []
    assert _texts(unknowns.of_names({0x05: "OTHER", 0xF0: "NEW"}, {})) == [
        "attribute 0x05 OTHER",
        "attribute 0xf0 NEW",
    ]


def test_the_fixtures_hold_nothing_unknown() -> None:
    assert list(unknowns.of_files(FIXTURES / name for name in _WHOLE)) == []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"kind": 512}, "kind 512"),
        ({"flags": 0x11 | 1 << 33}, "flag 0x200000000, of sass sm_80"),
    ],
)
def test_an_entry(change: dict[str, int], text: str, tmp_path: Path) -> None:
    spec = EntrySpec.cubin((FIXTURES / "saxpy_80.cubin").read_bytes())
    path = tmp_path / "made.fatbin"
    path.write_bytes(build([spec._replace(**change)]))  # type: ignore[arg-type]
    assert text in _texts(unknowns.of_files([path]))


@pytest.mark.parametrize(
    ("offset", "value", "text"),
    [
        (8, 9, "ELF ABI version 9 of OS ABI 0x41"),
        (51, 0x77, "e_flags 0x77005004 of ELF ABI 8"),
        (1116 + 1, 0xF1, "attribute 0xf1, without a name"),
    ],
)
def test_a_cubin(offset: int, value: int, text: str, tmp_path: Path) -> None:
    data = bytearray((FIXTURES / "saxpy_80.cubin").read_bytes())
    data[offset] = value
    path = tmp_path / "made.cubin"
    path.write_bytes(data)
    assert text in _texts(unknowns.of_files([path]))
