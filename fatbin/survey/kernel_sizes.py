"""Where the machine code goes: kernels by name, and those that a library holds several times."""

from __future__ import annotations

import os
from hashlib import blake2b

from fatbin._record import Record
from fatbin.errors import FatbinError, FormatError, LimitExceededError
from fatbin.format.images import Cubin
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.collector import Collector
from fatbin.scanning.parts import part_modules, read_host
from fatbin.scanning.targets import open_parts
from fatbin.survey.payloads import each_payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fatbin.arch import Architecture
    from fatbin.errors import Report
    from fatbin.inventory import Entry, Issue
    from fatbin.limits import Limits
    from fatbin.scanning.parts import Part

_SASS = frozenset(("sass",))
_DIGEST_BYTES = 16


class KernelSize(Record):
    """The machine code of a kernel in one library.

    Attributes:
        name: mangled as in the file.
        archs: of the images that hold it, in order.
        images: how many images hold it.
        code: bytes of its machine code, inflated, summed over the images.
        duplicates: images in which the code is that of an earlier image for the same architecture,
            byte by byte. Constants and relocations are not compared.
        duplicate_code: bytes that these take, inflated.
    """

    name: str
    archs: tuple[str, ...]
    images: int
    code: int
    duplicates: int
    duplicate_code: int


class LibraryKernels(Record):
    """The machine code of one library.

    Attributes:
        location: path, with ``::member`` for members of archives, packages and images.
        images: how many images were opened.
        kernels: the largest first.
        functions: device functions with code of their own, counted in every image.
        function_code: bytes of their machine code, inflated.
        issues: what could not be read.
    """

    location: str
    images: int
    kernels: tuple[KernelSize, ...]
    functions: int
    function_code: int
    issues: tuple[Issue, ...] = ()

    @property
    def code(self) -> int:
        """Bytes of machine code of all kernels, inflated."""
        return sum(kernel.code for kernel in self.kernels)

    @property
    def duplicate_code(self) -> int:
        """Bytes of machine code that an earlier image has already, inflated."""
        return sum(kernel.duplicate_code for kernel in self.kernels)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data; all sizes are in bytes, inflated."""
        return {
            "location": self.location,
            "images": self.images,
            "code": self.code,
            "duplicate_code": self.duplicate_code,
            "functions": self.functions,
            "function_code": self.function_code,
            "kernels": [
                {**kernel._asdict(), "archs": list(kernel.archs)} for kernel in self.kernels
            ],
            "issues": [issue._asdict() for issue in self.issues],
        }


def kernel_sizes(
    target: str | os.PathLike[str], limits: Limits = DEFAULT_LIMITS, *, platform: str = ""
) -> tuple[LibraryKernels, ...]:
    """Add up the machine code of every kernel, library by library.

    Every SASS image is inflated, one at a time. PTX and LTO-IR have no machine code. What cannot be
    opened as a library at all is for :func:`fatbin.survey.sizes.account` to tell.

    Args:
        target: a file, package, image, folder or environment, as for :func:`fatbin.scan`.
        limits: bounds on what the target may make this function do.
        platform: of an image that is there for several.

    Returns:
        The file, or each library in the target that holds SASS or damage.

    Raises:
        SourceError: the target cannot be read.
        UnknownFormatError: the target is none of the known formats.
        MissingDependencyError: a PE file without LIEF, LZ4 or zstd without cramjam.
    """
    limits = limits.started()
    collector = Collector(os.fspath(target), limits)
    found = []
    with open_parts(target, report=collector, limits=limits, platform=platform) as parts:
        for part in parts:
            library = library_kernels(part, limits)
            if library is not None:
                found.append(library)
    return tuple(found)


def library_kernels(part: Part, limits: Limits = DEFAULT_LIMITS) -> LibraryKernels | None:
    """Add up the machine code of one open library; None for one of many without SASS or damage."""
    library = _library(part, limits)
    return library if part.alone or library.images or library.issues else None


class _Sum:
    """What is known of one name so far."""

    __slots__ = ("archs", "code", "duplicate_code", "duplicates", "images", "seen")

    def __init__(self) -> None:
        self.archs: set[Architecture | None] = set()
        self.images = self.code = self.duplicates = self.duplicate_code = 0
        self.seen: set[tuple[Architecture | None, bytes]] = set()

    def add(self, arch: Architecture | None, code: bytes) -> None:
        key = (arch, blake2b(code, digest_size=_DIGEST_BYTES).digest())
        self.images += 1
        self.code += len(code)
        self.archs.add(arch)
        if key in self.seen:
            self.duplicates += 1
            self.duplicate_code += len(code)
        self.seen.add(key)


def _library(part: Part, limits: Limits) -> LibraryKernels:
    view = part.view
    collector = Collector(view.name, limits)
    sums: dict[str, _Sum] = {}
    images = functions = function_code = 0

    def add(entry: Entry, data: bytes | bytearray) -> None:
        nonlocal images, functions, function_code
        cubin = open_cubin(view.name, entry, data, limits, collector)
        if cubin is None:
            return
        images += 1
        for name, is_kernel, code in cubin.code():
            if is_kernel:
                sums.setdefault(name, _Sum()).add(entry.arch, code)
            else:
                functions += 1
                function_code += len(code)

    try:
        host = read_host(part, limits, collector)
        modules = part_modules(part, host, limits, collector)
        each_payload(view, modules, _SASS, limits, collector, add)
    except (FormatError, LimitExceededError) as exc:
        collector(exc)
    kernels = [
        KernelSize(
            name=name,
            archs=tuple(map(str, sorted(a for a in s.archs if a is not None))),
            images=s.images,
            code=s.code,
            duplicates=s.duplicates,
            duplicate_code=s.duplicate_code,
        )
        for name, s in sums.items()
    ]
    kernels.sort(key=lambda kernel: (-kernel.code, kernel.name))
    return LibraryKernels(
        location=view.name,
        images=images,
        kernels=tuple(kernels),
        functions=functions,
        function_code=function_code,
        issues=collector.issues,
    )


def open_cubin(
    location: str, entry: Entry, data: bytes | bytearray, limits: Limits, report: Report
) -> Cubin | None:
    """Open an inflated SASS payload; None when it is no cubin, which ``report`` is told."""

    def placed(error: FatbinError) -> None:
        # Offsets inside an image say nothing without the entry that it came from.
        error.location = location
        error.message = f"cubin of entry at {entry.offset:#x}: {error.message}"
        report(error)

    try:
        return Cubin(data, name=location, limits=limits, report=placed)
    except (FormatError, LimitExceededError) as exc:
        placed(exc)
        return None
