"""``fatbin diagnose`` as a user meets it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_logs import HEALTHY, START, SYMPTOMS
from support import FIXTURES, ROOT

from fatbin.cli import exits, main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["diagnose", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "rank1.log"
    path.write_text(START + SYMPTOMS["E500"])
    return str(path)


def test_a_cause_is_exit_one(capsys: pytest.CaptureFixture[str], log: str) -> None:
    code, out, err = run(capsys, log, "--gpu", "H100")
    assert (code, err) == (exits.FAIL, "")
    lines = out.splitlines()
    assert lines[0] == "found in 1 log, 5 lines: 1 likely, 1 possible"
    assert "E500 likely: named symbol not found (error 500)" in lines
    assert "  check      fatbin check LIBRARY --gpu H100" in lines


def test_effects_alone_are_exit_zero(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text(SYMPTOMS["E700"])
    code, out, _ = run(capsys, str(path))
    assert code == exits.PASS
    assert out.startswith("found in 1 log, 1 line: 1 effect\n")


@pytest.mark.parametrize("name", sorted(HEALTHY))
def test_nothing_known_is_exit_zero(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "x.log"
    path.write_text(HEALTHY[name])
    code, out, err = run(capsys, str(path))
    assert (code, err) == (exits.PASS, "")
    assert out.startswith("nothing known found in 1 log, ")


def test_unreadable_logs_are_exit_two(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(capsys, str(tmp_path / "missing"), str(tmp_path))
    assert (code, out) == (exits.ERROR, "")
    assert len(err.splitlines()) == 2
    assert "cannot be read: No such file" in err
    assert "expected a log, found a folder" in err


def test_what_can_be_read_is_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str
) -> None:
    code, out, err = run(capsys, str(tmp_path / "missing"), log)
    assert code == exits.FAIL
    assert "E500 likely" in out
    assert "missing" in err
    fine = tmp_path / "fine.log"
    fine.write_text("all is well\n")
    code, out, _ = run(capsys, str(tmp_path / "missing"), str(fine))
    assert (code, out) == (exits.ERROR, "nothing known found in 1 log, 1 line\n")


def test_json_says_everything(capsys: pytest.CaptureFixture[str], log: str) -> None:
    code, out, _ = run(
        capsys,
        log,
        "--format",
        "json",
        "--library",
        str(FIXTURES / "lib_3arch.so"),
        "--gpu",
        "8.0",
        "--driver",
        "570",
    )
    document = json.loads(out)
    assert code == exits.FAIL
    assert document["driver"] == "570"
    assert document["verdict"]["outcome"] == "FAIL"
    assert [cause["symptom"] for cause in document["causes"]] == ["E500", "LIBRARY", "NCCL-SILENT"]


def test_a_library_needs_a_gpu(capsys: pytest.CaptureFixture[str], log: str) -> None:
    code, _, err = run(capsys, log, "--library", str(FIXTURES / "lib_3arch.so"))
    assert code == exits.ERROR
    assert "expected a GPU" in err
    assert "--gpu" in err


def test_verbose_names_sources_and_shows_the_verdict(
    capsys: pytest.CaptureFixture[str], log: str
) -> None:
    _, out, _ = run(
        capsys, log, "--verbose", "--library", str(FIXTURES / "lib_3arch.so"), "--gpu", "9.0"
    )
    assert "  source     measured on an H200" in out
    assert "PASS: the library passes on the GPU" in out


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Standard:
        buffer = io.BytesIO(SYMPTOMS["E209"].encode())

    monkeypatch.setattr(sys, "stdin", Standard())
    code, out, _ = run(capsys, "-")
    assert code == exits.FAIL
    assert "  line       standard input line 1: RuntimeError" in out
    monkeypatch.setattr(sys, "stdin", None)
    code, _, err = run(capsys, "-")
    assert code == exits.ERROR
    assert "closed standard input" in err


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="Linux tells its memory")
def test_a_huge_log_takes_little_memory() -> None:
    script = (
        "import sys\n"
        "from fatbin.cli import main\n"
        "code = main(['diagnose', '-'])\n"
        "peak = [row.split()[1] for row in open('/proc/self/status') if row.startswith('VmHWM')]\n"
        "sys.stderr.write(f'{code} {peak[0]}')"
    )
    line = b"2026-01-10 08:00:00 step 1 loss 2.31 [rank0] NCCL is fine\n"
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=line * 400_000,  # 23 MB
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    code, peak_kib = done.stderr.split()
    assert int(code) == exits.PASS
    assert int(peak_kib) < 60_000
