"""What live tests of NCCL share: the real NCCL, copies of it, and recordings of what happened."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nccl_copies import without_code_for
from support import require

from fatbin import Detection
from fatbin.node.nccl_files import find_nccl

HANG = """\
import sys, threading, time

def never(*arguments, **named):
    while True:
        time.sleep(3600)

def replace():
    while True:
        module = sys.modules.get("torch.distributed")
        if hasattr(module, "all_reduce") and hasattr(sys.modules.get("torch"), "cuda"):
            module.all_reduce = never
        time.sleep(0.005)

threading.Thread(target=replace, daemon=True).start()
"""
"""A ``sitecustomize`` with which ``all_reduce`` never returns, in the real torch."""


def require_torch() -> None:
    """Skip without a torch."""
    if find_spec("torch") is None:
        require("torch", "torch with CUDA is not installed")


@lru_cache(maxsize=1)
def stock_nccl() -> Path:
    """Return the libnccl that torch loads here, or skip."""
    found = find_nccl({key: value for key, value in os.environ.items() if key != "LD_PRELOAD"})
    if not found:
        require("torch", "no libnccl.so.2 was found beside torch")
    return Path(found[0].path)


def copy_without_code(folder: Path, here: Detection) -> Path:
    """Return a copy of that library without code for the first GPU here."""
    capability = here.gpus[0].compute_capability
    assert capability is not None
    copy = folder / "libnccl.so.2"
    if without_code_for(stock_nccl(), copy, capability.sm) == 0:
        require("h200", f"this NCCL serves {capability} with code of another number")
    return copy


def environment(**more: str) -> dict[str, str]:
    """Return this process's variables and some more."""
    return {**os.environ, **more}


def record(name: str, document: dict[str, Any]) -> None:
    """Keep a document in the folder FATBIN_RECORD, without names of the machine and its places."""
    folder = os.environ.get("FATBIN_RECORD")
    if not folder:
        return
    text = json.dumps(document, indent=1)
    text = text.replace(socket.gethostname(), "node")
    text = re.sub(r"\b\d{1,3}(?:\.\d{1,3}){3}\b(?=[:<])", "10.0.0.1", text)
    for place in sorted((p for p in sys.path if p.startswith("/")), key=len, reverse=True):
        text = text.replace(place, "/packages")
    text = re.sub(r"/[\w./-]*pytest-of-[\w./-]*?/(?=[\w.-]+[\"' ,)\\])", "/made/", text)
    text = re.sub(
        r"GPU-[0-9a-f]{8}-[0-9a-f-]{27}", "GPU-00000000-0000-0000-0000-000000000000", text
    )
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / f"{name}.json").write_text(text + "\n")
