"""``fatbin.pyz``: one file, nothing but Python beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import make_pyz
import pytest
from release import PORTABLE, ReleaseError, find_pythons, smoke
from support import FIXTURES, ROOT

import fatbin
from fatbin.cli import exits


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("pyz") / "fatbin.pyz"
    assert make_pyz.main([str(target)]) == 0
    return target


def run(pyz: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the file by an interpreter that sees no installed package and no variable but these."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(pyz), *arguments],
        cwd=pyz.parent,
        env={"PATH": os.environ["PATH"], **variables},
        check=False,
        capture_output=True,
        text=True,
    )


def test_version(pyz: Path) -> None:
    assert run(pyz, "--version").stdout == f"fatbin {fatbin.__version__}\n"


@pytest.mark.parametrize(
    ("command", "code", "shown"),
    [
        ("list {f}/lib_rdc.so", exits.PASS, "loadable     sass  sm_100f"),
        ("list {f}/libmixed.a", exits.PASS, "ptx   compute_100f"),
        ("inspect {f}/lib_3arch.so", exits.PASS, "sm_90a"),
        ("check --no-policy --gpu 9.0 {f}/lib_3arch.so", exits.PASS, "PASS: the library passes"),
        ("check --no-policy --gpu 8.0 {f}/lib_3arch.so", exits.FAIL, "FB101 fail"),
        ("explain FB101", exits.PASS, "# FB101: no code for the GPU"),
        ("gpus 'RTX 5090'", exits.PASS, "12.0"),
        ("diagnose {log}", exits.FAIL, "E209 likely"),
    ],
)
def test_commands_work_by_themselves(
    pyz: Path, tmp_path: Path, command: str, code: int, shown: str
) -> None:
    import shlex

    log = tmp_path / "x.log"
    log.write_text("CUDA error: no kernel image is available for execution on the device\n")
    done = run(pyz, *shlex.split(command.format(f=FIXTURES, log=log)))
    assert (done.returncode, done.stderr) == (code, "")
    assert shown in done.stdout


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("detect", exits.NOTHING),
        ("preflight --stages check {f}/lib_3arch.so", exits.NOTHING),
    ],
)
def test_a_machine_without_a_gpu_is_told(pyz: Path, command: str, code: int) -> None:
    done = run(pyz, *command.format(f=FIXTURES).split(), CUDA_VISIBLE_DEVICES="-1")
    assert (done.returncode, done.stderr) == (code, "")
    assert "GPU" in done.stdout


def test_every_python_that_is_here_runs_it(pyz: Path, tmp_path: Path) -> None:
    pythons = find_pythons([sys.executable])
    for python in pythons:
        smoke(Path(python), PORTABLE, ROOT, ("-I", "-S", str(pyz)))
    bad = tmp_path / "bad.pyz"
    bad.write_text("raise SystemExit(7)")
    with pytest.raises(ReleaseError, match="exit 7, expected 0"):
        smoke(Path(pythons[0]), PORTABLE, ROOT, (str(bad),))


def test_what_is_missing_is_said(pyz: Path) -> None:
    done = run(pyz, "list", "--verify", str(FIXTURES / "multi.fatbin"))
    assert done.returncode == exits.ERROR
    assert "cannot be inflated without cramjam" in done.stderr
    assert "sm_100f" in done.stdout


def test_what_is_inside(pyz: Path) -> None:
    with zipfile.ZipFile(pyz) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {"fatbin", "construct", "__main__.py"} <= tops
    assert not tops & {"tests", "lief", "cramjam", "rich"}
    assert "fatbin/judge/pages/FB101.md" in names
    assert any("construct" in name and "licen" in name.lower() for name in names)
    assert not [name for name in names if name.endswith((".pyc", ".so"))]


def test_the_same_input_makes_the_same_bytes(pyz: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.pyz"
    make_pyz.make(again)
    assert again.read_bytes() == pyz.read_bytes()
    assert os.access(again, os.X_OK)
    assert os.listdir(tmp_path) == ["again.pyz"]
