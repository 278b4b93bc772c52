"""What findings advise can be followed, and what they rest on supports them."""

from __future__ import annotations

import pytest
from made import entry, inventory, library, module

from fatbin.inventory import Library, Module
from fatbin.judge.check import check
from fatbin.judge.verdict import Finding, Verdict
from fatbin.kinds import Compression, Place

FORCED = {"CUDA_FORCE_PTX_JIT": "1"}


def judged(of: Library, gpu: str, driver: str | None = None, **variables: str) -> Verdict:
    return check(inventory(of), gpus=gpu, driver=driver, environment=variables)


def found(verdict: Verdict, code: str) -> Finding:
    return next(finding for finding in verdict.findings if finding.code == code)


# A GPU that newer drivers no longer drive.


@pytest.mark.parametrize("driver", [None, "470"])
def test_no_newer_driver_where_none_drives_the_gpu(driver: str | None) -> None:
    verdict = judged(library(module("compute_35 7.8", "sm_80")), "3.7", driver)
    refused = found(verdict, "FB204")
    assert verdict.outcome == "FAIL"
    assert "up to ISA 7.4" in refused.message
    assert "use a driver" not in refused.action
    assert "build SASS for sm_37" in refused.action
    assert "470 is the last driver" in refused.action
    assert verdict.libraries[0].answers[0].required_driver == 0


def test_what_the_last_driver_reads_is_compiled() -> None:
    verdict = judged(library(module("compute_35 7.4", "sm_80")), "3.7")
    assert verdict.outcome == "WARN"
    assert verdict.libraries[0].answers[0].required_driver == 470


@pytest.mark.parametrize("driver", [None, "470"])
def test_compression_that_no_driver_of_the_gpu_reads(driver: str | None) -> None:
    made = module("sm_37", compression=Compression.ZSTD)
    refused = found(judged(library(made), "3.7", driver), "FB205")
    assert refused.action.startswith("build with --compress-mode=speed")
    last = "" if driver else ", the last for 3.7,"
    assert f"driver 470{last} cannot read it" in refused.message


@pytest.mark.parametrize("driver", [None, "470"])
def test_a_runtime_that_no_driver_of_the_gpu_has(driver: str | None) -> None:
    made = library(module("sm_37"), cuda_runtime="libcudart.so.12")
    refused = found(judged(made, "3.7", driver), "FB203")
    assert refused.action == "use a build by CUDA 11: 470 is the last driver for 3.7"


def test_where_newer_drivers_drive_it_one_is_advised() -> None:
    old = library(module("compute_80 8.7"), cuda_runtime="libcudart.so.12")
    verdict = judged(old, "8.0", "470")
    assert found(verdict, "FB204").action.startswith("use a driver of branch 570 or later, or")
    assert found(verdict, "FB203").action == "use driver 525.60.13 or later"


@pytest.mark.parametrize(
    ("made", "gpu", "driver", "needed"),
    [
        (library(module("compute_90 8.8")), "12.0", "550", 575),
        (library(module("compute_70 8.7")), "7.0", "590", 570),
        (library(module("sm_75")), "9.0", "470", 0),
        (library(module("sm_90", image_arch=entry("sm_80").arch)), "9.0", "580", 0),
    ],
)
def test_the_needed_driver_is_not_a_matter_of_the_given_one(
    made: Library, gpu: str, driver: str, needed: int
) -> None:
    assert judged(made, gpu, driver).libraries[0].answers[0].required_driver == needed


# Variables.


def test_sass_is_no_remedy_where_it_is_passed_over() -> None:
    without = judged(library(module("sm_90")), "9.0", **FORCED)
    assert found(without, "FB101").action.startswith("unset CUDA_FORCE_PTX_JIT")
    assert "build SASS" not in found(without, "FB101").action
    compiled = judged(library(module("sm_90", "compute_90 8.0")), "9.0", **FORCED)
    assert found(compiled, "FB105").action.startswith("unset CUDA_FORCE_PTX_JIT")
    unread = judged(library(module("sm_90", "compute_90 9.9")), "9.0", "580", **FORCED)
    assert "or unset CUDA_FORCE_PTX_JIT" in found(unread, "FB204").action


def test_what_is_refused_is_no_matter_of_the_gpu() -> None:
    made = library(module("sm_80"), *[module("compute_80 9.5") for _ in range(3)])
    assert "FB112" not in {finding.code for finding in judged(made, "8.0", "470").findings}


# What a finding rests on.


def reasons(made: Module, gpu: str) -> set[str]:
    verdict = judged(library(made), gpu, "580")
    return {e.ref for e in found(verdict, "FB101").because if e.kind == "fact"}


def test_reasons_are_those_of_the_choice() -> None:
    masked = reasons(module("sm_100", toolkit="13.0", fastpath_finalize=0x01), "10.3")
    assert "sass.mask" in masked
    assert "sass.no-mask" not in masked


def told(verdict: Verdict, code: str) -> list[str]:
    return [e.text for e in found(verdict, code).because if e.kind == "entry"]


def test_entries_are_told_in_words() -> None:
    made = module("sm_80", "compute_80 8.2")
    assert told(judged(library(made), "7.5"), "FB101") == ["SASS sm_80", "PTX compute_80 ISA 8.2"]
    by = module("sm_100", toolkit="12.9")
    assert told(judged(library(by), "10.3"), "FB108") == ["SASS sm_100 by CUDA 12.9"]


def test_of_what_is_taken_only_that_is_told() -> None:
    made = module("sm_80", "sm_75", toolkit="12.4")
    assert told(judged(library(made), "8.7", "595"), "FB107") == ["SASS sm_80 by CUDA 12.4"]


def test_a_module_without_entries_is_told_as_such() -> None:
    linked = module(wrapper=2)
    host = module("compute_90 9.9", place="relocatable")
    verdict = judged(library(linked, host), "9.0", "580")
    texts = {e.text for finding in verdict.findings for e in finding.because}
    assert "a container without entries" in texts


def test_what_the_first_entry_fails_for_needs_no_other_reason() -> None:
    made = module("compute_80 9.9", "sm_100")
    refused = found(judged(library(made), "8.0", "580"), "FB204")
    facts = [e.ref for e in refused.because if e.kind == "fact"]
    assert facts == ["ptx.isa", "ptx.chosen-before-isa"]


def test_the_newest_of_the_drivers_that_modules_need_is_advised() -> None:
    made = library(module("compute_80 8.8"), module("compute_80 9.0"))
    assert "branch 580 or later" in found(judged(made, "8.0", "525"), "FB204").action


def test_passed_over_code_is_not_said_to_fit() -> None:
    bad = found(judged(library(module("sm_90")), "9.0", **FORCED), "FB101")
    told = {e.ref for e in bad.because}
    assert "env.force-ptx-jit" in told
    assert "sass.same" not in told


def test_nccl_that_is_not_sure_is_not_advised() -> None:
    old = library(
        module("sm_90"), name="libnccl.so.2", version="2.28.9+cuda12.4", cuda_runtime="static"
    )
    for gpu in ("10.3", "12.1"):
        for finding in judged(old, gpu).findings:
            assert "CUDA 12.8" not in finding.action


def test_claims_are_about_what_a_link_takes_where_nothing_else_is_there() -> None:
    lto = module("lto_90")
    pool = module("sm_80", place="relocatable")
    made = library(lto, pool)
    verdict = judged(made, "8.0")
    assert pool.place is Place.RELOCATABLE
    assert verdict.libraries[0].sass == ("sm_80",)
