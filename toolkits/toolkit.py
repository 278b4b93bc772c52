"""One version of the CUDA toolkit: where its programs are, as far as the package index has them."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from from_index import (
    NotOnIndexError,
    Package,
    cuobjdump,
    newest,
    the_one,
    tools_folder,
    unpacked,
    version_of,
)

if TYPE_CHECKING:
    from pathlib import Path

_COMPILER = ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime")
"""Together they are an nvcc that compiles, from 13.0 on."""
_DUMPER = "nvidia-cuda-cuobjdump"
_RELEASE = re.compile(r"release (\d+\.\d+), V([\d.]+)")


class Toolkit(NamedTuple):
    """Programs of one toolkit.

    Attributes:
        version: such as ``13.5``.
        build: the whole version of nvcc, ``13.5.37``.
        programs: the folder with nvcc, ptxas and fatbinary.
        cuobjdump: to ask; of this toolkit where the index has one.
        cuobjdump_version: of that one, ``13.5.37``.
        packages: what was installed, by package.
    """

    version: str
    build: str
    programs: Path
    cuobjdump: Path
    cuobjdump_version: str
    packages: dict[str, str]

    def program(self, name: str) -> Path:
        """Return the path of one program."""
        return self.programs / name


def newest_version() -> str:
    """Return the newest toolkit that the index has, as ``13.5``."""
    return ".".join(newest(_COMPILER[0]).split(".")[:2])


def installed(version: str) -> Toolkit:
    """Fetch a toolkit from the index.

    Args:
        version: its minor version, ``13.5``.

    Raises:
        NotOnIndexError: the index has no such toolkit, or its wheels have no nvcc (before 13.0).
    """
    folder = tools_folder() / f"toolkit-{version}"
    packages = {}
    for name in _COMPILER:
        package = Package(name, f"{version}.*")
        unpacked(package, folder)
        packages[name] = version_of(package, folder)
    return _toolkit(the_one(folder, "bin/nvcc").parent, packages)


def local(folder: Path) -> Toolkit:
    """Take a toolkit that is installed on this machine.

    Args:
        folder: that has ``bin/nvcc``.

    Raises:
        NotOnIndexError: it has none.
    """
    return _toolkit(the_one(folder, "bin/nvcc").parent, {})


def _toolkit(programs: Path, packages: dict[str, str]) -> Toolkit:
    said = run([programs / "nvcc", "--version"])
    found = _RELEASE.search(said)
    if found is None:
        msg = f"expected the version of nvcc, found {said[:80]!r}"
        raise NotOnIndexError(msg)
    version, build = found[1], found[2]
    try:
        dumper = cuobjdump(f"{version}.*")
    except NotOnIndexError:
        dumper = cuobjdump(newest(_DUMPER))
    dumped = _RELEASE.search(run([dumper, "--version"]))
    return Toolkit(version, build, programs, dumper, dumped[2] if dumped else "", packages)


def run(command: list[str | Path]) -> str:
    """Return what a program prints; what it thinks of its input is in the text."""
    done = subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - NVIDIA's tools
    return done.stdout.decode(errors="replace")
