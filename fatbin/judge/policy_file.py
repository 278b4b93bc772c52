"""Policy files: ``fatbin.toml``, or the table ``[tool.fatbin]`` of ``pyproject.toml``."""

from __future__ import annotations

import os
import re
import sys

from fatbin._record import Record
from fatbin.errors import MissingDependencyError, PolicyError, SourceError
from fatbin.judge.policy import KEYS, Policy, refused, unknown_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "fatbin.toml"
"""What a policy file is called when it is looked for."""
PROJECT = "pyproject.toml"
"""The file whose table ``[tool.fatbin]`` can hold a policy."""
_TABLE = "tool.fatbin"
MOST_BYTES = 1 << 20
"""Larger files are refused: they are something else."""
_MOST_PARTS = 200
_NOT_OF_A_KEY = r"[^\w.\-\"' \t]+"
_MOST_LINES = 400
"""In longer files the line of a bad value is not looked for."""


class PolicyFile(Record):
    """A policy with what stands beside it in its file.

    Attributes:
        policy: what a check demands.
        gpus: GPUs to check for; each gets its answer.
        driver: the oldest driver that they have.
        path: of the file, as given.
        baseline: a saved verdict whose findings do not count again; a relative path starts at the
            folder of the policy file.
    """

    policy: Policy
    gpus: tuple[str, ...] = ()
    driver: str = ""
    path: str = ""
    baseline: str = ""


def read_policy(path: str | os.PathLike[str]) -> PolicyFile:
    """Read a policy file; one called ``pyproject.toml`` must have a table ``[tool.fatbin]``.

    Raises:
        SourceError: the file cannot be read.
        PolicyError: it is no TOML, or a key or value cannot be used; names file, line and key.
    """
    name = os.fspath(path)
    data = _bytes(name)
    table: Any = _parsed(data, name)
    under: tuple[str, ...] = ()
    if os.path.basename(name) == PROJECT:
        under = ("tool", "fatbin")
        table = _table_of(table)
        if table is None:
            msg = "expected a table [tool.fatbin], found none"
            raise PolicyError(msg, location=name)
    try:
        values = _values(table)
    except PolicyError as exc:
        exc.location = name
        # A key of the file may look like a path of ours.
        own = isinstance(table, dict) and exc.key in table
        exc.line = _line(data.decode(), (*under, *((exc.key,) if own else _steps(exc.key))))
        raise
    gpus, driver = values.pop("gpus", ()), values.pop("driver", "")
    baseline = values.pop("baseline", "")
    if baseline:
        baseline = os.path.join(os.path.dirname(name), baseline)
    return PolicyFile(Policy(**values), gpus, driver, name, baseline)


def find_policy(start: str | os.PathLike[str]) -> str | None:
    """Return the path of the policy that holds in a directory, or None.

    That is the first ``fatbin.toml``, or ``pyproject.toml`` with a table ``[tool.fatbin]``, in the
    directory and those above it, up to one that has ``.git``.

    Raises:
        SourceError: a ``pyproject.toml`` cannot be read.
        PolicyError: one that speaks of fatbin is no TOML, so that what it says is not known.
    """
    folder = os.path.abspath(start)
    while True:
        own, project = os.path.join(folder, NAME), os.path.join(folder, PROJECT)
        if os.path.isfile(own):
            return own
        if os.path.isfile(project):
            data = _bytes(project)
            if b"fatbin" in data and _table_of(_parsed(data, project)) is not None:
                return project
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = above


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise SourceError(f"cannot be read: {reason}", location=path or repr(path)) from exc
    except ValueError as exc:  # a NUL in the path
        raise SourceError(f"cannot be read: {exc}", location=path) from exc
    if len(data) > MOST_BYTES:
        msg = f"expected a policy of at most {MOST_BYTES:,} bytes, found more"
        raise PolicyError(msg, location=path)
    return data


def _loads(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - only files need it
    else:
        try:
            import tomli as tomllib  # noqa: PLC0415
        except ModuleNotFoundError as exc:  # of a program in one file that was made without it
            msg = "policies cannot be read before Python 3.11 without tomli"
            raise MissingDependencyError(msg, requirement="tomli") from exc
    return tomllib.loads(text)


def _check_keys(text: str, path: str) -> None:
    """Refuse keys of so many parts that the reader of the standard library takes minutes for them.

    Its time grows with their square and more. What looks like one in a string counts too.

    Raises:
        PolicyError: there is one.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") <= _MOST_PARTS:
            continue
        if any(piece.count(".") > _MOST_PARTS for piece in re.split(_NOT_OF_A_KEY, line)):
            msg = f"expected keys of at most {_MOST_PARTS} parts, found more dots than that in one"
            raise PolicyError(msg, line=number, location=path)


def _parsed(data: bytes, path: str) -> dict[str, Any]:
    try:
        text = data.decode()
        _check_keys(text, path)
        return _loads(text)
    except PolicyError:
        raise
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        msg = f"expected UTF-8 text, found the byte {data[exc.start]:#04x}"
        raise PolicyError(msg, line=line, location=path) from exc
    except RecursionError as exc:
        msg = "expected a policy, found nesting too deep"
        raise PolicyError(msg, location=path) from exc
    except ValueError as exc:  # of TOML, and of numbers with too many digits
        said = str(exc).partition("\n")[0]
        place = re.search(r" \(at line (\d+), (column \d+)\)", said)
        reason = said.replace(place[0], f" at {place[2]}") if place else said
        line = int(place[1]) if place else 0
        if said.endswith("(at end of document)"):
            line = len(data.splitlines()) or 1
        raise PolicyError(f"expected TOML, found: {reason}", line=line, location=path) from exc


def _table_of(document: dict[str, Any]) -> object | None:
    """Return what ``tool.fatbin`` is; None when it is not there."""
    tool = document.get("tool")
    found: object | None = tool.get("fatbin") if isinstance(tool, dict) else None
    return found


def _values(table: object) -> dict[str, Any]:
    """Return the fields that a table gives."""
    if not isinstance(table, dict):
        raise refused(_TABLE, "a table", table)
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in KEYS:
            raise unknown_key(name, name, KEYS)
        values[KEYS[name].field] = KEYS[name].read(value, name)
    return values


# Lines --------------------------------------------------------------------------------------------


def _steps(key: str) -> tuple[str | int, ...]:
    """Return the steps of a key: ``ignore[2].code`` gives ignore, 2 and code."""
    match = re.fullmatch(r"(?s)([a-z-]+)\[(\d+)\](?:\.(.+))?", key)
    if match is None or match[1] not in KEYS:
        return () if key == _TABLE else (key,)
    return (match[1], int(match[2])) + ((match[3],) if match[3] else ())


def _line(text: str, steps: tuple[str | int, ...]) -> int:
    """Return the line on which the statement for a key, or an item of a list, begins; or 0.

    The parser does not tell lines. But what has a key begins behind the longest part of the file
    that parses and does not have the key yet. A list may be closed to make it parse.
    """
    lines = text.split("\n")
    first = 0
    if steps[0] == "tool":
        headers = (n for n, line in enumerate(lines) if re.match(r"\s*\[\[?\s*tool\b", line))
        first = next((n for n in headers if "fatbin" in lines[n]), 0)
    if len(lines) - first > _MOST_LINES:
        return 0
    begins = first
    for number in range(first, len(lines) + 1):
        part = "\n".join(lines[first:number])
        for closed in (part, part + "\n]"):
            try:
                found = _has(_loads(closed), steps)
            except (ValueError, RecursionError):
                continue
            if found:
                return begins + 1
            begins = number
    return 0


def _has(value: object, steps: tuple[str | int, ...]) -> bool:
    for step in steps:
        try:
            value = value[step]  # type: ignore[index]
        except (LookupError, TypeError):
            return False
    return True
