"""How much a file may make fatbin do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Upper bounds on what is read, so that no file can exhaust the machine.

    Each default is the largest value seen in real libraries with a margin. Exceeding one is an
    issue of the library at hand (or :class:`fatbin.LimitExceededError` where one image is asked
    for); everything found before it is kept.

    Attributes:
        image_bytes: one inflated image; seen 159,484,120 bytes in NCCL.
        ratio: inflated over compressed size of one image; seen 45.8 (the limit of LZ4 itself is
            about 255, zstd reaches 32,768 on zeros).
        containers: containers in one library; seen 17,860 in cuFFT.
        entries: entries in one library, images of groups counted; seen 17,900 in cuFFT.
        issues: issues kept for one library; the rest are counted.
        members: members of one static archive.
        text_bytes: one PTX text found outside a container; seen 4 MB.
        header_bytes: section tables, string tables and the like read into memory at a time.
    """

    image_bytes: int = 1 << 30
    ratio: int = 1000
    containers: int = 1_000_000
    entries: int = 2_000_000
    issues: int = 1000
    members: int = 100_000
    text_bytes: int = 256 << 20
    header_bytes: int = 64 << 20


DEFAULT_LIMITS = Limits()
