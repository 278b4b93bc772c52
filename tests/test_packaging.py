"""The wheel holds the package and its manual page; the source archive can be tested; anyone who builds them gets the same bytes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import reproducible
import yaml
from release import ReleaseError, require_version, unpack
from support import ROOT

import fatbin

EPOCH = 1_700_000_000
NO_ISOLATION = ("--no-isolation", "--skip-dependency-check")
"""The environment that runs the tests has what builds; a release builds in isolation."""
SHIPPED = ("fatbin", "tests", "fixtures", "docs", "deploy", "benchmarks", "fuzz", "toolkits", ".ci")
LEAVINGS = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    reproducible.build(ROOT, out, epoch=EPOCH, options=NO_ISOLATION)
    return out


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def unpacked(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    (archive,) = dist.glob("*.tar.gz")
    return unpack(archive, tmp_path_factory.mktemp("another place"))


# The wheel ----------------------------------------------------------------------------------------


def test_the_wheel_holds_only_the_package_and_its_manual_page(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    stem = f"fatbin-{fatbin.__version__}"
    assert tops == {"fatbin", f"{stem}.dist-info", f"{stem}.data"}
    data = [name for name in names if name.startswith(f"{stem}.data/")]
    assert data == [f"{stem}.data/data/share/man/man1/fatbin.1"]
    assert "fatbin/py.typed" in names
    assert {name for name in names if name.startswith("fatbin/")} == {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "fatbin").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_check_wheel_contents(wheel: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "check_wheel_contents", str(wheel)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_metadata(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        info = f"fatbin-{fatbin.__version__}.dist-info"
        metadata = archive.read(f"{info}/METADATA").decode()
        scripts = archive.read(f"{info}/entry_points.txt").decode()
    assert "License-Expression: Apache-2.0" in metadata
    assert "License-File: LICENSE" in metadata
    assert "Requires-Python: >=3.10" in metadata
    assert "fatbin = fatbin.cli:main" in scripts
    assert set(re.findall(r"^Provides-Extra: (\S+)$", metadata, re.MULTILINE)) == {
        "bench",
        "demangle",
        "dev",
        "docs",
        "fuzz",
        "zstd",
    }


def test_every_extra_for_users_is_documented() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    for extra in ("demangle", "zstd"):
        assert f"fatbin[{extra}]" in pages


# The source archive -------------------------------------------------------------------------------


def test_the_source_archive_holds_all_that_is_tested(unpacked: Path) -> None:
    wanted = {
        path.relative_to(ROOT).as_posix()
        for top in SHIPPED
        for path in (ROOT / top).rglob("*")
        if path.is_file() and not LEAVINGS & set(path.parts) and path.suffix != ".pyc"
    }
    wanted |= {path.name for path in ROOT.glob("*.md")}
    wanted |= {"cli.py", "pyproject.toml", "LICENSE", "CITATION.cff", ".pre-commit-hooks.yaml"}
    wanted.add("mkdocs.yml")
    found = {
        path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()
    }
    assert wanted <= found, wanted - found
    assert found - wanted <= {"PKG-INFO", ".gitignore"}, "something of this machine is shipped"


def test_the_source_archive_can_be_tested(unpacked: Path) -> None:
    # A release runs all of them.
    chosen = [f"tests/unit/test_{name}.py" for name in ("arch", "errors", "kinds")]
    environment = {**os.environ, "PYTHONPATH": str(unpacked), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen],
        cwd=unpacked,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b\d{2,} passed", done.stdout), done.stdout


# The same bytes -----------------------------------------------------------------------------------


def test_who_builds_the_source_archive_gets_the_same_bytes(
    dist: Path, unpacked: Path, tmp_path: Path
) -> None:
    again = reproducible.build(
        unpacked,
        tmp_path,
        epoch=EPOCH,
        surroundings=reproducible.ELSEWHERE,
        options=NO_ISOLATION,
    )
    first = sorted((*dist.glob("*.tar.gz"), *dist.glob("*.whl")))
    assert len(again) == 2
    reproducible.require_same(first, again)


def test_a_difference_is_told(tmp_path: Path) -> None:
    one, other = tmp_path / "a.whl", tmp_path / "other" / "a.whl"
    other.parent.mkdir()
    one.write_bytes(b"1")
    other.write_bytes(b"2")
    with pytest.raises(reproducible.DifferenceError, match=r"a\.whl differs between two builds"):
        reproducible.require_same([one], [other])
    with pytest.raises(reproducible.DifferenceError, match="expected"):
        reproducible.require_same([one], [])


# The version --------------------------------------------------------------------------------------


def test_the_version_is_one() -> None:
    assert require_version(dated=False) == fatbin.__version__


def test_a_release_needs_a_date(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "fatbin").mkdir()
    (tmp_path / "fatbin" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CITATION.cff").write_text("version: 1.2.3\n")
    changes = tmp_path / "CHANGELOG.md"
    monkeypatch.setattr("release.ROOT", tmp_path)
    changes.write_text("## [1.2.3] - unreleased\n")
    with pytest.raises(ReleaseError, match=r"no date to 1\.2\.3"):
        require_version(dated=True)
    changes.write_text("## [1.2.3] - 2026-01-31\n")
    assert require_version(dated=True) == "1.2.3"
    changes.write_text("## [1.2.2] - 2026-01-31\n")
    with pytest.raises(ReleaseError, match="expected one version"):
        require_version(dated=True)


def test_how_to_cite_is_whole() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["version"] == fatbin.__version__
    assert cited["license"] == "Apache-2.0"
