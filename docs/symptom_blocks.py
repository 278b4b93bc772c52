"""Generated blocks about what logs say: the rows of ``fatbin diagnose``."""

from __future__ import annotations

from judge_blocks import table

from fatbin.node.diagnosis import Confidence
from fatbin.node.symptoms import SYMPTOMS


def symptoms(part: str) -> str:
    """Return the rows of one confidence, or the ``texts`` that are looked for, or ``sources``."""
    if part == "texts":
        return table(
            ["id", "any of these texts"],
            [(row.id, ", ".join(f"`{n}`" for n in row.needles)) for row in SYMPTOMS if row.needles],
        )
    if part == "sources":
        rows = [(row.id, ", ".join(_linked(source) for source in row.sources)) for row in SYMPTOMS]
        return table(["id", "where that is written, or how it was measured"], rows)
    return table(
        ["id", "what is seen", "what it usually means", "what it does not prove", "check"],
        [
            (
                row.id,
                row.title,
                row.means + ("" if row.certain else " (not certain)"),
                row.not_proof,
                f"`{row.check}`",
            )
            for row in SYMPTOMS
            if row.confidence is Confidence(part)
        ],
    )


def _linked(source: str) -> str:
    return f"<{source}>" if source.startswith("https://") else f"`{source}`"
