"""What people copy into pipelines: whole, and its commands are ours."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import FIXTURES, ROOT, require

from fatbin.cli.main import COMMANDS, build_parser

DEPLOY = ROOT / "deploy"
ALL = sorted(
    path
    for path in (*DEPLOY.rglob("*.yaml"), *DEPLOY.rglob("*.yml"), ROOT / ".pre-commit-hooks.yaml")
    if "templates" not in path.parts
)
PREFLIGHT = {"--library", "--timeout", "--stages", "--termination-log", "--json"}


def load(path: Path) -> Any:  # noqa: ANN401 - YAML
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_yaml_is_whole(path: Path) -> None:
    assert load(path)


def options_of(command: str) -> set[str]:
    if command == "preflight" and command not in {c.name for c in COMMANDS}:
        return PREFLIGHT
    actions = [a for a in build_parser()._actions if hasattr(a.choices, "items")]
    parsers: dict[str, Any] = dict(actions[0].choices)  # type: ignore[arg-type]
    return set(parsers[command]._option_string_actions)


def test_every_option_that_is_given_exists() -> None:
    found = 0
    files = [*ALL, DEPLOY / "docker" / "Dockerfile", *DEPLOY.rglob("*.tpl")]
    for path in files:
        text = re.sub(r"[\[\],\"]|\\\n", " ", path.read_text(encoding="utf-8"))
        for command, rest in re.findall(r"\bfatbin +(check|preflight)\b([^\n]*)", text):
            found += 1
            assert set(re.findall(r"(?<= )--[a-z-]+", rest)) <= options_of(command), path
    assert found == 12


# GitHub -------------------------------------------------------------------------------------------


def action() -> dict[str, Any]:
    found: dict[str, Any] = load(DEPLOY / "github" / "action.yml")
    return found


def test_the_action_uses_the_inputs_that_it_has() -> None:
    text = (DEPLOY / "github" / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"\$\{\{ inputs\.(\w+) \}\}", text)) == set(action()["inputs"])
    for step in action()["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an input in a script is a command of whoever sets it"


def test_the_action_asks_nothing_of_bash_that_macos_lacks() -> None:
    script = action()["runs"]["steps"][1]["run"]
    later = r"mapfile|readarray|declare -A|\$\{\w+(\^\^|,,|@)|&>>|\|&|coproc|local -n|wait -n"
    assert not re.search(later, re.sub(r"#.*", "", script))


@pytest.mark.parametrize(
    ("targets", "gpus", "strict", "code"),
    [
        ("lib_3arch.so", "9.0", "false", 0),
        ("lib_3arch.so\n  \nlib_1arch.so\n", "A100", "false", 1),
        ("lib_1arch.so", "9.0", "true", 1),
        ("lib_1arch.so", "9.0", "false", 0),
        ("$(touch stolen)\n", "9.0", "false", 2),
        ("*\n\\n\n -x y", "9.0", "false", 2),
    ],
)
def test_the_action_runs(tmp_path: Path, targets: str, gpus: str, strict: str, code: int) -> None:
    bash = shutil.which("bash") or require("bash", "not installed")
    program = tmp_path / "fatbin" / "bin"
    program.mkdir(parents=True)
    (program / "fatbin").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fatbin "$@"\n')
    (program / "fatbin").chmod(0o755)
    for name in ("lib_3arch.so", "lib_1arch.so"):
        shutil.copy(FIXTURES / name, tmp_path)
    done = subprocess.run(
        [bash, "-euo", "pipefail", "-c", action()["runs"]["steps"][1]["run"]],
        cwd=tmp_path,
        env={
            **os.environ,
            "RUNNER_TEMP": str(tmp_path),
            "TARGETS": targets,
            "FATBIN_GPUS": gpus,
            "FATBIN_DRIVER": "",
            "STRICT": strict,
            "PYTHONPATH": str(ROOT),
        },
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert not (tmp_path / "stolen").exists()


# GitLab, pre-commit, Docker -----------------------------------------------------------------------


def test_the_job_of_gitlab_writes_the_report_that_it_keeps() -> None:
    (job,) = load(DEPLOY / "gitlab" / "gpu-compat-check.yml").values()
    assert f"--output {job['artifacts']['reports']['junit']}" in job["script"][-1]
    assert {"FATBIN_GPUS", "FATBIN_DRIVER", "LIBRARIES"} == set(job["variables"])


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("libx.so", True),
        ("a/libnccl.so.2.29.7", True),
        ("x.cubin", True),
        ("x.pyd", True),
        ("x.py", False),
        ("soap.txt", False),
        ("x.so.txt", False),
    ],
)
def test_the_hook_takes_files_with_device_code(name: str, taken: bool) -> None:  # noqa: FBT001
    (hook,) = load(ROOT / ".pre-commit-hooks.yaml")
    assert bool(re.search(hook["files"], name)) == taken


def test_the_hook_runs() -> None:
    (hook,) = load(ROOT / ".pre-commit-hooks.yaml")
    command = hook["entry"].split()
    assert command[0] == "fatbin"
    done = subprocess.run(
        [sys.executable, "-m", *command, "--gpu", "8.0", str(FIXTURES / "lib_3arch.so")],
        cwd=ROOT,
        check=False,
        capture_output=True,
    )
    assert done.returncode == 1


def test_the_last_stage_of_the_dockerfile_needs_the_gate() -> None:
    text = (DEPLOY / "docker" / "Dockerfile").read_text(encoding="utf-8")
    lines = [line.split() for line in re.sub(r"\\\n", " ", text).splitlines() if line[:1].isalpha()]
    assert {line[0] for line in lines} == {"FROM", "RUN", "ARG", "COPY"}
    stages = [line[3] for line in lines if line[0] == "FROM" and len(line) == 4]
    assert stages == ["app", "gate"]
    assert lines[-2:] == [["FROM", "app"], ["COPY", "--from=gate", "/passed", "/passed"]]
    (check,) = [line for line in lines if "check" in line]
    assert check[-3:] == ["&&", "touch", "/passed"]


@pytest.mark.parametrize(
    ("gpu", "name", "passed"),
    [
        ("9.0", "libnccl.so.2", True),
        ("8.0", "libnccl.so.2", False),
        ("9.0", "nothing_to_check.so", False),
    ],
)
def test_the_script_of_the_gate(tmp_path: Path, gpu: str, name: str, passed: bool) -> None:  # noqa: FBT001
    bash = shutil.which("bash") or require("bash", "not installed")
    text = (DEPLOY / "docker" / "Dockerfile").read_text(encoding="utf-8")
    script = re.search(r"^RUN (find .*?[^\\])\n\n", text, re.DOTALL | re.MULTILINE)
    assert script is not None
    (tmp_path / "root").mkdir()
    shutil.copy(FIXTURES / "lib_3arch.so", tmp_path / "root" / name)
    (tmp_path / "fatbin").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fatbin "$@"\n')
    (tmp_path / "fatbin").chmod(0o755)
    line = script[1].replace("\\\n", " ").replace("find /", f"find {tmp_path}/root")
    line = line.replace(" /passed", f" {tmp_path}/passed")
    line = re.sub(r"/\w+/libraries", f"{tmp_path}/list", line)
    done = subprocess.run(
        [bash, "-c", line],
        env={
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "GPUS": gpu,
            "DRIVER": "570",
            "PYTHONPATH": str(ROOT),
        },
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (done.returncode == 0) == passed, done.stdout + done.stderr
    assert (tmp_path / "passed").exists() == passed
