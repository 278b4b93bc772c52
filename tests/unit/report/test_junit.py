from __future__ import annotations

from xml.etree import ElementTree as ET

from verdicts import RTX, example

from fatbin.judge.verdict import Outcome, Verdict
from fatbin.report.junit import render


def states(verdict: Verdict, *, strict: bool = False) -> dict[tuple[str, str], str]:
    """Return what a reader of test results makes of each case."""
    root = ET.fromstring(render(verdict, strict=strict))  # noqa: S314 - written by the code under test
    found = {}
    for case in root.iter("testcase"):
        tags = {child.tag for child in case} & {"failure", "skipped"}
        key = (case.get("classname", ""), case.get("name", ""))
        found[key] = tags.pop() if tags else "passed"
    return found


def test_states() -> None:
    assert states(example()) == {
        ("fatbin check", "outcome"): "passed",
        ("fatbin check", "findings"): "passed",
        ("lib/libnccl.so.2", "on H100 (9.0)"): "passed",
        ("lib/libnccl.so.2", "on RTX 5090 (12.0)"): "failure",
        ("lib/libtorch_cuda.so", "on H100 (9.0)"): "passed",
        ("lib/libtorch_cuda.so", "on RTX 5090 (12.0)"): "passed",
        ("lib/libkernels.a::saxpy.o", "findings"): "passed",
        ("lib/libkernels.a::saxpy.o", "on H100 (9.0)"): "passed",
        ("lib/libkernels.a::saxpy.o", "on RTX 5090 (12.0)"): "passed",
        ("lib/libhost.so", "on H100 (9.0)"): "skipped",
        ("lib/libhost.so", "on RTX 5090 (12.0)"): "skipped",
    }


def test_strict_fails_on_warnings_and_on_nothing_else() -> None:
    before, after = states(example()), states(example(), strict=True)
    assert {key for key in before if before[key] != after[key]} == {
        ("fatbin check", "findings"),
        ("lib/libtorch_cuda.so", "on RTX 5090 (12.0)"),
    }
    assert after["lib/libtorch_cuda.so", "on RTX 5090 (12.0)"] == "failure"


def test_nothing_is_not_a_pass() -> None:
    assert states(Verdict(Outcome.NOTHING, (RTX,))) == {("fatbin check", "outcome"): "skipped"}


def test_a_library_without_a_gpu_has_a_case() -> None:
    library = example().libraries[0]._replace(answers=())
    made = states(Verdict(Outcome.FAIL, (), libraries=(library,)))
    assert made["lib/libnccl.so.2", "without a GPU"] == "failure"


def test_an_override_leaves_failures_and_says_why() -> None:
    text = render(example()._replace(skip_reason="no runner"))
    assert '<property name="overridden" value="no runner" />' in text
    assert "<system-out>OVERRIDDEN: no runner\n</system-out>" in text
    assert states(example()._replace(skip_reason="no runner")) == states(example())
