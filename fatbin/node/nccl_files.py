"""Where the NCCL lies that a program of this machine would load. Nothing is loaded or imported.

The order is the dynamic loader's for a program with torch: what is preloaded, what torch brings
along (its libraries name that folder, DT_RPATH), LD_LIBRARY_PATH, the folders of the system.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from fatbin._record import Record
from fatbin.errors import DeviceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SONAME = "libnccl.so.2"
_SECONDS = 60.0
_PATHS = "import json, sys; print(json.dumps(sys.path))"
_CONFIGURATION = "etc/ld.so.conf.d"


class NcclFile(Record):
    """A libnccl that would be loaded.

    Attributes:
        path: of the file.
        how: who brings it: ``LD_PRELOAD``, ``torch``, ``package``, ``LD_LIBRARY_PATH``, ``system``.
    """

    path: str
    how: str


def find_nccl(
    env: Mapping[str, str], *, python: Sequence[str] = (), root: str = "/"
) -> tuple[NcclFile, ...]:
    """Return the files named libnccl.so.2 in the order of the loader, the one it takes first.

    Args:
        env: variables of the program.
        python: command of the Python that runs the program (default: this one).
        root: folder that stands for ``/`` when the folders of the system are looked for.

    Raises:
        DeviceError: the other Python cannot be run.
    """
    found: dict[str, NcclFile] = {}
    for path, how in _places(env, python, root):
        if os.path.isfile(path):
            found.setdefault(os.path.realpath(path), NcclFile(path, how))
    return tuple(found.values())


def _places(env: Mapping[str, str], python: Sequence[str], root: str) -> Iterator[tuple[str, str]]:
    for path in env.get("LD_PRELOAD", "").replace(":", " ").split():
        if "nccl" in os.path.basename(path):
            yield path, "LD_PRELOAD"
    yield from _of_packages(python)
    for folder in env.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":"):
        if folder:
            yield os.path.join(folder, SONAME), "LD_LIBRARY_PATH"
    for folder in system_folders(root):
        yield os.path.join(folder, SONAME), "system"


def _of_packages(python: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Look beside torch, and in the package that torch takes NCCL from."""
    folders = _path_of(python) if python else list(sys.path)
    for folder in folders:
        if os.path.isdir(os.path.join(folder, "torch")):
            yield os.path.join(folder, "nvidia", "nccl", "lib", SONAME), "torch"
            yield os.path.join(folder, "torch", "lib", SONAME), "torch"
    for folder in folders:
        yield os.path.join(folder, "nvidia", "nccl", "lib", SONAME), "package"
    if not python:
        yield from _of_metadata()


def _of_metadata() -> Iterator[tuple[str, str]]:
    """Look in installed packages that name themselves after NCCL, wherever they put it."""
    from importlib.metadata import distributions  # noqa: PLC0415 - slow, and seldom reached

    for distribution in distributions():
        name = str(distribution.metadata["Name"] or "").lower()
        if name.startswith("nvidia-nccl"):
            for file in distribution.files or ():
                if file.name == SONAME:
                    yield str(file.locate()), "package"


def _path_of(python: Sequence[str]) -> list[str]:
    """Ask another Python where it imports from.

    Raises:
        DeviceError: it cannot be run.
    """
    try:
        done = subprocess.run(  # noqa: S603 - the user's own Python
            [*python, "-c", _PATHS], capture_output=True, timeout=_SECONDS, check=True
        )
        return [str(folder) for folder in json.loads(done.stdout) if folder]
    except (OSError, ValueError, subprocess.SubprocessError) as exc:
        raise DeviceError(f"{python[0]} does not say where it imports from: {exc}") from exc


def system_folders(root: str) -> tuple[str, ...]:
    """Return the folders that the dynamic loader looks in by itself."""
    folders: dict[str, None] = {}
    configuration = os.path.join(root, _CONFIGURATION)
    try:
        names = sorted(os.listdir(configuration))
    except OSError:
        names = []  # not every system has it
    for name in names:
        if name.endswith(".conf"):
            for line in _lines(os.path.join(configuration, name)):
                if line.startswith("/"):
                    folders[os.path.join(root, line.lstrip("/"))] = None
    machine = os.uname().machine if hasattr(os, "uname") else ""
    for folder in (
        f"lib/{machine}-linux-gnu",
        f"usr/lib/{machine}-linux-gnu",
        "lib64",
        "usr/lib64",
        "lib",
        "usr/lib",
        "usr/local/lib",
    ):
        folders[os.path.join(root, folder)] = None
    return tuple(folders)


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return [line.strip() for line in file]
    except OSError:
        return []  # not ours to read
