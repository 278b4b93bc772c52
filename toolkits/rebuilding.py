"""The fixtures built again: every command of the manifest, run in a folder of its own.

Only the programs of the toolkit that is asked for change; those with a version in their variable
(old assemblers, libnvfatbin) are fetched as the manifest says.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from from_index import Package, the_one, unpacked

import fatbin

if TYPE_CHECKING:
    from pathlib import Path

    from toolkit import Toolkit

ASKED = {"NVCC": "nvcc", "FATBINARY": "fatbinary"}
"""Variables that stand for programs of the toolkit that is asked for."""


class Rebuilt(NamedTuple):
    """One fixture built again.

    Attributes:
        file: its name.
        error: why there is none; empty when there is.
        same: whether it is the committed file, byte for byte.
        changes: how its entries differ from those of the committed file, in words.
    """

    file: str
    error: str
    same: bool
    changes: tuple[str, ...]


def rebuild(
    manifest: dict[str, Any], fixtures: Path, folder: Path, toolkit: Toolkit
) -> list[Rebuilt]:
    """Build every fixture in an empty folder, in the order of the manifest.

    Args:
        manifest: of the fixtures.
        fixtures: the committed ones, to compare with.
        folder: to build in.
        toolkit: to build with.
    """
    shutil.copytree(fixtures / "src", folder / "src", dirs_exist_ok=True)
    scratch = folder / "tmp"
    scratch.mkdir()
    environment = {**os.environ, **variables(manifest, fixtures, toolkit), "TMP": str(scratch)}
    built = []
    for row in manifest["fixtures"]:
        done = subprocess.run(  # noqa: S603 - the manifest's own commands
            ["/bin/bash", "-c", row["command"]],
            cwd=folder,
            env=environment,
            capture_output=True,
            check=False,
        )
        built.append(_compared(row, fixtures / row["file"], folder / row["file"], done))
    return built


def variables(manifest: dict[str, Any], fixtures: Path, toolkit: Toolkit) -> dict[str, str]:
    """Return what the variables of the manifest's commands stand for.

    A value is a path in the folder, or a requirement and a program of it
    (``nvidia-cuda-nvcc-cu12==12.4.131 ptxas``).

    Raises:
        NotOnIndexError: a pinned tool cannot be fetched.
    """
    found = {}
    for name, value in manifest["variables"].items():
        requirement, _, program = value.partition(" ")
        if name in ASKED:
            found[name] = str(toolkit.program(ASKED[name]))
        elif program:
            package, _, version = requirement.partition("==")
            folder = unpacked(Package(package, version, (f"*/{program}",)))
            found[name] = str(the_one(folder, program))
        else:
            found[name] = value
    root = fixtures.parent
    found["PY"] = sys.executable
    found["PYTHONPATH"] = os.pathsep.join((str(root), str(root / "toolkits")))
    return found


def _compared(
    row: dict[str, Any], old: Path, new: Path, done: subprocess.CompletedProcess[bytes]
) -> Rebuilt:
    if done.returncode or not new.is_file():
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        reason = said[0] if said else f"exit code {done.returncode}"
        return Rebuilt(row["file"], reason, same=False, changes=())
    if sha256(new.read_bytes()).hexdigest() == row["sha256"]:
        return Rebuilt(row["file"], "", same=True, changes=())
    return Rebuilt(row["file"], "", same=False, changes=_changes(old, new))


def _changes(old: Path, new: Path) -> tuple[str, ...]:
    before, after = _entries(old), _entries(new)
    if [entry.kind for entry in before] != [entry.kind for entry in after]:
        return (f"entries: {_words(before)} became {_words(after)}",)
    changes: dict[str, None] = {}
    for one, other in zip(before, after, strict=True):
        for field in ("arch", "isa_version", "code_version", "toolkit", "compression", "flags"):
            was, now = getattr(one, field), getattr(other, field)
            if was != now:
                shown = (hex(was), hex(now)) if field == "flags" else (was, now)
                changes[f"{one.kind} {field}: {shown[0]} became {shown[1]}"] = None
    return tuple(changes)


def _entries(path: Path) -> list[fatbin.Entry]:
    return list(fatbin.scan(path, verify=True).entries)


def _words(entries: list[fatbin.Entry]) -> str:
    return ", ".join(f"{entry.kind} {entry.arch}" for entry in entries) or "nothing"
