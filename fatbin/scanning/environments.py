"""Python environments: their package folders, and which distribution a file belongs to.

No interpreter is run. A virtual environment tells its home in ``pyvenv.cfg``; a conda environment
has its own libraries in ``lib`` and its packages in ``conda-meta``. Files are tied to distributions
by ``RECORD`` in ``*.dist-info`` (PyPA, "Recording installed projects"), ``installed-files.txt`` in
``*.egg-info``, and the file lists of conda.
"""

from __future__ import annotations

import json
import os
import re
import sys

from fatbin._record import Record
from fatbin.errors import SourceError
from fatbin.scanning.collector import Collector
from fatbin.scanning.many import Plan
from fatbin.scanning.packages import Distribution, distribution_of_metadata
from fatbin.scanning.targets import ENVIRONMENT
from fatbin.scanning.trees import tree_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fatbin.errors import Report
    from fatbin.scanning.scanner import Options
    from fatbin.scanning.trees import TreeFile

_PYTHON = re.compile(r"python(?:\d+(?:\.\d+)*t?)?(?:\.exe)?|pypy\d*(?:\.\d+)?(?:\.exe)?")
_LIBRARY_FOLDER = re.compile(r"(?:python|pypy)\d+\.\d+t?")
_RECORD_BYTES = 256 << 20
_METADATA_BYTES = 65536


class Environment(Record):
    """Where an environment keeps its files.

    Attributes:
        prefix: its folder.
        packages: folders that its interpreter imports from.
        libraries: folders of shared libraries besides, of a conda environment.
        conda: whether conda made it.
    """

    prefix: str
    packages: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    conda: bool = False


def find_environment(target: str) -> Environment:
    """Return the environment that ``env:`` or ``env:PATH`` names.

    Args:
        target: after the colon the folder of an environment, or its interpreter; nothing for the
            environment of this one.

    Raises:
        SourceError: there is none.
    """
    path = target.removeprefix(ENVIRONMENT)
    if not path:
        return _current()
    if os.path.isdir(path):
        prefix = path
    elif os.path.exists(path) and _PYTHON.fullmatch(os.path.basename(path)):
        # Not the file that a link leads to: an environment's program is a link out of it.
        folder = os.path.dirname(os.path.abspath(path))
        inside = os.path.basename(folder) in ("bin", "Scripts")
        prefix = os.path.dirname(folder) if inside else folder
    else:
        msg = "expected the folder of an environment or its interpreter, found neither"
        raise SourceError(msg, location=target)
    folders = list(_package_folders(prefix))
    configuration = _configuration(prefix)
    if configuration.get("include-system-site-packages", "").lower() == "true":
        home = configuration.get("home", "")
        if os.path.basename(home) in ("bin", "Scripts"):
            home = os.path.dirname(home)
        folders += _package_folders(home)
    conda = os.path.isdir(os.path.join(prefix, "conda-meta"))
    folders = _distinct(folders)
    if not folders and not conda:
        msg = "expected an environment with lib/pythonX.Y/site-packages, found none in it"
        raise SourceError(msg, location=target)
    return Environment(prefix, tuple(folders), _conda_libraries(prefix, conda=conda), conda)


def plan_environment(target: str, options: Options) -> Plan:
    """List the files of an environment, and the distributions of those that belong to one.

    Raises:
        SourceError: there is no such environment.
    """
    environment = find_environment(target)
    collector = Collector(target, options.limits)
    files: dict[str, TreeFile] = {}
    seen: set[tuple[int, ...]] = set()
    linked = [link for folder in environment.packages for link in _linked_packages(folder)]
    for folder in (*environment.packages, *linked, *environment.libraries):
        for file in tree_files(folder, collector, packages=False):
            if file.identity[:2] not in seen:  # lib of conda holds site-packages
                seen.add(file.identity[:2])
                files[file.path] = file
    owners: dict[str, Distribution] = {}
    for folder in environment.packages:
        _addrecorded(folder, owners, collector)
    if environment.conda:
        _add_conda(environment.prefix, owners, collector)
    known = {path: _owner(file, owners) for path, file in files.items()}
    return Plan(
        target,
        tuple(files.values()),
        collector.issues,
        distributions={path: owner for path, owner in known.items() if owner is not None},
    )


def _current() -> Environment:
    import site  # noqa: PLC0415 - only asked for here
    import sysconfig  # noqa: PLC0415

    paths = sysconfig.get_paths()
    folders = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    conda = os.path.isdir(os.path.join(sys.prefix, "conda-meta"))
    folders = _distinct(folder for folder in folders if os.path.isdir(folder))
    return Environment(sys.prefix, tuple(folders), _conda_libraries(sys.prefix, conda=conda), conda)


def _package_folders(prefix: str) -> Iterator[str]:
    """Yield the package folders under a prefix, by the layouts of Unix, Debian and Windows."""
    for library in ("lib", "lib64", "local/lib"):
        parent = os.path.join(prefix, *library.split("/"))
        for name in _listed(parent):
            versioned = _LIBRARY_FOLDER.fullmatch(name)
            for packages in ("site-packages", "dist-packages"):
                folder = os.path.join(parent, name, packages)
                if (versioned or name == "python3") and os.path.isdir(folder):
                    yield folder
    windows = os.path.join(prefix, "Lib", "site-packages")
    if os.path.isdir(windows):
        yield windows


def _linked_packages(folder: str) -> Iterator[str]:
    """Yield the packages that are links to folders: the interpreter imports from these too."""
    for name in _listed(folder):
        path = os.path.join(folder, name)
        if os.path.islink(path) and os.path.isdir(path):
            yield path


def _conda_libraries(prefix: str, *, conda: bool) -> tuple[str, ...]:
    if not conda:
        return ()
    folders = (os.path.join(prefix, "lib"), os.path.join(prefix, "Library", "bin"))
    return tuple(folder for folder in folders if os.path.isdir(folder))


def _configuration(prefix: str) -> dict[str, str]:
    """Return the lines of ``pyvenv.cfg``; nothing where there is none."""
    try:
        with open(os.path.join(prefix, "pyvenv.cfg"), encoding="utf-8", errors="replace") as file:
            lines = file.read(_METADATA_BYTES).splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return []


def _distinct(folders: Iterable[str]) -> list[str]:
    """Return folders in order, those that are the same once."""
    found: dict[str, str] = {}
    for folder in folders:
        found.setdefault(os.path.realpath(folder), folder)
    return list(found.values())


def _owner(file: TreeFile, owners: dict[str, Distribution]) -> Distribution | None:
    for path in (file.path, *file.aliases):
        found = owners.get(os.path.normpath(path))
        if found is not None:
            return found
    return None


def _addrecorded(folder: str, owners: dict[str, Distribution], report: Report) -> None:
    """Add the files of the distributions installed in a folder."""
    for name in _listed(folder):
        inside = os.path.join(folder, name)
        if name.endswith(".dist-info"):
            metadata, listing, base = "METADATA", "RECORD", folder
        elif name.endswith(".egg-info") and os.path.isdir(inside):
            metadata, listing, base = "PKG-INFO", "installed-files.txt", inside
        else:
            continue
        distribution = distribution_of_metadata(_read(os.path.join(inside, metadata), report))
        if distribution is None:
            parts = name.rpartition(".")[0].split("-")
            distribution = Distribution(parts[0].replace("_", "-"), "".join(parts[1:2]))
        rows = _read(os.path.join(inside, listing), report).decode("utf-8", "surrogateescape")
        for path in recorded(rows, comma=listing == "RECORD"):
            owners.setdefault(os.path.normpath(os.path.join(base, path)), distribution)


def recorded(text: str, *, comma: bool) -> Iterator[str]:
    """Yield the paths of a RECORD, rows of ``path,hash,size``, or of a plain list."""
    if not comma:
        yield from text.splitlines()
        return
    import csv  # noqa: PLC0415 - only environments need it

    lines = text.splitlines()
    if '"' not in text:
        yield from (line.split(",", 1)[0] for line in lines)
        return
    try:
        yield from (row[0] for row in csv.reader(lines) if row)
    except csv.Error:
        return


def _add_conda(prefix: str, owners: dict[str, Distribution], report: Report) -> None:
    folder = os.path.join(prefix, "conda-meta")
    for name in _listed(folder):
        if not name.endswith(".json"):
            continue
        try:
            data = json.loads(_read(os.path.join(folder, name), report))
            distribution = Distribution(str(data["name"]), str(data["version"]))
            paths = [str(path) for path in data["files"]]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # only names are lost by it
        for path in paths:
            owners.setdefault(os.path.normpath(os.path.join(prefix, path)), distribution)


def _read(path: str, report: Report) -> bytes:
    """Return a list of files; a missing one is no fault: not every installer writes it."""
    try:
        with open(path, "rb") as file:
            return file.read(_RECORD_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as exc:
        report(SourceError(exc.strerror or str(exc), location=path))
        return b""
