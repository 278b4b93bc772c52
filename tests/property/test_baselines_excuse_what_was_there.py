"""A check against a baseline fails on what got worse: on nothing of before, and on all that is new."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from made import inventory, library, module

from fatbin.inventory import Inventory, Library
from fatbin.judge.baseline import Baseline
from fatbin.judge.check import check
from fatbin.judge.verdict import Outcome, Severity, Verdict

GPUS = "A100, H100, RTX 5090"
MODULES = st.lists(
    st.sampled_from(["sm_75", "sm_80", "sm_90", "sm_90a", "sm_120", "compute_80 7.0", "compute_90 8.0"]),
    min_size=1, max_size=3, unique=True,
).map(lambda texts: module(*texts))  # fmt: skip


@st.composite
def inventories(draw: st.DrawFn) -> Inventory:
    """Draw libraries, some in several places under one name."""
    names = draw(st.lists(st.sampled_from(["liba.so", "libb.so", "libc.so"]), max_size=4))
    return inventory(
        *(
            library(*draw(st.lists(MODULES, max_size=3)), name=name)._replace(
                location=f"/lib/{number}/{name}"
            )
            for number, name in enumerate(names)
        )
    )


def bad(verdict: Verdict) -> list[tuple[str, str, str]]:
    return [
        (f.code, f.location, f.gpu) for f in verdict.findings if f.severity is not Severity.NOTE
    ]


@given(inventories())
def test_nothing_fails_against_itself(made: Inventory) -> None:
    plain = check(made, gpus=GPUS)
    again = check(made, gpus=GPUS, baseline=plain)
    assert bad(again) == []
    assert again.outcome in {Outcome.PASS, Outcome.NOTHING}
    assert sorted(again.known) == sorted(
        f for f in plain.findings if f.severity is not Severity.NOTE
    )
    assert "FB405" not in {finding.code for finding in again.findings}


@given(inventories())
def test_an_empty_baseline_changes_nothing(made: Inventory) -> None:
    assert check(made, gpus=GPUS, baseline=Baseline()) == check(made, gpus=GPUS)


@given(inventories(), st.integers(0, 4))
def test_a_failing_library_more_is_told_and_no_other(made: Inventory, at: int) -> None:
    new = library(module("sm_75"), name="libnew.so")
    alone = check(inventory(new), gpus=GPUS)
    assert alone.outcome is Outcome.FAIL
    grown: tuple[Library, ...] = (*made.libraries[:at], new, *made.libraries[at:])
    after = check(inventory(*grown), gpus=GPUS, baseline=check(made, gpus=GPUS))
    assert bad(after) == bad(alone)


@given(inventories(), inventories())
def test_every_finding_counts_or_is_known_and_none_is_both(one: Inventory, two: Inventory) -> None:
    plain = check(two, gpus=GPUS)
    after = check(two, gpus=GPUS, baseline=check(one, gpus=GPUS))
    told = [finding for finding in after.findings if finding.code != "FB405"]
    assert sorted([*told, *after.known]) == sorted(plain.findings)
