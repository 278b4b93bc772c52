"""Paths inside targets of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

import fatbin
from fatbin.survey.inside import paths_in


@pytest.mark.parametrize(
    ("target", "location", "path"),
    [
        ("x.whl", "x.whl::pkg/lib/libx.so", "pkg/lib/libx.so"),
        ("x.whl", "x.whl::lib.a::m.o", "lib.a::m.o"),
        ("libx.so", "libx.so", ""),
        ("folder", "folder/sub/x.so", "sub/x.so"),
        ("folder/", "folder/sub/x.whl::a.so", "sub/x.whl::a.so"),
        (".", "./.hidden/x.so", ".hidden/x.so"),
        ("-", "-::usr/lib/x.so", "usr/lib/x.so"),
        ("/layout", "/layout::usr/lib/x.so", "usr/lib/x.so"),
        ("/lay", "/layout/x.so", "/layout/x.so"),
        ("/layout", "/elsewhere/x.so", "/elsewhere/x.so"),
    ],
)
def test_paths(target: str, location: str, path: str) -> None:
    assert paths_in(target)(location) == path


def test_environments_by_folder_and_by_program(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    program = tmp_path / "bin" / "python3"
    program.parent.mkdir()
    program.touch()
    for target in (tmp_path, program):
        path = paths_in(f"env:{target}")
        assert path(str(site / "p" / "x.so")) == "lib/python3.12/site-packages/p/x.so"
    with pytest.raises(fatbin.SourceError):
        paths_in(f"env:{tmp_path / 'missing'}")
