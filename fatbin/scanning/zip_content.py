"""What members of zip files hold: in place where they are stored, else as streams that are checked.

Source: PKWARE's APPNOTE 6.3.
"""

from __future__ import annotations

import zlib

from fatbin.errors import FatbinError, FormatError, SizeMismatchError, SourceError
from fatbin.format.layouts import ZIP_LOCAL
from fatbin.scanning.spool import HEAD_BYTES, damaged, worth_reading
from fatbin.scanning.streams import Rest, ViewStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fatbin.format.view import View
    from fatbin.scanning.spool import Stream
    from fatbin.scanning.zips import ZipMember

    Opened = tuple[ZipMember, View | Stream | FatbinError]

_LOCAL_MAGIC = 0x04034B50
_ENCRYPTED = 1
_STORED, _DEFLATE, _BZIP2 = 0, 8, 12
_CHUNK = 256 << 10
_SMALL = 256 << 10
"""Members that may be inflated before their turn."""


def content(view: View, member: ZipMember, name: str) -> View | Stream:
    """Return what a member holds: a window where it is stored, a stream where it is compressed.

    Raises:
        SourceError: encrypted, or compressed in a way that is not read here.
        FormatError: the local header is damaged, or the content runs into the directory.
    """
    if member.flags & _ENCRYPTED:
        msg = "the member is encrypted"
        raise SourceError(msg, location=name)
    if member.method not in (_STORED, _DEFLATE, _BZIP2):
        msg = f"expected a member stored, deflated or in bzip2, found method {member.method}"
        raise SourceError(msg, location=name)
    start = member.offset + ZIP_LOCAL.size
    magic, _, name_length, extra_length = ZIP_LOCAL.read(view, member.offset)
    if magic != _LOCAL_MAGIC:
        raise FormatError(
            f"expected a local header, found bytes {view.peek(member.offset, 4).hex(' ')}",
            offset=member.offset,
            field="zip local magic",
            expected="50 4b 03 04",
            found=view.peek(member.offset, 4).hex(" "),
            location=name,
        )
    inner = view.window(start + name_length + extra_length, member.stored, name)
    inner.origin = inner.start  # a member is a library of its own
    if member.method != _STORED:
        return _Inflating(inner, member, name)
    if member.size != member.stored:
        raise SizeMismatchError(
            f"a stored member of {member.stored} bytes declares {member.size}",
            offset=member.offset,
            field="size",
            expected=f"{member.stored} bytes",
            found=f"{member.size} bytes",
            location=name,
        )
    return inner


def opened_members(view: View, members: Iterable[ZipMember]) -> Iterator[Opened]:
    """Yield members with what they hold, or with the error that says why nobody can tell."""
    for member in members:
        try:
            yield member, content(view, member, f"{view.name}::{member.name}")
        except FatbinError as exc:  # of this member alone
            yield member, exc


def opened_early(view: View, members: Iterable[ZipMember]) -> Iterator[Opened]:
    """Yield the same, where what is small and worth reading was inflated already.

    What is wrong with a member comes again where it is read.
    """
    for member, source in opened_members(view, members):
        if isinstance(source, _Inflating) and member.size <= _SMALL:
            try:
                data = source.read(HEAD_BYTES)
                if worth_reading(data):
                    data += source.read(member.size)
                yield member, Rest(data, source)
            except FatbinError:
                yield member, content(view, member, f"{view.name}::{member.name}")
        else:
            yield member, source


def check_stored(view: View, member: ZipMember) -> None:
    """Check the CRC of a member that is read in place.

    Raises:
        SourceError: it is not that of the directory.
    """
    stream = ViewStream(view)
    crc = 0
    while data := stream.read(_CHUNK):
        crc = zlib.crc32(data, crc)
    if crc != member.crc:
        raise _bad_crc(member, crc, view.name)


class _Inflating:
    """A compressed member as a stream that is checked at its end."""

    def __init__(self, view: View, member: ZipMember, name: str) -> None:
        self._stream = ViewStream(view)
        self._member = member
        self._name = name
        self._crc = 0
        self._count = 0
        self._tail = b""
        self._eof = False
        self._hungry = True
        if member.method == _DEFLATE:
            self._deflate = zlib.decompressobj(-15)
            return
        from bz2 import BZ2Decompressor  # noqa: PLC0415 - hardly ever met

        self._bzip2 = BZ2Decompressor()

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes; none at the end.

        Raises:
            SourceError: the content does not inflate, is longer or shorter than declared, or its
                CRC is another.
        """
        try:
            data = self._pieces(size)
        except (zlib.error, OSError, ValueError) as exc:  # the last two are of bzip2
            raise damaged(exc, self._name) from exc
        if not data and not self._eof:
            return data
        self._count += len(data)
        self._crc = zlib.crc32(data, self._crc)
        if self._count > self._member.size or (self._eof and self._count < self._member.size):
            msg = f"the member inflates to {self._count} bytes or more, declared are "
            raise SourceError(f"{msg}{self._member.size}", location=self._name)
        if self._eof and self._crc != self._member.crc:
            raise _bad_crc(self._member, self._crc, self._name)
        return data

    def _pieces(self, size: int) -> bytes:
        pieces = []
        while size and not self._eof:
            piece = self._piece(size)
            pieces.append(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _piece(self, size: int) -> bytes:
        if self._member.method == _BZIP2:
            fresh = self._stream.read(_CHUNK) if self._bzip2.needs_input else b""
            if self._bzip2.needs_input and not fresh:
                raise self._early()
            data = self._bzip2.decompress(fresh, max_length=size)
            self._eof = self._bzip2.eof
            return data
        if self._hungry and not self._tail:
            self._tail = self._stream.read(_CHUNK)
            if not self._tail:
                raise self._early()
        data = self._deflate.decompress(self._tail, size)
        self._tail = self._deflate.unconsumed_tail
        # A full piece can leave bytes in the decoder although it has taken all input.
        self._hungry = len(data) < size
        self._eof = self._deflate.eof
        return data

    def _early(self) -> SourceError:
        msg = f"the compressed content ends early, after {self._count} bytes or more"
        return SourceError(msg, location=self._name)


def _bad_crc(member: ZipMember, crc: int, name: str) -> SourceError:
    msg = f"expected CRC {member.crc:08x}, found {crc:08x}"
    return SourceError(msg, location=name)
