"""Members of static archives: GNU and BSD ``ar``, thin archives, Windows ``.lib``.

Source: the ar(5) formats of GNU binutils and the PE/COFF specification's archive chapter.
"""

from __future__ import annotations

from fatbin._record import Record
from fatbin.errors import FormatError, LimitExceededError, TruncatedError
from fatbin.format.layouts import AR_MEMBER
from fatbin.scanning.host import ARCHIVE_MAGIC, THIN_ARCHIVE_MAGIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.limits import Limits

_MEMBER_END = b"`\n"
_BSD_PREFIX = "#1/"
_NAME_BYTES = 4096  # the longest path of Linux; every name is cut there
_TABLES = frozenset(("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED", "/<ECSYMBOLS>/"))


class Member(Record):
    """One member of an archive.

    Attributes:
        name: as the archive spells it; of a thin archive a path relative to the archive.
        offset: of its bytes in the archive.
        size: in bytes.
        thin: True when the bytes are in the file ``name`` and not in the archive.
    """

    name: str
    offset: int
    size: int
    thin: bool


class Members:
    """Reads the members of an archive, and of archives in it, all within one limit."""

    def __init__(self, limits: Limits, report: Report) -> None:
        """Begin with none read; damage and what is over a limit go to ``report``."""
        self._limits = limits
        self._report = report
        self._count = 0

    def of(self, view: View) -> Iterator[Member]:
        """Yield the members in order, without symbol and name tables.

        Damage ends the walk: nothing says where the next header stands.
        """
        thin = view.peek(0, len(THIN_ARCHIVE_MAGIC)) == THIN_ARCHIVE_MAGIC
        names = b""
        position = len(ARCHIVE_MAGIC)
        while position < view.size:
            try:
                name, size = _header(view, position)
            except FormatError as exc:
                self._report(exc)
                return
            start = position + AR_MEMBER.size
            table = name in _TABLES
            stored = not thin or table or name == "//"
            if stored and start + size > view.size:
                self._report(_cut_off(view, name, start, size))
                size = view.size - start
            position = start + (size + (size & 1) if stored else 0)
            if table:
                continue
            if name == "//":
                names = self._names(view, start, size)
                continue
            if not self._counted(view, start):
                return
            yield _named(view, name, names, start, size, thin=thin)

    def _names(self, view: View, start: int, size: int) -> bytes:
        try:
            return view.read(start, size, "name table", self._limits.header_bytes)
        except LimitExceededError as exc:
            self._report(exc)
            return view.peek(start, self._limits.header_bytes)

    def deeper(self, depth: int, location: str) -> bool:
        """Tell whether an archive in an archive may be read; one that may not is told."""
        error = self._limits.too_deep(depth, location)
        if error is not None:
            self._report(error)
        return error is None

    def _counted(self, view: View, offset: int) -> bool:
        """Count a member; False, and told, when it is one too many or too late."""
        self._count += 1
        limits = self._limits
        error = limits.late(view.name)
        if error is None and self._count > limits.members:
            error = _too_many(view, offset, limits)
        if error is not None:
            self._report(error)
        return error is None


def _cut_off(view: View, name: str, start: int, size: int) -> TruncatedError:
    return TruncatedError(
        f"member {name} of {size} bytes runs past the end of the archive at {view.size:#x}",
        offset=start,
        field="size",
        expected=f"{size} bytes",
        found=f"{view.size - start} bytes",
        location=view.name,
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()  # isdigit alone takes what int does not


def _named(view: View, name: str, names: bytes, start: int, size: int, *, thin: bool) -> Member:
    if name.startswith(_BSD_PREFIX) and _is_number(name[len(_BSD_PREFIX) :]):
        length = min(int(name[len(_BSD_PREFIX) :]), size)
        raw = view.peek(start, min(length, _NAME_BYTES)).rstrip(b"\0")
        text = raw.decode("utf-8", "backslashreplace")
        return Member(text, start + length, size - length, thin)
    if name.startswith("/") and _is_number(name[1:]):
        offset = int(name[1:])
        raw = names[offset : offset + _NAME_BYTES].split(b"\n")[0].split(b"\0")[0]
        name = raw.decode("utf-8", "backslashreplace")
    return Member(name.removesuffix("/") or "?", start, size, thin)


def _header(view: View, position: int) -> tuple[str, int]:
    raw = AR_MEMBER.read(view, position)
    fields = [bytes(field) for field in raw]
    size = fields[5].strip()
    if fields[6] != _MEMBER_END or not size.isdigit():
        raise FormatError(
            "expected an archive member header ending in 60 0A with a decimal size, "
            f"found {fields[6].hex(' ')} and {size!r}",
            offset=view.report_offset(position),
            field="archive member",
            expected="60 0A",
            found=fields[6].hex(" "),
            location=view.name,
        )
    return fields[0].decode("utf-8", "backslashreplace").rstrip(), int(size)


def _too_many(view: View, offset: int, limits: Limits) -> LimitExceededError:
    return limits.exceeded(
        f"more than {limits.members} members; the rest of the archive was not read",
        limit="members",
        actual=limits.members + 1,
        offset=offset,
        location=view.name,
        trusted="archive",
    )
