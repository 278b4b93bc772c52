"""A verdict as JSON: without loss, and described by ``verdict.schema.json`` beside this module."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.judge.verdict import Verdict


def render(verdict: Verdict) -> str:
    """Return the document; what is not ASCII is escaped, so that any encoding can hold it."""
    return json.dumps(verdict.to_dict(), indent=2) + "\n"
