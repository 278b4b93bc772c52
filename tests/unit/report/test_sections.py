from __future__ import annotations

import pytest
from verdicts import H100, RTX, example

from fatbin.judge.verdict import (
    Answer,
    Coverage,
    Finding,
    LibraryVerdict,
    Outcome,
    Severity,
    Verdict,
)
from fatbin.report.sections import by_distribution, coverage, is_plain, sections, summary


def library(location: str, *outcomes: Outcome, own: Outcome | None = None) -> LibraryVerdict:
    answers = tuple(Answer(f"{n}.0", f"{n}.0", o, Coverage()) for n, o in enumerate(outcomes, 7))
    outcome = own or max(outcomes, key=list(Outcome).index)
    return LibraryVerdict(location, location, "", "elf", (), (), outcome, answers)


def verdict(outcome: Outcome, *libraries: LibraryVerdict, gpus: int = 2) -> Verdict:
    return Verdict(outcome, tuple(f"{n}.0" for n in range(7, 7 + gpus)), libraries=libraries)


PASS, WARN, FAIL, NOTHING = Outcome.PASS, Outcome.WARN, Outcome.FAIL, Outcome.NOTHING


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (verdict(FAIL, library("a", PASS, FAIL), library("b", PASS, PASS)), "FAIL: 1 of 2 libraries fails on 1 of 2 GPUs"),
        (verdict(FAIL, library("a", FAIL, PASS), library("b", PASS, FAIL)), "FAIL: all 2 libraries fail on all 2 GPUs"),
        (verdict(FAIL, library("a", FAIL), gpus=1), "FAIL: the library fails on the GPU"),
        (verdict(FAIL, library("a", own=FAIL), gpus=0), "FAIL: the library fails"),
        (verdict(FAIL, library("a", PASS, PASS)), "FAIL: see the findings"),
        (verdict(WARN, library("a", WARN, NOTHING), library("b", PASS, PASS)), "WARN: 1 of 2 libraries has warnings on 1 of 2 GPUs"),
        (verdict(PASS, library("a", PASS, PASS), library("b", NOTHING, NOTHING)), "PASS: 1 of 2 libraries passes on all 2 GPUs"),
        (verdict(NOTHING, library("a", NOTHING)), "NOTHING: no device code to judge"),
    ],
)  # fmt: skip
def test_summary(made: Verdict, line: str) -> None:
    assert summary(made) == line


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (Coverage(), ""),
        (Coverage(modules=2, native=1, jit=1), "2 of 2 modules run (1 native, 1 JIT)"),
        (
            Coverage(modules=5, likely=1, unsure=1, jit_link=1, newer_only=1, refused=1),
            (
                "3 of 5 modules run (1 JIT link, 1 likely, 1 unsure); "
                "2 do not (1 for newer GPUs only, 1 refused by the driver)"
            ),
        ),
        (Coverage(empty=1, unjudged=2), "aside: 1 without kernels, 2 of kinds not judged"),
    ],
)
def test_coverage(counts: Coverage, text: str) -> None:
    assert coverage(Answer("9.0", "9.0", WARN, counts)) == text


def test_each_finding_stands_once_and_the_worst_first() -> None:
    double = example().libraries[0]
    made = example()._replace(libraries=(double, double))
    note = Finding("FB109", Severity.NOTE, "m", double.location, RTX)
    made = made._replace(findings=(note, *made.findings))
    check, first, second, *orphans = sections(made)
    assert [finding.code for finding in check.findings] == ["FB301"]
    assert [finding.code for finding in first.findings] == ["FB101", "FB109"]
    assert [group.gpu for group in second.groups] == [H100, RTX]
    assert second.findings == ()
    assert {section.location for section in orphans} == {
        "lib/libtorch_cuda.so",
        "lib/libkernels.a::saxpy.o",
    }
    assert all(section.library is None for section in orphans)


def test_a_gpu_that_was_not_asked_for_comes_last() -> None:
    stray = Finding("FB102", Severity.FAIL, "m", "lib/libnccl.so.2", "7.5")
    section = sections(example()._replace(findings=(stray,)))[1]
    assert [(group.gpu, bool(group.answer)) for group in section.groups] == [
        (H100, True),
        (RTX, True),
        ("7.5", False),
    ]


def test_what_is_plain() -> None:
    made = example()
    assert [is_plain(section, made) for section in sections(made)[1:]] == [False, False, True, True]
    nothing = made._replace(outcome=NOTHING, libraries=made.libraries[3:], findings=(), ignored=())
    assert [is_plain(section, nothing) for section in sections(nothing)[1:]] == [False]


def test_distributions_have_the_worst_word_of_their_libraries() -> None:
    first, *_ = example().libraries
    gpus = [answer.gpu for answer in first.answers]

    def named(distribution: str, *words: Outcome) -> LibraryVerdict:
        answers = tuple(
            answer._replace(outcome=word) for answer, word in zip(first.answers, words, strict=True)
        )
        return first._replace(distribution=distribution, answers=answers)

    libraries = (
        named("", PASS, PASS),
        named("torch 2.11.0", PASS, WARN),
        named("torch 2.11.0", FAIL, NOTHING),
        named("awq 1.0", PASS, PASS),
    )
    several = example()._replace(libraries=libraries, gpus=tuple(gpus))
    assert [(d, n, list(words)) for d, n, words in by_distribution(several)] == [
        ("awq 1.0", 1, ["PASS", "PASS"]),
        ("torch 2.11.0", 2, ["FAIL", "WARN"]),
        ("", 1, ["PASS", "PASS"]),
    ]
