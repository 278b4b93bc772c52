"""JSON-ready data to :class:`fatbin.Inventory`, checked field by field."""

from __future__ import annotations

from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from fatbin.arch import Architecture, architecture
from fatbin.errors import ArchitectureError, InventoryError
from fatbin.inventory import (
    SCHEMA_VERSION,
    Entry,
    Inventory,
    Issue,
    Library,
    Linkage,
    Module,
)
from fatbin.kinds import Compression, Place

_RECORDS = (Library, Module, Entry, Issue, Linkage)
_T = TypeVar("_T")


def read_inventory(data: object) -> Inventory:
    """Build an inventory; unknown keys are ignored, missing ones take their default.

    Raises:
        InventoryError: names the path of the value, what was expected and what was found.
    """
    if not isinstance(data, dict) or "schema_version" not in data:
        msg = "expected an inventory with a schema_version, found none"
        raise InventoryError(msg)
    version = data["schema_version"]
    if not isinstance(version, int) or not 1 <= version <= SCHEMA_VERSION:
        msg = f"expected schema_version 1 to {SCHEMA_VERSION}, found {version!r}"
        raise InventoryError(msg, hint="a newer fatbin may read it")
    return _record(Inventory, data, "inventory")


def _record(cls: type[_T], data: object, path: str) -> _T:
    if not isinstance(data, dict):
        raise _error(path, "an object", data)
    hints = _hints(cls)
    values: dict[str, Any] = {}
    for name, hint in hints.items():
        if name in data:
            values[name] = _value(hint, data[name], f"{path}.{name}")
        elif name not in cls._field_defaults:  # type: ignore[attr-defined]
            msg = f"{path}: expected the key {name!r}, found none"
            raise InventoryError(msg)
    return cls(**values)


_HINTS: dict[type, dict[str, Any]] = {}


def _hints(cls: type) -> dict[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls]


def _value(hint: Any, data: object, path: str) -> Any:  # noqa: ANN401 - any field type
    if get_origin(hint) is tuple:
        if not isinstance(data, list):
            raise _error(path, "a list", data)
        inner = get_args(hint)[0]
        return tuple(_value(inner, item, f"{path}[{i}]") for i, item in enumerate(data))
    options = get_args(hint)
    if options:  # only unions with None occur
        if data is None:
            return None
        hint = next(option for option in options if option is not type(None))
    if hint in _RECORDS:
        return _record(hint, data, path)
    if hint in (Place, Compression, Architecture):
        return _word(hint, data, path)
    # bool is an int to Python but not in an inventory
    if not isinstance(data, hint) or (hint is int and isinstance(data, bool)):
        raise _error(path, {str: "a string", int: "an integer", bool: "a boolean"}[hint], data)
    return data


def _word(hint: Any, data: object, path: str) -> Any:  # noqa: ANN401
    try:
        if not isinstance(data, str):
            raise _error(path, "a string", data)
        if hint is not Architecture:
            return hint(data)
        arch = Architecture.parse(data)
        return architecture(arch.number, arch.variant, virtual=arch.virtual)
    except ArchitectureError as exc:
        msg = f"{path}: {exc}"
        raise InventoryError(msg) from exc
    except ValueError as exc:
        if isinstance(exc, InventoryError):
            raise
        words = ", ".join(member.value for member in hint)
        raise _error(path, f"one of {words}", data) from exc


def _error(path: str, expected: str, found: object) -> InventoryError:
    text = repr(found)
    return InventoryError(
        f"{path}: expected {expected}, found {text if len(text) < 60 else text[:57] + '...'}"  # noqa: PLR2004
    )
