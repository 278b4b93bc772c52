"""A wheel whose members were inflated before their turn is read as one whose were not."""

from __future__ import annotations

import zipfile
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packing import WHEEL, wheel
from support import FIXTURES

import fatbin
from fatbin.scanning import packages

SMALL = [
    (f"pkg/{path.name}", path.read_bytes())
    for path in sorted(FIXTURES.iterdir())
    if path.suffix in (".cubin", ".fatbin", ".ptx") and path.stat().st_size < 20_000
]
MEMBERS = (
    *SMALL[:12],
    ("pkg/a.py", b"import x\n" * 50),
    ("pkg/empty", b""),
    ("pkg/big.so", bytes(300 << 10)),
)
DEFLATED = wheel(*MEMBERS)
BZIP2 = wheel(*MEMBERS[:4], method=zipfile.ZIP_BZIP2)


def both(data: bytes, limits: fatbin.Limits) -> tuple[fatbin.Inventory, fatbin.Inventory]:
    found = []
    for worth in (1 << 40, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(packages, "WORTH_A_THREAD", worth)
            found.append(fatbin.scan_bytes(data, WHEEL, limits=limits))
    return found[0], found[1]


@given(
    st.sampled_from((DEFLATED, BZIP2)),
    st.integers(0, 1 << 32),
    st.integers(0, 6),
    st.sampled_from(
        ({}, {"member_bytes": 3000}, {"archive_bytes": 30_000}, {"archive_members": 5})
    ),
)
def test_damage_and_limits_are_told_the_same(
    data: bytes, seed: int, changes: int, limits: dict[str, int]
) -> None:
    random, changed = Random(seed), bytearray(data)
    for _ in range(changes):
        changed[random.randrange(len(changed))] = random.randrange(256)
    plain, ahead = both(bytes(changed), fatbin.Limits(**limits))
    assert plain == ahead


def test_what_is_compared_holds_something() -> None:
    plain, ahead = both(DEFLATED, fatbin.Limits())
    assert plain == ahead
    assert len(plain.libraries) >= 10
    assert plain.all_issues == both(DEFLATED, fatbin.Limits())[1].all_issues
