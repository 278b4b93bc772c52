"""Rows of the fixtures' manifest: what a file is, what cuobjdump says, what a plain walk finds.

The walk is a second reader, written without the library: it takes containers one after another, as
their headers say, in a bare file or in the two sections of an ELF file, and checks nothing.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAGIC = b"\x50\xed\x55\xba"
_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
_CUDA = 190
_OPTIONS = {
    "lelf": ("-lelf",),
    "lptx": ("-lptx",),
    "dump": (),
    "res_usage": ("-res-usage",),
    "lelf_all": ("-all", "-lelf"),
}
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_ENTRY_KEYS = (
    "kind", "ver", "hs", "psz", "csz", "opt_off", "minor", "major", "arch", "name_off",
    "name_len", "flags", "zero", "usz",
)  # fmt: skip


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder of fixtures."""
    document: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return document


def write_manifest(folder: Path, document: dict[str, Any]) -> None:
    """Write the manifest of a folder of fixtures."""
    text = json.dumps(document, indent=1)
    (folder / "manifest.json").write_text(text, encoding="utf-8")


def record(row: dict[str, Any], folder: Path, cuobjdump: Path) -> dict[str, Any]:
    """Return a row of the manifest with all that can be measured measured again.

    Args:
        row: with file, command and note.
        folder: that the file is in.
        cuobjdump: to ask.
    """
    path = folder / row["file"]
    data = path.read_bytes()
    kept = {key: row[key] for key in ("command", "note", "synthetic")}
    made = {"file": row["file"], "size": len(data), "sha256": sha256(data).hexdigest(), **kept}
    made["cuobjdump"] = {
        key: _answer(cuobjdump, options, path)
        if key != "res_usage" or path.suffix == ".cubin"
        else None
        for key, options in _OPTIONS.items()
    }
    try:
        made["parsed"] = list(_parsed(data))
    except struct.error as error:
        made["parsed_error"] = repr(error)
    made["cubin"] = _cubin(data)
    return made


def _answer(cuobjdump: Path, options: tuple[str, ...], path: Path) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603 - the oracle
        [cuobjdump, *options, path.name],
        cwd=path.parent,
        capture_output=True,
        check=False,
        timeout=60,
    )
    # Files are named with the folder they were found in; the manifest leaves the folder out.
    here = f"{path.parent.resolve()}{os.sep}"
    texts = [text.decode().replace(here, "") for text in (done.stdout, done.stderr)]
    lines = [[line for line in text.splitlines() if line] for text in texts]
    return {"rc": done.returncode, "stdout": lines[0], "stderr": lines[1]}


def _parsed(data: bytes) -> Iterator[dict[str, Any]]:
    if data[:4] == b"\x7fELF":
        for name, offset, size in _elf_sections(data):
            if name in _SECTIONS or data[offset : offset + 4] == _MAGIC:
                containers = list(_containers(data, offset, size))
                yield {"section": name, "offset": offset, "size": size, "containers": containers}
    elif data[:4] == _MAGIC:
        containers = list(_containers(data, 0, len(data)))
        yield {"section": "(whole file)", "offset": 0, "size": len(data), "containers": containers}


def _elf_sections(data: bytes) -> Iterator[tuple[str, int, int]]:
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    if not rows:
        return
    start = rows[names][4]
    for name, kind, _, _, offset, length in rows:
        end = data.index(b"\0", start + name)
        if kind != 8:  # noqa: PLR2004 - NOBITS
            yield data[start + name : end].decode(), offset, length


def _containers(data: bytes, start: int, size: int) -> Iterator[dict[str, Any]]:
    at, end = start, start + size
    while at < end:
        if data[at : at + 4] != _MAGIC:
            following = data.find(_MAGIC, at, end)
            stop = following if following >= 0 else end
            yield {"gap": at, "len": stop - at, "zero": not any(data[at:stop])}
            at = stop
            continue
        version, header, length = struct.unpack_from("<HHQ", data, at + 4)
        entries, walked = _entries(data, at + header, at + header + length)
        yield {
            "off": at,
            "rel": at - start,
            "ver": version,
            "hs": header,
            "size": length,
            "exact": walked == at + header + length,
            "entries": entries,
        }
        at += header + length


def _entries(data: bytes, at: int, end: int) -> tuple[list[dict[str, Any]], int]:
    entries = []
    while at < end:
        entry = {"off": at, **dict(zip(_ENTRY_KEYS, _ENTRY.unpack_from(data, at), strict=True))}
        header, length = entry["hs"], entry["psz"]
        entry["tail"] = data[at + _ENTRY.size : at + header].hex()
        entries.append({**entry, "ver": hex(entry["ver"]), "flags": hex(entry["flags"])})
        if header < _ENTRY.size:
            break
        at += header + length
    return entries, at


def _cubin(data: bytes) -> dict[str, Any] | None:
    if data[:4] != b"\x7fELF":
        return None
    kind, machine, version = struct.unpack_from("<HHI", data, 16)
    (flags,) = struct.unpack_from("<I", data, 48)
    if machine != _CUDA:
        return None
    return {
        "cls": data[4],
        "osabi": data[7],
        "abiver": data[8],
        "e_type": kind,
        "machine": machine,
        "e_version": hex(version),
        "e_flags": f"{flags:#010x}",
    }
