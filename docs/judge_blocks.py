"""Generated blocks about the judge: tables of its facts, codes with their pages, statements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fatbin.judge.codes import CODES
from fatbin.judge.codes import page as code_page
from fatbin.judge.facts.architectures import ARCHITECTURES
from fatbin.judge.facts.gpus import gpus_of
from fatbin.judge.facts.known_bad import KNOWN_BAD
from fatbin.judge.facts.sources import SOURCES
from fatbin.judge.facts.statements import STATEMENTS
from fatbin.judge.facts.toolkits import ERRORS, FLOORS, TOOLKITS
from fatbin.report.gpus import COLUMNS, cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def facts(name: str) -> str:
    """Return a table of the judge's facts."""
    return _FACTS[name]()


def _architectures() -> str:
    head = [*(column.lstrip(">") for column in COLUMNS), "suffixes", "what else", "sources"]
    rows = [
        (
            *cells(row),
            " ".join(row.variants),
            "; ".join(filter(None, (row.driver_note, row.note))),
            ", ".join(row.sources),
        )
        for row in ARCHITECTURES
    ]
    return table(head, rows)


def _gpus() -> str:
    rows = []
    for row in ARCHITECTURES:
        for kind in dict.fromkeys(gpu.kind for gpu in gpus_of(row.cc)):
            named = [gpu for gpu in gpus_of(row.cc) if gpu.kind == kind]
            names = ", ".join(gpu.name + ("" if gpu.certain else " ?") for gpu in named)
            sources = dict.fromkeys(source for gpu in named for source in gpu.sources)
            rows.append((str(row.cc), kind, names, ", ".join(sources)))
    return table(["cc", "kind", "GPUs", "sources"], rows)


def _toolkits() -> str:
    head = ["toolkit", "PTX ISA", "driver branch", "Linux", "Windows", "what else", "sources"]
    rows = [
        (
            row.toolkit + ("" if row.certain else " ?"),
            row.ptx_isa,
            str(row.driver_branch),
            row.linux_driver or "-",
            row.windows_driver or "-",
            row.note,
            ", ".join(row.sources),
        )
        for row in TOOLKITS
    ]
    return table(head, rows)


def _known_bad() -> str:
    head = [
        "name",
        "library",
        "version",
        "built by CUDA",
        "cc",
        "what happens",
        "remedy",
        "sources",
    ]
    rows = [
        (
            row.id,
            f"`{row.library}`",
            _range(row.version_low, row.version_high),
            _range(row.cuda_low, row.cuda_high),
            ", ".join(low if low == high else f"{low} to {high}" for low, high in row.gpus),
            row.symptom,
            row.remedy,
            ", ".join(row.sources),
        )
        for row in KNOWN_BAD
    ]
    return table(head, rows)


def _range(low: tuple[int, ...], high: tuple[int, ...]) -> str:
    parts = (
        f"from {'.'.join(map(str, low))}" if low else "",
        f"before {'.'.join(map(str, high))}" if high else "",
    )
    return ", ".join(filter(None, parts)) or "any"


def _floors() -> str:
    rows = [
        (f"{row.major}.x", row.linux_driver, row.windows_driver or "-", ", ".join(row.sources))
        for row in FLOORS
    ]
    return table(["toolkit", "Linux", "Windows", "sources"], rows)


def _errors() -> str:
    rows = [
        (str(code), *(f"`{name}`" if name else "" for name in error[:2]), error.meaning)
        for code, error in ERRORS.items()
    ]
    return table(["code", "driver API", "runtime API", "about device code"], rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = (head, ["---"] * len(head), *rows)
    return "\n".join("|" + "".join(f" {c} |" if c else " |" for c in line) for line in lines)


_FACTS: dict[str, Callable[[], str]] = {
    "ARCHITECTURES": _architectures,
    "ERRORS": _errors,
    "FLOORS": _floors,
    "GPUS": _gpus,
    "TOOLKITS": _toolkits,
    "KNOWN_BAD": _known_bad,
    "SOURCES": lambda: table(
        ["source", "what it is"], [(f"`{key}`", text) for key, text in SOURCES.items()]
    ),
}


def codes(part: str) -> str:
    """Return the ``table`` of the codes of findings, or their ``pages``."""
    if part == "pages":
        return "\n".join(
            re.sub(r"^#", "##", code_page(code), flags=re.MULTILINE) for code in CODES
        ).rstrip("\n")
    rows = [
        f"| [{code.code}](#{anchor(f'{code.code}: {code.title}')}) | {code.severity} "
        f"| {code.title} |"
        for code in CODES.values()
    ]
    return "\n".join(["| code | severity | title |", "|---|---|---|", *rows])


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def statements(part: str) -> str:
    """Return the table of the statements about one subject, or of their ``sources``."""
    if part == "sources":
        named = {source for statement in STATEMENTS.values() for source in statement.sources}
        rows = [f"| `{key}` | {text} |" for key, text in SOURCES.items() if key in named]
        return "\n".join(["| source | what it is |", "|---|---|", *rows])
    rows = [
        f"| `{key}` | {statement.text} | {'certain' if statement.certain else '**not certain**'} "
        f"| {', '.join(statement.sources)} |"
        for key, statement in STATEMENTS.items()
        if key.partition(".")[0] == part
    ]
    return "\n".join(["| id | what it says | | sources |", "|---|---|---|---|", *rows])
