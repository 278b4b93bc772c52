"""``fatbin smoke``: its documents and exit codes, and that nothing is left when it is ended."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zipapp
from pathlib import Path
from typing import Any

import pytest
from job import FAKE, PYTHON, is_there, run, wait_for
from machine import H200, Machine
from support import ROOT

from fatbin.cli import exits, main
from fatbin.cli.main import build_parser
from fatbin.cli.smoke import exit_code
from fatbin.node.smoke.conclude import conclude
from fatbin.node.smoke.nccl import message_size, smoke_nccl
from fatbin.node.smoke.records import SmokeOutcome, SmokeResult, SmokeRound, report_from
from fatbin.node.smoke.supervise import Watched

if not sys.platform.startswith("linux"):
    pytest.skip("NCCL is for Linux", allow_module_level=True)


@pytest.fixture
def two_gpus(machine: Machine) -> Machine:
    """A machine with two GPUs and the stand-in for torch."""
    machine.set(STANDIN_DEVICES=f"{H200};{H200}", PYTHONPATH=str(FAKE))
    return machine


def smoke(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["smoke", "nccl", *arguments])
    return code, capsys.readouterr().out


# Documents and exit codes -------------------------------------------------------------------------


@pytest.mark.usefixtures("two_gpus")
def test_a_pass_in_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = smoke(capsys)
    assert code == exits.PASS
    assert out.splitlines()[0] == "PASS: NCCL works with 2 ranks"
    assert "rank 1  NVIDIA H200 (9.0): done, 5 operations with the right values" in out


def test_a_failure_in_text(two_gpus: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    two_gpus.set(FAKE_TORCH="1:raise@broadcast,0:hang@broadcast")
    code, out = smoke(capsys, "--init", "lazy")
    assert code == exits.FAIL
    assert out.startswith("FAIL: rank 1 failed first in broadcast of 4,194,304 B: DistBackendErr")
    assert "rank 0  NVIDIA H200 (9.0): waiting in broadcast of 4,194,304 B" in out
    assert "NCCL WARN Cuda failure 'named symbol not found'" in out
    assert "action" in out


def test_a_timeout_in_json(two_gpus: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    two_gpus.set(FAKE_TORCH="hang@init_process_group")
    code, out = smoke(capsys, "--timeout", "0.5", "--format", "json", "--ranks", "1")
    document = json.loads(out)
    assert code == exits.FAIL
    assert (document["schema_version"], document["outcome"]) == (1, "TIMEOUT")
    (rank,) = document["rounds"][0]["ranks"]
    assert any("_hang" in line for line in rank["stack"])


def test_no_torch_is_no_pass(two_gpus: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    bare = two_gpus.programs / "python"
    two_gpus.program("python", f'exec {PYTHON} -S -E "$@"\n')
    code, out = smoke(capsys, "--python", str(bare))
    assert code == exits.NOTHING
    assert out.startswith("SKIPPED: torch is not installed for ")


def test_no_gpu_is_no_pass(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.set(STANDIN_INIT=100)
    code, out = smoke(capsys)
    assert code == exits.NOTHING
    assert out.startswith("SKIPPED: no GPU that CUDA can use: cuInit: 100")


@pytest.mark.parametrize(
    ("outcome", "code"), [("PASS", 0), ("FAIL", 1), ("TIMEOUT", 1), ("SKIPPED", 3)]
)
def test_exit_codes(outcome: str, code: int) -> None:
    assert exit_code(SmokeOutcome(outcome)) == code


def test_the_page_has_these_exit_codes() -> None:
    page = (ROOT / "docs" / "how-to" / "smoke.md").read_text()
    rows = dict(re.findall(r"^\| ([A-Z]+) \| (\d) \|", page, re.MULTILINE))
    assert rows == {str(o): str(exit_code(o)) for o in SmokeOutcome}


@pytest.mark.parametrize(
    "wrong",
    [
        ["--timeout", "0"],
        ["--timeout", "nan"],
        ["--timeout", "soon"],
        ["--ranks", "0"],
        ["--size", "524288"],
        ["--init", "never"],
    ],
)
def test_usage_errors(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["smoke", "nccl", *wrong])
    assert ended.value.code == exits.ERROR
    assert wrong[0] in capsys.readouterr().err


@pytest.mark.parametrize("size", [0, -1, 524288, (1 << 20) - 1, (1 << 30) + 1])
def test_the_function_refuses_what_the_command_refuses(size: int) -> None:
    with pytest.raises(ValueError, match=f"expected 1048576 to 1073741824 bytes, found {size}"):
        smoke_nccl(size=size)
    with pytest.raises(SystemExit):
        main(["smoke", "nccl", "--size", str(size)])


def test_messages_are_of_whole_floats() -> None:
    assert message_size((1 << 20) + 7) == (1 << 20) + 4


def test_the_defaults_of_the_command_are_those_of_the_function() -> None:
    given = build_parser("smoke").parse_args(["smoke", "nccl"])
    parameters = inspect.signature(smoke_nccl).parameters
    for name in ("size", "timeout", "start_timeout"):
        assert getattr(given, name) == parameters[name].default


def test_a_python_that_is_not_there(two_gpus: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["smoke", "nccl", "--python", str(two_gpus.root / "none")])
    assert code == exits.ERROR
    assert "cannot be started" in capsys.readouterr().err


# Nothing is left ----------------------------------------------------------------------------------


def started(machine: Machine, *command: str) -> tuple[subprocess.Popen[bytes], list[int]]:
    """Start a smoke test and wait until both its ranks have come to the operation that hangs."""
    marks = machine.root / "marks"
    marks.mkdir()
    machine.set(FAKE_MARKS=marks)
    process = subprocess.Popen([PYTHON, *command], cwd=ROOT, stdout=subprocess.DEVNULL)
    wait_for(lambda: len(os.listdir(marks)) == 2)
    return process, [int(name) for name in os.listdir(marks)]


COMMAND = ("-m", "fatbin", "smoke", "nccl", "--timeout", "600")


@pytest.mark.parametrize("fault", ["hang", "spin"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_ranks_end_with_their_parent(two_gpus: Machine, how: signal.Signals, fault: str) -> None:
    two_gpus.set(FAKE_TORCH=f"{fault}@broadcast")
    process, pids = started(two_gpus, *COMMAND)
    process.send_signal(how)
    code = process.wait(20)
    wait_for(lambda: not any(map(is_there, pids)))
    assert code == {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}[how]


# Where it runs from -------------------------------------------------------------------------------


@pytest.mark.usefixtures("two_gpus")
def test_from_a_zip_archive(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    shutil.copytree(ROOT / "fatbin", source / "fatbin")
    archive = tmp_path / "fatbin.pyz"
    zipapp.create_archive(source, archive, main="fatbin.cli:main")
    done = subprocess.run(
        [PYTHON, str(archive), "smoke", "nccl", "--format", "json"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    document = json.loads(done.stdout)
    assert (document["outcome"], document["ranks"]) == ("PASS", 2), done.stderr


def test_a_torch_in_the_current_folder_is_not_taken(
    two_gpus: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(tmp_path)
    assert run().outcome is SmokeOutcome.PASS
    assert two_gpus.left_over() == []


# Recordings ---------------------------------------------------------------------------------------


def again(document: dict[str, Any]) -> list[SmokeRound]:
    """Judge a document's ranks again."""
    return [
        conclude(
            one["init"],
            Watched(
                tuple(map(report_from, one["ranks"])),
                one["seconds"],
                one["timed_out"],
                one["limit"],
            ),
        )
        for one in document["rounds"]
    ]


@pytest.mark.parametrize(
    "fault",
    ["", "1:raise@broadcast,0:hang@broadcast", "1:segv@init_process_group", "1:wrong@broadcast"],
)
def test_a_document_can_be_judged_again(fault: str) -> None:
    result = run(fault)
    document = json.loads(json.dumps(result.to_dict()))
    rounds = again(document)
    told = SmokeResult(result.outcome, rounds=tuple(rounds)).to_dict()["rounds"]
    assert told == document["rounds"]


RECORDED = sorted((Path(__file__).parent / "recorded").glob("smoke_*.json"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recordings_are_judged_as_when_they_were_made(path: Path) -> None:
    document = json.loads(path.read_text())
    for one, recorded in zip(again(document), document["rounds"], strict=True):
        assert (str(one.outcome), one.first) == (recorded["outcome"], recorded["first"])
        assert (one.reason, list(one.signs)) == (recorded["reason"], recorded["signs"])
        assert one.action == recorded["action"]


def test_nothing_of_this_is_run_by_importing_the_worker() -> None:
    code = "import fatbin.node.smoke.worker, sys; assert 'torch' not in sys.modules"
    subprocess.run(
        [PYTHON, "-c", code], cwd=ROOT, check=True, env={**os.environ, "PYTHONPATH": str(FAKE)}
    )
