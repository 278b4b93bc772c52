"""Verdicts on the real libraries whose users asked: case by case, what is there and what it means."""

from __future__ import annotations

import pytest
from corpus import (
    AUTOAWQ_WINDOWS,
    BITSANDBYTES_ARM,
    CTRANSLATE2,
    CUBLAS,
    CUFFT,
    FAISS,
    GSPLAT,
    NCCL_2_26,
    NCCL_2_29,
    NCCL_2_32,
    Wheel,
    library,
    wheel_path,
)

import fatbin
from fatbin.inventory import Inventory

pytestmark = pytest.mark.real
NCCL = "nvidia/nccl/lib/libnccl.so.2"


def scanned(wheel: Wheel, member: str) -> Inventory:
    return fatbin.scan(library(wheel, member))


def outcomes(inventory: Inventory, gpus: str, driver: str | None = None) -> dict[str, str]:
    verdict = fatbin.check(inventory, gpus=gpus, driver=driver)
    (found,) = verdict.libraries
    return {answer.gpu: str(answer.outcome) for answer in found.answers}


def said(inventory: Inventory, gpu: str, code: str, driver: str | None = None) -> fatbin.Finding:
    verdict = fatbin.check(inventory, gpus=gpu, driver=driver)
    (found,) = [f for f in verdict.findings if f.code == code]
    return found


def test_nccl_2_26_2() -> None:
    inventory = scanned(NCCL_2_26, NCCL)
    passing = "9.0 8.0 8.6 8.9 7.0 7.5 6.0 6.1 5.0 5.2"
    wanted = dict.fromkeys(passing.split(), "PASS")
    wanted |= {"10.0": "WARN", "10.3": "WARN", "12.0": "FAIL", "12.1": "FAIL"}
    wanted |= {"8.7": "WARN", "3.5": "FAIL"}
    assert outcomes(inventory, " ".join(wanted)) == wanted
    link = said(inventory, "10.0", "FB106")
    assert "127 modules, 45.7 MB of PTX for compute_90" in link.message
    assert "needs driver 535 or later" in link.message
    assert "700" in said(inventory, "RTX 5090", "FB301").message
    (verdict,) = fatbin.check(inventory, gpus="9.0").libraries
    assert verdict.version == "2.26.2+cuda12.2"
    assert verdict.ptx == ("compute_90 (8.2), relocatable",)


def test_nccl_2_29_7() -> None:
    inventory = scanned(NCCL_2_29, NCCL)
    wanted = {
        "12.0": "PASS", "10.0": "PASS", "9.0": "PASS", "8.6": "PASS", "7.5": "PASS",
        "10.3": "WARN", "12.1": "WARN", "5.0": "FAIL",
    }  # fmt: skip
    assert outcomes(inventory, " ".join(wanted)) == wanted


def test_nccl_2_32_3() -> None:
    inventory = scanned(NCCL_2_32, NCCL)
    assert outcomes(inventory, "9.0 7.0 10.7") == {"9.0": "PASS", "7.0": "FAIL", "10.7": "PASS"}
    assert "20 of 76 modules are specialised (sm_100f)" in said(inventory, "9.0", "FB110").message


def test_faiss() -> None:
    inventory = scanned(FAISS, "faiss_gpu_cu12.libs/libfaiss-aa62252d.so")
    wanted = dict.fromkeys(("6.1", "9.0", "10.0", "12.0"), "FAIL")
    wanted |= dict.fromkeys(("7.0", "7.5", "8.0", "8.6", "8.9"), "PASS")
    assert outcomes(inventory, " ".join(wanted)) == wanted
    assert "a newer driver will not help" in said(inventory, "9.0", "FB101").action


def test_ctranslate2() -> None:
    inventory = scanned(CTRANSLATE2, "ctranslate2.libs/libctranslate2-a7a60d30.so.4.8.5")
    assert outcomes(inventory, "8.9") == {"8.9": "PASS"}
    warned = dict.fromkeys(("9.0", "10.0", "12.0"), "WARN")
    assert outcomes(inventory, "9.0 10.0 12.0", "570.124") == warned
    assert outcomes(inventory, "9.0", "550") == {"9.0": "FAIL"}
    assert "34 modules" in said(inventory, "9.0", "FB204", "550").message


@pytest.mark.parametrize("cuda", ["118", "120", "126"])
def test_bitsandbytes(cuda: str) -> None:
    inventory = scanned(BITSANDBYTES_ARM, f"bitsandbytes/libbitsandbytes_cuda{cuda}.so")
    assert outcomes(inventory, "9.0 8.7 12.1") == {"9.0": "PASS", "8.7": "WARN", "12.1": "WARN"}
    assert "JIT LINK" in said(inventory, "12.1", "FB106").message
    assert outcomes(inventory, "8.7", "CUDA 12.6") == {"8.7": "FAIL"}


def test_bitsandbytes_for_blackwell() -> None:
    inventory = scanned(BITSANDBYTES_ARM, "bitsandbytes/libbitsandbytes_cuda129.so")
    assert outcomes(inventory, "12.0 10.0") == {"12.0": "PASS", "10.0": "PASS"}


def test_autoawq() -> None:
    names = ("awq_ext", "awq_v2_ext", "exl_ext", "exlv2_ext")
    parts = [scanned(AUTOAWQ_WINDOWS, f"{name}.cp312-win_amd64.pyd") for name in names]
    inventory = Inventory(libraries=tuple(part.libraries[0] for part in parts))
    verdict = fatbin.check(inventory, gpus="8.9,7.5")
    assert str(verdict.outcome) == "FAIL"
    failed = [f for f in verdict.findings if f.severity is fatbin.Severity.FAIL]
    assert [(f.gpu, "awq_v2_ext" in f.location) for f in failed] == [("7.5", True)]
    verdict = fatbin.check(inventory, gpus="12.0")
    assert [str(lib.outcome) for lib in verdict.libraries] == ["FAIL"] * 4
    assert all("no PTX" in f.action for f in verdict.findings if f.code == "FB101")


def test_gsplat_compiles_at_run_time() -> None:
    verdict = fatbin.check(fatbin.scan(wheel_path(GSPLAT)), gpus="9.0")
    assert str(verdict.outcome) == "NOTHING"
    assert "compiled at run time?" in verdict.findings[0].message


def test_cufft_is_judged_by_what_lies_outside_the_named_sections() -> None:
    inventory = scanned(CUFFT, "nvidia/cu13/lib/libcufft.so.12")
    gpus = "7.5 8.0 8.6 8.9 9.0 10.0 12.0"
    assert outcomes(inventory, gpus) == dict.fromkeys(gpus.split(), "PASS")
    (answer,) = fatbin.check(inventory, gpus="9.0").libraries[0].answers
    assert answer.coverage.unjudged > 6000, "LTO-IR"


def test_cublaslt_needs_its_embedded_code() -> None:
    inventory = scanned(CUBLAS, "nvidia/cublas/lib/libcublasLt.so.12")
    gpus = "7.5 8.0 8.6 8.9 9.0 10.0 12.0"
    assert outcomes(inventory, gpus) == dict.fromkeys(gpus.split(), "PASS")
    assert {"sm_100a", "sm_100f", "sm_103f"} <= set(
        fatbin.check(inventory, gpus="10.0").libraries[0].sass
    )
