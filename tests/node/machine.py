"""A machine whose driver is made of stand-ins."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import require

from fatbin import Attempt, Detection, detect

HERE = Path(__file__).resolve().parent
VERSION = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n"
H200 = "NVIDIA H200|9|0|144384|0"
A100 = "NVIDIA A100-SXM4-80GB|8|0|81920|0"


def compiled(source: Path, target: Path, *options: str) -> Path:
    """Build a shared library with the system's compiler, or skip."""
    if not sys.platform.startswith("linux"):
        require("linux", "the stand-ins for the driver are Linux libraries")
    compiler = shutil.which("cc") or shutil.which("gcc") or require("cc", "no C compiler")
    command = [compiler, "-shared", "-fPIC", "-O1", *options, "-o", str(target), str(source)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


class Machine:
    """Folders and variables of a machine; ``root`` stands for its file system."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, libraries: Path) -> None:
        self.root = folder / "root"
        self.programs = folder / "bin"
        self.pids = folder / "pids"
        self.patch = patch
        self.libraries = libraries
        for made in (self.root, self.programs):
            made.mkdir()
        for name in list(os.environ):
            if name.startswith(("STANDIN_", "CUDA_", "NVIDIA_")):
                patch.delenv(name)
        patch.setenv("LD_LIBRARY_PATH", str(libraries))
        patch.setenv("PATH", str(self.programs))
        self.set(STANDIN_PIDS=self.pids)

    def set(self, **variables: object) -> None:
        for name, value in variables.items():
            self.patch.setenv(name, str(value))

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def program(self, name: str, text: str) -> None:
        target = self.programs / name
        target.write_text(f"#!/bin/sh\n{text}")
        target.chmod(0o755)

    def copy(self, library: str, target: Path) -> Path:
        shutil.copyfile(self.libraries / library, target)
        return target

    def without(self, *names: str) -> None:
        """Take libraries away: what is found in their place is no library."""
        folder = self.root.parent / "broken"
        folder.mkdir(exist_ok=True)
        for name in names:
            (folder / name).write_text("no library at all, but long enough to be looked at" * 4)
        self.patch.setenv("LD_LIBRARY_PATH", f"{folder}:{os.environ['LD_LIBRARY_PATH']}")

    def detect(self, timeout: float = 20.0) -> Detection:
        return detect(timeout=timeout, root=str(self.root))

    def left_over(self) -> list[int]:
        """Return the processes that loaded the libcuda of this machine and are still there."""
        deadline = time.monotonic() + 5
        while (found := self._running()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found

    def _running(self) -> list[int]:
        if not self.pids.exists():
            return []
        return [pid for pid in map(int, self.pids.read_text().split()) if is_running(pid)]


def is_running(pid: int) -> bool:
    """Tell whether a process is there and not just waiting to be asked how it ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def attempt(detection: Detection, source: str) -> Attempt:
    return next(found for found in detection.attempts if found.source == source)
