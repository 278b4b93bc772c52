"""Detection on a machine with a GPU: python -m pytest tests/hardware/live."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, require

import fatbin
from fatbin import Detection, DeviceError

pytestmark = pytest.mark.gpu


def test_every_gpu_is_known_in_full(here: Detection) -> None:
    assert (here.code, here.name, here.hint) == (0, "", "")
    assert re.fullmatch(r"\d{2}\.\d", here.cuda_version)
    assert [gpu.number for gpu in here.gpus] == list(range(len(here.gpus)))
    for gpu in here.gpus:
        assert gpu.source == "libcuda"
        assert gpu.name
        assert gpu.compute_capability is not None
        assert gpu.memory_bytes > 1 << 30
        assert re.fullmatch(r"(GPU|MIG)-[0-9a-f-]{36}", gpu.uuid)
    driver = here.judged_driver
    assert driver is not None
    assert "{}.{}".format(*driver.cuda) == here.cuda_version or driver.newer_than_table


def test_the_driver_and_libcuda_are_named(here: Detection) -> None:
    assert os.path.exists(here.libcuda)
    assert here.libcuda_kind in {"driver", "compat", "wsl"}
    assert re.fullmatch(r"\d{3,4}(\.\d+)+", here.driver)


def test_nothing_of_the_driver_is_loaded_here(here: Detection) -> None:
    assert here.usable
    assert "libcuda.so" not in Path("/proc/self/maps").read_text()


def test_nvidia_smi_says_the_same(here: Detection) -> None:
    program = shutil.which("nvidia-smi") or require("nvidia-smi", "not installed")
    query = "--query-gpu=uuid,name,compute_cap,driver_version"
    done = subprocess.run(
        [program, query, "--format=csv,noheader"], check=True, capture_output=True, text=True
    )
    rows = {tuple(re.split(r", *", line)) for line in done.stdout.splitlines()}
    ours = {(g.uuid, g.name, str(g.compute_capability), here.driver) for g in here.gpus}
    if not any(gpu.mig for gpu in here.gpus):
        assert ours <= rows


def test_hidden_gpus(here: Detection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    found = fatbin.detect()
    assert (found.gpus, found.code, found.name) == ((), 100, "CUDA_ERROR_NO_DEVICE")
    assert found.cuda_version == here.cuda_version
    with pytest.raises(DeviceError, match="100 CUDA_ERROR_NO_DEVICE"):
        found.require_gpus()


def test_one_gpu_by_its_uuid(here: Detection, monkeypatch: pytest.MonkeyPatch) -> None:
    last = here.gpus[-1]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", last.uuid)
    (found,) = fatbin.detect().gpus
    assert found == last._replace(number=0)


def test_a_process_that_detected_can_fork_one_that_uses_cuda(here: Detection) -> None:
    code = (
        "import ctypes, os, fatbin\n"
        "assert fatbin.detect().usable\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(ctypes.CDLL('libcuda.so.1').cuInit(0) & 255)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT)
    assert done.returncode == here.code == 0
