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
        ["source", "what it is"], [(f"`{key}`", _source(key)) for key in SOURCES]
    ),
}


def _source(key: str) -> str:
    """Return what a source is; the underlines of a file's name are no emphasis."""
    return SOURCES[key].replace("__", r"\_\_")


CODE_FOLDER = "reference/codes/"
CODE_PAGES = {f"{CODE_FOLDER}{code}.md": f"<!-- code: {code} -->\n<!-- end -->\n" for code in CODES}
"""The pages of the codes before their block is filled, by name in ``docs/``."""

_CODE = re.compile(r"\bFB\d{3}\b")
_SPAN = re.compile(r"(`[^`]*`)")


def codes(part: str) -> str:
    """Return the table of the codes whose number begins with a digit."""
    rows = [
        (f"[{code.code}]({code.code}.md)", code.severity, code.title)
        for code in CODES.values()
        if code.code.startswith(f"FB{part}")
    ]
    return table(["code", "severity", "what it says"], rows)


def code(name: str) -> str:
    """Return the page of a code, with the statements that it names."""
    head, _, text = code_page(name).rstrip("\n").partition("\n")
    text = "".join(
        part if n % 2 else _CODE.sub(lambda m: _other(m[0], name), part)
        for n, part in enumerate(_SPAN.split(text))
    )
    text = re.sub(r"(?<![(<])https://[^\s,)]+[^\s,).]", r"<\g<0>>", text)
    named = [key for key in dict.fromkeys(re.findall(r"`([\w.-]+)`", text)) if key in STATEMENTS]
    if named:
        text += "\n\n## Statements\n\nWhat the page names as what it rests on"
        text += " ([all of them](../statements.md)):\n\n" + _statement_table(named)
    return f"{head}\n{text}"


def _other(code: str, page: str) -> str:
    return code if code == page or code not in CODES else f"[{code}]({code}.md)"


def statements(part: str) -> str:
    """Return the table of the statements about one subject, or another view of them."""
    if part == "sources":
        named = {source for statement in STATEMENTS.values() for source in statement.sources}
        rows = [(f"`{key}`", _source(key)) for key in SOURCES if key in named]
        return table(["source", "what it is"], rows)
    if part == "by-source":
        resting = {
            source: [key for key, statement in STATEMENTS.items() if source in statement.sources]
            for source in SOURCES
        }
        by_source = [
            (f"`{source}`", _source(source), ", ".join(f"`{key}`" for key in keys))
            for source, keys in resting.items()
            if keys
        ]
        return table(["source", "what it is", "statements"], by_source)
    if part == "uncertain":
        return _statement_table([key for key, found in STATEMENTS.items() if not found.certain])
    return _statement_table([key for key in STATEMENTS if key.partition(".")[0] == part])


def _statement_table(keys: Iterable[str]) -> str:
    rows = [
        (
            f"`{key}`",
            STATEMENTS[key].text,
            "certain" if STATEMENTS[key].certain else "**not certain**",
            ", ".join(STATEMENTS[key].sources),
        )
        for key in keys
    ]
    return table(["id", "what it says", "", "sources"], rows)
