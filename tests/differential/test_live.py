"""The listings that the manifest remembers, against the cuobjdump of the wheel, run now."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import FIXTURES, manifest

_OPTIONS = {
    "lelf_all": ("-all", "-lelf"),
    "lelf": ("-lelf",),
    "lptx": ("-lptx",),
    "dump": (),
}


def _run(cuobjdump: Path, options: tuple[str, ...], name: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [cuobjdump, *options, name],
        cwd=FIXTURES,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=60,
    )
    # Members are named with the folder they were found in; the manifest leaves the folder out.
    printed = done.stdout.decode().replace(f"member {FIXTURES}{os.sep}", "member ")
    return done.returncode, [line for line in printed.splitlines() if line]


@pytest.mark.parametrize("row", manifest(), ids=lambda row: str(row["file"]))
def test_the_manifest_says_what_cuobjdump_prints(cuobjdump: Path, row: dict[str, Any]) -> None:
    for key, options in _OPTIONS.items():
        cached = row["cuobjdump"][key]
        assert _run(cuobjdump, options, row["file"]) == (cached["rc"], cached["stdout"]), key
