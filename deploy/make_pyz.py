"""Make ``fatbin.pyz``, one file that runs wherever Python does: ``deploy/make_pyz.py [FILE]``.

It holds fatbin and the installed construct (and tomli, for Python 3.10). LIEF, cramjam and rich are
machine code or large, and stay outside: ``list``, ``inspect``, ``check``, ``explain``, ``gpus`` and
``diagnose`` work without them for ELF files, and what needs them says so. The same input makes the
same bytes.
"""

from __future__ import annotations

import os
import stat
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
SHEBANG = b"#!/usr/bin/env python3\n"
MAIN = "import sys\n\nfrom fatbin.cli import main\n\nsys.exit(main())\n"
REQUIRED, OPTIONAL = ("construct",), ("tomli",)
_WHEN = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_MODE = (stat.S_IFREG | 0o644) << 16


def main(arguments: list[str]) -> int:
    """Write the file and say where it is."""
    target = Path(arguments[0] if arguments else "fatbin.pyz")
    make(target)
    print(f"{target}: {target.stat().st_size:,} bytes")
    return 0


def make(target: Path) -> None:
    """Write the file: whole, or not at all."""
    temporary = target.with_name(f".{target.name}.tmp")
    members = dict(sorted([*_package(), *_dependencies(), ("__main__.py", MAIN.encode())]))
    with temporary.open("wb") as file:
        file.write(SHEBANG)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                info = zipfile.ZipInfo(name, _WHEN)
                info.external_attr = _MODE
                info.create_system = _UNIX
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, data)
    temporary.chmod(0o755)
    os.replace(temporary, target)


def _package() -> Iterator[tuple[str, bytes]]:
    for path in (ROOT / "fatbin").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(ROOT).as_posix(), path.read_bytes()


def _dependencies() -> Iterator[tuple[str, bytes]]:
    """Yield the modules and licences of the installed distributions."""
    for name in (*REQUIRED, *OPTIONAL):
        try:
            listed = files(name) or []
        except PackageNotFoundError:
            if name in REQUIRED:
                raise
            continue
        for file in listed:
            inside = file.as_posix()
            if ".." in file.parts or "__pycache__" in file.parts:
                continue  # scripts, and what Python compiles
            if file.suffix in (".py", ".pyi") or "licen" in inside.lower():
                yield inside, file.read_binary()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
