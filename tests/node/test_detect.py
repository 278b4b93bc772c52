"""Which GPUs a machine has: every source, what each failure says, and nothing loaded here."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest
from machine import A100, H200, VERSION, Machine, attempt

import fatbin
from fatbin import ComputeCapability, DeviceError
from fatbin.node.detect import listed
from fatbin.node.sources import bus_address

pytestmark = pytest.mark.usefixtures("machine")


def mapped() -> str:
    return Path("/proc/self/maps").read_text()


# libcuda ------------------------------------------------------------------------------------------


def test_libcuda_names_the_gpus(machine: Machine) -> None:
    machine.write("proc/driver/nvidia/version", VERSION)
    found = machine.detect()
    (gpu,) = found.gpus
    assert gpu == fatbin.DetectedGpu(
        number=0,
        name="NVIDIA H200",
        compute_capability=ComputeCapability(9, 0),
        memory_bytes=144384 << 20,
        uuid="GPU-00010203-0405-0607-0809-0a0b0c0d0e0f",
        pci="0000:19:00.0",
        source="libcuda",
        integrated=False,
        mig=False,
    )
    assert (found.source, found.usable, found.driver) == ("libcuda", True, "580.159.04")
    assert (found.cuda_version, found.code, found.name, found.hint) == ("13.0", 0, "", "")
    assert found.visible is None
    assert found.libcuda.endswith("/libcuda.so.1")
    assert found.libcuda_kind == "driver"
    assert attempt(found, "libcuda").said == "1 GPU"
    assert found.notes == ()
    assert found.require_gpus() == found.require_usable() == found.gpus
    assert str(gpu.gpu) == "NVIDIA H200 (9.0)"


def test_the_driver_is_never_loaded_in_this_process(machine: Machine) -> None:
    machine.detect()
    assert len(machine.pids.read_text().split()) == 1
    assert str(os.getpid()) not in machine.pids.read_text().split()
    assert "libcuda" not in mapped()
    assert "libnvidia-ml" not in mapped()


def test_two_different_gpus(machine: Machine) -> None:
    machine.set(STANDIN_DEVICES=f"{H200};{A100}")
    found = machine.detect()
    assert [str(gpu) for gpu in found.gpus] == [
        "0: NVIDIA H200 (9.0)",
        "1: NVIDIA A100-SXM4-80GB (8.0)",
    ]
    assert len({gpu.uuid for gpu in found.gpus}) == 2
    assert found.notes == ("the GPUs differ in compute capability: 8.0, 9.0",)


def test_a_mig_instance(machine: Machine) -> None:
    machine.set(STANDIN_DEVICES="NVIDIA H200 MIG 1g.18gb|9|0|16384|0")
    found = machine.detect()
    (gpu,) = found.gpus
    assert gpu.mig
    assert gpu.uuid.startswith("MIG-")
    assert "MIG" in found.notes[0]


def test_an_integrated_gpu(machine: Machine) -> None:
    machine.set(STANDIN_DEVICES="Orin|8|7|30000|1")
    machine.write("etc/nv_tegra_release", "# R35 (release), REVISION: 4.1, GCID: 33958178\n")
    found = machine.detect()
    assert found.gpus[0].integrated
    assert attempt(found, "tegra").said == "L4T 35.4.1"


@pytest.mark.parametrize(
    ("code", "name", "word", "hint"),
    [
        (3, "CUDA_ERROR_NOT_INITIALIZED", "initialised", "/dev/nvidia"),
        (34, "CUDA_ERROR_STUB_LIBRARY", "stub", "LD_LIBRARY_PATH"),
        (100, "CUDA_ERROR_NO_DEVICE", "no GPU", "CUDA_VISIBLE_DEVICES"),
        (802, "CUDA_ERROR_SYSTEM_NOT_READY", "not initialised yet", "fabric manager"),
        (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "different versions", "reboot"),
        (804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "compatibility", "compat"),
        (999, "CUDA_ERROR_UNKNOWN", "no more", "nvidia_uvm"),
        (777, "CUDA_ERROR_OF_TOMORROW", "words of tomorrow", "dmesg"),
        (778, "CUresult 778", "no words", "dmesg"),
    ],
)
def test_codes_of_cuinit_have_words_and_a_hint(
    machine: Machine, code: int, name: str, word: str, hint: str
) -> None:
    machine.set(STANDIN_INIT=code)
    found = machine.detect()
    assert (found.gpus, found.source, found.cuda_version) == ((), "", "13.0")
    assert (found.code, found.name) == (code, name)
    said = attempt(found, "libcuda")
    assert (said.ok, said.code) == (False, code)
    assert said.said.startswith(f"cuInit: {code} {name}: ")
    assert word in said.said
    assert hint in found.hint
    with pytest.raises(DeviceError) as caught:
        found.require_gpus()
    assert (caught.value.code, caught.value.name, caught.value.hint) == (code, name, found.hint)
    assert said.said in str(caught.value)


def test_a_libcuda_that_hangs_is_given_up(machine: Machine) -> None:
    machine.set(STANDIN_HANG="cuInit")
    started = time.monotonic()
    found = machine.detect(timeout=1.0)
    assert time.monotonic() - started < 8
    assert attempt(found, "libcuda").said == "timed out after 1 s in cuInit"
    assert found.cuda_version == "13.0"
    assert found.gpus == ()
    assert machine.left_over() == []


def test_a_libcuda_that_crashes_is_told(machine: Machine) -> None:
    machine.set(STANDIN_CRASH="cuInit")
    found = machine.detect()
    assert attempt(found, "libcuda").said == "crashed SIGSEGV in cuInit"
    assert "dmesg" in found.hint


def test_a_device_that_hangs_does_not_leave_half_an_answer(machine: Machine) -> None:
    machine.set(STANDIN_HANG="cuDeviceGetAttribute", STANDIN_NVML_DEVICES="NVIDIA H200|9|0|0")
    found = machine.detect(timeout=1.0)
    assert attempt(found, "libcuda").said == "timed out after 1 s in device 0"
    assert found.source == "nvml"


def test_what_a_library_prints_is_no_answer(machine: Machine) -> None:
    machine.set(STANDIN_NOISE=1)
    assert machine.detect().usable


def test_a_libcuda_that_cannot_be_loaded(machine: Machine) -> None:
    machine.without("libcuda.so.1")
    found = machine.detect()
    said = attempt(found, "libcuda").said
    assert said.startswith("cannot be loaded: ")
    assert "libcuda.so.1" in said
    assert (found.cuda_version, found.libcuda, found.libcuda_kind, found.code) == ("", "", "", 0)
    assert found.judged_driver is None
    with pytest.raises(DeviceError, match=r"cannot be loaded"):
        found.require_gpus()


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("cuda-13.0/compat", "compat"), ("usr/lib/wsl/lib", "wsl"), ("lib64/stubs", "stub")],
)
def test_which_libcuda_was_loaded(machine: Machine, folder: str, kind: str) -> None:
    place = machine.root.parent / folder
    place.mkdir(parents=True)
    library = machine.copy("libcuda.so.1", place / "libcuda.so.1")
    machine.patch.setenv("LD_LIBRARY_PATH", f"{place}:{os.environ['LD_LIBRARY_PATH']}")
    found = machine.detect()
    assert (found.libcuda, found.libcuda_kind) == (str(library), kind)
    assert bool(found.notes) == (kind != "stub")


def test_a_libcuda_of_another_version_than_the_kernels_driver(machine: Machine) -> None:
    place = machine.root.parent / "elsewhere"
    place.mkdir()
    machine.copy("libcuda.so.1", place / "libcuda.so.580.65.06")
    (place / "libcuda.so.1").symlink_to("libcuda.so.580.65.06")
    machine.patch.setenv("LD_LIBRARY_PATH", f"{place}:{os.environ['LD_LIBRARY_PATH']}")
    machine.write("proc/driver/nvidia/version", VERSION.replace("580.159.04", "535.183.01"))
    found = machine.detect()
    assert found.libcuda == str(place / "libcuda.so.580.65.06")
    assert (found.driver, found.libcuda_kind) == ("535.183.01", "compat")
    driver = found.judged_driver
    assert driver is not None
    assert (driver.branch, driver.cuda, driver.ptx_isa) == (535, (13, 0), (9, 0))
    machine.write("proc/driver/nvidia/version", VERSION.replace("580.159.04", "580.65.06"))
    assert machine.detect().libcuda_kind == "driver"


# CUDA_VISIBLE_DEVICES -----------------------------------------------------------------------------


def test_nvml_sees_gpus_that_the_variable_hides(machine: Machine) -> None:
    machine.set(CUDA_VISIBLE_DEVICES=0, STANDIN_NVML_DEVICES="NVIDIA H200|9|0|0;NVIDIA H200|9|0|0")
    found = machine.detect()
    assert (len(found.gpus), found.visible) == (1, "0")
    assert found.notes == ("CUDA_VISIBLE_DEVICES=0: CUDA sees 1 of the 2 GPUs of NVML",)


@pytest.mark.parametrize("code", [100, 101])
def test_hidden_gpus_are_not_found_another_way(machine: Machine, code: int) -> None:
    machine.set(
        CUDA_VISIBLE_DEVICES="", STANDIN_INIT=code, STANDIN_NVML_DEVICES="NVIDIA H200|9|0|0"
    )
    found = machine.detect()
    assert (found.gpus, found.visible) == ((), "")
    assert found.notes == ("CUDA_VISIBLE_DEVICES=: CUDA sees 0 of the 1 GPUs of NVML",)


def test_more_gpus_in_nvml_without_the_variable(machine: Machine) -> None:
    machine.set(STANDIN_NVML_DEVICES="NVIDIA H200|9|0|0;NVIDIA H200|9|0|0")
    assert machine.detect().notes == ("CUDA sees 1 of the 2 GPUs of NVML",)


# The other sources --------------------------------------------------------------------------------


def test_nvml_names_what_cuda_cannot_use(machine: Machine) -> None:
    machine.set(STANDIN_INIT=802, STANDIN_NVML_DEVICES="NVIDIA H200|9|0|1")
    found = machine.detect()
    (gpu,) = found.gpus
    assert (gpu.source, gpu.uuid, gpu.pci, gpu.mig) == ("nvml", "GPU-1", "0000:19:00.0", True)
    assert gpu.compute_capability == ComputeCapability(9, 0)
    assert (found.driver, found.code, found.usable) == ("580.159.04", 802, False)
    assert "the GPUs are named by nvml; CUDA cannot use them now" in found.notes
    with pytest.raises(DeviceError, match="802 CUDA_ERROR_SYSTEM_NOT_READY"):
        found.require_usable()


def test_a_container_without_the_compute_capability(machine: Machine) -> None:
    machine.without("libcuda.so.1")
    machine.set(STANDIN_NVML_DEVICES="NVIDIA H200|9|0|0", NVIDIA_DRIVER_CAPABILITIES="utility")
    found = machine.detect()
    assert found.source == "nvml"
    assert "NVIDIA_DRIVER_CAPABILITIES must name compute; it is utility" in found.hint


def test_nvml_says_why_it_does_not_answer(machine: Machine) -> None:
    machine.set(STANDIN_NVML_INIT=18)
    said = attempt(machine.detect(), "nvml")
    assert (said.ok, said.code) == (False, 18)
    assert said.said == "nvmlInit: 18 Driver/library version mismatch"


def test_an_nvml_that_hangs_is_given_up(machine: Machine) -> None:
    machine.set(STANDIN_NVML_HANG=1)
    found = machine.detect(timeout=1.0)
    assert attempt(found, "nvml").said == "timed out after 1 s in nvmlInit_v2"
    assert found.usable


ROW = "0, Tesla T4, 15360, GPU-4, 00000000:AF:00.0, 470.256.02"


@pytest.fixture
def libraryless(machine: Machine) -> Machine:
    machine.without("libcuda.so.1", "libnvidia-ml.so.1")
    return machine


def test_nvidia_smi_is_asked_last(libraryless: Machine) -> None:
    libraryless.program("nvidia-smi", f"echo '{ROW}, 7.5'\n")
    found = libraryless.detect()
    (gpu,) = found.gpus
    assert (gpu.name, gpu.compute_capability) == ("Tesla T4", ComputeCapability(7, 5))
    assert (gpu.memory_bytes, gpu.uuid, gpu.pci) == (15360 << 20, "GPU-4", "0000:af:00.0")
    assert (found.source, found.driver) == ("nvidia-smi", "470.256.02")
    driver = found.judged_driver
    assert driver is not None
    assert driver.branch == 470


def test_an_nvidia_smi_without_compute_capabilities(libraryless: Machine) -> None:
    libraryless.program(
        "nvidia-smi",
        'case "$1" in *compute_cap*)\n'
        '  echo "Field \\"compute_cap\\" is not a valid field to query."; exit 2;;\n'
        f"esac\necho '{ROW}'\n",
    )
    assert [gpu.compute_capability for gpu in libraryless.detect().gpus] == [
        ComputeCapability(7, 5)
    ]


def test_a_gpu_of_no_known_name(libraryless: Machine) -> None:
    libraryless.program("nvidia-smi", f"echo '{ROW.replace('Tesla T4', 'Q')}, [N/A]'\n")
    found = libraryless.detect()
    assert found.gpus[0].compute_capability is None
    assert found.gpus[0].gpu is None
    assert any("not known" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo 'No devices were found'; exit 6\n", "ended with exit code 6: No devices were found"),
        ("exec sleep 1000\n", "timed out after 1 s"),
        ("kill -9 $$\n", "crashed SIGKILL"),
    ],
)
def test_an_nvidia_smi_that_fails(libraryless: Machine, text: str, said: str) -> None:
    libraryless.program("nvidia-smi", text)
    libraryless.patch.setenv("PATH", f"{libraryless.programs}:/usr/bin:/bin")
    found = libraryless.detect(timeout=1.0)
    assert attempt(found, "nvidia-smi").said == said
    assert found.gpus == ()


def test_the_kernels_driver_lists_gpus(libraryless: Machine) -> None:
    libraryless.write("proc/driver/nvidia/version", VERSION)
    libraryless.write(
        "proc/driver/nvidia/gpus/0000:3b:00.0/information",
        "Model: \t\t NVIDIA H200\nIRQ:   \t\t 130\nGPU UUID: \t GPU-77\n"
        "Bus Location: \t 0000:3b:00.0\n",
    )
    found = libraryless.detect()
    (gpu,) = found.gpus
    assert (gpu.name, gpu.uuid, gpu.pci, gpu.source) == (
        "NVIDIA H200",
        "GPU-77",
        "0000:3b:00.0",
        "proc",
    )
    assert gpu.compute_capability == ComputeCapability(9, 0)
    assert attempt(found, "proc").said == f"{VERSION.strip()}; 1 GPU"
    assert "libcuda is missing" in found.hint
    alone = listed(str(libraryless.root))
    assert (alone.gpus, alone.source, alone.driver) == (found.gpus, "proc", found.driver)
    assert not alone.usable


def test_without_a_driver_nothing_is_listed(tmp_path: Path) -> None:
    found = listed(str(tmp_path))
    assert (found.gpus, found.source, found.driver, found.judged_driver) == ((), "", "", None)
    assert [(a.source, a.ok) for a in found.attempts] == [("proc", False)]


def test_a_card_without_a_driver(libraryless: Machine) -> None:
    for address, vendor, kind in (
        ("0000:17:00.0", "0x10de", "0x030200"),
        ("0000:17:00.1", "0x10de", "0x040300"),  # its sound
        ("0000:00:02.0", "0x8086", "0x030000"),
    ):
        libraryless.write(f"sys/bus/pci/devices/{address}/vendor", f"{vendor}\n")
        libraryless.write(f"sys/bus/pci/devices/{address}/class", f"{kind}\n")
    found = libraryless.detect()
    assert found.gpus == ()
    assert found.notes == ("there is an NVIDIA card (0000:17:00.0), but no driver for it",)
    assert "modprobe" in found.hint


def test_wsl(machine: Machine) -> None:
    machine.write("proc/version", "Linux version 5.15.167.4-microsoft-standard-WSL2\n")
    assert machine.detect().notes == ("WSL: the driver is that of the Windows host",)


def test_no_python_to_start(machine: Machine) -> None:
    machine.patch.setattr(sys, "executable", "")
    found = machine.detect()
    assert attempt(found, "libcuda").said.startswith("there is no Python")
    assert found.gpus == ()


def test_a_python_that_is_gone(machine: Machine) -> None:
    machine.patch.setattr(sys, "executable", str(machine.root / "python"))
    assert "cannot be started" in attempt(machine.detect(), "libcuda").said


# Plain data ---------------------------------------------------------------------------------------


def test_the_document(machine: Machine) -> None:
    document = json.loads(json.dumps(machine.detect().to_dict()))
    assert document["schema_version"] == 1
    assert document["gpus"][0]["compute_capability"] == "9.0"
    assert document["gpus"][0]["number"] == 0
    assert document["attempts"][0] == {
        "source": "libcuda",
        "ok": True,
        "said": "1 GPU",
        "code": 0,
    }


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000:AF:00.0", "0000:af:00.0"),
        ("0000:19:00.0", "0000:19:00.0"),
        ("00010000:01:00.0", "10000:01:00.0"),
        ("", ""),
    ],
)
def test_bus_addresses_have_one_spelling(text: str, address: str) -> None:
    assert bus_address(text) == address


def test_what_was_found_can_be_judged(machine: Machine) -> None:
    machine.write("proc/driver/nvidia/version", VERSION)
    found = machine.detect()
    inventory = fatbin.scan("fixtures/lib_3arch.so")
    gpus = [gpu.gpu for gpu in found.gpus if gpu.gpu is not None]
    verdict = fatbin.check(inventory, gpus=gpus, driver=found.judged_driver)
    assert (verdict.outcome, verdict.gpus, verdict.driver) == (
        fatbin.Outcome.PASS,
        ("NVIDIA H200 (9.0)",),
        "580.159.04",
    )
