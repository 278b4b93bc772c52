"""A verdict as SARIF 2.1.0, for code scanning and editors.

What SARIF has no place for (the outcome, GPUs, the library's location as fatbin writes it) stands
in property bags, so that nothing of a finding is lost.
"""

from __future__ import annotations

import hashlib
import json
import os
from urllib.parse import quote

from fatbin import __version__
from fatbin.errors import printable
from fatbin.judge.verdict import Severity
from fatbin.report.sections import sections, summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fatbin.judge.verdict import Evidence, Finding, Verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.FAIL: "error", Severity.WARN: "warning", Severity.NOTE: "note"}


def render(verdict: Verdict, *, titles: Mapping[str, str] | None = None, root: str = "") -> str:
    """Return the document.

    Args:
        verdict: what to write.
        titles: a short text for each code; a code without one stands for itself.
        root: folder of the checkout: locations inside it are written relative to it.
    """
    found = [finding for section in sections(verdict) for finding in section.findings]
    codes = sorted(
        {f.code for f in (*found, *verdict.known, *(i.finding for i in verdict.ignored))}
    )
    whole = verdict.targets[0] if verdict.targets else ""
    results = [_result(finding, codes, root, whole) for finding in found]
    for finding in verdict.known:
        result = _result(finding, codes, root, whole)
        result["suppressions"] = [
            {
                "kind": "external",
                "status": "accepted",
                "justification": "known: the baseline has it",
                "properties": {"known": True},
            }
        ]
        results.append(result)
    for ignored in verdict.ignored:
        result = _result(ignored.finding, codes, root, whole)
        result["suppressions"] = [
            {
                "kind": "external",
                "status": "accepted",
                "justification": printable(ignored.reason),
                "properties": {"rule": ignored.rule},
            }
        ]
        results.append(result)
    _add_fingerprints(results)
    run = {
        "tool": {"driver": _driver(codes, titles or {})},
        "invocations": [_invocation(verdict)],
        "results": results,
        "columnKind": "unicodeCodePoints",
        "properties": {
            "outcome": verdict.outcome.value,
            "summary": summary(verdict),
            "gpus": list(verdict.gpus),
            "driver": verdict.driver,
            "targets": list(verdict.targets),
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _driver(codes: list[str], titles: Mapping[str, str]) -> dict[str, Any]:
    rules = []
    for code in codes:
        title = {"text": printable(titles.get(code, code))}
        rules.append(
            {
                "id": code,
                "shortDescription": title,
                "fullDescription": title,
                "help": {"text": f"fatbin explain {code}"},
            }
        )
    return {
        "name": "fatbin",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": rules,
    }


def _invocation(verdict: Verdict) -> dict[str, Any]:
    invocation: dict[str, Any] = {"executionSuccessful": True}
    if verdict.skip_reason:
        invocation["toolExecutionNotifications"] = [
            {
                "level": "warning",
                "descriptor": {"id": "overridden"},
                "message": {"text": f"OVERRIDDEN: {printable(verdict.skip_reason)}"},
            }
        ]
    return invocation


def _result(finding: Finding, codes: list[str], root: str, whole: str) -> dict[str, Any]:
    text = printable(finding.message)
    if finding.action:
        text += f"\naction: {printable(finding.action)}"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
    }
    # Code scanning refuses a document with a result that lies nowhere.
    location = finding.location or whole
    if location:
        result["locations"] = [_location(location, root)]
    result["properties"] = {
        "location": finding.location,
        "gpu": finding.gpu,
        "because": [_evidence(evidence) for evidence in finding.because],
    }
    return result


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {key: getattr(evidence, key) for key in evidence._fields}


def _location(location: str, root: str) -> dict[str, Any]:
    path, member = _parts(location)
    made: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": _uri(path, root)}}}
    if member:
        made["logicalLocations"] = [
            {"name": member, "fullyQualifiedName": location, "kind": "member"}
        ]
    return made


def _parts(location: str) -> tuple[str, str]:
    """Return the file and the archive member; a name with nothing on one side is a file's."""
    path, _, member = location.partition("::")
    return (path, member) if path and member else (location, "")


def _uri(path: str, root: str) -> str:
    """Return a path as a relative reference, or as a ``file`` URI where it lies outside root."""
    if root and os.path.isabs(path):
        inside = os.path.relpath(path, root)
        if inside != os.pardir and not inside.startswith(os.pardir + os.sep):
            path = inside
    absolute = os.path.isabs(path)
    quoted = quote(_bytes(path.replace(os.sep, "/")))
    if not absolute:
        return quoted
    return f"file://{'' if quoted.startswith('/') else '/'}{quoted}"


def _bytes(path: str) -> bytes:
    """Return the bytes of a file name; names come from JSON too, with any surrogate in them."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")


def _add_fingerprints(results: list[dict[str, Any]]) -> None:
    """Give each result a mark that stays when its message changes or the checkout moves."""
    seen: dict[str, int] = {}
    for result in results:
        places = result.get("locations", [{}])[0]
        where = [
            places.get("physicalLocation", {}).get("artifactLocation", {}).get("uri", ""),
            *(logical["name"] for logical in places.get("logicalLocations", [])),
        ]
        key = json.dumps([result["ruleId"], *where, result["properties"]["gpu"]])
        number = seen[key] = seen.get(key, 0) + 1
        digest = hashlib.sha256(f"{key}{number}".encode()).hexdigest()
        result["partialFingerprints"] = {"fatbinFinding/v1": digest[:32]}
