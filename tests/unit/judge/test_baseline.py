"""Baselines: which finding is which, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made import inventory, library, module

import fatbin
from fatbin.inventory import Library
from fatbin.judge.baseline import Baseline, Excuses, read_baseline
from fatbin.judge.check import check
from fatbin.judge.policy import Ignore, Policy
from fatbin.judge.verdict import Finding, Outcome, Severity, Verdict

OLD = module("sm_80")
FAILS = library(OLD, name="libold.so.1")


def moved(made: Library, location: str) -> Library:
    return made._replace(location=location)


def judged(*libraries: Library, gpus: str = "H100", baseline: Verdict | None = None) -> Verdict:
    return check(inventory(*libraries), gpus=gpus, baseline=baseline)


def codes(verdict: Verdict) -> list[str]:
    return [finding.code for finding in verdict.findings]


def test_what_was_there_is_known_and_does_not_count() -> None:
    before = judged(FAILS)
    assert before.outcome is Outcome.FAIL
    after = judged(FAILS, baseline=before)
    assert after.outcome is Outcome.PASS
    assert (codes(after), after.known) == ([], before.findings)
    assert after.libraries[0].outcome is Outcome.PASS


def test_a_known_finding_stays_known_to_the_next_check() -> None:
    second = judged(FAILS, baseline=judged(FAILS))
    assert judged(FAILS, baseline=second).known == second.known != ()


@pytest.mark.parametrize(
    ("before", "now", "known"),
    [
        (["/a/libold.so"], ["/a/libold.so"], 1),
        (["./a/libold.so"], ["a\\libold.so"], 1),
        (["/v1/libold.so"], ["/v2/libold.so"], 1),  # the soname is its name
        (["/v1/a", "/v1/b"], ["/v2/a", "/v2/b"], 0),  # two of one name: which is which?
        (["/v1/a", "/v1/b"], ["/v1/a", "/v2/b"], 1),
        (["/v1/a"], ["/v2/a", "/v2/b"], 0),
    ],
)
def test_a_library_is_found_by_location_or_by_its_name_alone(
    before: list[str], now: list[str], known: int
) -> None:
    baseline = judged(*(moved(FAILS, place) for place in before))
    after = judged(*(moved(FAILS, place) for place in now), baseline=baseline)
    assert len(after.known) == known
    assert codes(after).count("FB101") == len(now) - known


def test_another_name_in_another_place_is_another_library() -> None:
    other = library(OLD, name="libother.so")
    assert codes(judged(other, baseline=judged(FAILS))) == ["FB101", "FB405"]


def test_a_gpu_is_its_compute_capability() -> None:
    before = judged(FAILS, gpus="H100")
    assert len(judged(FAILS, gpus="9.0", baseline=before).known) == 1
    assert codes(judged(FAILS, gpus="L4, 12.0", baseline=before)) == ["FB101"]


@pytest.mark.parametrize(
    ("before", "now", "known"),
    [
        (["warn"], "warn", True),
        (["fail"], "warn", True),
        (["warn"], "fail", False),
        (["note"], "note", False),
        ([], "warn", False),
        (["fail", "warn"], "fail", True),
    ],
)
def test_as_bad_or_worse_excuses(before: list[str], now: str, known: bool) -> None:  # noqa: FBT001 - a column
    found = tuple(Finding("FB101", Severity(word), "said", "/x") for word in before)
    excuses = Excuses(Baseline(found), [("/x", "x")]) if "note" not in before else None
    excuses = excuses or Excuses(Baseline.of(Verdict(Outcome.PASS, (), findings=found)), [])
    assert excuses.covers(Finding("FB101", Severity(now), "in other words", "/x")) is known


def test_one_excuses_one_and_the_mildest_first() -> None:
    fail, warn = (Finding("FB501", s, "said", "/x") for s in (Severity.FAIL, Severity.WARN))
    excuses = Excuses(Baseline((fail, warn)), [])
    assert [excuses.covers(f) for f in (warn, fail, fail)] == [True, True, False]
    assert excuses.gone([]) == 0


def test_what_is_gone_is_counted_and_does_not_change_the_outcome() -> None:
    fine = library(module("sm_90"), name="libold.so.1")
    after = judged(fine, baseline=judged(FAILS))
    assert after.outcome is Outcome.PASS
    (note,) = after.findings
    assert (note.code, note.severity) == ("FB405", Severity.NOTE)
    assert note.message == "1 finding of the baseline is gone"
    two = judged(FAILS, moved(FAILS, "/other"))
    assert judged(fine, baseline=two).findings[0].message == "2 findings of the baseline are gone"


def test_what_a_rule_ignores_is_not_taken_from_the_baseline() -> None:
    rule = Ignore("FB101", "*", "why")
    before = judged(FAILS)
    after = check(inventory(FAILS), gpus="H100", baseline=before, policy=Policy(ignore=(rule,)))
    assert (len(after.ignored), after.known) == (1, ())
    assert codes(after) == ["FB405"]
    assert Baseline.of(after) == Baseline((), (("/lib/libold.so.1", "libold.so.1"),))


def test_an_optional_library_is_excused_as_the_warning_that_it_is() -> None:
    policy = Policy(optional=("*",))
    before = check(inventory(FAILS), gpus="H100", policy=policy)
    assert check(inventory(FAILS), gpus="H100", policy=policy, baseline=before).known
    assert codes(judged(FAILS, baseline=before)) == ["FB101", "FB405"]


# Files --------------------------------------------------------------------------------------------


def test_a_saved_verdict_is_read_back(tmp_path: Path) -> None:
    verdict = judged(FAILS, moved(FAILS, "/other"))
    path = tmp_path / "verdict.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(verdict.to_dict()).encode())
    found = read_baseline(path)
    assert found.names == Baseline.of(verdict).names
    assert [f._replace(because=(), action="") for f in verdict.findings] == list(found.findings)
    assert check(inventory(FAILS, moved(FAILS, "/other")), gpus="H100", baseline=found).known


def test_a_verdict_without_the_newer_keys_is_read(tmp_path: Path) -> None:
    document = judged(FAILS).to_dict()
    del document["known"], document["libraries"][0]["size"]
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert len(read_baseline(path).findings) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": 2}, "expected a verdict of schema_version 1 to 1, found 2"),
        ({"schema_version": True}, "found True"),
        ({"schema_version": None}, "found None"),
        ({"findings": {}}, r"findings: expected a list, found \{\}"),
        ({"findings": [1]}, r"findings\[0\]: expected an object, found 1"),
        ({"known": [{}]}, r"known\[0\]\.severity: expected text, found None"),
        ({"known": [{"severity": "bad"}]}, r"known\[0\]\.severity: expected note, warn or fail"),
        ({"libraries": [{"location": 1}]}, r"libraries\[0\]\.location: expected text, found 1"),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps({**judged(FAILS).to_dict(), **change}), encoding="utf-8")
    with pytest.raises(fatbin.BaselineError, match=message) as caught:
        read_baseline(path)
    assert caught.value.location == str(path)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (json.dumps(inventory(FAILS).to_dict()), "expected a verdict, found an inventory"),
        ('{"libraries": []}', "expected a verdict, found another document"),
        ('{"outcome": "PASS", "findings": []}', "expected a verdict, found another document"),
        ("[]", "expected a verdict, found another document"),
        ("{", "expected a verdict as JSON, found: "),
        ("[" * 100_000, "expected a verdict as JSON, found: "),
        ("\x7fELF", "expected a verdict as JSON, found: "),
    ],
)
def test_another_document_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(fatbin.BaselineError, match=message):
        read_baseline(path)


@pytest.mark.parametrize("name", ["none.json", "", "a\0b"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(fatbin.SourceError, match="the baseline cannot be read"):
        read_baseline(str(tmp_path / name) if name else "")
