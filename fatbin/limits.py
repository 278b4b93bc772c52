"""How much a file may make fatbin do."""

from __future__ import annotations

import time

from fatbin._record import Record
from fatbin.errors import LimitExceededError


class Limits(Record):
    """Upper bounds on what is read, so that no file can exhaust the machine.

    Where a value was seen in real libraries, the default is that value with a margin; the others
    are what no honest file needs. Exceeding one is an issue of the library at hand (or
    :class:`fatbin.LimitExceededError` where one image is asked for); everything found before it is
    kept.

    Attributes:
        image_bytes: one inflated image; seen 159,484,120 bytes in NCCL.
        ratio: inflated over compressed size of one image; seen 134 in cuBLASLt (the limit of LZ4
            itself is about 255, zstd reaches 32,768 on zeros).
        containers: containers in one library; seen 17,860 in cuFFT.
        entries: entries in one library, images of groups included; seen 17,900 in cuFFT.
        issues: issues kept for one library; the rest are counted.
        members: members of one static archive, those of archives in it included.
        sections: sections of one ELF file; seen 2,621 in a cubin, objects of C++ sources compiled
            with a section a function have some ten thousands.
        text_bytes: one PTX text found outside a container; seen 4 MB.
        header_bytes: section tables, string tables and the like read into memory at a time.
        member_bytes: one inflated member of a wheel, package or image; seen 749,169,616 in cuBLAS.
        member_ratio: inflated over compressed size of one member larger than 8 MiB; seen 18.8 in a
            library and 44.3 in a header. What deflate can reach is 1032.
        archive_bytes: all that is inflated for one target, nested archives included; images hold
            some ten gigabytes.
        archive_members: files in one target, nested archives included; seen 16,017 in a wheel,
            images hold some hundred thousands.
        depth: archives within archives; a wheel in a zip has 2, a layer of an image in a zip 3.
        streams: compressed streams one behind the other in one file, beside one for each KiB that
            they take or inflate to; parallel compressors write one for 64 KiB or more.
        document_bytes: an inventory or verdict as JSON; seen 18,845,953 bytes of cuFFT alone. In
            memory it takes some five times as much, one made to harm 25 times.
        seconds: of one target, by the clock; 0 for any number. Looked at between containers,
            members and pieces of data, so that one step may go on for longer.
        until: when ``seconds`` are over, by ``time.monotonic``; set when a target is opened, and
            not to be given.
    """

    image_bytes: int = 1 << 30
    ratio: int = 1000
    containers: int = 200_000
    entries: int = 200_000
    issues: int = 1000
    members: int = 100_000
    sections: int = 200_000
    text_bytes: int = 256 << 20
    header_bytes: int = 64 << 20
    member_bytes: int = 16 << 30
    member_ratio: int = 300
    archive_bytes: int = 1 << 38
    archive_members: int = 2_000_000
    depth: int = 4
    streams: int = 1000
    document_bytes: int = 256 << 20
    seconds: int = 0
    until: float = 0.0

    def started(self) -> Limits:
        """Return the limits with the clock running; it is not started twice."""
        if not self.seconds or self.until:
            return self
        return self._replace(until=time.monotonic() + self.seconds)

    def late(self, location: str) -> LimitExceededError | None:
        """Return the error that tells that ``seconds`` are over; None while they are not.

        It is the same each time, so that it becomes one issue of a library.
        """
        if not self.until or time.monotonic() < self.until:
            return None
        return LimitExceededError(
            f"reading took more than {self.seconds} seconds; the rest was not read",
            limit="seconds",
            allowed=self.seconds,
            actual=self.seconds + 1,
            location=location,
            hint="raise the limit seconds, or 0 for any number",
        )

    def exceeded(
        self,
        message: str,
        *,
        limit: str,
        actual: int,
        offset: int = -1,
        location: str = "",
        trusted: str = "file",
    ) -> LimitExceededError:
        """Return the error that one of these limits is exceeded, with what helps.

        Args:
            message: what was found.
            limit: its name.
            actual: its number.
            offset: where, or -1.
            location: of the file or member.
            trusted: what has to be trusted before the limit is raised.
        """
        return LimitExceededError(
            message,
            limit=limit,
            allowed=getattr(self, limit),
            actual=actual,
            offset=offset,
            location=location,
            hint=f"raise the limit {limit} if the {trusted} is trusted",
        )

    def too_deep(self, depth: int, location: str) -> LimitExceededError | None:
        """Return the error that an archive at this depth is not read any more; None if it is."""
        if depth < self.depth:
            return None
        message = f"archives are nested more than {self.depth} deep; not read"
        return self.exceeded(
            message, limit="depth", actual=depth + 1, location=location, trusted="archive"
        )

    def check_document(self, size: int, location: str) -> None:
        """Refuse a document that is larger than any of fatbin's.

        Raises:
            LimitExceededError: it has more than ``document_bytes``.
        """
        if size > self.document_bytes:
            raise self.exceeded(
                f"expected a document of at most {self.document_bytes} bytes, found more",
                limit="document_bytes",
                actual=size,
                location=location,
                trusted="document",
            )

    def check_inflated(self, compressed_size: int, size: int, offset: int = -1) -> None:
        """Refuse sizes that only a bomb or damage would declare.

        Args:
            compressed_size: bytes of a compressed stream.
            size: bytes that it should inflate to.
            offset: of the entry, for the message.

        Raises:
            LimitExceededError: the declared size is over ``image_bytes`` or ``ratio``.
        """
        if size > self.image_bytes:
            raise self.exceeded(
                f"declared size of {size} bytes is over the limit of {self.image_bytes} bytes",
                limit="image_bytes",
                actual=size,
                offset=offset,
            )
        if size > self.ratio * max(1, compressed_size):
            raise self.exceeded(
                f"{compressed_size} bytes declare to inflate to {size} bytes, "
                f"over the limit of {self.ratio} times",
                limit="ratio",
                actual=size // max(1, compressed_size),
                offset=offset,
            )


DEFAULT_LIMITS = Limits()
NAMES = tuple(name for name in Limits._fields if name != "until")
"""The limits that can be given."""
OFF = frozenset(("seconds",))
"""Those that 0 turns off; of the others 0 would allow nothing."""


class Tally:
    """What one library has taken of the limits that hold for all its parts together.

    Attributes:
        limits: what was allowed.
        containers: read so far.
        entries: read so far, images of groups included.
        full: whether a limit was met, so that nothing more is to be read.
    """

    __slots__ = ("containers", "entries", "full", "limits")

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        """Begin with nothing taken."""
        self.limits: Limits = limits
        self.containers: int = 0
        self.entries: int = 0
        self.full: bool = False

    @property
    def entries_left(self) -> int:
        """How many entries may still be read."""
        return max(0, self.limits.entries - self.entries)

    def stop(self, location: str, offset: int) -> LimitExceededError | None:
        """Return why no container may be read any more, or None."""
        error = None
        if self.containers >= self.limits.containers:
            error = self.too_many("containers", location, offset)
        elif self.limits.until:
            error = self.limits.late(location)
        self.full = self.full or error is not None
        return error

    def too_many(self, limit: str, location: str, offset: int) -> LimitExceededError:
        """Return the error that tells that there are more containers or entries than allowed."""
        self.full = True
        allowed = int(getattr(self.limits, limit))
        message = f"more than {allowed} {limit}; the rest of the file was not read"
        return self.limits.exceeded(
            message, limit=limit, actual=allowed + 1, offset=offset, location=location
        )
