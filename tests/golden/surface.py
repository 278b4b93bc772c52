"""Everything that users build upon, as text: what a release may not change by accident."""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
from collections.abc import Iterator
from enum import Enum
from typing import Any

from support import ROOT

import fatbin
import fatbin.survey
from fatbin._record import Value, Word
from fatbin.cli import exits
from fatbin.cli.main import build_parser
from fatbin.judge.codes import CODES
from fatbin.judge.policy import KEYS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGES = (fatbin, fatbin.survey)
ENTERED = ("__call__", "__contains__", "__enter__", "__exit__", "__init__", "__iter__", "__len__")
"""Methods with names of Python's own that a user calls, or that a ``with`` or ``for`` does."""


def surface() -> str:
    """Return the whole text; each line stands for itself, so that a difference can be read."""
    lines = [
        *_title("Python"),
        *(line for package in PACKAGES for line in _package(package)),
        *_title("Commands"),
        *_commands(),
        *_title("Exit codes"),
        *(f"{value} {name}" for name, value in vars(exits).items() if name.isupper()),
        *_title("Codes of findings"),
        *(f"{code.code} {code.severity}" for code in CODES.values()),
        *_title("Keys of policies"),
        *(f"{key}: {spec.form}" for key, spec in KEYS.items()),
        *_title("Schema versions of documents"),
        *_documents(),
        *_title("Variables of the environment"),
        *_variables(),
        *_title("Entry points and extras"),
        *_project(),
    ]
    return "\n".join(lines).lstrip("\n") + "\n"


def _title(text: str) -> tuple[str, ...]:
    return ("", f"# {text}", "")


# Python -------------------------------------------------------------------------------------------


def _package(package: Any) -> Iterator[str]:  # noqa: ANN401 - a module
    for name in package.__all__:
        if name != "__version__":
            yield from _name(f"{package.__name__}.{name}", getattr(package, name))


def _name(name: str, value: Any) -> Iterator[str]:  # noqa: ANN401 - anything public
    if inspect.isfunction(value):
        yield f"{name}{_signature(value)}"
    elif issubclass(value, Enum):
        yield f"{name}({_bases(value)})"
        for member in value.__members__.values():
            yield f"  {name}.{member.name} = {_default(member.value)}"
        yield from _members(name, value)
    else:
        yield f"{name}({_bases(value)})"
        for field in getattr(value, "_fields", ()):
            default = value._field_defaults.get(field, inspect.Parameter.empty)
            given = "" if default is inspect.Parameter.empty else f" = {_default(default)}"
            yield f"  {name}.{field}: {value.__annotations__[field]}{given}"
        yield from _members(name, value)


def _bases(cls: type) -> str:
    if hasattr(cls, "_fields"):
        return "Record"
    bases = Word.__bases__ if cls.__bases__ == (Word,) else cls.__bases__
    shown = [base for base in bases if base is not object]
    return ", ".join("Value" if base is Value else base.__name__ for base in shown)


def _members(name: str, cls: type) -> Iterator[str]:
    """Yield methods and properties, those too that come from bases of ours."""
    for member in dir(cls):
        if member.startswith("_") and member not in ENTERED:
            continue
        home = next((c for c in cls.__mro__ if member in vars(c)), None)
        if home is None or member in getattr(cls, "_fields", ()):
            continue
        if not home.__module__.startswith("fatbin") or member in getattr(cls, "__members__", ()):
            continue
        found = vars(home)[member]
        if isinstance(found, property):
            yield f"  {name}.{member}: {_annotation(inspect.signature(found.fget).return_annotation)}"  # type: ignore[arg-type]
        elif isinstance(found, classmethod | staticmethod):
            kind = type(found).__name__
            yield f"  {kind} {name}.{member}{_signature(getattr(cls, member))}"
        elif inspect.isfunction(found):
            yield f"  {name}.{member}{_signature(found)}"


def _signature(function: Any) -> str:  # noqa: ANN401 - anything that can be called
    signature = inspect.signature(function)
    parts: list[str] = []
    star = False
    for parameter in signature.parameters.values():
        if parameter.name in {"self", "cls"}:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        star = star or parameter.kind is parameter.VAR_POSITIONAL
        text = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
        if parameter.annotation is not parameter.empty:
            text += f": {_annotation(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            text += f" = {_default(parameter.default)}"
        parts.append(text)
    return f"({', '.join(parts)}) -> {_annotation(signature.return_annotation)}"


def _annotation(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "?")


def _default(value: Any) -> str:  # noqa: ANN401 - any default
    """Return the value as code would write it, the same in every version of Python."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if hasattr(value, "_fields"):
        given = {
            field: getattr(value, field)
            for field in value._fields
            if value._field_defaults.get(field, ...) != getattr(value, field)
        }
        inside = ", ".join(f"{field}={_default(own)}" for field, own in given.items())
        return f"{type(value).__name__}({inside})"
    return "os.environ" if value is os.environ else repr(value)


# The rest -----------------------------------------------------------------------------------------


def _commands() -> Iterator[str]:
    (commands,) = (a.choices for a in build_parser()._actions if isinstance(a.choices, dict))
    for name, parser in commands.items():
        yield f"fatbin {name}"
        for action in parser._actions:
            yield f"  {_argument(action)}"


def _argument(action: argparse.Action) -> str:
    words = [", ".join(action.option_strings) or "positional"]
    if action.nargs != 0:
        words.append(str(action.metavar or action.dest))
    if action.nargs not in {None, 0}:
        words.append(f"nargs={action.nargs}")
    if action.choices:
        words.append("{" + ",".join(map(str, action.choices)) + "}")
    if isinstance(action, argparse._AppendAction):
        words.append("repeated")
    if action.required and action.option_strings:
        words.append("required")
    if action.default not in (None, False, argparse.SUPPRESS):
        words.append(f"default={action.default!r}")
    return " ".join(words)


def _documents() -> Iterator[str]:
    for path in sorted((ROOT / "fatbin").rglob("*.py")):
        found = re.search(r"^SCHEMA_VERSION = (\d+)$", path.read_text("utf-8"), re.MULTILINE)
        if found:
            yield f"{path.relative_to(ROOT).as_posix()}: {found[1]}"


def _variables() -> list[str]:
    texts = (path.read_text("utf-8") for path in (ROOT / "fatbin").rglob("*.py"))
    return sorted({name for text in texts for name in re.findall(r'"(FATBIN_[A-Z_]+)"', text)})


def _project() -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for name, target in project["scripts"].items():
        yield f"{name} = {target}"
    for extra in project["optional-dependencies"]:
        if extra != "dev":
            yield f"[{extra}]"
    yield f"Python {project['requires-python']}"
    assert "entry-points" not in project, "say here what they are"
