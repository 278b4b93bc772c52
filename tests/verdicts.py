"""Verdicts for the tests of what is made of them: one that a person can read, and any at all."""

from __future__ import annotations

from hypothesis import strategies as st

from fatbin.judge.verdict import (
    Answer,
    Coverage,
    Evidence,
    Finding,
    IgnoredFinding,
    LibraryVerdict,
    Outcome,
    Severity,
    Verdict,
)

H100, RTX = "H100 (9.0)", "RTX 5090 (12.0)"


def example() -> Verdict:
    """Return the check of a folder: NCCL without code for 12.0, and neighbours of every outcome."""
    nccl = LibraryVerdict(
        location="lib/libnccl.so.2",
        name="libnccl.so.2",
        version="2.26.2+cuda12.2",
        format="elf",
        sass=("sm_50", "sm_60", "sm_61", "sm_70", "sm_80", "sm_90"),
        ptx=("compute_90 (8.2), relocatable",),
        outcome=Outcome.FAIL,
        answers=(
            Answer(H100, "9.0", Outcome.PASS, Coverage(modules=1, native=1, best=1)),
            Answer(
                RTX,
                "12.0",
                Outcome.FAIL,
                Coverage(modules=1, refused=1, best=1),
                missing="sm_120",
                action="install NCCL 2.26.5 or later built with CUDA 12.8",
            ),
        ),
        size=214_310_912,
        code_sizes=(
            ("sass sm_80", 30_412_800),
            ("sass sm_90", 41_287_680),
            ("relocatable-ptx compute_90", 9_437_184),
        ),
    )
    torch = LibraryVerdict(
        location="lib/libtorch_cuda.so",
        name="libtorch_cuda.so",
        version="",
        format="elf",
        sass=("sm_80", "sm_90"),
        ptx=("compute_90 (8.7)",),
        outcome=Outcome.WARN,
        answers=(
            Answer(H100, "9.0", Outcome.PASS, Coverage(modules=412, native=412, empty=3, best=412)),
            Answer(
                RTX,
                "12.0",
                Outcome.WARN,
                Coverage(modules=412, jit=400, specialised=12, empty=3, unjudged=1, best=412),
                required_driver=570,
                action="build with sm_120 to start without compiling",
            ),
        ),
        size=1_203_765_248,
        code_sizes=(("sass sm_80", 501_219_328), ("ptx compute_90", 60_817_408)),
    )
    archive = LibraryVerdict(
        location="lib/libkernels.a::saxpy.o",
        name="saxpy.o",
        version="",
        format="elf",
        sass=("sm_90", "sm_120"),
        ptx=(),
        outcome=Outcome.PASS,
        answers=(
            Answer(H100, "9.0", Outcome.PASS, Coverage(modules=1, native=1, best=1)),
            Answer(RTX, "12.0", Outcome.PASS, Coverage(modules=1, native=1, best=1)),
        ),
        size=10_064,
        code_sizes=(("sass sm_90", 3_848), ("sass sm_120", 3_975)),
    )
    host = LibraryVerdict(
        location="lib/libhost.so",
        name="libhost.so.1",
        version="",
        format="elf",
        sass=(),
        ptx=(),
        outcome=Outcome.NOTHING,
        answers=(
            Answer(H100, "9.0", Outcome.NOTHING, Coverage()),
            Answer(RTX, "12.0", Outcome.NOTHING, Coverage()),
        ),
    )
    fail = Finding(
        code="FB101",
        severity=Severity.FAIL,
        message="lib/libnccl.so.2 has no code for RTX 5090 (12.0): SASS up to sm_90, and the PTX "
        "is of a device-linked library",
        location="lib/libnccl.so.2",
        gpu=RTX,
        action="install NCCL 2.26.5 or later built with CUDA 12.8",
        because=(
            Evidence("entry", "lib/libnccl.so.2@0x1f40", "newest SASS is sm_90"),
            Evidence(
                "fact",
                "sass-same-major",
                "SASS runs on its own major version",
                "CUDA C++ Programming Guide, 'Binary compatibility'",
            ),
        ),
    )
    warn = Finding(
        code="FB105",
        severity=Severity.WARN,
        message="lib/libtorch_cuda.so is compiled by the driver for RTX 5090 (12.0)",
        location="lib/libtorch_cuda.so",
        gpu=RTX,
        action="build with sm_120 to start without compiling",
        because=(
            Evidence("fact", "jit-time", "compiling takes minutes", "reports", certain=False),
        ),
    )
    note = Finding(
        code="FB109",
        severity=Severity.NOTE,
        message="lib/libkernels.a::saxpy.o has no PTX: no GPU after 12.0 will run it",
        location="lib/libkernels.a::saxpy.o",
    )
    stale = Finding(
        code="FB301",
        severity=Severity.WARN,
        message="the policy asks for GPUs that the command line does not",
        because=(Evidence("policy", "require.gpus", "7.5"),),
    )
    gap = Finding(
        code="FB106",
        severity=Severity.FAIL,
        message="lib/libtorch_cuda.so lacks 12 of 412 modules on RTX 5090 (12.0)",
        location="lib/libtorch_cuda.so",
        gpu=RTX,
    )
    return Verdict(
        outcome=Outcome.FAIL,
        gpus=(H100, RTX),
        driver="570.124",
        libraries=(nccl, torch, archive, host),
        findings=(fail, warn, stale, note),
        ignored=(IgnoredFinding(gap, "FB106@*/libtorch_cuda.so", "these kernels are for Hopper"),),
        targets=("lib",),
    )


def example_with_baseline() -> Verdict:
    """Return the same with findings that a baseline has: one of a library, one of all."""
    known = Finding(
        code="FB103",
        severity=Severity.WARN,
        message="lib/libnccl.so.2 has holes on RTX 5090 (12.0)",
        location="lib/libnccl.so.2",
        gpu=RTX,
        action="build every module for sm_120",
        because=(
            Evidence("fact", "sass-same-major", "SASS stays in its major version",
                     "guide, chapter 5 (https://docs.nvidia.com/cuda), measured"),
        ),
    )  # fmt: skip
    whole = Finding("FB501", Severity.FAIL, "lib/broken.so: ends early")
    return example()._replace(known=(whole, known))


# Any at all ---------------------------------------------------------------------------------------

NASTY = st.sampled_from(
    ["FAIL: 1 of 1", "OVERRIDDEN: no", "::error::x", "  ::stop-commands::x", "a.a::b.o", "a::b::c", "::", " ",
     "##[error]x", "###[", "\x1b[31mred\x1b[0m", "a\nb", "a\r\nFB101 fail  x", "\n\nFB101 fail  x", "\t", "\0",
     "\x85\u2028\u2029", "\udce9", "\ud800", "\ufffe\uffff", "\u202egnp.exe", "\xa0x\xa0", "a,b:c%0A%", "%",
     "x|y", "a\\|b", "\\", "`", "``", "a`b``c```d", "`|`", "@org/team", "@@`@", "<b>&amp;</b>", "</code></summary>",
     "</details>", "]]>", "<!--", "--", "'\"", "*x* _y_ ~z~ $w$", "# x", "- x", "1. x", "[a](b)", "![a](b)",
     "https://x.y/z", "&copy;", "é😀", "a  (b", "on x", "on every GPU", "the whole check", "every GPU", "findings",
     ">x", "  result    x: FAIL", "/abs/p q#?.so", "//two", "./x", "../x", "C:\\x", "a" * 3000, "FB101"]
)  # fmt: skip
ANY = st.text(st.characters(exclude_categories=()), max_size=20)
HOSTILE = NASTY | ANY | st.builds(str.__add__, NASTY, NASTY)
NUMBERS = st.integers(0, 2000)
OUTCOMES = st.sampled_from(Outcome)
CODES = st.sampled_from(["FB101", "FB106", "FB109", "FB201", "FB301", "FB999"])
EVIDENCE = st.builds(
    Evidence,
    kind=st.sampled_from(["entry", "fact", "issue", "policy"]),
    ref=HOSTILE,
    text=HOSTILE,
    source=HOSTILE,
    certain=st.booleans(),
)
COVERAGE = st.builds(Coverage, **dict.fromkeys(Coverage._fields, NUMBERS))


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    """Draw a verdict: any words anywhere, and nothing in it need agree with anything else."""
    gpus = draw(st.lists(HOSTILE.filter(bool), max_size=3))
    places = draw(st.lists(HOSTILE.filter(bool), max_size=4))
    findings = st.builds(
        Finding,
        code=CODES,
        severity=st.sampled_from(Severity),
        message=HOSTILE,
        location=st.sampled_from(["", *places]) | HOSTILE,
        gpu=st.sampled_from(["", *gpus]) | HOSTILE,
        action=HOSTILE | st.just(""),
        because=st.lists(EVIDENCE, max_size=2).map(tuple),
    )
    answers = st.tuples(
        *(
            st.builds(
                Answer,
                gpu=st.just(gpu),
                compute_capability=st.just("9.0"),
                outcome=OUTCOMES,
                coverage=COVERAGE,
                required_driver=st.sampled_from([0, 570]),
                last_driver=st.sampled_from([0, 580]),
                missing=HOSTILE | st.just(""),
                action=HOSTILE | st.just(""),
            )
            for gpu in gpus
        )
    )
    texts = st.lists(HOSTILE, max_size=2).map(tuple)
    libraries = [
        LibraryVerdict(
            location=place,
            name=draw(HOSTILE),
            version=draw(HOSTILE | st.just("")),
            format="elf",
            sass=draw(texts),
            ptx=draw(texts),
            outcome=draw(OUTCOMES),
            answers=draw(answers | st.just(())),
            size=draw(NUMBERS),
            code_sizes=tuple(draw(st.lists(st.tuples(HOSTILE, NUMBERS), max_size=2))),
            distribution=draw(HOSTILE | st.just("")),
            layer=draw(HOSTILE | st.just("")),
        )
        for place in places
    ]
    ignored = st.builds(IgnoredFinding, finding=findings, rule=HOSTILE, reason=HOSTILE)
    return Verdict(
        outcome=draw(OUTCOMES),
        gpus=tuple(gpus),
        driver=draw(HOSTILE | st.just("")),
        libraries=tuple(libraries),
        findings=tuple(draw(st.lists(findings, max_size=5))),
        ignored=tuple(draw(st.lists(ignored, max_size=2))),
        skip_reason=draw(HOSTILE | st.just("")),
        targets=draw(texts),
        known=tuple(draw(st.lists(findings, max_size=2))),
    )
