"""The command: what it takes, what it says, how it ends; and packages of the index unpacked."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import asking
import from_index
import pytest
import rebuilding
import refresh
import unknowns
from comparing import compare
from from_index import NotOnIndexError, Package
from rebuilding import Rebuilt
from recording import read_manifest
from support import FIXTURES
from toolkit import Toolkit
from unknowns import Row


def _wheel(folder: Path) -> Path:
    path = folder / "some_tool-1.2.3-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("some/bin/tool", "#!/bin/sh\n")
        archive.writestr("some/include/tool.h", "")
    return path


def test_a_package_is_fetched_once_and_its_programs_can_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def download(package: Package, folder: Path) -> Path:
        calls.append(package.requirement)
        return _wheel(folder)

    monkeypatch.setenv("FATBIN_TOOLS", str(tmp_path))
    monkeypatch.setattr(from_index, "_download", download)
    package = Package("some-tool", "1.2.*", ("*/bin/*",))
    folder = from_index.unpacked(package)
    assert from_index.unpacked(package) == folder
    assert calls == ["some-tool==1.2.*"]
    assert from_index.version_of(package, folder) == "1.2.3"
    assert os.access(from_index.the_one(folder, "bin/tool"), os.X_OK)
    with pytest.raises(NotOnIndexError, match="found 0"):
        from_index.the_one(folder, "tool.h")


def test_a_version_is_read_from_what_pip_says(monkeypatch: pytest.MonkeyPatch) -> None:
    said = subprocess.CompletedProcess([], 0, "some-tool (1.2.3)\nAvailable versions: 1.2.3", "")
    monkeypatch.setattr(from_index, "_pip", lambda *_: said)
    assert from_index.newest("some-tool") == "1.2.3"
    said.stdout, said.stderr = "", "ERROR: No matching distribution found for some-tool"
    with pytest.raises(NotOnIndexError, match="No matching distribution"):
        from_index.newest("some-tool")


def test_a_toolkit_that_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def installed(version: str) -> Toolkit:
        msg = f"expected {version} on the index"
        raise NotOnIndexError(msg)

    monkeypatch.setattr(refresh, "installed", installed)
    assert refresh.main(["99.9"]) == 2
    assert capsys.readouterr().err == "refresh.py: expected 99.9 on the index\n"


def test_a_folder_in_use_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").touch()
    monkeypatch.setattr(refresh, "installed", lambda _version: None)
    with pytest.raises(SystemExit) as ended:
        refresh.main(["13.5", "--folder", str(tmp_path)])
    assert ended.value.code == 2


@pytest.fixture
def stand_in(cuobjdump: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let the command have a toolkit of which nothing is run."""
    toolkit = Toolkit("13.5", "13.5.37", Path("nowhere"), cuobjdump, "13.5.37", {})
    monkeypatch.setattr(refresh, "installed", lambda _version: toolkit)
    monkeypatch.setattr(refresh, "compile_targets", lambda *_: ([], []))
    monkeypatch.setattr(unknowns, "of_files", lambda _paths: ())
    monkeypatch.setattr(asking, "targets", lambda _toolkit: {90: {"", "a"}})
    monkeypatch.setattr(asking, "isa_versions", lambda _toolkit: ["1.0", "9.5"])
    return monkeypatch


@pytest.mark.parametrize(
    ("rows", "built", "code"),
    [
        ([], [Rebuilt("sm_75.fatbin", "", same=True, changes=())], 0),
        ([Row("a table", "sm_990")], [Rebuilt("sm_75.fatbin", "", same=True, changes=())], 1),
        ([], [Rebuilt("sm_75.fatbin", "no such target", same=False, changes=())], 1),
    ],
)
def test_the_report_and_the_exit_code(
    rows: list[Row],
    built: list[Rebuilt],
    code: int,
    stand_in: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stand_in.setattr(refresh, "rebuild", lambda *_: built)
    stand_in.setattr(refresh, "_asked", lambda *_: rows)
    assert refresh.main(["13.5"]) == code
    text = capsys.readouterr().out
    assert text.startswith("# CUDA 13.5\n")
    assert "- targets: sm_90, sm_90a\n- PTX ISA: 1.0 to 9.5\n" in text
    for row in rows:
        assert f"- `{row.table}`: {row.text}" in text
    for one in built:
        assert (f"- {one.file}: {one.error}" in text) == bool(one.error)


def test_a_difference_that_is_not_in_the_table_and_one_that_is_gone(
    cuobjdump: Path, tmp_path: Path
) -> None:
    version = "13.5.37"
    path = FIXTURES / "multi.fatbin"
    assert compare(path, path.name, cuobjdump, version, tmp_path)[1:] == ([], [])
    assert compare(path, "another name", cuobjdump, version, tmp_path)[1:] == (["suffix"], [])
    plain = FIXTURES / "sm_80.fatbin"
    assert compare(plain, path.name, cuobjdump, version, tmp_path)[1:] == ([], ["suffix"])


def test_a_fixture_built_otherwise_says_what_changed() -> None:
    old, new = FIXTURES / "cmode_none.fatbin", FIXTURES / "cmode_speed.fatbin"
    assert rebuilding._changes(old, old) == ()
    assert rebuilding._changes(old, new) == (
        "ptx compression: none became lz4",
        "ptx flags: 0x11 became 0x2011",
    )
    other = rebuilding._changes(old, FIXTURES / "sm_75.fatbin")
    assert other == ("entries: sass sm_80, ptx compute_80 became sass sm_75",)


def test_write_replaces_what_was_built_and_measures_again(
    cuobjdump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed, built = tmp_path / "fixtures", tmp_path / "built"
    committed.mkdir()
    built.mkdir()
    document = read_manifest(FIXTURES)
    names = ("sm_75.fatbin", "sm_80.fatbin")
    rows = [row for row in document["fixtures"] if row["file"] in names]
    for name in names:
        shutil.copy(FIXTURES / name, committed / name)
    shutil.copy(FIXTURES / "sm_90a.fatbin", built / "sm_75.fatbin")
    monkeypatch.setattr(refresh, "FIXTURES", committed)
    monkeypatch.setattr(refresh, "cuobjdump", lambda _version: cuobjdump)
    refresh.write_fixtures(
        {**document, "fixtures": list(rows)},
        [
            Rebuilt("sm_75.fatbin", "", same=False, changes=()),
            Rebuilt("sm_80.fatbin", "no such target", same=False, changes=()),
        ],
        built,
        Toolkit("13.9", "13.9.1", tmp_path, cuobjdump, "13.9.1", {}),
    )
    written = read_manifest(committed)
    assert written["variables"]["NVCC"] == "nvidia-cuda-nvcc==13.9.1 nvcc"
    first, second = written["fixtures"]
    assert second == rows[1]
    assert first["command"] == rows[0]["command"]
    assert first["size"] == (FIXTURES / "sm_90a.fatbin").stat().st_size
    assert first["cuobjdump"]["lelf"]["stdout"] == ["ELF file    1: sm_75.1.sm_90a.cubin"]
    assert (committed / "sm_75.fatbin").read_bytes() == (built / "sm_75.fatbin").read_bytes()
