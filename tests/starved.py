"""Reads files with little memory: ``python tests/starved.py MEBIBYTES FILE...``, one line each.

The limit is on the address space beyond what the interpreter has when everything is imported, and
beyond the file itself, which is mapped.
"""

from __future__ import annotations

import json
import os
import resource
import sys

import cramjam  # noqa: F401 - what is imported is not counted
import lief  # noqa: F401 - likewise
from bombs import LIMITS

import fatbin
from fatbin import Limits
from fatbin.cli.scanning import How
from fatbin.cli.targets import read_target

VERIFIED = 2 << 20
PAGE = resource.getpagesize()


def address_space() -> int:
    """Return the bytes of address space that the process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * PAGE


def read(path: str) -> dict[str, object]:
    """Read a file as ``check --verify`` does and say what came of it."""
    limits = LIMITS.get(os.path.basename(path), Limits())
    how = How(remember=False, show=False, limits=limits)
    try:
        # To inflate each of many payloads takes long and holds no more than one.
        found = read_target(path, how, verify=os.path.getsize(path) < VERIFIED)
        outcome = fatbin.check(found, gpus="8.0").outcome.value
    except fatbin.FatbinError as exc:
        said = [str(exc)]
        return {"issues": said, "outcome": "", "error": type(exc).__name__, "entries": 0}
    except MemoryError:
        return {"issues": [], "outcome": "", "error": "MemoryError", "entries": 0}
    issues = [f"{issue.field}: {issue.message}" for issue in found.all_issues[:20]]
    entries = sum(1 for _ in found.entries)
    return {"issues": issues, "outcome": outcome, "error": "", "entries": entries}


def main() -> None:
    """Read each file, after one good one that has everything imported."""
    allowed = int(sys.argv[1]) << 20
    read(sys.argv[2])
    for path in sys.argv[2:]:
        most = address_space() + os.path.getsize(path) + allowed
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
        told = read(path)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        sys.stdout.write(json.dumps({"file": os.path.basename(path), **told}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
