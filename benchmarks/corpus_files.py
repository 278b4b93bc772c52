"""The real files that are measured: downloaded once by the module that the tests use for it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import measure

if TYPE_CHECKING:
    from pathlib import Path

sys.path[:0] = [str(measure.ROOT / "tests"), str(measure.ROOT / "tests" / "real")]

import corpus  # noqa: E402 - found through the line above


class Sample(NamedTuple):
    """A library of a wheel.

    Attributes:
        name: in tables.
        wheel: that holds it.
        member: of the wheel.
    """

    name: str
    wheel: corpus.Wheel
    member: str

    def path(self) -> Path:
        """Return the file; it is downloaded and unzipped where the cache lacks it."""
        return corpus.library(self.wheel, self.member)


SAMPLES = (
    Sample(
        "bitsandbytes 0.46.1",
        corpus.BITSANDBYTES_ARM,
        "bitsandbytes/libbitsandbytes_cuda129.so",
    ),
    Sample("NCCL 2.32.3", corpus.NCCL_2_32, "nvidia/nccl/lib/libnccl.so.2"),
    Sample("cuFFT 12.4", corpus.CUFFT, "nvidia/cu13/lib/libcufft.so.12"),
    Sample("cuBLASLt 12.9", corpus.CUBLAS, "nvidia/cublas/lib/libcublasLt.so.12"),
)
"""From small to large; of one container, of hundreds, and of thousands."""


def flashinfer() -> Path:
    """Return a wheel of 15,970 cubins."""
    return corpus.wheel_path(corpus.FLASHINFER_CUBIN)
