"""What an H200 answered, as test data: the recorded rows and how they become modules."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from fatbin.arch import Architecture, ComputeCapability
from fatbin.inventory import Entry, Library, Module
from fatbin.judge.driver import Driver
from fatbin.kinds import Place

HERE = Path(__file__).resolve().parent
H200 = ComputeCapability(9, 0)
DRIVER = Driver.parse("580.159.04")
CODES = {
    "CUDA_SUCCESS": 0,
    "CUDA_ERROR_INVALID_IMAGE": 200,
    "CUDA_ERROR_NO_BINARY_FOR_GPU": 209,
    "CUDA_ERROR_INVALID_PTX": 218,
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": 222,
    "CUDA_ERROR_JIT_COMPILATION_DISABLED": 223,
    "CUDA_ERROR_INVALID_SOURCE": 300,
    "CUDA_ERROR_NOT_FOUND": 500,
}
_KINDS = {"cubin": "sass", "ptx": "ptx", "ltoir": "ltoir"}
_PLACES = {".nv_fatbin": Place.LOADABLE, "__nv_relfatbin": Place.RELOCATABLE}


@cache
def images() -> dict[str, Any]:
    """Return the document of the 227 images."""
    document: dict[str, Any] = json.loads((HERE / "h200_images.json").read_text())
    return document


@cache
def module_rows() -> list[dict[str, Any]]:
    """Return the rows of the 23,006 modules, equal ones of a library counted together."""
    rows: list[dict[str, Any]] = json.loads((HERE / "h200_modules.json").read_text())["rows"]
    return rows


def entry(place: Place, row: dict[str, Any]) -> Entry:
    """Make an entry of a recorded one."""
    kind = _KINDS[row["kind"]]
    return Entry(
        place=place,
        kind=kind,
        arch=Architecture(row["arch"], row["suffix"], virtual=kind != "sass"),
        isa_version=row.get("isa", ""),
        flags=row["flags"],
    )


def module(row: dict[str, Any]) -> Module:
    """Make a module of a recorded row."""
    place = _PLACES.get(row["section"], Place.EMBEDDED)
    entries = tuple(entry(place, e) for e in row["entries"])
    return Module(place=place, form="container", section=row["section"], entries=entries)


def libraries() -> dict[str, Library]:
    """Return the 35 libraries, each with all of its modules."""
    found: dict[str, list[Module]] = {}
    for row in module_rows():
        found.setdefault(row["library"], []).extend([module(row)] * row["modules"])
    return {
        name: Library(location=name, format="elf", machine="x86_64", modules=tuple(modules))
        for name, modules in found.items()
    }
