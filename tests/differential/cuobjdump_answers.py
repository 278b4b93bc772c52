"""What cuobjdump says about a file, and in which respects an inventory says something else."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, NamedTuple

from cuobjdump_listing import LELF, LELF_ALL, LPTX, Listing, counted, render, render_headers

from fatbin import Inventory, Place
from fatbin.survey.extract import Extraction, Form
from fatbin.survey.folder import Folder
from fatbin.survey.selection import select

OPTIONS = {
    "lelf": ("-lelf",),
    "lelf_all": ("-all", "-lelf"),
    "lptx": ("-lptx",),
    "dump": (),
}
"""The questions, by the keys that the manifest of the fixtures uses."""

NO_DEVICE_CODE = 255
_SUFFIXES = ("af", "a", "")
_LISTINGS: dict[str, tuple[str, Listing]] = {
    "lelf": ("-lelf", LELF),
    "lelf_all": ("-all -lelf", LELF_ALL),
    "lptx": ("-lptx", LPTX),
}
LISTED_KINDS = ("sass", "ptx", "relocatable-ptx", "group")
EXTRACTIONS = {"-xelf": "sass", "-xptx": "ptx,relocatable-ptx"}
"""Options that write images into files, and which of ours those are."""


class Answer(NamedTuple):
    """What one call printed, without empty lines, and its exit code."""

    code: int
    lines: list[str]


def ask(cuobjdump: Path, path: Path) -> dict[str, Answer]:
    """Put all questions about a file to one cuobjdump."""
    return {key: _ask(cuobjdump, options, path) for key, options in OPTIONS.items()}


def _ask(cuobjdump: Path, options: tuple[str, ...], path: Path) -> Answer:
    done = subprocess.run(
        [cuobjdump, *options, path.name],
        cwd=path.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=600,
    )
    # Members are named with the folder they were found in.
    printed = done.stdout.decode().replace(f"member {path.parent}{os.sep}", "member ")
    return Answer(done.returncode, [line for line in printed.splitlines() if line])


def respects(inventory: Inventory, answers: dict[str, Answer]) -> set[str]:
    """Return in which respects the answers differ from what the inventory says.

    ``-lelf``, ``-all -lelf``, ``-lptx`` and ``headers``: the lines are not those of the inventory;
    ``suffix``: they are, but for the suffix of an architecture; ``exit``: the exit code says
    something else about whether there is device code; ``place`` and ``kind``: no listing mentions
    images, because of where they lie or what they are. ``-xelf`` and ``-xptx`` are
    of :func:`images`.
    """
    found = set()
    for key, (name, listing) in _LISTINGS.items():
        found |= _compared(
            name,
            answers[key].lines,
            [render(inventory, listing._replace(variants=shown)) for shown in _SUFFIXES],
        )
    found |= _compared(
        "headers",
        answers["dump"].lines,
        [render_headers(inventory, shown) for shown in _SUFFIXES],
    )
    modules = any(library.modules for library in inventory.libraries)
    if answers["lelf_all"].code != (0 if modules else NO_DEVICE_CODE):
        found.add("exit")
    if "-all -lelf" not in found and _unlisted_places(inventory):
        found.add("place")
    if any(entry.kind not in LISTED_KINDS for entry in inventory.entries):
        found.add("kind")
    return found


def _compared(name: str, printed: list[str], written: list[list[str]]) -> set[str]:
    if printed == written[0]:
        return set()
    return {"suffix"} if printed in written else {name}


def _unlisted_places(inventory: Inventory) -> bool:
    for library in inventory.libraries:
        seen = list(counted(library, everything=True))
        if any(m.place is Place.EMBEDDED and m not in seen for m in library.modules):
            return True
    return False


def images(cuobjdump: Path, option: str, path: Path, folder: Path) -> Counter[str]:
    """Return the hashes of the images that cuobjdump writes into an empty folder."""
    subprocess.run(
        [cuobjdump, "-all", option, "all", path],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=600,
    )
    found: Counter[str] = Counter()
    for file in folder.iterdir():
        with file.open("rb") as opened:
            found[_hash(opened)] += 1
        file.unlink()
    return found


def our_images(option: str, path: Path) -> Counter[str]:
    """Return the hashes of the images that ``fatbin extract`` would write."""
    extraction = Extraction(Folder(os.devnull), select(EXTRACTIONS[option]), Form(write=False))
    return Counter(file.sha256 for file in extraction.run(os.fspath(path)))


def _hash(opened: BinaryIO) -> str:
    digest = sha256()
    while chunk := opened.read(1 << 20):
        digest.update(chunk)
    return digest.hexdigest()
