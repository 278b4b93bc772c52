"""What a file is, by its first bytes."""

from __future__ import annotations

from fatbin.errors import UnknownFormatError
from fatbin.format.container import MAGIC, MAGIC_BEFORE_CUDA_6
from fatbin.format.cubin import is_cubin
from fatbin.format.elf import ELF_MAGIC
from fatbin.format.ptx import read_ptx_head
from fatbin.scanning.host import ARCHIVE_MAGIC, LTOIR_MAGIC, THIN_ARCHIVE_MAGIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.format.view import View

PTX_HEAD_BYTES = 65536
"""What a text that may be PTX is given: comments may stand before its first directive."""
_KNOWN_OTHERS = (
    (b"BC\xc0\xde", "LLVM bitcode"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O file"),
)


def identify(view: View) -> str:  # noqa: PLR0911 - one answer a format
    """Tell the format of a file by its first bytes.

    Returns:
        ``elf``, ``pe``, ``coff``, ``archive``, ``fatbin``, ``cubin``, ``ptx`` or ``ltoir``.

    Raises:
        UnknownFormatError: none of these.
    """
    head = view.peek(0, 64)
    if is_cubin(head):
        return "cubin"
    if head[:4] == ELF_MAGIC:
        return "elf"
    if head[:8] in (ARCHIVE_MAGIC, THIN_ARCHIVE_MAGIC):
        return "archive"
    magic = int.from_bytes(head[:4], "little")
    if magic in (MAGIC, MAGIC_BEFORE_CUDA_6):
        return "fatbin"
    if head[:4] == LTOIR_MAGIC:
        return "ltoir"
    if head[:2] == b"MZ":
        return "pe"
    from fatbin.scanning.coff import is_coff  # noqa: PLC0415 - only here and for objects

    if is_coff(view):
        return "coff"
    if read_ptx_head(view.peek(0, PTX_HEAD_BYTES)) is not None:
        return "ptx"
    raise UnknownFormatError(
        "expected an ELF, PE or COFF file, an archive, a fatbin, a cubin, PTX or LTO-IR, "
        f"found {_guess(head)}",
        location=view.name,
    )


def _guess(head: bytes) -> str:
    for magic, what in _KNOWN_OTHERS:
        if head.startswith(magic):
            return what
    try:
        head.decode()
    except UnicodeDecodeError as exc:
        if exc.start < len(head) - 4:
            return f"bytes {head[:8].hex(' ')}"
    if b"\0" in head:
        return f"bytes {head[:8].hex(' ')}"
    return "text"
