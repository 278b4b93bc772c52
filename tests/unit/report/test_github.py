from __future__ import annotations

import pytest
from verdicts import example

from fatbin.judge.verdict import Outcome, Verdict
from fatbin.report.github import render


def test_what_a_command_must_escape() -> None:
    finding = (
        example()
        .findings[0]
        ._replace(
            message="100 %\n::error::x", location="a,b:c%.so", gpu="x, y: z", action="\x1b[2J"
        )
    )
    lines = render(Verdict(Outcome.FAIL, (), findings=(finding,))).split("\n")
    assert lines[1:] == [
        "::error file=a%2Cb%3Ac%25.so,title=FB101 on x%2C y%3A z::100 %25%0A::error::x%0Aaction: \\x1b[2J",
        "",
    ]


@pytest.mark.parametrize(
    ("outcome", "skip", "line"),
    [
        (Outcome.PASS, "", "::notice title=fatbin check::PASS: see the findings"),
        (Outcome.WARN, "", "::warning title=fatbin check::WARN: see the findings"),
        (Outcome.FAIL, "", "::error title=fatbin check::FAIL: see the findings"),
        (Outcome.NOTHING, "", "::warning title=fatbin check::NOTHING: no device code to judge"),
        (Outcome.FAIL, "why", "::warning title=fatbin check::OVERRIDDEN: why%0AFAIL: see the findings"),
    ],
)  # fmt: skip
def test_the_outcome_comes_first(outcome: Outcome, skip: str, line: str) -> None:
    assert render(Verdict(outcome, (), skip_reason=skip)) == f"{line}\n"


def test_failures_before_warnings_and_notes_on_demand() -> None:
    def levels(text: str) -> list[str]:
        return [line.split(" ")[0] for line in text.splitlines()]

    assert levels(render(example())) == ["::error", "::error", "::warning", "::warning", "::notice"]
    assert levels(render(example(), verbose=True)) == [
        "::error", "::error", "::warning", "::warning", "::notice", "::notice",
    ]  # fmt: skip
    assert "ignored (fail): lib/libtorch_cuda.so lacks" in render(example()).splitlines()[-1]
