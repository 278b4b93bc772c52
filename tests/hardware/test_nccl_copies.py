"""The copies that live tests use differ from the original in what they are for, and in nothing else."""

from __future__ import annotations

from pathlib import Path

from nccl_copies import without_code_for
from support import FIXTURES

import fatbin


def test_a_copy_lacks_the_code_and_keeps_the_rest(tmp_path: Path) -> None:
    original, copy = FIXTURES / "lib_3arch.so", tmp_path / "lib_3arch.so"
    assert without_code_for(original, copy, 90) == 1
    assert str(fatbin.check(fatbin.scan(original), gpus="9.0").outcome) == "PASS"
    assert str(fatbin.check(fatbin.scan(copy), gpus="9.0").outcome) == "FAIL"
    one, other = original.read_bytes(), copy.read_bytes()
    assert len(one) == len(other)
    assert sum(a != b for a, b in zip(one, other, strict=True)) == 1
    assert without_code_for(copy, tmp_path / "again.so", 90) == 0
