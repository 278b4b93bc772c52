"""Source archive and wheel, built so that anyone gets the same bytes.

The wheel is built from the source archive, never from the checkout: what is not in the archive
cannot be in the wheel.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Surroundings(NamedTuple):
    """What differs from one machine to another, and must not be seen in what is built.

    Attributes:
        umask: of new files.
        locale: of messages and sorting.
        zone: of times.
        seed: of hashes.
    """

    umask: int
    locale: str
    zone: str
    seed: str


HERE = Surroundings(0o022, "C.UTF-8", "UTC", "0")
ELSEWHERE = Surroundings(0o077, "C", "Asia/Kathmandu", "4711")


class DifferenceError(Exception):
    """Two builds of the same source are not the same."""


def build(
    source: Path,
    out: Path,
    *,
    epoch: int,
    surroundings: Surroundings = HERE,
    options: Sequence[str] = (),
) -> list[Path]:
    """Build the source archive, and the wheel from it; return both.

    Args:
        source: folder of a checkout, or of an unpacked source archive.
        out: folder for them.
        epoch: the one time that everything in them has (SOURCE_DATE_EPOCH).
        surroundings: to build in.
        options: more of ``python -m build``.

    Raises:
        subprocess.CalledProcessError: it cannot be built; the output is printed.
    """
    environment = {
        **os.environ,
        "SOURCE_DATE_EPOCH": str(epoch),
        "LC_ALL": surroundings.locale,
        "TZ": surroundings.zone,
        "PYTHONHASHSEED": surroundings.seed,
    }
    done = subprocess.run(  # noqa: S603 - the build front end of this environment
        [sys.executable, "-m", "build", *options, "--outdir", str(out), str(source)],
        env=environment,
        umask=surroundings.umask,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        done.check_returncode()
    return sorted((*out.glob("*.tar.gz"), *out.glob("*.whl")))


def require_same(first: Sequence[Path], second: Sequence[Path]) -> None:
    """Compare two builds, byte for byte.

    Raises:
        DifferenceError: a name or a byte differs.
    """
    names = [path.name for path in first], [path.name for path in second]
    if names[0] != names[1]:
        raise DifferenceError(f"expected {names[0]}, found {names[1]}")
    for one, other in zip(first, second, strict=True):
        if one.read_bytes() != other.read_bytes():
            raise DifferenceError(
                f"{one.name} differs between two builds: {sha256(one)}, {sha256(other)}"
            )


def sha256(path: Path) -> str:
    """Return the digest of a file, hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
