"""How much a file may make fatbin do."""

from __future__ import annotations

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
        ratio: inflated over compressed size of one image; seen 45.8 (the limit of LZ4 itself is
            about 255, zstd reaches 32,768 on zeros).
        containers: containers in one library; seen 17,860 in cuFFT.
        entries: entries in one library, compared after each container and without the images of
            groups; seen 17,900 in cuFFT.
        issues: issues kept for one library; the rest are counted.
        members: members of one static archive.
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
            raise LimitExceededError(
                f"declared size of {size} bytes is over the limit of {self.image_bytes} bytes",
                limit="image_bytes",
                allowed=self.image_bytes,
                actual=size,
                offset=offset,
                hint="raise the limit image_bytes if the file is trusted",
            )
        if size > self.ratio * max(1, compressed_size):
            raise LimitExceededError(
                f"{compressed_size} bytes declare to inflate to {size} bytes, "
                f"over the limit of {self.ratio} times",
                limit="ratio",
                allowed=self.ratio,
                actual=size // max(1, compressed_size),
                offset=offset,
                hint="raise the limit ratio if the file is trusted",
            )


DEFAULT_LIMITS = Limits()
