"""What a driver does with the modules of a file: compared, and survived."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from machine import A100, H200, Machine
from support import FIXTURES

import fatbin
from fatbin import DeviceError, EntrySpec, Probe, ProbeResult, SourceError, probe
from fatbin.cli import main

pytestmark = pytest.mark.usefixtures("machine")


def container(*archs: str, identifier: str = "") -> bytes:
    """Return a container with cubins (``sm_80``) and PTX (``compute_80``) of these names."""
    specs = []
    cubins = {"sm_9": "saxpy_90a.cubin"}
    text = (FIXTURES / "saxpy_80.ptx").read_bytes()
    for arch in archs:
        if arch.startswith("sm_"):
            cubin = FIXTURES / cubins.get(arch[:4], "saxpy_80.cubin")
            specs.append(EntrySpec.cubin(cubin.read_bytes(), arch=arch, identifier=identifier))
        else:
            specs.append(EntrySpec.ptx(text, arch=arch, identifier=identifier))
    return fatbin.build(specs)


def results(found: Probe) -> list[ProbeResult]:
    (one,) = found.gpus
    return list(one.results)


def statuses(found: Probe) -> list[str]:
    return [result.status for result in results(found)]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    return tmp_path / "many.fatbin"


# What the driver says -----------------------------------------------------------------------------


def test_a_driver_that_does_what_is_predicted(machine: Machine, bare: Path) -> None:
    modules = [container("sm_80"), container("sm_90"), container("sm_90", "sm_120")]
    bare.write_bytes(b"".join(modules))
    found = probe(bare)
    assert statuses(found) == ["refused", "loaded", "loaded"]
    assert [r.code for r in results(found)] == [209, 0, 0]
    assert [r.predicted for r in results(found)] == [209, 0, 0]
    assert [r.kernels for r in results(found)] == [None, 1, 2]
    assert [r.offset for r in results(found)] == [0, len(modules[0]), len(modules[0] + modules[1])]
    assert all(r.agrees for r in results(found))
    assert (found.agrees, found.tried, found.gpus[0].restarts) == (True, 3, 0)
    assert results(found)[0].said == "209 CUDA_ERROR_NO_BINARY_FOR_GPU"
    assert results(found)[1].prediction == "loads (native)"
    assert all(r.kernel_names == () for r in results(found))
    assert found.cuda_version == "13.0"
    assert len(machine.pids.read_text().split()) == 2  # one that detects, one that loads


def test_kernels_by_name(bare: Path) -> None:
    bare.write_bytes(container("sm_90", "sm_90a"))
    (result,) = results(probe(bare, names=True))
    assert result.kernel_names == ("first", "another")


def test_a_driver_from_before_libraries(machine: Machine, bare: Path) -> None:
    folder = machine.root.parent / "old"
    folder.mkdir()
    machine.copy("libcuda.old", folder / "libcuda.so.1")
    machine.patch.setenv("LD_LIBRARY_PATH", f"{folder}:{os.environ['LD_LIBRARY_PATH']}")
    bare.write_bytes(container("sm_90"))
    (result,) = results(probe(bare, names=True))
    assert (result.status, result.kernels, result.agrees) == ("loaded", None, True)


def test_a_refusal_that_was_not_predicted_is_a_disagreement(bare: Path) -> None:
    bare.write_bytes(container("sm_90") + container("sm_90", identifier="CODE200"))
    found = probe(bare)
    assert statuses(found) == ["loaded", "refused"]
    assert not found.agrees
    (wrong,) = found.gpus[0].disagreements
    assert (wrong.code, wrong.name, wrong.predicted) == (200, "CUDA_ERROR_INVALID_IMAGE", 0)


def test_a_load_that_was_not_predicted_is_a_disagreement(machine: Machine, bare: Path) -> None:
    # A cubin of a higher minor version: the stand-in is told that the GPU has it.
    machine.set(STANDIN_DEVICES="Odd|8|9|1000|0")
    bare.write_bytes(container("sm_87", "sm_86a"))
    found = probe(bare)
    assert [(r.code, r.predicted, r.agrees) for r in results(found)] == [(0, 209, False)]


def test_payloads_are_opened_before_a_disagreement_is_told(bare: Path) -> None:
    # The header says 9.0, the cubin inside 8.0: 300, which headers alone do not tell.
    cubin = (FIXTURES / "saxpy_80.cubin").read_bytes()
    bare.write_bytes(fatbin.build([EntrySpec.cubin(cubin, arch="sm_90", identifier="CODE300")]))
    assert fatbin.scan(bare, verify=True).libraries[0].issues  # so it is
    found = probe(bare)
    assert [(r.code, r.predicted, r.agrees) for r in results(found)] == [(300, 300, True)]


def test_what_comes_late_does_not_come_at_the_load() -> None:
    found = probe(FIXTURES / "devfunc_90.cubin")
    assert [(r.form, r.predicted, r.agrees) for r in results(found)] == [("cubin", 0, True)]


# What is not given to it --------------------------------------------------------------------------


def test_relocatable_modules_are_never_given_to_the_driver(machine: Machine) -> None:
    machine.set(STANDIN_DEVICES=A100)
    found = probe(FIXTURES / "lib_rdc.so")
    places = {(str(r.place.value), r.status) for r in results(found)}
    assert places == {("relocatable", "skipped"), ("loadable", "loaded")}
    assert found.agrees


def test_relocatable_ptx_is_input_of_a_link_wherever_it_stands() -> None:
    (probed,) = probe(FIXTURES / "reloc_ptx.fatbin", jit=True).gpus
    (result,) = probed.results
    assert (result.status, result.said[:11]) == ("skipped", "relocatable")


def test_ptx_is_compiled_only_when_asked(bare: Path) -> None:
    bare.write_bytes(container("compute_80") + container("sm_90"))
    found = probe(bare)
    assert statuses(found) == ["skipped", "loaded"]
    assert "compile" in results(found)[0].said
    assert statuses(probe(bare, jit=True)) == ["loaded", "loaded"]


def test_lto_ir_is_not_given_to_the_driver() -> None:
    found = probe(FIXTURES / "lto_plain.fatbin")
    assert {r.status for r in results(found)} <= {"skipped", "refused"}
    assert found.agrees


def test_damaged_containers_are_not_given_to_the_driver() -> None:
    found = probe(FIXTURES / "truncated.fatbin")
    assert "damaged" in {r.said for r in results(found)}
    assert found.issues


def test_embedded_code_and_members_of_archives(machine: Machine) -> None:
    machine.set(STANDIN_DEVICES=A100)
    for name in ("embedded_rodata.o", "libmixed.a", "libthin.a", "lib_1arch.so", "saxpy_80.ptx"):
        found = probe(FIXTURES / name, jit=True)
        assert found.tried, name
        assert found.agrees, [r for r in results(found) if r.agrees is not True]


# Crashes and hangs --------------------------------------------------------------------------------


def test_a_crash_is_told_at_its_module_and_survived(bare: Path) -> None:
    bad = container("sm_90", identifier="CRASH")
    good = container("sm_90")
    bare.write_bytes(good + bad + good + bad + good)
    found = probe(bare)
    assert statuses(found) == ["loaded", "crashed", "loaded", "crashed", "loaded"]
    assert [r.said for r in found.gpus[0].disagreements] == ["crashed SIGABRT"] * 2
    assert (found.agrees, found.gpus[0].restarts) == (False, 2)


def test_a_hang_is_told_at_its_module_and_survived(bare: Path) -> None:
    good = container("sm_90")
    bare.write_bytes(good + container("sm_90", identifier="HANG") + good)
    started = time.monotonic()
    found = probe(bare, timeout=1.0)
    assert time.monotonic() - started < 10
    assert statuses(found) == ["loaded", "timed-out", "loaded"]
    assert found.gpus[0].disagreements[0].said == "timed out after 1 s"


def test_restarts_are_bounded(machine: Machine, bare: Path) -> None:
    machine.patch.setattr(sys.modules["fatbin.node.probe"], "MOST_RESTARTS", 2)
    bare.write_bytes(container("sm_90", identifier="CRASH") * 5)
    found = probe(bare)
    assert statuses(found) == ["crashed"] * 3 + ["not-tried"] * 2
    assert "given up after 2" in results(found)[-1].said
    assert not found.agrees


def test_nothing_of_a_crash_reaches_this_process(bare: Path) -> None:
    bare.write_bytes(container("sm_90", identifier="CRASH"))
    probe(bare)
    assert "libcuda" not in Path("/proc/self/maps").read_text()
    assert list(Path.cwd().glob("core*")) == []


def test_a_driver_that_dies_between_two_processes(machine: Machine, bare: Path) -> None:
    machine.set(STANDIN_CRASH="cuModuleUnload")
    bare.write_bytes(container("sm_90") * 2)
    assert statuses(probe(bare)) == ["crashed", "crashed"]


def test_a_file_that_changes_is_noticed(machine: Machine, bare: Path) -> None:
    bare.write_bytes(container("sm_90"))
    detection = fatbin.detect()
    real = sys.modules["fatbin.node.probe"].plan

    def changed(path: str, limits: fatbin.Limits) -> object:
        made = real(path, limits)
        Path(path).write_bytes(container("sm_80") * 2)
        return made

    machine.patch.setattr(sys.modules["fatbin.node.probe"], "plan", changed)
    found = probe(bare, detection=detection)
    assert statuses(found) == ["not-tried"]
    assert "changed" in results(found)[0].said
    assert not found.agrees


# Which GPU ----------------------------------------------------------------------------------------


@pytest.fixture
def three(machine: Machine, bare: Path) -> Path:
    machine.set(STANDIN_DEVICES=f"{H200};{A100};{H200}")
    bare.write_bytes(container("sm_90"))
    return bare


def test_one_gpu_of_each_compute_capability_by_default(three: Path) -> None:
    found = probe(three)
    assert [g.gpu.number for g in found.gpus] == [0, 1]
    assert [g.results[0].code for g in found.gpus] == [0, 209]
    assert found.agrees


def test_one_gpu_or_all(three: Path) -> None:
    assert [g.gpu.number for g in probe(three, gpu=2).gpus] == [2]
    assert [g.gpu.number for g in probe(three, gpu="all").gpus] == [0, 1, 2]
    for wrong in (3, -1, "first"):
        with pytest.raises(DeviceError, match="number of a GPU"):
            probe(three, gpu=wrong)


# Without a driver ---------------------------------------------------------------------------------


def test_no_gpu(machine: Machine, bare: Path) -> None:
    machine.set(STANDIN_INIT=802, STANDIN_NVML_DEVICES="NVIDIA H200|9|0|0")
    bare.write_bytes(container("sm_90"))
    with pytest.raises(DeviceError, match="802 CUDA_ERROR_SYSTEM_NOT_READY") as caught:
        probe(bare)
    assert caught.value.code == 802


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("STANDIN_CONTEXT", "2", "cuDevicePrimaryCtxRetain: 2 CUDA_ERROR_OUT_OF_MEMORY"),
        ("STANDIN_CRASH", "cuDevicePrimaryCtxRetain", "crashed SIGSEGV at its start"),
    ],
)
def test_a_context_that_cannot_be_made(
    machine: Machine, bare: Path, variable: str, value: str, said: str
) -> None:
    bare.write_bytes(container("sm_90"))
    machine.set(**{variable: value})
    with pytest.raises(DeviceError, match=said):
        probe(bare)


def test_a_context_that_never_comes(machine: Machine, bare: Path) -> None:
    machine.patch.setattr(sys.modules["fatbin.node.probe"], "START_SECONDS", 1.0)
    machine.set(STANDIN_HANG="cuDevicePrimaryCtxRetain")
    bare.write_bytes(container("sm_90"))
    with pytest.raises(DeviceError, match="did not start within 1 s"):
        probe(bare)


def test_no_file(machine: Machine) -> None:
    with pytest.raises(SourceError):
        probe(machine.root / "nothing")


def test_nothing_in_the_file_asks_no_driver(machine: Machine) -> None:
    found = probe(FIXTURES / "host_nocuda.o")
    assert (found.gpus, found.tried) == ((), 0)
    assert not machine.pids.exists()


# The command --------------------------------------------------------------------------------------


def run(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(list(words))
    return code, out.getvalue(), err.getvalue()


def test_probe_as_text(bare: Path) -> None:
    bare.write_bytes(
        container("sm_90") + container("sm_80") + container("compute_80")
        + container("sm_90", identifier="CODE2")
    )  # fmt: skip
    code, out, _ = run("probe", str(bare))
    assert code == 1
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[0] == "FAIL: 3 modules given to the driver, 1 of 3 not as predicted"
    assert "  given       3: 1 loaded, 2 refused" in lines
    assert "  agree       2" in lines
    assert "  disagree    1" in lines
    assert "  skipped     1 PTX that the driver would compile" in lines
    offset = len(container("sm_90") + container("sm_80") + container("compute_80"))
    (row,) = [line for line in lines if f"{offset:#x}" in line]
    assert row.split()[-2:] == ["2", "CUDA_ERROR_OUT_OF_MEMORY"]


def test_exit_codes(machine: Machine, bare: Path) -> None:
    bare.write_bytes(container("sm_90"))
    assert run("probe", str(bare))[0] == 0
    bare.write_bytes(container("sm_90", identifier="CODE2"))
    assert run("probe", str(bare))[0] == 1
    bare.write_bytes(container("compute_80"))
    code, _, err = run("probe", str(bare))
    assert (code, err) == (3, "fatbin: no module was given to the driver\n")
    code, _, err = run("probe", str(FIXTURES / "host_nocuda.o"))
    assert code == 3
    assert "no device code" in err
    assert run("probe", str(FIXTURES / "truncated.fatbin"))[0] == 2
    machine.set(STANDIN_INIT=100)
    code, _, err = run("probe", str(bare))
    assert code == 2
    assert "100 CUDA_ERROR_NO_DEVICE" in err


def test_probe_as_json(bare: Path) -> None:
    bare.write_bytes(container("sm_90"))
    code, out, _ = run("probe", "--format", "json", "--names", "--gpu", "0", str(bare))
    document = json.loads(out)
    assert (code, document["schema_version"], document["agrees"]) == (0, 1, True)
    (result,) = document["gpus"][0]["results"]
    assert result["status"] == "loaded"
    assert result["place"] == "bare"
    assert result["how"] == "native"
    assert result["kernel_names"] == ["first"]


def test_detect_as_text(machine: Machine) -> None:
    code, out, _ = run("detect")
    assert code == 0
    assert out.startswith("1 GPU\n")
    assert "0  NVIDIA H200  9.0  151.4 GB  0000:19:00.0  GPU-00010203" in out
    machine.set(STANDIN_INIT=999)
    code, out, _ = run("detect", "--timeout", "5")
    assert code == 3
    assert out.startswith("no GPU\n")
    assert "  libcuda     cuInit: 999 CUDA_ERROR_UNKNOWN: " in out
    assert "  hint        load the module nvidia_uvm" in out
    assert json.loads(run("detect", "--format", "json")[1])["code"] == 999
