"""Parts of the smoke test that the stand-in for torch cannot show."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from job import PYTHON
from machine import is_running
from support import ROOT

from fatbin.node.smoke.ranks import Rank
from fatbin.node.smoke.signs import compute_cache, folder_size, processor_seconds

if not sys.platform.startswith("linux"):
    pytest.skip("NCCL is for Linux", allow_module_level=True)

LIBRARY = """\
int ncclGetVersion(int *version) { *version = 22809; return 0; }
"""


def in_worker(code: str, **variables: str) -> str:
    """Run a line beside the worker module, in a process of its own."""
    text = f"from fatbin.node.smoke import worker; print({code})"
    env = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    done = subprocess.run([PYTHON, "-c", text], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def nccl(tmp_path: Path) -> Path:
    from machine import compiled

    source = tmp_path / "nccl.c"
    source.write_text(LIBRARY)
    return compiled(source, tmp_path / "libnccl.so.2")


def test_the_preloaded_library_is_the_one_in_use(nccl: Path) -> None:
    assert in_worker("worker.nccl_in_use()", LD_PRELOAD=str(nccl)) == str((str(nccl), "2.28.9"))


def test_the_library_that_torch_brings_is_found_by_what_calls_it(
    nccl: Path, tmp_path: Path
) -> None:
    from machine import compiled

    source = tmp_path / "torch.c"
    source.write_text(
        "int ncclGetVersion(int *); int torch(int *v) { return ncclGetVersion(v); }\n"
    )
    caller = compiled(
        source,
        tmp_path / "libtorch_cuda.so",
        *("-Wl,--no-as-needed", f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-l:libnccl.so.2"),
    )
    code = f"(__import__('ctypes').CDLL({str(caller)!r}), worker.nccl_in_use())[1]"
    assert in_worker(code) == str((str(nccl), "2.28.9"))


def test_no_library_is_no_error() -> None:
    assert in_worker("worker.nccl_in_use()") == str(("", ""))


@pytest.mark.parametrize(
    ("number", "text"), [(22809, "2.28.9"), (20900, "2.9.0"), (2804, "2.8.4"), (23203, "2.32.3")]
)
def test_versions_as_numbers(number: int, text: str) -> None:
    assert in_worker(f"worker.version_text({number})") == text


def test_a_busy_process_is_told_from_an_idle_one() -> None:
    busy = subprocess.Popen([PYTHON, "-c", "print(flush=True)\nwhile True: pass"], stdout=-1)
    idle = subprocess.Popen(
        [PYTHON, "-c", "print(flush=True)\nimport time\ntime.sleep(60)"], stdout=-1
    )
    try:
        for process in (busy, idle):
            assert process.stdout is not None
            process.stdout.readline()
        time.sleep(0.2)
        before = processor_seconds(busy.pid), processor_seconds(idle.pid)
        began = time.monotonic()
        time.sleep(1)
        passed = time.monotonic() - began
        assert processor_seconds(busy.pid) - before[0] > 0.6 * passed
        assert processor_seconds(idle.pid) - before[1] < 0.2 * passed
    finally:
        for process in (busy, idle):
            process.kill()
            process.communicate()
    assert processor_seconds(busy.pid) == 0.0


def test_where_the_compute_cache_is() -> None:
    assert compute_cache({"HOME": "/home/me"}) == "/home/me/.nv/ComputeCache"
    assert compute_cache({"HOME": "/home/me", "CUDA_CACHE_PATH": "/cache"}) == "/cache"
    assert compute_cache({"HOME": "/home/me", "CUDA_CACHE_DISABLE": "1"}) == ""
    assert compute_cache({}) == ""


def test_the_size_of_the_cache(tmp_path: Path) -> None:
    assert folder_size("") is None
    assert folder_size(str(tmp_path / "none")) == 0
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "image").write_bytes(b"x" * 100)
    (tmp_path / "index").write_bytes(b"x" * 16)
    assert folder_size(str(tmp_path)) == 116


def test_what_c_prints_is_seen_before_the_process_is_killed() -> None:
    text = (
        "from fatbin.node.smoke import worker\nimport ctypes, os\n"
        "worker._show_lines_at_once()\n"
        "ctypes.CDLL(None).puts(b'a line of C')\nos._exit(1)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([PYTHON, "-c", text], env=env, capture_output=True, check=False)
    assert done.stdout == b"a line of C\n"


@pytest.mark.parametrize(("end", "ended"), [("exit 3", "exit code 3"), ("kill -9 $$", "SIGKILL")])
def test_what_a_rank_has_started_ends_with_it(end: str, ended: str, tmp_path: Path) -> None:
    number = tmp_path / "pid"
    script = f"sleep 60 & echo $! > {number}; {end}"
    began = time.monotonic()
    rank = Rank({"rank": 0}, python=("/bin/sh", "-c", script), env=os.environ, started=began)
    while not (number.exists() and number.read_text().strip()):
        time.sleep(0.01)
    time.sleep(0.2)
    assert rank.end().ended == ended
    while is_running(int(number.read_text())):
        assert time.monotonic() - began < 10
        time.sleep(0.02)
