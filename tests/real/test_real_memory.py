"""Private memory of the command line on a library of 749 MB.

Pages of the mapped file are the page cache's: they count for the resident size and cost nobody
anything. What counts is anonymous memory. ``RssAnon`` of ``/proc/PID/status`` has no high-water
mark of its own, so the child is asked often while it runs, and the largest answer is kept.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import corpus
import expected
import pytest
from support import ROOT, require

import fatbin

pytestmark = pytest.mark.real

_MOST = 39_000
"""Kilobytes of 1024 bytes (together just below 40 MB) above the interpreter's own."""


def _peak(*arguments: str) -> int:
    """Run Python and return the largest ``RssAnon`` seen, in kilobytes."""
    child = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    status = Path(f"/proc/{child.pid}/status")
    peak = 0
    while child.poll() is None:
        try:
            lines = status.read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            break
        sizes = [int(line.split()[1]) for line in lines if line.startswith("RssAnon:")]
        peak = max(peak, *sizes) if sizes else peak
        time.sleep(0.0005)
    assert child.wait() == 0
    return peak


def test_listing_cublaslt_takes_little_private_memory() -> None:
    if not Path("/proc/self/status").is_file():
        require("proc", "no /proc to read the memory of a process from")
    path = corpus.library(expected.CUBLASLT.wheel, expected.CUBLASLT.member)
    bare = _peak("-c", "import time; time.sleep(0.2)")
    listing = _peak("-m", "fatbin", "list", "--entries", str(path))
    assert bare > 1_000
    assert listing > bare
    assert listing - bare < _MOST


def test_kernels_keep_one_image_at_a_time() -> None:
    """The largest cubin of the library and 60 MB, whatever the 1.2 GB of all of them."""
    if not Path("/proc/self/status").is_file():
        require("proc", "no /proc to read the memory of a process from")
    path = corpus.library(corpus.NCCL_2_29, "nvidia/nccl/lib/libnccl.so.2")
    entries = [e for e in fatbin.scan(path, linkage=False).entries if e.kind == "sass"]
    largest = max(entry.size for entry in entries)
    assert sum(entry.size for entry in entries) > 1_000_000_000
    bare = _peak("-c", "import time; time.sleep(0.2)")
    opening = _peak("-m", "fatbin", "kernels", "--relocatable", str(path))
    assert (opening - bare) * 1024 < largest + 60_000_000
