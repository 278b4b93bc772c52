"""What users ask of real libraries, on inventories of the same shape; the files: ``tests/real``."""

from __future__ import annotations

import pytest
from made import entry, inventory, library, module

import fatbin
from fatbin.inventory import Inventory, Library
from fatbin.judge.check import check
from fatbin.judge.policy import Ignore, Policy
from fatbin.judge.verdict import Finding, Severity, Verdict

SIX = ("sm_50", "sm_60", "sm_61", "sm_70", "sm_80", "sm_90")
SEVEN = ("sm_60", "sm_61", "sm_70", "sm_80", "sm_90", "sm_100", "sm_120")
OLD_NCCL = library(
    module(*SIX, wrapper=2),
    *[module(*SIX, "compute_90 8.2", place="relocatable") for _ in range(127)],
    name="libnccl.so.2",
    version="2.26.2+cuda12.2",
    cuda_runtime="static",
)
NCCL_12_9 = library(
    *[module(*SEVEN, "compute_120 8.8", wrapper=2, toolkit="12.9") for _ in range(17)],
    module(*SEVEN, wrapper=2, toolkit="12.9"),
    *[module("sm_100f", wrapper=2, toolkit="12.9") for _ in range(6)],
    name="libnccl.so.2",
    version="2.29.7+cuda12.9",
    cuda_runtime="static",
)
EIGHT = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_107", "sm_110", "sm_120")
NCCL_13_4 = library(
    *[module(*EIGHT, "compute_120 9.4", wrapper=2, toolkit="13.4") for _ in range(54)],
    *[module(*EIGHT, wrapper=2, toolkit="13.4") for _ in range(2)],
    *[module("sm_100f", wrapper=2, toolkit="13.4") for _ in range(20)],
    name="libnccl.so.2",
    version="2.32.3+cuda13.4",
    cuda_runtime="static",
)
FAISS = library(*[module("sm_70", "sm_80") for _ in range(182)], name="libfaiss.so")
CTRANSLATE = library(
    *[
        module("sm_53", "sm_60", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "compute_86 8.7")
        for _ in range(34)
    ],
    name="libctranslate2.so.4",
)
BITSANDBYTES = library(
    module("sm_75", "sm_80", "sm_90", wrapper=2),
    *[module("sm_75", "sm_80", "sm_90", "compute_90 8.5", place="relocatable") for _ in range(2)],
    name="libbitsandbytes_cuda126.so",
)
LINALG = library(*[module("sm_80", "sm_86", "sm_90", "sm_100", "sm_120") for _ in range(99)])


def outcome(lib: Library, gpu: str, driver: str | None = None) -> str:
    return str(check(inventory(lib), gpus=gpu, driver=driver).outcome)


def finding(verdict: Verdict, code: str) -> Finding:
    found = [f for f in verdict.findings if f.code == code]
    assert len(found) == 1, [f.code for f in verdict.findings]
    return found[0]


def codes(verdict: Verdict) -> set[str]:
    return {f.code for f in verdict.findings if f.severity is not Severity.NOTE}


# 1: NCCL 2.26.2, built by CUDA 12.2


@pytest.mark.parametrize(
    "gpu", ["9.0", "8.0", "8.6", "8.9", "7.0", "7.5", "6.0", "6.1", "5.0", "5.2"]
)
def test_old_nccl_passes_where_its_sass_runs(gpu: str) -> None:
    assert outcome(OLD_NCCL, gpu) == "PASS"


@pytest.mark.parametrize("gpu", ["10.0", "10.3"])
def test_old_nccl_on_blackwell_is_a_jit_link(gpu: str) -> None:
    verdict = check(inventory(OLD_NCCL), gpus=gpu)
    assert verdict.outcome.value == "WARN"
    assert codes(verdict) == {"FB106"}
    said = finding(verdict, "FB106").message
    assert "JIT LINK" in said
    assert "127 modules" in said
    assert "looks like a hang for minutes" in said
    assert "driver 535 or later" in said


@pytest.mark.parametrize("gpu", ["RTX 5090", "12.0", "12.1"])
def test_old_nccl_is_known_to_fail_on_rtx_50(gpu: str) -> None:
    verdict = check(inventory(OLD_NCCL), gpus=gpu)
    assert verdict.outcome.value == "FAIL"
    assert codes(verdict) == {"FB301", "FB106"}
    bad = finding(verdict, "FB301")
    assert "700" in bad.message
    assert "512 KiB" in bad.message
    assert "2.26.2+cuda12.2" in bad.message
    mended = "CUDA 13.0" if gpu == "12.1" else "CUDA 12.8"  # by 12.8 and 12.9 it is not sure
    assert f"{mended} or later" in bad.action


def test_old_nccl_elsewhere() -> None:
    assert outcome(OLD_NCCL, "8.7") == "WARN"
    assert codes(check(inventory(OLD_NCCL), gpus="8.7")) == {"FB107"}
    verdict = check(inventory(OLD_NCCL), gpus="3.5")
    assert verdict.outcome.value == "FAIL"
    assert "500, named symbol not found" in finding(verdict, "FB101").message


# 2: NCCL 2.29.7, built by CUDA 12.9


@pytest.mark.parametrize(
    ("gpu", "wanted"),
    [
        ("12.0", "PASS"), ("10.0", "PASS"), ("9.0", "PASS"), ("8.6", "PASS"), ("7.5", "PASS"),
        ("10.3", "WARN"), ("12.1", "WARN"), ("5.0", "FAIL"),
    ],
)  # fmt: skip
def test_nccl_of_cuda_12_9(gpu: str, wanted: str) -> None:
    assert outcome(NCCL_12_9, gpu) == wanted


def test_doubt_is_told_beside_what_runs_anyway() -> None:
    """On 12.1 the cubins without a mask are in doubt, and PTX serves where there is any."""
    verdict = check(inventory(NCCL_12_9), gpus="GB10")
    assert codes(verdict) == {"FB105", "FB108"}
    assert "17 of 24" in finding(verdict, "FB105").message
    assert "1 of 24" in finding(verdict, "FB108").message
    uncertain = [e for e in finding(verdict, "FB108").because if not e.certain]
    assert uncertain
    assert all(e.source for e in uncertain)


# 3: NCCL 2.32.3, built by CUDA 13.4


def test_nccl_of_cuda_13_4() -> None:
    verdict = check(inventory(NCCL_13_4), gpus="9.0")
    assert verdict.outcome.value == "PASS"
    assert "20 of 76 modules are specialised (sm_100f)" in finding(verdict, "FB110").message
    assert outcome(NCCL_13_4, "7.0") == "FAIL"
    assert outcome(NCCL_13_4, "10.7") == "PASS"


# 4: faiss: two architectures, no PTX


@pytest.mark.parametrize("gpu", ["6.1", "9.0", "10.0", "12.0"])
def test_no_ptx_says_that_a_driver_does_not_help(gpu: str) -> None:
    verdict = check(inventory(FAISS), gpus=gpu)
    assert verdict.outcome.value == "FAIL"
    assert "no PTX: a newer driver will not help" in finding(verdict, "FB101").action
    assert "182 modules" in finding(verdict, "FB101").message


@pytest.mark.parametrize("gpu", ["7.0", "7.5", "8.0", "8.6", "8.9"])
def test_minor_versions_upwards(gpu: str) -> None:
    assert outcome(FAISS, gpu) == "PASS"


# 5: ctranslate2: PTX for one architecture in every module


def test_ptx_needs_a_driver() -> None:
    assert outcome(CTRANSLATE, "8.9") == "PASS"
    for gpu in ("9.0", "10.0", "12.0"):
        assert outcome(CTRANSLATE, gpu, "570.124") == "WARN"
        verdict = check(inventory(CTRANSLATE), gpus=gpu)
        assert "needs driver 570 or later" in finding(verdict, "FB105").message
        assert verdict.libraries[0].answers[0].required_driver == 570
    verdict = check(inventory(CTRANSLATE), gpus="9.0", driver="550")
    assert verdict.outcome.value == "FAIL"
    assert codes(verdict) == {"FB204"}
    assert "222" in finding(verdict, "FB204").message
    assert "branch 570 or later" in finding(verdict, "FB204").action


# 6: bitsandbytes: PTX in __nv_relfatbin only


def test_a_jit_link_is_no_failure() -> None:
    assert outcome(BITSANDBYTES, "9.0") == "PASS"
    assert outcome(BITSANDBYTES, "8.7") == "WARN"
    verdict = check(inventory(BITSANDBYTES), gpus="12.1")
    assert verdict.outcome.value == "WARN"
    assert "compute_90" in finding(verdict, "FB106").message


def test_orin_with_an_old_driver_takes_no_discrete_code() -> None:
    assert outcome(BITSANDBYTES, "8.7", "CUDA 12.6") == "FAIL"
    assert outcome(BITSANDBYTES, "8.7", "CUDA 13.2") == "WARN"


# 7: several libraries, two GPUs


def test_only_what_fails_is_named() -> None:
    old = library(module("sm_80", "sm_86", "sm_89"), name="awq_v2_ext.pyd")
    wide = library(module("sm_75", "sm_80", "sm_89"), name="awq_ext.pyd")
    verdict = check(inventory(old, wide), gpus="8.9,7.5")
    assert verdict.outcome.value == "FAIL"
    failed = [f for f in verdict.findings if f.severity is Severity.FAIL]
    assert [(f.location, f.gpu) for f in failed] == [("/lib/awq_v2_ext.pyd", "7.5")]
    assert [str(lib.outcome) for lib in verdict.libraries] == ["FAIL", "PASS"]
    both = check(inventory(old, wide), gpus="12.0")
    assert [str(lib.outcome) for lib in both.libraries] == ["FAIL", "FAIL"]


# 10: nothing to judge


def test_no_device_code_is_no_pass() -> None:
    empty = library(name="libplain.so")
    verdict = check(inventory(empty), gpus="9.0")
    assert verdict.outcome.value == "NOTHING"
    assert "no device code" in finding(verdict, "FB502").message
    with pytest.raises(fatbin.CheckFailed, match="NOTHING"):
        verdict.require_pass()
    none = check(Inventory(targets=("gsplat.whl",)), gpus="9.0")
    assert none.outcome.value == "NOTHING"
    assert "no device code in gsplat.whl; compiled at run time?" in finding(none, "FB502").message


def test_modules_without_kernels_are_nothing() -> None:
    stub = library(module("sm_75", kernels=0), name="libcufftw.so")
    verdict = check(inventory(stub), gpus="9.0")
    assert verdict.outcome.value == "NOTHING"
    assert finding(verdict, "FB503")


# 12: the package's claim against its libraries


def test_every_library_is_looked_into() -> None:
    main = library(
        *[module("sm_75", "sm_80", "sm_90") for _ in range(444)], name="libtorch_cuda.so"
    )
    linalg = LINALG._replace(location="/lib/libtorch_cuda_linalg.so")
    verdict = check(inventory(main, linalg), gpus="7.5", policy=Policy())
    assert [str(lib.outcome) for lib in verdict.libraries] == ["PASS", "FAIL"]
    assert "99 modules" in finding(verdict, "FB101").message


def test_verdicts_name_the_distribution() -> None:
    lib = FAISS._replace(distribution="faiss-gpu-cu12", distribution_version="1.13.2")
    (named,) = check(inventory(lib), gpus="9.0").libraries
    assert named.distribution == "faiss-gpu-cu12 1.13.2"
    (other,) = check(inventory(FAISS), gpus="9.0").libraries
    assert other.distribution == ""


def test_require_pass() -> None:
    check(inventory(FAISS), gpus="8.0").require_pass(strict=True)
    warned = check(inventory(CTRANSLATE), gpus="9.0")
    warned.require_pass()
    with pytest.raises(fatbin.CheckFailed, match="FB105") as told:
        warned.require_pass(strict=True)
    assert told.value.outcome == "WARN"
    with pytest.raises(fatbin.CheckFailed, match="FB101"):
        check(inventory(FAISS), gpus="9.0").require_pass()


# Policy


def test_what_ptx_counts_as() -> None:
    wanted = {"pass": "PASS", "warn": "WARN", "fail": "FAIL"}
    for word, result in wanted.items():
        verdict = check(inventory(CTRANSLATE), gpus="9.0", policy=Policy(ptx=word))
        assert str(verdict.outcome) == result
    linked = check(inventory(BITSANDBYTES), gpus="12.1", policy=Policy(ptx="pass"))
    assert linked.outcome.value == "WARN", "a JIT link is never a plain pass"


def test_ignored_findings_are_reported() -> None:
    rule = Ignore("FB101", "*/libfaiss.so", "only used on A100")
    unused = Ignore("FB106", "*", "never seen")
    verdict = check(inventory(FAISS), gpus="9.0", policy=Policy(ignore=(rule, unused)))
    assert verdict.outcome.value == "PASS"
    assert [(i.finding.code, i.reason) for i in verdict.ignored] == [("FB101", "only used on A100")]
    assert "FB106" in finding(verdict, "FB404").message


def test_optional_libraries_warn() -> None:
    verdict = check(inventory(FAISS), gpus="9.0", policy=Policy(optional=("*faiss*",)))
    assert verdict.outcome.value == "WARN"
    assert finding(verdict, "FB101").severity is Severity.WARN


def test_claims_against_content() -> None:
    archs = fatbin.Architecture.parse_list
    policy = Policy(expect=archs("7.0 8.0"), forbid=archs("compute_90"))
    assert check(inventory(FAISS), gpus="8.0", policy=policy).outcome.value == "PASS"
    policy = Policy(expect=archs("7.0 8.0 9.0+PTX"))
    verdict = check(inventory(FAISS), gpus="8.0", policy=policy)
    assert "lacks sm_90 compute_90" in finding(verdict, "FB401").message
    policy = Policy(expect=archs("7.0"), forbid=archs("8.0"))
    verdict = check(inventory(FAISS), gpus="8.0", policy=policy)
    assert codes(verdict) == {"FB402", "FB403"}


@pytest.mark.parametrize(
    ("expect", "met"),
    [("10.0", True), ("10.0f", True), ("10.0a", False), ("10.3", False), ("compute_100", False)],
)
def test_a_cubin_that_does_not_tell_plain_from_family_stands_for_both(
    expect: str, *, met: bool
) -> None:
    made = module("sm_100", toolkit="13.0")
    untold = made.entries[0]._replace(arch=fatbin.Architecture(100, "?"))
    archs = fatbin.Architecture.parse_list
    verdict = check(
        inventory(library(made._replace(entries=(untold,)))),
        gpus="10.0",
        policy=Policy(expect=archs(expect)),
    )
    assert ("FB401" not in codes(verdict)) is met


def test_thresholds() -> None:
    many = [module("sm_70", "sm_80", "sm_90") for _ in range(99)]
    lib = library(*many, module("sm_70", "sm_80"))
    assert outcome(lib, "9.0") == "PASS"
    strict = check(inventory(lib), gpus="9.0", policy=Policy(max_holes=0.0))
    assert codes(strict) == {"FB103"}
    newer = library(*many[:9], *[module("sm_80", "sm_90") for _ in range(2)])
    assert codes(check(inventory(newer), gpus="7.0")) == {"FB104"}
    policy = Policy(max_newer_only=0.5)
    assert codes(check(inventory(newer), gpus="7.0", policy=policy)) == set()


# The driver


def test_drivers_and_devices() -> None:
    assert codes(check(inventory(OLD_NCCL), gpus="7.0", driver="590")) == {"FB202"}
    assert codes(check(inventory(NCCL_12_9), gpus="12.0", driver="550")) == {"FB201"}
    assert codes(check(inventory(NCCL_13_4), gpus="9.0", driver="570")) == {"FB203"}
    shared = library(module("sm_90"), cuda_runtime="libcudart.so.13")
    verdict = check(inventory(shared), gpus="9.0", driver="575")
    assert "35" in finding(verdict, "FB203").message
    windows = library(module("sm_90"), cuda_runtime="cudart64_110.dll")
    assert outcome(windows, "9.0", "CUDA 11.8") == "PASS"


def test_compression_needs_a_driver() -> None:
    lib = library(module("sm_80", "sm_90", compression=fatbin.Compression.ZSTD))
    assert codes(check(inventory(lib), gpus="9.0", driver="535.104")) == {"FB205"}
    assert outcome(lib, "9.0", "550.54.14") == "PASS"
    assert check(inventory(lib), gpus="9.0").libraries[0].answers[0].required_driver == 550


def test_variables_of_the_process_count_and_are_named() -> None:
    force = {"CUDA_FORCE_PTX_JIT": "1"}
    verdict = check(inventory(FAISS), gpus="8.0", environment=force)
    assert verdict.outcome.value == "FAIL"
    assert "CUDA_FORCE_PTX_JIT" in finding(verdict, "FB207").message
    disable = {"CUDA_DISABLE_PTX_JIT": "1"}
    verdict = check(inventory(CTRANSLATE), gpus="9.0", environment=disable)
    assert codes(verdict) == {"FB206"}
    assert check(inventory(CTRANSLATE), gpus="8.6", environment=disable).outcome.value == "PASS"
    other = {"CUDA_FORCE_PTX_JIT": "0", "CUDA_DISABLE_PTX_JIT": ""}
    assert outcome(FAISS, "8.0") == str(
        check(inventory(FAISS), gpus="8.0", environment=other).outcome
    )


def cubin(location: str, arch: str, distribution: str = "") -> Library:
    bare = module(arch)._replace(form="cubin", place=fatbin.Place.BARE, wrapper=0)
    return Library(location=location, format="cubin", modules=(bare,), distribution=distribution)


def test_cubins_of_a_package_are_picked_from() -> None:
    files = (cubin("k.whl::sm90/a.cubin", "sm_90a"), cubin("k.whl::sm100/a.cubin", "sm_100f"))
    made = Inventory(libraries=files, targets=("k.whl",))
    verdict = check(made, gpus="9.0, 10.3, 12.0")
    (one,) = verdict.libraries
    assert [str(answer.outcome) for answer in one.answers] == ["PASS", "PASS", "WARN"]
    assert (one.location, one.name, one.sass) == ("k.whl::*", "k.whl/*", ("sm_90a", "sm_100f"))
    assert "1 of 2 modules" in finding(check(made, gpus="9.0"), "FB110").message
    assert "k.whl/* has no code for 12.0" in finding(verdict, "FB101").message
    assert "2 modules with SASS sm_90a sm_100f" in finding(verdict, "FB101").message
    assert "what picks from them may do without" in finding(verdict, "FB101").message


@pytest.mark.parametrize(
    ("archs", "wanted"),
    [(("sm_90a", "sm_100?"), "WARN"), (("sm_90", "sm_100f"), "FAIL"), (("sm_75", "sm_75"), "FAIL")],
)
def test_cubins_that_could_be_portable_are_missed(archs: tuple[str, str], wanted: str) -> None:
    files = tuple(cubin(f"k/{number}.cubin", arch) for number, arch in enumerate(archs))
    (one,) = check(Inventory(libraries=files, targets=("k",)), gpus="8.0, 12.0").libraries
    assert [str(answer.outcome) for answer in one.answers] == [wanted, wanted]


@pytest.mark.parametrize(
    ("paths", "target", "distribution", "location"),
    [
        (("k/sm90/a.cubin", "k/sm100/a.cubin"), "k/", "", "k/*"),
        (("k/c/a.cubin", "k/c/aa.cubin"), "k", "", "k/c/*"),
        (("k\\c\\a.cubin", "k\\c\\b.cubin"), "k", "", "k\\c\\*"),
        (("/site/k/0", "/site/k/1"), "env:", "k", "/site/k/*"),
        (("i.tar::s/k/0", "i.tar::s/k/1"), "i.tar", "k", "i.tar::s/k/*"),
        (("a.whl::b.zip::0", "a.whl::b.zip::1"), "a.whl", "", "a.whl::b.zip::*"),
    ],
)
def test_what_is_gathered_stands_in_the_folder_in_common(
    paths: tuple[str, str], target: str, distribution: str, location: str
) -> None:
    files = [cubin(p, a, distribution) for p, a in zip(paths, ("sm_90a", "sm_100f"), strict=True)]
    for order in (files, files[::-1]):
        (one,) = check(Inventory(tuple(order), (), (target,)), gpus="9.0").libraries
        assert (one.location, str(one.outcome)) == (location, "PASS")
        assert one.distribution == distribution


def test_what_does_not_belong_together_is_not_gathered() -> None:
    damaged = cubin("d/x.cubin", "sm_90")._replace(
        issues=(fatbin.Issue("Truncated", "cut off", "d/x.cubin"),)
    )
    files = (
        cubin("d/a.cubin", "sm_90"),
        cubin("e/a.cubin", "sm_80"),
        damaged,
        cubin("site/k1.cubin", "sm_90", "k"),
        cubin("site/m1.cubin", "sm_80", "m"),
        cubin("z.whl::a.cubin", "sm_90"),
    )
    verdict = check(Inventory(files, (), ("d", "e", "env:site", "z.whl")), gpus="9.0")
    assert [lib.location for lib in verdict.libraries] == [file.location for file in files]
    words = [str(lib.outcome) for lib in verdict.libraries]
    assert words == ["PASS", "FAIL", "FAIL", "PASS", "FAIL", "PASS"]


def test_cubins_that_are_named_stand_alone() -> None:
    files = (cubin("a.cubin", "sm_90a"), cubin("b.cubin", "sm_100f"))
    made = Inventory(libraries=files, targets=("a.cubin", "b.cubin"))
    verdict = check(made, gpus="9.0")
    assert [str(lib.outcome) for lib in verdict.libraries] == ["PASS", "FAIL"]


def test_a_library_gets_no_help_from_cubins_beside_it() -> None:
    lib = FAISS._replace(location="k.whl::libfaiss.so")
    made = Inventory(libraries=(lib, cubin("k.whl::a.cubin", "sm_90")), targets=("k.whl",))
    assert check(made, gpus="9.0").outcome.value == "FAIL"


def test_variables_of_unknown_effect_are_named() -> None:
    verdict = check(inventory(FAISS), gpus="8.0", environment={"CUDA_FORCE_JIT": "1"})
    assert verdict.outcome.value == "PASS"
    assert "CUDA_FORCE_JIT" in finding(verdict, "FB207").message


def test_code_that_the_driver_refuses_matters_by_its_share() -> None:
    fine = [module("sm_80", "sm_90") for _ in range(95)]
    refused = [module("sm_80", "compute_80 9.5") for _ in range(20)]
    few = check(inventory(library(*fine, *refused[:5])), gpus="9.0", driver="580")
    assert finding(few, "FB204").severity is Severity.WARN
    many = check(inventory(library(*fine, *refused)), gpus="9.0", driver="580")
    assert finding(many, "FB204").severity is Severity.FAIL
    linked = module("sm_80", wrapper=2)
    pool = module("sm_80", "compute_80 9.5", place="relocatable")
    verdict = check(inventory(library(*fine, linked, pool)), gpus="9.0", driver="580")
    assert finding(verdict, "FB204").severity is Severity.FAIL


def test_drivers_have_an_end_where_the_gpu_has() -> None:
    (old,) = check(inventory(FAISS), gpus="V100").libraries
    assert old.answers[0].drivers == "384 to 580"
    (new,) = check(inventory(FAISS), gpus="A100").libraries
    assert new.answers[0].drivers == "450 or later"
    (none,) = check(inventory(FAISS), gpus="9.0").libraries
    assert none.answers[0].drivers == ""


# What is not known


@pytest.mark.parametrize("gpu", ["13.0", "14.1", "12.9"])
def test_future_devices_are_judged_by_the_general_rules(gpu: str) -> None:
    lib = library(module("sm_90", "compute_90 8.0"), module("sm_90", "sm_130"))
    verdict = check(inventory(lib), gpus=gpu)
    assert "general rules" in finding(verdict, "FB505").message
    assert "sm_130" in finding(verdict, "FB504").message
    answer = verdict.libraries[0].answers[0]
    assert answer.coverage.jit == 1
    assert answer.coverage.native == (1 if gpu == "13.0" else 0)


def test_damage_fails_closed() -> None:
    issue = fatbin.Issue(code="Truncated", message="cut off", location="/lib/libx.so", offset=64)
    lib = library(module("sm_90"))._replace(issues=(issue,))
    verdict = check(inventory(lib), gpus="9.0")
    assert verdict.outcome.value == "FAIL"
    assert finding(verdict, "FB501").because[0].ref == "/lib/libx.so+0x40"
    rule = Ignore("FB501", "*", "known")
    accepted = check(inventory(lib), gpus="9.0", policy=Policy(ignore=(rule,)))
    assert accepted.outcome.value == "PASS"
    unread = Inventory(issues=(issue,))
    assert check(unread, gpus="9.0").outcome.value == "FAIL"


def test_relocatable_code_needs_a_link() -> None:
    lib = library(module("sm_80", "sm_90", place="relocatable"))
    verdict = check(inventory(lib), gpus="9.0")
    assert codes(verdict) == {"FB109"}
    assert outcome(lib, "7.5") == "FAIL"
    member = lib._replace(linkage=None, location="/lib/libcudadevrt.a::cuda_device_runtime.o")
    verdict = check(inventory(member), gpus="9.0")
    assert verdict.outcome.value == "PASS", "an object is there to be linked"
    assert finding(verdict, "FB109").severity is Severity.NOTE


def test_loose_ptx_in_the_data_of_a_library_is_no_alarm() -> None:
    """cuDNN and CUPTI carry PTX texts that they compile themselves, and nothing else."""
    text = entry("compute_50 5.0", fatbin.Place.EMBEDDED)
    loose = fatbin.Module(place=fatbin.Place.EMBEDDED, form="ptx", entries=(text,))
    verdict = check(inventory(library(loose, name="libcudnn_graph.so.9")), gpus="9.0")
    assert verdict.outcome.value == "PASS"
    assert finding(verdict, "FB105").severity is Severity.NOTE
    strict = check(inventory(library(loose)), gpus="9.0", policy=Policy(ptx="fail"))
    assert strict.outcome.value == "FAIL"
    assert outcome(library(loose), "9.0", "CUDA 8.0") == "FAIL", "the driver does not know the GPU"
    registered = loose._replace(place=fatbin.Place.LOADABLE, form="container")
    assert outcome(library(registered), "9.0") == "WARN"
    bare = loose._replace(place=fatbin.Place.BARE)
    assert outcome(library(bare), "9.0") == "WARN"


def test_ltoir_alone_cannot_be_judged() -> None:
    verdict = check(inventory(library(module("lto_90"))), gpus="9.0")
    assert verdict.outcome.value == "WARN"
    assert codes(verdict) == {"FB113"}


def test_a_device_linked_module_among_others() -> None:
    """One linked module has neither code nor PTX to link: what it holds fails with 500."""
    pool = [module("sm_70", "sm_80", place="relocatable")]
    lib = library(module("sm_70", "sm_80", "sm_90"), module("sm_70", "sm_80", wrapper=2), *pool)
    verdict = check(inventory(lib), gpus="9.0")
    assert verdict.outcome.value == "FAIL"
    assert "500" in finding(verdict, "FB102").message


def test_findings_lead_to_entries_and_facts() -> None:
    """Every finding about code rests on entries with offsets and on statements with sources."""
    for lib, gpu in ((OLD_NCCL, "12.0"), (NCCL_12_9, "12.1"), (FAISS, "9.0"), (CTRANSLATE, "9.0")):
        for found in check(inventory(lib), gpus=gpu).findings:
            if found.code == "FB301":
                assert found.because[0].source.startswith("https://github.com/")
                continue
            facts = [e for e in found.because if e.kind == "fact"]
            assert facts, found
            assert all(e.source for e in facts)
            if found.code != "FB112":
                assert any(e.kind == "entry" and "+0x" in e.ref for e in found.because), found
