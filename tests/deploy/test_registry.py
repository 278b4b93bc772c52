"""The audit of a registry: each image in one line, whatever becomes of it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from images_made import file, oci_layout, tar, write_layout
from support import FIXTURES, ROOT, require

SCRIPT = ROOT / "deploy" / "registry" / "audit_registry.py"
SKOPEO = """#!{python}
import os, shutil, sys
_, copy, quiet, source, target = sys.argv
assert (copy, quiet) == ("copy", "--quiet"), sys.argv
name = source.removeprefix("docker://registry.example/")
if name == "kills":
    os.kill(os.getppid(), 9)
if not os.path.isdir(os.path.join(os.environ["IMAGES"], name)):
    sys.exit("reading manifest: unknown")
shutil.copytree(os.path.join(os.environ["IMAGES"], name), target.removeprefix("oci:"))
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return variables with a stand-in for skopeo, and a few images."""
    if importlib.util.find_spec("distributed") is None:
        require("distributed", "not installed")
    cubin = (FIXTURES / "saxpy_80.cubin").read_bytes()
    images = tmp_path / "images"
    for name, layer in (
        ("good", tar(file("a.cubin", cubin))),
        ("cut", tar(file("a.cubin", cubin))[:2000]),
        ("empty", tar(file("etc/passwd", b"root"))),
        ("other", tar(file("a.cubin", (FIXTURES / "saxpy_90a.cubin").read_bytes()))),
    ):
        write_layout(oci_layout(layer), images / name)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "skopeo").write_text(SKOPEO.format(python=sys.executable))
    (tools / "skopeo").chmod(0o755)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    return {
        **os.environ,
        "IMAGES": str(images),
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(temporary),
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
    }


def audit(environment: dict[str, str], *names: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--gpu", "8.0", "--cache", environment["TMPDIR"] + "/c"],
        input="".join(f"registry.example/{name}\n" for name in names),
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    found = {row["image"].removeprefix("registry.example/"): row for row in rows}
    assert len(found) == len(rows) == len(names), done.stderr
    return done.returncode, found


def test_each_image_is_one_line(environment: dict[str, str]) -> None:
    code, found = audit(environment, "good", "other", "empty")
    assert code == 1
    assert {name: row["outcome"] for name, row in found.items()} == {
        "good": "PASS",
        "other": "FAIL",
        "empty": "NOTHING",
    }
    assert found["good"]["architectures"] == ["sm_80"]
    assert not list(Path(environment["TMPDIR"]).glob("audit-*"))


def test_what_cannot_be_read_is_a_line_too(environment: dict[str, str]) -> None:
    code, found = audit(environment, "good", "missing", "cut", "kills")
    assert code == 2
    assert found["good"]["outcome"] == "PASS"
    assert found["missing"]["issues"] == ["reading manifest: unknown"]
    assert found["cut"]["issues"][0].startswith("registry.example/cut::")
    assert found["kills"]["outcome"] == "ERROR"
    assert "KilledWorker" in found["kills"]["issues"][0]


def test_a_wrong_gpu_is_told_before_anything_is_fetched(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--gpu", "no such thing"],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 1
    assert "UnknownGpuError" in done.stderr
