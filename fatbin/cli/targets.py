"""What ``check`` judges: files to scan, and inventories that were saved earlier."""

from __future__ import annotations

import os
import stat
import sys

from fatbin.cli.scanning import scan_input, scan_target
from fatbin.errors import InventoryError, SourceError
from fatbin.inventory import Inventory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.cli.scanning import How
    from fatbin.limits import Limits
    from fatbin.scanning.scanner import Options

STDIN = "-"
_HEAD_BYTES = 64
_BOM = b"\xef\xbb\xbf"


def read_target(path: str, how: How, *, verify: bool, platform: str = "") -> Inventory:
    """Return the inventory of a file, or the one that a document holds.

    Args:
        path: of a file with device code, or of an inventory as JSON; ``-`` for either on standard
            input.
        how: targets are read.
        verify: inflate every payload of a scanned file.
        platform: of a container image that is there for several.

    Raises:
        FatbinError: the target cannot be read, or is neither.
    """
    if path == STDIN:
        return _from_input(how, verify=verify, platform=platform)
    data = _saved(path, how.limits)
    if data is not None:
        return _document(data, path)
    return scan_target(path, _options(how, verify=verify, platform=platform), how)


def _options(how: How, *, verify: bool, platform: str) -> Options:
    from fatbin.scanning.scanner import Options  # noqa: PLC0415 - documents need no scanner

    return Options(how.limits, linkage=True, kernels=True, verify=verify, platform=platform)


def _from_input(how: How, *, verify: bool, platform: str) -> Inventory:
    """Return the inventory that comes through a pipe, or that of a file that does."""
    head = _standard_input(_HEAD_BYTES)
    if head.removeprefix(_BOM).lstrip()[:1] in (b"{", b"["):
        data = head + _standard_input(how.limits.document_bytes + 1)
        how.limits.check_document(len(data), "standard input")
        return _document(data, "standard input")
    return scan_input(head, _options(how, verify=verify, platform=platform), how)


def _standard_input(size: int = -1) -> bytes:
    if sys.stdin is None:
        msg = "expected an inventory, found a closed standard input"
        raise SourceError(msg, location=STDIN)
    try:
        return sys.stdin.buffer.read(size)
    except OSError as exc:
        raise SourceError(f"cannot be read: {exc.strerror or exc}", location=STDIN) from exc


def _saved(path: str, limits: Limits) -> bytes | None:
    """Return the bytes of a JSON document or of a pipe; None for other files, and missing ones.

    Raises:
        LimitExceededError: a document that is too large.
    """
    try:
        status = os.stat(path)
        mode = status.st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            return None
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
            if stat.S_ISREG(mode) and head.removeprefix(_BOM).lstrip()[:1] != b"{":
                return None
            size, data = status.st_size, b""
            if size <= limits.document_bytes:  # of a pipe nobody knows it before
                data = head + file.read(limits.document_bytes + 1)
                size = len(data)
    except (OSError, ValueError):
        return None  # the scanner says what is wrong
    limits.check_document(size, path)
    return data


def _document(data: bytes, name: str) -> Inventory:
    """Build an inventory of a document; others of fatbin's documents are no inventories."""
    import json  # noqa: PLC0415 - only documents need it

    try:
        found = json.loads(data.removeprefix(_BOM))
    except (ValueError, RecursionError) as exc:
        text = " ".join(str(exc).split())
        msg = f"expected an inventory as JSON, found: {text}"
        raise InventoryError(msg, location=name) from exc
    if not isinstance(found, dict) or "libraries" not in found or "targets" not in found:
        msg = "expected an inventory with targets and libraries, found another document"
        raise InventoryError(msg, location=name, hint=_HINT)
    if "outcome" in found:
        msg = "expected an inventory, found a verdict"
        raise InventoryError(msg, location=name, hint=_HINT)
    try:
        return Inventory.from_dict(found)
    except InventoryError as exc:
        exc.location = name
        raise


_HINT = "fatbin inspect --format json FILE writes an inventory"
