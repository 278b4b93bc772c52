from __future__ import annotations

import io
import re

import pytest
from verdicts import example

from fatbin.judge.verdict import Verdict
from fatbin.report.formats import FORMATS, Options
from fatbin.report.verdict_text import name


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def text(verdict: Verdict, *, verbose: bool = False, out: io.StringIO | None = None) -> str:
    out = out or io.StringIO()
    FORMATS["text"](out, verdict, Options(verbose=verbose))
    return out.getvalue()


def test_an_override_is_the_first_thing_said() -> None:
    first, second, *_ = text(example()._replace(skip_reason="no\nrunner")).split("\n")
    assert first == "OVERRIDDEN: no\\nrunner"
    assert second.startswith("FAIL: ")


def test_one_library_on_one_gpu_needs_no_matrix() -> None:
    whole = example()
    one = whole._replace(gpus=whole.gpus[:1], libraries=whole.libraries[:1])
    assert "  library  " in text(whole)
    assert "  library  " in text(whole._replace(libraries=whole.libraries[:1]))
    assert "  library  " in text(whole._replace(gpus=whole.gpus[:1]))
    assert "  library  " not in text(one)


def test_libraries_that_pass_are_shown_on_demand() -> None:
    heading = "\nlib/libkernels.a::saxpy.o\n"
    assert heading not in text(example())
    assert text(example()).endswith("\n1 note on 1 library not shown (--verbose)\n")
    assert heading in text(example(), verbose=True)
    assert "not shown" not in text(example(), verbose=True)


def test_an_action_is_said_once() -> None:
    assert text(example()).count("install NCCL 2.26.5") == 1
    assert text(example()._replace(findings=())).count("install NCCL 2.26.5") == 1


def test_verbose_says_what_a_finding_rests_on() -> None:
    assert "because" not in text(example())
    lines = text(example(), verbose=True)
    assert "because: newest SASS is sm_90 (entry lib/libnccl.so.2@0x1f40)\n" in lines
    assert "because: compiling takes minutes (fact jit-time; reports, not certain)\n" in lines


def test_colour_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    coloured = text(example(), out=Terminal())
    assert "\x1b[1;31mFAIL" in coloured
    assert "\x1b[32mPASS" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in text(example(), out=Terminal())
    plain = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    pieces = (line.strip() for line in text(example()).split("\n") if "  library" not in line)
    assert [
        piece for piece in pieces if re.sub(" +", "", piece) not in re.sub(" +", "", plain)
    ] == []


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("lib/libx.so", "lib/libx.so"),
        ("a b", "a b"),
        ("a  b", "a \\x20b"),
        (" a ", "\\x20a\\x20"),
        ("::error::x", "\\x3a:error::x"),
        ("##[error]x", "\\x23#[error]x"),
        (">x", "\\x3ex"),
        ("\x1b[2J", "\\x1b[2J"),
    ],
)
def test_names_cannot_pass_for_layout(given: str, shown: str) -> None:
    assert name(given) == shown
