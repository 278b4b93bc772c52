"""The head of a PTX text: ISA version and target.

Source: PTX ISA, "PTX Module Directives": ``.version`` comes first, then ``.target``; comments and
white space may stand before and between them.
"""

from __future__ import annotations

import re

from fatbin._record import Record
from fatbin.arch import Architecture, architecture

_SPACE = rb"(?:\s|//[^\n]*(?:\n|\Z)|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)"
_VERSION = rb"\.version[ \t]+(?P<major>\d{1,3})\.(?P<minor>\d{1,3})"
_TARGET = rb"\.target[ \t]+sm_(?P<number>\d{2,5})(?P<variant>[af]?)(?P<options>[^\n;]*)"
_DIRECTIVES = _VERSION + _SPACE + rb"+" + _TARGET
_TEXT_HEAD = _SPACE + rb"*" + _DIRECTIVES
_BOM = b"\xef\xbb\xbf"


class PtxHead(Record):
    """The module directives of a PTX text.

    Attributes:
        isa_version: such as ``8.8``.
        arch: virtual architecture of ``.target``.
        options: what follows the architecture, such as ``("debug",)``.
    """

    isa_version: str
    arch: Architecture | None
    options: tuple[str, ...]


def read_ptx_head(data: bytes) -> PtxHead | None:
    """Read the head of a text that begins with PTX, or return None when it does not.

    Leading white space, NUL bytes, a byte-order mark and comments are allowed.
    """
    body = data.removeprefix(_BOM).lstrip(b"\0")
    return _head(re.match(_TEXT_HEAD, body))


def find_ptx_head(data: bytes) -> PtxHead | None:
    """Read the directives at the start of ``data``, which begins with ``.version``."""
    return _head(re.match(_DIRECTIVES, data))


def _head(match: re.Match[bytes] | None) -> PtxHead | None:
    if match is None:
        return None
    options = tuple(
        word.strip().decode("ascii", "backslashreplace")
        for word in match["options"].split(b"//")[0].split(b",")
        if word.strip()
    )
    return PtxHead(
        f"{int(match['major'])}.{int(match['minor'])}",
        architecture(int(match["number"]), match["variant"].decode(), virtual=True),
        options,
    )
