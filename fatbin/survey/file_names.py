"""File names for images: what identifiers and member names say, safe on every file system.

Identifiers and member names are the file's own words and may be anything: paths, control
characters, names that a system reserves. What comes out here is ASCII of a few harmless
characters, never hidden, never reserved, short enough, and used once.
"""

from __future__ import annotations

import os
import re

_UNSAFE = r"[^A-Za-z0-9._+=-]+"
# Windows reserves these with any extension. Source: "Naming Files, Paths, and Namespaces".
_RESERVED = r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)"
_LIBRARY_LENGTH = 96
_WORD_LENGTH = 48
# What all parts together can reach stays below the 255 bytes that file systems allow.


class Names:
    """Gives every name once, also where a file system does not tell cases apart."""

    def __init__(self) -> None:
        """Begin with no name given."""
        self._used: set[str] = set()
        self._next: dict[str, int] = {}

    def give(self, stem: str, extension: str) -> str:
        """Return ``stem + extension``, with ``~2``, ``~3``, ... before it when that was given."""
        first = (stem + extension).lower()
        number = self._next.get(first, 1)
        while True:
            name = f"{stem}~{number}{extension}" if number > 1 else stem + extension
            number += 1
            if name.lower() not in self._used:
                break
        self._next[first] = number  # many equal names cost no more than others
        self._used.add(name.lower())
        return name


def image_stem(library: str, numbers: tuple[int, ...], words: tuple[str, ...]) -> str:
    """Return what stands before the extension: library, numbers, then the words there are.

    >>> image_stem("/usr/lib/libx.a::../b.o", (1, 2), ("src/k.cu", "sm_90a"))
    'libx.a-b.o.1.2.k.cu.sm_90a'
    """
    path, _, member = library.partition("::")
    base = "-".join(word for word in (_base_name(path), _base_name(member)) if word)
    # Of a long path the end tells most.
    parts = [_safe(base)[-_LIBRARY_LENGTH:].strip(".-") or "_", *map(str, numbers)]
    parts += [word for word in (_word(_base_name(word)) for word in words) if word]
    stem = ".".join(parts)
    return f"_{stem}" if re.match(_RESERVED, stem) else stem


def _base_name(path: str) -> str:
    """Return the last part of a path of any system."""
    return os.path.basename(path.replace("\\", "/").rstrip("/"))


def path_stem(path: str) -> str:
    """Return a path inside a package, image or folder as one word, for :func:`image_stem`.

    >>> path_stem("pkg/lib/../x.a::b.o")
    'pkg-lib-x.a-b.o'
    """
    parts = re.split(r"::|[/\\]", path)
    return "-".join(part for part in parts if part not in ("", ".", ".."))


def _word(text: str) -> str:
    """Return a part of a name: harmless characters, no dots or dashes at the ends."""
    text = text.replace("?", "-unknown")  # sm_100?
    return _safe(text)[:_WORD_LENGTH].strip(".-")


def _safe(text: str) -> str:
    return re.sub(_UNSAFE, "_", text)
