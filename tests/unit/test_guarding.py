"""The guard: what it looks for, what it judges, and when it stays out of the way."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import FIXTURES, ROOT

import fatbin
from fatbin import guarding
from fatbin.errors import CheckFailed, PolicyError, SourceError, UnknownGpuError
from fatbin.judge.gpu import parse_gpus
from fatbin.node import detect, remembered
from fatbin.node.loading import find_library
from fatbin.node.records import DetectedGpu, Detection
from fatbin.node.remembered import machine_identity

HAS_75_90_120 = str(FIXTURES / "lib_3arch.so")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("FATBIN_", "CUDA_", "NVIDIA_", "LD_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(remembered, "machine_identity", lambda: "")  # as where there is no driver
    monkeypatch.setattr(guarding, "SIGNS", (__file__,))
    monkeypatch.setattr(detect, "listed", Detection)


def on(gpus: str) -> guarding.Machine:
    return guarding.Machine(parse_gpus(gpus))


# What it does -------------------------------------------------------------------------------------


def test_a_library_that_runs_passes() -> None:
    done = fatbin.guard([HAS_75_90_120], gpus="9.0")
    assert (done.state, done.libraries) == ("passed", (HAS_75_90_120,))
    assert done.verdict is not None
    assert done.verdict.outcome == "PASS"


def test_a_library_that_does_not_run_raises_and_says_why() -> None:
    with pytest.raises(CheckFailed, match=r"FB101 lib_3arch\.so has no code for A100") as caught:
        fatbin.guard([HAS_75_90_120], detect=lambda: on("A100"))
    assert f"{HAS_75_90_120} (path)" in caught.value.hint
    assert "FATBIN_GUARD=warn" in caught.value.hint


def test_the_driver_counts() -> None:
    library = str(FIXTURES / "lib_1arch.so")  # SASS for 8.0, PTX ISA 9.0
    assert fatbin.guard([library], gpus="9.0", driver="580").state == "passed"
    with pytest.raises(CheckFailed, match="FB204"):
        fatbin.guard([library], gpus="9.0", driver="550")


def test_warnings_are_logged_and_let_it_go_on(caplog: pytest.LogCaptureFixture) -> None:
    library = str(FIXTURES / "lib_1arch.so")
    for _ in range(2):  # and are not remembered
        caplog.clear()
        assert fatbin.guard([library], gpus="9.0").state == "passed"
        assert [record.levelno for record in caplog.records] == [logging.WARNING]
        assert "FB105" in caplog.text


def test_a_process_without_a_gpu_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    done = fatbin.guard([HAS_75_90_120], detect=guarding.Machine)
    assert done.state == "skipped"
    assert caplog.records == []


@pytest.mark.parametrize("visible", ["", "-1", " "])
def test_a_process_that_sees_no_gpu_is_not_even_asked(
    monkeypatch: pytest.MonkeyPatch, visible: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setenv("FATBIN_GPUS", "8.0")
    assert fatbin.guard([HAS_75_90_120], detect=pytest.fail).state == "skipped"


def test_a_machine_without_a_driver_is_not_even_asked(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(guarding, "SIGNS", ("/nowhere",))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(guarding, "_detect", pytest.fail)
    monkeypatch.setenv("FATBIN_GPUS", "8.0")
    with caplog.at_level(logging.DEBUG, "fatbin"):
        assert fatbin.guard([HAS_75_90_120]).state == "skipped"
    assert [(r.levelno, r.getMessage()) for r in caplog.records] == [
        (logging.DEBUG, "guard skipped: this machine has no driver of NVIDIA")
    ]
    with pytest.raises(CheckFailed):
        fatbin.guard([HAS_75_90_120], gpus="8.0")


def test_a_library_that_is_not_installed_is_no_failure() -> None:
    assert fatbin.guard("libof_nobody.so.9", gpus="9.0").state == "skipped"


def test_a_path_that_is_not_there_is_a_failure() -> None:
    with pytest.raises(SourceError, match="no such file"):
        fatbin.guard(["/nowhere/libnccl.so.2"], gpus="9.0")


def test_gpus_and_driver_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATBIN_GPUS", "A100")
    with pytest.raises(CheckFailed):
        fatbin.guard([HAS_75_90_120])
    monkeypatch.setenv("FATBIN_GPUS", "no such GPU")
    with pytest.raises(UnknownGpuError):
        fatbin.guard([HAS_75_90_120])
    monkeypatch.setenv("FATBIN_GPUS", "9.0")
    monkeypatch.setenv("FATBIN_DRIVER", "470")
    with pytest.raises(CheckFailed, match="FB201"):
        fatbin.guard([HAS_75_90_120])


def test_modes(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    warned = fatbin.guard([HAS_75_90_120], gpus="8.0", mode="warn")
    assert warned.state == "warned"
    assert "FB101" in warned.reason
    assert "FB101" in caplog.text
    monkeypatch.setenv("FATBIN_GUARD", "off")
    assert fatbin.guard([HAS_75_90_120], gpus="8.0", mode="fail").state == "off"
    monkeypatch.setenv("FATBIN_GUARD", "perhaps")
    with pytest.raises(PolicyError, match="expected one of off, warn, fail, found 'perhaps'"):
        fatbin.guard()


def test_only_the_errors_of_fatbin_are_warned_of() -> None:
    def broken() -> guarding.Machine:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fatbin.guard([HAS_75_90_120], mode="warn", detect=broken)


# What is remembered -------------------------------------------------------------------------------


def machine(folder: Path, driver: str = "580.82.07", model: str = "NVIDIA H200") -> None:
    gpu = folder / "gpus" / "0000:19:00.0"
    gpu.mkdir(parents=True, exist_ok=True)
    (folder / "version").write_text(f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}\n")
    (gpu / "information").write_text(f"Model: {model}\n")


def test_what_passed_is_remembered_until_something_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "driver"
    library = tmp_path / "libx.so"
    shutil.copy(HAS_75_90_120, library)
    machine(folder)
    monkeypatch.setattr(remembered, "machine_identity", lambda: machine_identity(str(folder)))
    asked = []

    def detect() -> guarding.Machine:
        asked.append(1)
        return on("9.0")

    def state() -> str:
        return fatbin.guard([str(library)], detect=detect).state

    assert [state(), state()] == ["passed", "remembered"]
    machine(folder, driver="590.44.01")
    assert [state(), state()] == ["passed", "remembered"]
    machine(folder, model="NVIDIA H100")
    assert state() == "passed"
    os.utime(library, (1, 1))
    assert state() == "passed"
    monkeypatch.setenv("CUDA_FORCE_PTX_JIT", "1")
    with pytest.raises(CheckFailed):
        state()
    with pytest.raises(CheckFailed):  # a failure is not remembered
        state()
    assert len(asked) == 6


def test_a_machine_that_cannot_be_told_is_asked_each_time() -> None:
    states = [fatbin.guard([HAS_75_90_120], detect=lambda: on("9.0")).state for _ in range(2)]
    assert states == ["passed", "passed"]


def test_named_gpus_are_remembered_by_their_names() -> None:
    states = [fatbin.guard([HAS_75_90_120], gpus=gpus).state for gpus in ("9.0", "9.0", "12.0")]
    assert states == ["passed", "remembered", "passed"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners")
def test_a_place_where_others_can_write_is_not_believed(tmp_path: Path) -> None:
    def state() -> str:
        return fatbin.guard([HAS_75_90_120], gpus="9.0").state

    assert [state(), state()] == ["passed", "remembered"]
    (tmp_path / "cache" / "fatbin" / "guard").chmod(0o777)
    assert [state(), state()] == ["passed", "passed"]


def test_without_a_place_nothing_is_remembered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for place in (str(tmp_path / "file"), "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", place)
        monkeypatch.setenv("HOME", "")
        states = [fatbin.guard([HAS_75_90_120], gpus="9.0").state for _ in range(2)]
        assert states == ["passed", "passed"]
    assert not (tmp_path / "relative").exists()


def test_what_another_user_left_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fatbin.guard([HAS_75_90_120], gpus="9.0").state == "passed"
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert fatbin.guard([HAS_75_90_120], gpus="9.0").state == "passed"


# Which file ---------------------------------------------------------------------------------------


def library(folder: Path) -> str:
    folder.mkdir(parents=True)
    (folder / "libnccl.so.2").write_bytes(b"")
    return str(folder / "libnccl.so.2")


def test_the_order_in_which_files_are_found(tmp_path: Path) -> None:
    mapped = library(tmp_path / "a b")
    preloaded = library(tmp_path / "preload")
    packaged = library(tmp_path / "site" / "nvidia" / "nccl" / "lib")
    named = library(tmp_path / "path")
    configured = library(tmp_path / "conf")
    maps, conf = tmp_path / "maps", tmp_path / "ld.so.conf"
    maps.write_text(
        f"7f00-7f01 r-xp 00000000 fe:01 12   /gone/libnccl.so.2 (deleted)\n7f00-7f01 r-xp 0 fe:01 12   {mapped}\n"
        "7f00-7f01 rw-p 0 00:00 0 \n"
    )
    (tmp_path / "more.conf").write_text(f"# of a package\n{tmp_path / 'conf'}\n")
    conf.write_text(f"include *.conf\ninclude {conf}\n")
    environment = {
        "LD_PRELOAD": f"/x.so:{preloaded}",
        "LD_LIBRARY_PATH": f"/none:{tmp_path / 'path'}",
    }

    def found() -> tuple[str, str] | None:
        got = find_library(
            "libnccl.so.2",
            environment=environment,
            search=[str(tmp_path / "none"), str(tmp_path / "site")],
            maps=str(maps),
            configuration=str(conf),
        )
        return (got.how, got.path) if got else None

    for how, path in (
        ("mapped", mapped),
        ("LD_PRELOAD", preloaded),
        ("package", packaged),
        ("LD_LIBRARY_PATH", named),
        ("loader", configured),
    ):
        assert found() == (how, path)
        os.unlink(path)
    left = found()
    assert left is None or left[0] == "loader"  # the machine may have one


def test_what_this_process_has_mapped_is_found() -> None:
    if not os.path.exists("/proc/self/maps"):
        pytest.skip("Linux tells what is mapped")
    with open("/proc/self/maps") as maps:
        names = {os.path.basename(line.split("/", 1)[1].strip()) for line in maps if "/lib" in line}
    name = next(name for name in sorted(names) if name.startswith("libc.so"))
    got = find_library(name)
    assert got is not None
    assert got.how == "mapped"


# What it costs ------------------------------------------------------------------------------------


def test_a_remembered_pass_imports_no_judge_and_no_scanner() -> None:
    code = (
        "import fatbin, sys\n"
        f"print(fatbin.guard([{HAS_75_90_120!r}], gpus='9.0').state)\n"
        "print([n for n in sys.modules if n.startswith(('fatbin.judge', 'fatbin.scanning'))])"
    )
    outs = [
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.split("\n")
        for _ in range(2)
    ]
    assert [out[0] for out in outs] == ["passed", "remembered"]
    assert outs[1][1] == "[]"


def test_the_hook_can_be_imported_as_ray_does(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import import_module

    module, _, name = "fatbin.ray_setup_hook".rpartition(".")  # the last point separates
    hook = getattr(import_module(module), name)
    monkeypatch.setattr(guarding, "guard", lambda: asked.append(1))
    asked: list[int] = []
    assert hook() is None
    assert asked == [1]


def drives(*gpus: str, driver: str = "580.159.04") -> Detection:
    found = tuple(
        DetectedGpu(number, gpu, parse_gpus(gpu)[0].cc if gpu else None)
        for number, gpu in enumerate(gpus)
    )
    return Detection(found, "proc", driver)


LISTS = [
    (drives("NVIDIA H200"), True),
    (drives("NVIDIA H200", "RTX 5090", "T4"), True),
    (drives("NVIDIA H200", "A100"), False),  # FAIL on one of them: perhaps not one of this process
    (drives("NVIDIA H200", ""), False),
    (drives("RTX 5090", driver="550.54"), False),  # the driver does not drive it: a FAIL
    (drives("NVIDIA H200", driver="nonsense"), False),
    (drives(), False),
]


@pytest.mark.parametrize(("found", "enough"), LISTS)
def test_the_kernels_list_is_enough_where_all_its_gpus_pass(
    monkeypatch: pytest.MonkeyPatch, found: Detection, *, enough: bool
) -> None:
    asked = []

    def ask() -> Detection:
        asked.append(1)
        return Detection(
            (DetectedGpu(0, "NVIDIA H200", parse_gpus("9.0")[0].cc),),
            "libcuda",
            cuda_version="13.0",
        )

    monkeypatch.setattr(detect, "listed", lambda: found)
    monkeypatch.setattr(detect, "detect", ask)
    done = fatbin.guard([HAS_75_90_120])
    assert done.state == "passed"
    assert asked == [1] * (not enough)
    assert done.verdict is not None
    assert len(done.verdict.gpus) == (len(found.gpus) if enough else 1)


def test_a_driver_that_is_named_goes_over_the_listed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    library = str(FIXTURES / "lib_1arch.so")  # SASS for 8.0, PTX ISA 9.0
    monkeypatch.setattr(detect, "listed", lambda: drives("A100"))
    monkeypatch.setattr(detect, "detect", pytest.fail)
    done = fatbin.guard([library], driver="550")
    assert done.verdict is not None
    assert str(done.verdict.driver).startswith("550")


def test_what_libcuda_says_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Detection(
        (DetectedGpu(0, "x", parse_gpus("8.0")[0].cc), DetectedGpu(1, "y", None)), "libcuda"
    )
    monkeypatch.setattr(detect, "detect", lambda: found)
    with pytest.raises(CheckFailed, match=r"no code for x"):
        fatbin.guard([HAS_75_90_120])
    found = found._replace(source="nvml")  # named, and no program can use them
    assert fatbin.guard([HAS_75_90_120]).state == "skipped"
