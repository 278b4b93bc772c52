"""Every key of every JSON document has a row in the documentation, with its type, and no row is too many."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from documents import DOCS, run_python, text_of
from support import FIXTURES, ROOT
from verdicts import example_with_baseline

import fatbin
from fatbin.arch import ComputeCapability
from fatbin.judge.choice import How
from fatbin.judge.serving import Certainty
from fatbin.kinds import Place
from fatbin.node.preflight_records import (
    Preflight,
    PreflightLibrary,
    PreflightOutcome,
    PreflightStage,
)
from fatbin.node.probe_records import GpuProbe, Probe, ProbeResult
from fatbin.node.records import Attempt, DetectedGpu, Detection
from fatbin.node.smoke.records import (
    SmokeOutcome,
    SmokePrediction,
    SmokeResult,
    SmokeRound,
    report_from,
)

_ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| .+ \|$", re.MULTILINE)
_TABLE = re.compile(r"^\| key \| type \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", re.MULTILINE)
_LINKED = re.compile(r"(list of )?\[[^\]]+\]\(([^)]*)\)(, or null| or null)?")
_PLAIN: dict[str, Callable[[Any], bool]] = {
    "anything": lambda _: True,
    "integer": lambda v: type(v) is int,
    "number": lambda v: type(v) in {int, float},
    "object": lambda v: isinstance(v, dict),
    "string": lambda v: isinstance(v, str),
    "strings": lambda v: isinstance(v, str),
    "integers": lambda v: type(v) is int,
    "null": lambda v: v is None,
    "true or false": lambda v: isinstance(v, bool),
    "pairs of string and integer": lambda v: [type(x) for x in v] == [str, int],
}


@cache
def tables(page: Path) -> dict[str, dict[str, str]]:
    """Return the rows of each section of a page, by anchor."""
    found = {}
    for section in re.split(r"^## ", text_of(page), flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        rows = dict(_ROW.findall("".join(_TABLE.findall(body))))
        for name in re.findall(r"`(schema_version|agrees)` \((?:integer|true or false)", body):
            rows[name] = "integer" if name == "schema_version" else "true or false"
        found[re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")] = rows
    return found


def fits(value: Any, kind: str) -> bool:  # noqa: ANN401 - JSON
    """Tell whether a value is of a type in words."""
    if kind in _PLAIN:
        return _PLAIN[kind](value)
    if kind.startswith("list of "):
        return isinstance(value, list) and all(fits(v, kind[len("list of ") :]) for v in value)
    parts = re.split(r", or |, | or (?!false)", kind)
    assert len(parts) > 1, f"not a type: {kind}"
    return any(fits(value, part) for part in parts if part not in {"true", "false"}) or (
        "true" in parts and isinstance(value, bool)
    )


def walk(value: Any, page: Path, anchor: str, where: str) -> Iterator[tuple[Path, str]]:  # noqa: ANN401
    """Compare an object with its table, and go on with what is linked; yield the tables seen."""
    rows = tables(page)[anchor]
    assert isinstance(value, dict), where
    assert set(value) == set(rows), where
    yield page, anchor
    for key, kind in rows.items():
        inside, here = value[key], f"{where}.{key}"
        link = _LINKED.fullmatch(kind)
        if not link:
            assert fits(inside, kind), f"{here}: {inside!r} is not {kind}"
            continue
        listed, target, null = link.groups()
        name, _, other = target.partition("#")
        if inside is None:
            assert null, here
            continue
        for one in inside if listed else [inside]:
            yield from walk(one, (page.parent / name).resolve() if name else page, other, here)


# Documents ----------------------------------------------------------------------------------------


def of(*arguments: str) -> Any:  # noqa: ANN401 - JSON
    """Return the document that a command writes."""
    return json.loads(run_python("-m", "fatbin", *arguments, "--format", "json").stdout)


GPU = DetectedGpu(0, "NVIDIA H200", ComputeCapability(9, 0), source="libcuda")
ISSUE = fatbin.Issue("Truncated", "cut", "x")
RECORDED = ROOT / "tests" / "node" / "recorded" / "smoke_h200x2_one_of_two_without_code.json"


def inventories() -> list[Any]:
    damaged = fatbin.scan(FIXTURES / "truncated.fatbin").to_dict()
    return [of("inspect", "fixtures/lib_rdc.so"), damaged, {**damaged, "issues": [ISSUE._asdict()]}]


def kernels() -> list[Any]:
    return [
        of("kernels", "fixtures/resources_80.fatbin"),
        of("kernels", "fixtures/truncated.fatbin"),
    ]


def missing() -> list[Any]:
    return [of("kernels", "fixtures/lib_3arch.so", "--missing", "sm_80")]


def extractions() -> list[Any]:
    return [of("extract", "fixtures/truncated.fatbin", "fixtures/lto.fatbin", "--list")]


def sizes() -> list[Any]:
    found = [of("size", "fixtures/lib_rdc.so"), of("size", "fixtures/truncated.fatbin")]
    for document in found:
        document["kernels"] = []  # asked for with --by kernel alone, which the page says
    return [*found, of("size", "fixtures/truncated.fatbin", "--by", "kernel")]


def diffs() -> list[Any]:
    text = (FIXTURES / "saxpy_80.ptx").read_text()
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "a.fatbin"), Path(folder, "b.fatbin")
        before.write_bytes(fatbin.build([fatbin.EntrySpec.ptx(text)]))
        older = re.sub(r"\.version \d\.\d", ".version 8.0", text)
        after.write_bytes(fatbin.build([fatbin.EntrySpec.ptx(older)]))
        versions = of("diff", str(before), str(after))
        damaged = of("diff", "fixtures/truncated.fatbin", str(after))
    kernels_too = of("diff", "fixtures/lib_1arch.so", "fixtures/lib_rdc.so", "--kernels")
    return [
        versions,
        damaged,
        kernels_too,
        of("diff", "fixtures/host_1arch.o", "fixtures/host_1arch.obj"),
    ]


def detections() -> list[Any]:
    return [Detection(gpus=(GPU,), attempts=(Attempt("libcuda", ok=True, said="1 GPU"),)).to_dict()]


def probes() -> list[Any]:
    result = ProbeResult("x", 0, Place.BARE, "cubin", 0, How.NATIVE, Certainty.YES, "loaded", "")
    probe = Probe("x", gpus=(GpuProbe(GPU, (result, result._replace(kernels=1, agrees=True))),))
    found = probe.to_dict()
    issue = dict(zip(ISSUE._fields, ISSUE, strict=True))
    assert probe._replace(issues=(ISSUE,)).to_dict()["issues"] == [issue]
    return [found, {**found, "issues": [issue]}]


def smokes() -> list[Any]:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    ranks = tuple(report_from(data) for data in _reports(recorded))
    assert len(ranks) == 2
    rounds = (SmokeRound("eager", SmokeOutcome.FAIL, ranks=ranks),)
    return [SmokeResult(SmokeOutcome.FAIL, predicted=SmokePrediction(), rounds=rounds).to_dict()]


def _reports(value: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    if isinstance(value, dict) and "steps" in value:
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _reports(one)


def preflights() -> list[Any]:
    stage = PreflightStage("detect", PreflightOutcome.PASS, details=detections()[0])
    library = PreflightLibrary("x", "named")
    skipped = PreflightStage("smoke", PreflightOutcome.SKIPPED)
    made = Preflight(PreflightOutcome.PASS, libraries=(library,), stages=(stage, skipped))
    command = ("preflight", "--stages", "check", "--no-nccl", "--json", "-")
    return [made.to_dict(), json.loads(run_python("-m", "fatbin", *command).stdout)]


def diagnoses() -> list[Any]:
    log, library = "docs/examples/ranks.log", "fixtures/lib_3arch.so"
    return [
        of("diagnose", log, "--library", library, "--gpu", "A100"),
        of("diagnose", "docs/examples/silent.log", "--gpu", "RTX 5090"),
    ]


CASES: dict[tuple[str, str], Callable[[], list[Any]]] = {
    ("inventory.md", "inventory"): inventories,
    ("verdict.md", "verdict"): lambda: [example_with_baseline().to_dict()],
    ("json/kernels.md", "document"): kernels,
    ("json/kernels.md", "missing-kernels"): missing,
    ("json/extract.md", "document"): extractions,
    ("json/size.md", "document"): sizes,
    ("json/diff.md", "document"): diffs,
    ("json/gpus.md", "document"): lambda: [of("gpus")],
    ("json/detect.md", "document"): detections,
    ("json/probe.md", "document"): probes,
    ("json/smoke.md", "document"): smokes,
    ("json/preflight.md", "document"): preflights,
    ("json/diagnose.md", "document"): diagnoses,
}
ENTRANCES = {page: [anchor for name, anchor in CASES if name == page] for page, _ in CASES}


@pytest.mark.parametrize("page", ENTRANCES)
def test_documents_are_what_their_page_says(page: str) -> None:
    path = DOCS / "reference" / page
    seen: set[tuple[Path, str]] = set()
    for anchor in ENTRANCES[page]:
        for document in CASES[page, anchor]():
            seen |= set(walk(document, path, anchor, anchor))
    with_rows = {(path, anchor) for anchor, rows in tables(path).items() if rows}
    assert with_rows <= seen, "documented, and in no document"


def test_every_document_has_its_page() -> None:
    assert {page.name for page in (DOCS / "reference" / "json").glob("*.md")} - {"index.md"} == {
        name.removeprefix("json/") for name, _ in CASES if name.startswith("json/")
    }


@pytest.mark.parametrize(
    ("value", "kind", "right"),
    [
        (1, "integer", True),
        (True, "integer", False),
        (1.5, "integer", False),
        (None, "integer or null", True),
        ("x", "integer or null", False),
        (None, "true, false or null", True),
        (0, "true, false or null", False),
        (["x"], "list of strings", True),
        ([1], "list of strings", False),
        ([["x", 1]], "list of pairs of string and integer", True),
        ([["x", "y"]], "list of pairs of string and integer", False),
    ],
)
def test_types_in_words(value: object, kind: str, right: bool) -> None:  # noqa: FBT001
    assert fits(value, kind) is right


@pytest.mark.parametrize("change", [{"more": 1}, {"target": None}])
def test_a_key_that_is_not_documented_is_found(change: dict[str, Any]) -> None:
    document = of("size", "fixtures/lib_1arch.so")
    document["kernels"] = []
    document["files"][0] |= change
    with pytest.raises(AssertionError):
        list(walk(document, DOCS / "reference" / "json" / "size.md", "document", "document"))
