"""Drivers as a user names them, and what each reads."""

from __future__ import annotations

import re

from fatbin._record import Record
from fatbin.errors import DriverError
from fatbin.judge.facts.toolkits import FLOORS, TOOLKITS, ToolkitRow

__all__ = ["Driver", "minimum_driver_for_isa", "minimum_driver_for_toolkit_major"]

_DRIVER = re.compile(r"R?(?P<branch>\d{3,4})(?:\.\d{1,4}){0,3}", re.ASCII | re.IGNORECASE)
_CUDA = re.compile(
    r"CUDA[ _-]?(?P<major>\d{1,2})\.(?P<minor>\d{1,2})(?:\.\d{1,4}){0,2}", re.ASCII | re.IGNORECASE
)
_BARE_CUDA = re.compile(r"\d{1,2}(?:\.\d{1,2}){0,2}", re.ASCII)
_READERS = tuple((row.isa, row.driver_branch) for row in TOOLKITS)
_HINT = "write a driver such as 570.124, or the CUDA version that nvidia-smi prints: CUDA 12.8"


class Driver(Record):
    """A driver to judge for.

    Attributes:
        text: as it was given, ``570.124``.
        branch: the branch, 570; of a CUDA version the branch that was released with it, and 575 of
            576.02, since Windows drivers count on within a branch.
        cuda: the CUDA version of the branch, as ``cuDriverGetVersion`` gives it.
        ptx_isa: the newest PTX ISA that it reads.
        newer_than_table: True when the branch is newer than every one that is known; ``cuda`` and
            ``ptx_isa`` are then those of the newest known, and the driver may read more.
        certain: False when the pairing of branch and CUDA version is not sure.
        reader: branch of the libcuda that reads code; 0 when it is ``branch`` itself, another one
            with a libcuda of NVIDIA's cuda-compat packages.
    """

    text: str
    branch: int
    cuda: tuple[int, int]
    ptx_isa: tuple[int, int]
    newer_than_table: bool
    certain: bool
    reader: int = 0

    @property
    def reading_branch(self) -> int:
        """Branch of the libcuda that reads code: ``reader`` where it is given, else ``branch``."""
        return self.reader or self.branch

    @classmethod
    def of(cls, branch_text: str, cuda_version: str) -> Driver:
        """Put together what a machine says of itself: its kernel's driver and its libcuda.

        They differ with a libcuda of NVIDIA's cuda-compat packages. The kernel's driver decides
        which GPUs there are, libcuda which PTX and which compression is read.

        Args:
            branch_text: version of the kernel's driver, ``535.183.01``; empty when not known.
            cuda_version: what ``cuDriverGetVersion`` says, ``13.0``; empty when not known. One
                between two known versions is taken for the lower.

        Raises:
            DriverError: neither is known, or one cannot be understood.
        """
        if not cuda_version:
            return cls.parse(branch_text)
        row, newer = _row_of_cuda(cuda_version)
        text = f"CUDA {cuda_version}"
        if not branch_text:
            return _driver(text, row.driver_branch, row, newer=newer)
        kernel = cls.parse(branch_text)
        if kernel.cuda == row.cuda and kernel.newer_than_table == newer:
            return kernel
        return cls(
            text=f"{kernel.text} with libcuda of {text}",
            branch=kernel.branch,
            cuda=row.cuda,
            ptx_isa=row.isa,
            newer_than_table=newer,
            certain=kernel.certain and row.certain and not newer,
            reader=row.driver_branch,
        )

    @classmethod
    def parse(cls, text: str | Driver) -> Driver:
        """Read ``570``, ``R570``, ``570.124.06`` or ``CUDA 12.8``.

        A branch between two known ones is taken for the lower.

        Raises:
            DriverError: the text is none of these, or older than every known branch.
        """
        if isinstance(text, Driver):
            return text
        plain = " ".join(text.split())
        match = _DRIVER.fullmatch(plain)
        if match is not None:
            return _of_branch(plain, int(match["branch"]))
        match = _CUDA.fullmatch(plain)
        if match is not None:
            return _of_cuda(plain, (int(match["major"]), int(match["minor"])))
        if _BARE_CUDA.fullmatch(plain):
            msg = f"expected a driver, found {text!r}, which looks like a CUDA version"
            raise DriverError(msg, hint=f"write 'CUDA {plain}', or a driver such as 570.124")
        msg = f"expected a driver such as 570.124 or CUDA 12.8, found {text!r}"
        raise DriverError(msg, hint=_HINT)

    def __str__(self) -> str:
        """Return the text as it was given."""
        return self.text


def minimum_driver_for_isa(isa: tuple[int, int]) -> int | None:
    """Return the first branch that reads a PTX ISA; None when no known one does."""
    return next((branch for known, branch in _READERS if known >= isa), None)


def minimum_driver_for_toolkit_major(major: int) -> str:
    """Return the oldest Linux driver on which programs of a CUDA major version start.

    Empty where there is no such promise: before CUDA 11 each minor version has a driver of its own,
    and later majors are not known.
    """
    return next((floor.linux_driver for floor in FLOORS if floor.major == major), "")


def _of_branch(text: str, branch: int) -> Driver:
    row = next((row for row in reversed(TOOLKITS) if row.driver_branch <= branch), None)
    if row is None:
        msg = f"expected a driver of branch {TOOLKITS[0].driver_branch} or later, found {text!r}"
        raise DriverError(msg, hint=_HINT)
    if branch > TOOLKITS[-1].driver_branch:
        return _driver(text, branch, row, newer=True)
    return _driver(text, row.driver_branch, row, newer=False)


def _of_cuda(text: str, version: tuple[int, int]) -> Driver:
    row = next((row for row in TOOLKITS if row.cuda == version), None)
    if row is None and version > TOOLKITS[-1].cuda:
        newest = TOOLKITS[-1]
        return _driver(text, newest.driver_branch, newest, newer=True)
    if row is None:
        msg = f"no driver is known of the CUDA version of {text!r}"
        raise DriverError(msg, hint=_HINT)
    return _driver(text, row.driver_branch, row, newer=False)


def _row_of_cuda(version: str) -> tuple[ToolkitRow, bool]:
    """Return the row of the version or of the next lower one, and whether it is beyond them all."""
    major, _, minor = version.partition(".")
    if not (major.isascii() and major.isdigit() and minor.isascii() and minor.isdigit()):
        msg = f"expected a CUDA version such as 13.0, found {version!r}"
        raise DriverError(msg, hint=_HINT)
    numbers = int(major), int(minor)
    row = next((row for row in reversed(TOOLKITS) if row.cuda <= numbers), None)
    if row is None:
        msg = f"expected CUDA {TOOLKITS[0].toolkit} or later, found {version!r}"
        raise DriverError(msg, hint=_HINT)
    return row, numbers > TOOLKITS[-1].cuda


def _driver(text: str, branch: int, row: ToolkitRow, *, newer: bool) -> Driver:
    return Driver(text, branch, row.cuda, row.isa, newer, row.certain and not newer)
