"""Types of records as a reader of JSON calls them."""

from __future__ import annotations

import re

_PLAIN = {
    "Any": "anything",
    "bool": "true or false",
    "float": "number",
    "int": "integer",
    "str": "string",
}
_WORDS = frozenset(
    (
        "Architecture",
        "Certainty",
        "Compression",
        "ComputeCapability",
        "Confidence",
        "How",
        "Outcome",
        "Place",
        "PreflightOutcome",
        "Severity",
        "SmokeOutcome",
    )
)
"""Classes that are a word in JSON."""

_ELSEWHERE = {"Verdict": "../verdict.md#verdict"}
"""Records with a page of their own; the others have a section of the page that names them."""


def json_type(annotation: str) -> str:
    """Return what JSON has for an annotation of a record."""
    kind, _, null = annotation.partition(" | ")
    listed = re.fullmatch(r"tuple\[(\w+), \.\.\.\]", kind)
    if kind == "tuple[tuple[str, int], ...]":
        word = "list of pairs of string and integer"
    elif listed:
        word = f"list of {_word(listed[1], plural=True)}"
    else:
        word = _word(kind)
    if not null:
        return word
    return word.replace(" or ", ", ") + " or null"


def _word(kind: str, *, plural: bool = False) -> str:
    if kind in _PLAIN or kind in _WORDS:
        return _PLAIN.get(kind, "string") + ("s" if plural else "")
    if not re.fullmatch(r"[A-Z]\w+", kind):
        msg = f"no word for the type {kind}"
        raise LookupError(msg)
    return f"[{kind}]({_ELSEWHERE.get(kind, '#' + kind.lower())})"
