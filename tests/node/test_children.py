"""Child processes: none outlives the parent, and they start wherever fatbin lies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipapp
from pathlib import Path

import pytest
from machine import Machine, is_running
from support import FIXTURES, ROOT

import fatbin
from fatbin import DeviceError
from fatbin.node import child_side, children
from fatbin.node.children import Child, TimedOut

pytestmark = pytest.mark.usefixtures("machine")
WORKER = "fatbin.node.driver_worker"


def waiting(machine: Machine, code: str, loads: int) -> tuple[subprocess.Popen[bytes], int]:
    """Start a parent whose child hangs in libcuda; return it and the child's process id."""
    parent = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        pids = machine.pids.read_text().split() if machine.pids.exists() else []
        if len(pids) == loads:
            return parent, int(pids[-1])
        time.sleep(0.02)
    parent.kill()
    raise AssertionError(parent.communicate())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("hang", "code", "loads"),
    [
        ("cuInit", "import fatbin; fatbin.detect(timeout=600)", 1),
        (
            "cuModuleLoadData",
            f"import fatbin; fatbin.probe({str(FIXTURES / 'saxpy_90a.cubin')!r}, timeout=600)",
            2,
        ),
    ],
)
def test_no_child_outlives_its_parent(
    machine: Machine, hang: str, code: str, loads: int, how: signal.Signals
) -> None:
    machine.set(STANDIN_HANG=hang)
    parent, child = waiting(machine, code, loads)
    assert child != parent.pid
    assert is_running(child)
    parent.send_signal(how)
    parent.communicate(timeout=20)
    assert parent.returncode != 0
    assert machine.left_over() == []


def test_nvidia_smi_does_not_outlive_it_either(machine: Machine) -> None:
    machine.without("libcuda.so.1", "libnvidia-ml.so.1")
    machine.program("nvidia-smi", 'echo $$ >> "$STANDIN_PIDS"\nexec sleep 1000\n')
    machine.patch.setenv("PATH", f"{machine.programs}:/usr/bin:/bin")
    parent, child = waiting(machine, "import fatbin; fatbin.detect(timeout=600)", 1)
    assert is_running(child)
    parent.kill()
    parent.communicate(timeout=20)
    assert machine.left_over() == []


def test_the_end_of_the_pipe_is_enough() -> None:
    """Where the kernel does not kill: the thread that reads standard input ends the process."""
    code = (
        "import os, sys, time; os.getppid = lambda: 0\n"
        f"sys.path[:0] = {sys.path!r}\n"
        "from fatbin.node import child_side\n"
        "child_side.sys = type(sys)('sys'); child_side.sys.platform = 'elsewhere'\n"
        "child_side.end_with_parent(0)\n"
        "print('here', flush=True); time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"here\n"
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(timeout=10) == 1


def test_a_parent_that_is_gone_already() -> None:
    """A child that comes to life too late for the kernel to tell it ends at once."""
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from fatbin.node import child_side\n"
        "child_side.end_with_parent(1 << 22)\nprint('alive')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, stdin=subprocess.DEVNULL
    )
    assert (done.returncode, done.stdout) == (1, b"")


def test_children_are_isolated(machine: Machine, tmp_path: Path) -> None:
    """Neither the folder nor variables for Python change what a child imports."""
    for name in ("json.py", "ctypes.py"):
        (tmp_path / name).write_text("raise SystemExit(7)")
    machine.patch.chdir(tmp_path)
    machine.set(PYTHONPATH=tmp_path, PYTHONSTARTUP=tmp_path / "json.py")
    assert machine.detect().usable


def test_a_zip_archive(machine: Machine, tmp_path: Path) -> None:
    source = tmp_path / "app"
    shutil.copytree(ROOT / "fatbin", source / "fatbin", ignore=shutil.ignore_patterns("*.pyc"))
    machine.patch.delenv("PYTHONPATH", raising=False)
    archive = tmp_path / "fatbin.pyz"
    zipapp.create_archive(source, archive, main="fatbin.cli:main")
    done = subprocess.run(
        [sys.executable, "-S", str(archive), "detect", "--format", "json"],
        check=False,
        capture_output=True,
        cwd=tmp_path,
    )
    document = json.loads(done.stdout)
    assert [gpu["name"] for gpu in document["gpus"]] == ["NVIDIA H200"], done.stderr
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); import fatbin\n"
        "assert '.pyz' in fatbin.__file__\n"
        f"print(fatbin.probe({str(FIXTURES / 'saxpy_90a.cubin')!r}).tried)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], check=False, capture_output=True, cwd=tmp_path
    )
    assert (done.stdout, done.stderr) == (b"1\n", b"")


def test_this_process_can_still_fork(machine: Machine) -> None:
    """No thread is left of a child, so that a fork afterwards copies nothing half-way."""
    import threading

    before = threading.active_count()
    machine.detect()
    fatbin.probe(FIXTURES / "saxpy_90a.cubin")
    assert threading.active_count() == before


def test_descriptors_are_given_back(machine: Machine) -> None:
    machine.detect()
    before = len(os.listdir("/proc/self/fd"))
    machine.detect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_worker_that_fails_is_told() -> None:
    with Child(WORKER, {"source": "nobody"}) as child:
        assert child.message(10) is None
        assert child.end() == "ended with exit code 1"
        assert child.errors == "KeyError: 'nobody'"


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="no waitid")
@pytest.mark.parametrize("how", ["os._exit(3)", "time.sleep(60)"])
def test_what_a_child_has_started_ends_with_it(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "starts_more.py").write_text(
        "import os, subprocess, sys, time\n"
        "def main(request):\n"
        "    more = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "    os.write(1, b'{\"pid\": %d}\\n' % more.pid)\n"
        f"    {how}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    began = time.monotonic()
    with Child("starts_more", {}) as child:
        message = child.message(20)
        time.sleep(0.2)
        said = child.end()
    assert message is not None
    assert said == ("ended with exit code 3" if "exit" in how else "")
    assert time.monotonic() - began < 4
    while is_running(message["pid"]):
        assert time.monotonic() - began < 10
        time.sleep(0.02)


def test_a_worker_without_text() -> None:
    with pytest.raises(DeviceError, match="source text of math"):
        Child("math", {})


def test_time_out_of_a_line(machine: Machine) -> None:
    machine.set(STANDIN_HANG="cuInit")
    with Child(WORKER, {"source": "cuda"}) as child:
        stages = [child.message(10) for _ in range(3)]
        assert [stage and stage["stage"] for stage in stages] == [
            "loading libcuda",
            "cuDriverGetVersion",
            "cuInit",
        ]
        with pytest.raises(TimedOut):
            child.message(0.5)
        assert child.end() == ""  # ended by us


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, ""),
        (-11, "crashed SIGSEGV"),
        (-200, "crashed signal 200"),
        (3, "ended with exit code 3"),
        (0xC0000005, "ended with exit code 0xc0000005"),
    ],
)
def test_ends_in_words(code: int, words: str) -> None:
    assert children._how(code) == words


def test_loaded_files_by_the_beginning_of_their_names() -> None:
    (path, *_) = child_side.loaded_as("libc.so")
    assert os.path.basename(path).startswith("libc.so")
    assert child_side.loaded_as("libcuda.so") == []
