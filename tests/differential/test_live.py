"""The listings that the manifest remembers, against the cuobjdump of the wheel, run now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cuobjdump_answers import OPTIONS, ask
from support import FIXTURES, manifest


@pytest.mark.parametrize("row", manifest(), ids=lambda row: str(row["file"]))
def test_the_manifest_says_what_cuobjdump_prints(cuobjdump: Path, row: dict[str, Any]) -> None:
    answers = ask(cuobjdump, FIXTURES / row["file"])
    recorded = row["cuobjdump"]
    assert answers == {key: (recorded[key]["rc"], recorded[key]["stdout"]) for key in OPTIONS}
