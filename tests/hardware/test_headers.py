"""The choice of images, against what a driver did with containers that no toolkit writes."""

from __future__ import annotations

from collections import Counter

import pytest
from h200 import DRIVER, H200
from headers import CRASH, FIRST_BIT, HEADERS, OK, STREAMS, Row, other, stream
from support import ROOT

import fatbin
from fatbin import Certainty, Choice, Library
from fatbin.judge.facts.sources import SOURCES
from fatbin.judge.loader import choose

UNSURE = {"kind 16, PTX"}
NO_SUCH_ARCHITECTURE = {"PTX 86a, 80", "PTX 80, 86a", "PTX text for 100a", "PTX text for 100a, 80"}
"""Below 90a a driver of CUDA 13.0 does not look at the suffix a of PTX, nor does nvJitLink 13.0;
nvJitLink 13.5 does, and so does the judge. PTX for 90a is passed over for 10.0 by both versions."""


def answer(data: bytes) -> tuple[Library, Choice]:
    (library,) = fatbin.scan_bytes(data, verify=True).libraries
    (module,) = library.modules
    return library, choose(module, H200, DRIVER)


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name: str) -> None:
    row = HEADERS[name]
    library, choice = answer(row.data)
    assert (choice.certainty is Certainty.UNSURE) == (name in UNSURE)
    if name in UNSURE:
        assert choice.because[0] == "container.kind-16"
    elif name in NO_SUCH_ARCHITECTURE:
        assert (choice.code, choice.entry if choice.serves else -1) != (row.code, row.taken)
    elif row.code == OK:
        outer = [e for e in library.modules[0].entries if e.group < 0]
        assert choice.serves
        assert outer.index(library.modules[0].entries[choice.entry]) == row.taken
    elif choice.serves:  # the header is right, what it stands before is not: that is damage
        assert library.issues
    else:
        assert choice.code == row.code


def test_the_table_has_what_it_should() -> None:
    codes = Counter(row.code for row in HEADERS.values())
    assert codes[OK] > 30
    assert set(codes) == {OK, CRASH, 200, 209, 218, 222, 300, 999}
    evidence = (ROOT / "docs" / "explanation" / "evidence.md").read_text()
    assert f"- {len(HEADERS)} containers that no toolkit writes" in evidence
    assert f"all {len(STREAMS)} pairs of compression flags and streams" in evidence
    assert f"{len(HEADERS) + len(STREAMS)} containers whose headers" in SOURCES["h200"]


def test_images_of_groups_are_passed_over_and_the_finding_says_so() -> None:
    library = fatbin.scan_bytes(HEADERS["group of SASS, zstd"].data)
    old = fatbin.check(library, gpus="9.0", driver="580")
    assert old.outcome is fatbin.Outcome.FAIL
    (finding,) = (f for f in old.findings if f.severity is fatbin.Severity.FAIL)
    assert finding.code == "FB205"
    assert "error 209" in finding.message
    assert "595" in finding.action
    new = fatbin.check(library, gpus="9.0", driver="595")
    assert new.outcome is fatbin.Outcome.WARN
    assert [f.code for f in new.findings if f.severity is fatbin.Severity.WARN] == ["FB107"]


@pytest.mark.parametrize(("bits", "word"), STREAMS)
def test_the_lowest_bit_of_compression_counts(bits: int, word: str) -> None:
    library, _ = answer(stream(bits, word))
    found = library.modules[0].entries[0].compression
    lowest = next((w for bit, w in enumerate(FIRST_BIT) if bits & 1 << bit), "none")
    assert found == lowest
    assert bool(library.issues) == (STREAMS[bits, word] != OK)


def test_an_unbroken_row_has_no_issue() -> None:
    (library,) = fatbin.scan_bytes(Row((other(),), OK, 0).data, verify=True).libraries
    assert library.issues == ()
