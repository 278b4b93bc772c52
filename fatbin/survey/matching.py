"""Which libraries of two targets belong together.

By path first; then by path and at last by name alone, both without what tells two builds apart:
version numbers, hashes of repaired wheels, tags of Python versions.
"""

from __future__ import annotations

import re

from fatbin._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Pair = tuple[int, int]
    """Indexes on the first and on the second side; -1 where that side has none."""

_TAG = r"\.(?:cpython-\d+t?|abi3|pypy\d*-pp\d+|cp\d+t?)(?:-[\w-]+)?(?=\.(?:so|pyd)$)"
_HASH = r"-[0-9a-f]{8,32}(?=\.(?:so|dll|pyd)$)"
_SO_VERSION = r"(?<=\.so)(?:\.\d+)+$"
_INNER_VERSION = r"[-.]\d+(?:\.\d+)+(?=\.so$)"
_DLL_VERSION = r"(?<=64)(?:_\d+)+(?=\.dll$)"
_PYTHON = r"(?<=^python)\d+(?:\.\d+)*t?$"
_CUDA = r"(?<=(?<![a-z])cu)\d{2,3}(?![0-9a-z])"


class Place(Record):
    """Where a library is found and what it is called.

    Attributes:
        path: inside the target.
        name: soname, or the last part of the path.
    """

    path: str
    name: str


def match(first: Sequence[Place], second: Sequence[Place]) -> list[Pair]:
    """Return the libraries that belong together, and those that only one side has.

    Two targets with one library each are compared whatever they are called. Several of one path are
    taken in order; what has moved or is called otherwise must be the only one of its kind.
    """
    if len(first) == len(second) == 1:
        return [(0, 0)]
    keys: tuple[Callable[[Place], str], ...] = (
        lambda place: place.path,
        lambda place: plain_path(place.path),
        lambda place: place.name,
        lambda place: plain_name(place.name),
    )
    pairs: list[Pair] = []
    left, right = dict(enumerate(first)), dict(enumerate(second))
    for number, key in enumerate(keys):
        theirs = _by(key, right)
        for name, mine in _by(key, left).items():
            others = theirs.get(name, [])
            if number and (len(mine) != 1 or len(others) != 1):
                continue
            for index, other in zip(mine, others):  # noqa: B905 - what is over is one side's
                pairs.append((index, other))
                del left[index], right[other]
    return pairs + [(index, -1) for index in left] + [(-1, index) for index in right]


def _by(key: Callable[[Place], str], places: dict[int, Place]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for index, place in places.items():
        found.setdefault(key(place), []).append(index)
    return found


def plain_path(path: str) -> str:
    """Return a path in which every part is as :func:`plain_name` makes it.

    >>> plain_path("lib/python3.12/site-packages/nvidia/cu13/lib/libcublas.so.13")
    'lib/python/site-packages/nvidia/cu/lib/libcublas.so'
    """
    return "/".join(plain_name(part) for part in re.split(r"/|::", path))


def plain_name(name: str) -> str:
    """Return a name without versions, hashes and tags.

    >>> [plain_name(n) for n in ("libfoo-aa62252d.so.1.2", "cublas64_12.dll", "saxpy_80.cubin")]
    ['libfoo.so', 'cublas64.dll', 'saxpy_80.cubin']
    >>> plain_name("_C.cpython-312-x86_64-linux-gnu.so")
    '_C.so'
    """
    if name.endswith(".whl"):
        name = name.partition("-")[0] + ".whl"
    for pattern in (_SO_VERSION, _TAG, _HASH, _INNER_VERSION, _DLL_VERSION, _PYTHON, _CUDA):
        name = re.sub(pattern, "", name)
    return name
