"""The preflight on real GPUs: python -m pytest tests/hardware/live/test_live_preflight.py.

``FATBIN_RECORD=folder`` keeps what was seen.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from nccl_live import environment, record, stock_nccl
from support import ROOT

from fatbin import Detection
from fatbin.node.preflight import preflight
from fatbin.node.preflight_records import PreflightOutcome

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("torch_is_here")]


def test_a_node_that_is_ready(here: Detection) -> None:
    found = preflight(timeout=60)
    record("preflight_stock", found.to_dict())
    assert [stage.outcome.value for stage in found.stages] == ["PASS"] * 4, found
    assert found.outcome is PreflightOutcome.PASS
    assert len(found.gpus) == len(here.gpus)
    assert os.path.samefile(found.libraries[0].path, stock_nccl())
    assert "works with" in found.stage("smoke").said
    assert found.seconds < 120


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("check", "FB10"),
        ("probe", "the driver takes none of the"),
        ("smoke", "named symbol not found"),
    ],
)
def test_each_stage_finds_the_nccl_without_code_on_its_own(
    copy: Path, stage: str, words: str
) -> None:
    env = environment(LD_PRELOAD=str(copy))
    found = preflight(stages=(stage,), timeout=60, environment=env)
    record(f"preflight_without_code_{stage}", found.to_dict())
    assert found.outcome is PreflightOutcome.FAIL, found
    assert found.cause.startswith(f"{stage}: ")
    assert words in found.cause
    assert found.libraries[0].path == str(copy)
    assert [s.name for s in found.stages if s.outcome is not PreflightOutcome.SKIPPED] == [stage]


def test_the_command_of_an_init_container(copy: Path, tmp_path: Path) -> None:
    log = tmp_path / "termination-log"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "fatbin", "preflight", "--timeout", "60", "--json", "-"),
            *("--termination-log", str(log), "--prometheus", str(tmp_path / "fatbin.prom")),
        ],
        cwd=ROOT,
        env=environment(LD_PRELOAD=str(copy), NODE_NAME="node", IMAGE="image"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert [stage["outcome"] for stage in document["stages"]] == ["PASS", "FAIL", "FAIL", "FAIL"]
    assert log.read_text().startswith("FAIL: check: FB10")
    assert "fatbin_preflight_success 0" in (tmp_path / "fatbin.prom").read_text()
