"""The wheel holds the package alone; the source archive can be tested."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from support import ROOT

import fatbin


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(out), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return out


def test_the_wheel_holds_only_the_package(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"fatbin", f"fatbin-{fatbin.__version__}.dist-info"}
    assert "fatbin/py.typed" in names
    assert {name for name in names if name.startswith("fatbin/")} == {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "fatbin").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_check_wheel_contents(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    done = subprocess.run(
        [sys.executable, "-m", "check_wheel_contents", str(wheel)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_source_archive_can_be_tested(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {"cli.py", "tests/support.py", "fixtures/manifest.json", "pyproject.toml"} <= names
    assert {"mkdocs.yml", "docs/site/hooks.py", "docs/site/site.css"} <= names


def test_metadata(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        info = f"fatbin-{fatbin.__version__}.dist-info"
        metadata = archive.read(f"{info}/METADATA").decode()
        scripts = archive.read(f"{info}/entry_points.txt").decode()
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: >=3.10" in metadata
    assert "fatbin = fatbin.cli:main" in scripts
