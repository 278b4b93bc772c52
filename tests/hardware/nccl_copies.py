"""A copy of a library whose code for one GPU claims to be for another, as in a build without it."""

from __future__ import annotations

import shutil
from pathlib import Path

from patching import patched

import fatbin
from fatbin.format.layouts import ENTRY_HEADER

OLDER = 70


def without_code_for(library: Path, copy: Path, sm: int) -> int:
    """Write a copy in which every cubin of an SM number claims to be for 7.0; return how many.

    Only the field of the architecture in the headers of entries is changed, so all offsets and
    payloads stay as they are.
    """
    shutil.copyfile(library, copy)
    changed = 0
    with fatbin.open(library) as opened, copy.open("r+b") as file:
        for container in opened.containers():
            for entry in container.entries:
                arch = entry.facts.arch
                if entry.facts.kind == "sass" and arch is not None and arch.number == sm:
                    file.seek(entry.facts.offset)
                    header = file.read(ENTRY_HEADER.size)
                    assert ENTRY_HEADER.named(ENTRY_HEADER.unpack_from(header))["arch"] == sm
                    file.seek(entry.facts.offset)
                    file.write(patched(header, ENTRY_HEADER, 0, arch=OLDER))
                    changed += 1
    return changed
