from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from sarif_schema import sarif_schema
from verdicts import RTX, example

from fatbin.judge.verdict import Finding, Outcome, Severity, Verdict
from fatbin.report.sarif import render


def run(verdict: Verdict, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - passed on
    document = json.loads(render(verdict, **options))
    jsonschema.Draft7Validator(sarif_schema()).validate(document)
    (made,) = document["runs"]
    assert isinstance(made, dict)
    return made


def at(location: str, message: str = "m", gpu: str = RTX) -> Verdict:
    finding = Finding("FB101", Severity.FAIL, message, location, gpu)
    return Verdict(Outcome.FAIL, (RTX,), findings=(finding,), targets=("dist/my lib",))


def test_the_schema_refuses_what_is_not_sarif() -> None:
    document = json.loads(render(example()))
    document["runs"][0]["results"][0]["level"] = "fail"
    assert not jsonschema.Draft7Validator(sarif_schema()).is_valid(document)


@pytest.mark.parametrize(
    ("location", "root", "uri", "member"),
    [
        ("lib/libx.so", "", "lib/libx.so", None),
        ("a b/ü%.so", "", "a%20b/%C3%BC%25.so", None),
        ("bad\udce9.so", "", "bad%E9.so", None),
        ("c:x.so", "", "c%3Ax.so", None),
        ("lib.a::x.o", "", "lib.a", "x.o"),
        ("lib.a::inner.a::x.o", "", "lib.a", "inner.a::x.o"),
        ("::odd", "", "%3A%3Aodd", None),
        ("/repo/lib/libx.so", "/repo", "lib/libx.so", None),
        ("/repo2/libx.so", "/repo", "file:///repo2/libx.so", None),
        ("/usr/lib/libx.so", "", "file:///usr/lib/libx.so", None),
        ("", "", "dist/my%20lib", None),
    ],
)
def test_locations(location: str, root: str, uri: str, member: str | None) -> None:
    (result,) = run(at(location), root=root)["results"]
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": uri}
    assert [m["name"] for m in place.get("logicalLocations", [])] == ([member] if member else [])
    assert result["properties"]["location"] == location


def fingerprint(verdict: Verdict, root: str = "") -> str:
    (result,) = run(verdict, root=root)["results"]
    mark: str = result["partialFingerprints"]["fatbinFinding/v1"]
    return mark


def test_a_fingerprint_stays_where_message_and_checkout_change() -> None:
    mark = fingerprint(at("lib.a::x.o"))
    assert mark == fingerprint(at("lib.a::x.o", "12 of 13 modules"))
    assert mark == fingerprint(at("/builds/7/lib.a::x.o"), "/builds/7")
    others = [at("lib.a::y.o"), at("other.a::x.o"), at("lib.a::x.o", gpu="9.0"), at("")]
    assert len({mark, *map(fingerprint, others)}) == 5


def test_rules_have_the_titles_given() -> None:
    driver = run(example(), titles={"FB101": "No code"})["tool"]["driver"]
    texts = {rule["id"]: rule["shortDescription"]["text"] for rule in driver["rules"]}
    assert texts == {
        "FB101": "No code",
        "FB105": "FB105",
        "FB106": "FB106",
        "FB109": "FB109",
        "FB301": "FB301",
    }
    assert driver["rules"][0]["help"]["text"] == "fatbin explain FB101"


def test_levels_and_suppressions() -> None:
    results = run(example())["results"]
    assert [(r["ruleId"], r["level"], "suppressions" in r) for r in results] == [
        ("FB301", "warning", False),
        ("FB101", "error", False),
        ("FB105", "warning", False),
        ("FB109", "note", False),
        ("FB106", "error", True),
    ]
    assert results[4]["suppressions"][0]["justification"] == "these kernels are for Hopper"
    assert results[1]["message"]["text"].endswith(
        "\naction: install NCCL 2.26.5 or later built with CUDA 12.8"
    )


def test_an_override_is_a_notification() -> None:
    assert "toolExecutionNotifications" not in run(example())["invocations"][0]
    made = run(example()._replace(skip_reason="no runner"))
    (notice,) = made["invocations"][0]["toolExecutionNotifications"]
    assert (notice["level"], notice["message"]["text"]) == ("warning", "OVERRIDDEN: no runner")
    assert made["properties"]["outcome"] == "FAIL"
