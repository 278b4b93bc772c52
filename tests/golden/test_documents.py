"""``inspect`` and the issues of every fixture, against documents that a person has read."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from support import FIXTURES, ROOT, manifest

import fatbin
from fatbin.report.table import PlainWriter
from fatbin.report.text import inspect_libraries

GOLDEN = Path(__file__).parent / "inspect.txt"
NAMES = [row["file"] for row in manifest()]


def document(name: str) -> str:
    out = io.StringIO()
    inspect_libraries(PlainWriter(out), fatbin.scan(FIXTURES / name, verify=True))
    return f"=== {name}\n" + out.getvalue().replace(f"{ROOT}/", "")


def test_inspect_is_what_was_read(request: pytest.FixtureRequest) -> None:
    text = "".join(document(name) for name in NAMES)
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(text)
    wanted = GOLDEN.read_text().split("=== ")
    for got, expected in zip(text.split("=== "), wanted, strict=True):
        assert got == expected
