"""What can be scanned: files, packages, directories and environments."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager

from fatbin.errors import FatbinError, SourceError, UnknownFormatError
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.host import COMPRESSED_MAGICS, ZIP_MAGICS
from fatbin.scanning.parts import any_parts, holder_of, kind_and_format
from fatbin.scanning.scanner import Options, scan_file
from fatbin.scanning.source import (
    OPEN_FLAGS,
    STANDARD_INPUT,
    is_image_folder,
    open_input,
    open_view,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.inventory import Inventory
    from fatbin.limits import Limits
    from fatbin.scanning.many import Plan
    from fatbin.scanning.parts import Part

ENVIRONMENT = "env:"
_HEAD_BYTES = 512


def scan(
    target: str | os.PathLike[str],
    *,
    limits: Limits = DEFAULT_LIMITS,
    linkage: bool = True,
    kernels: bool = True,
    verify: bool = False,
    platform: str = "",
) -> Inventory:
    """Read what device code a file, package, image, directory or environment holds.

    The format is told by content: ELF, PE, COFF, static archive, bare fatbin, cubin, PTX, LTO-IR;
    wheels and other zips, conda packages, tar archives; container images as ``docker save`` writes
    them and as OCI layouts, in a folder or a tar archive. Only headers are read, and the parts of a
    host file where embedded device code can be. Members of packages are inflated one at a time,
    large ones to a temporary file without a name. Large directories are read by several processes,
    as :func:`fatbin.scan_many` does.

    Args:
        target: path of a file or directory, ``-`` for standard input, ``env:`` for the environment
            of this interpreter, or ``env:PATH`` for that of another one: its folder, or the path
            of its program.
        limits: bounds on what the target may make this function do.
        linkage: also read soname, needed libraries, CUDA runtime and version (imports LIEF).
        kernels: also open the smallest image of each module, so that modules without any kernel
            can be told (:attr:`Entry.kernels`).
        verify: also inflate every payload, check its size, and take from images what only they
            tell: toolkit, relocatable or not, kernels, missing functions. Of container images the
            digests of layers and documents are compared too.
        platform: of an image that is there for several, such as ``linux/arm64``; without it the
            only one, or ``linux/amd64``.

    Returns:
        One library for a file; of archives, packages and directories one for each member or file
        that holds device code or could not be read. Damage inside is in their ``issues``; what was
        whole is kept.

    Raises:
        SourceError: the target cannot be read.
        UnknownFormatError: a file of none of these formats, a directory without any such file.
        MissingDependencyError: a PE file without LIEF, a zstd package before Python 3.14 without
            zstandard.
    """
    path = os.fspath(target)
    options = Options(limits, linkage, kernels, verify, platform)
    if is_file(path):
        return scan_file(path, options)
    from fatbin.scanning.many import plan, run  # noqa: PLC0415 - a file needs less

    return run([plan(path, options)], options)


def is_kept(target: str) -> bool:
    """Tell whether the results of a target that is read as one file are worth a cache.

    Those of packages and images are; a plain file is read as quickly as looked up.
    """
    if target == STANDARD_INPUT:
        return False
    if is_image_folder(target):
        return True
    try:
        descriptor = os.open(target, OPEN_FLAGS)
        try:
            head = os.read(descriptor, _HEAD_BYTES)
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return False  # who reads it says what is wrong
    packed = tuple(magic for magic, _ in COMPRESSED_MAGICS)
    return head[:4] in ZIP_MAGICS or head[257:262] == b"ustar" or head.startswith(packed)


def is_file(target: str) -> bool:
    """Tell whether a target is read as one: a file, an image in a folder, or nothing at all."""
    if target == STANDARD_INPUT or is_image_folder(target):
        return True
    return not target.startswith(ENVIRONMENT) and not os.path.isdir(target)


class Parts:
    """The libraries of an open target; can be run through once.

    Attributes:
        size: bytes of the file that the target is; 0 of folders and environments.
        single: whether it is a library, an object or a static archive by itself, and neither a
            package nor a folder, image or environment.
    """

    def __init__(self, parts: Iterator[Part], size: int = 0, *, single: bool = False) -> None:
        """Keep what yields the libraries."""
        self._parts = parts
        self.size = size
        self.single = single

    def __iter__(self) -> Iterator[Part]:
        """Return the one iterator there is."""
        return self._parts


@contextmanager
def open_parts(
    target: str | os.PathLike[str],
    *,
    report: Report,
    limits: Limits = DEFAULT_LIMITS,
    platform: str = "",
) -> Iterator[Parts]:
    """Open any target and give its libraries as views.

    The view of a library in a package, image, folder or environment ends with the next library,
    that of another one with the ``with`` block. What is compressed is inflated one file at a time,
    large ones to a temporary file without a name. Layers of images are read twice: names first,
    since upper layers replace and remove files.

    Args:
        target: as for :func:`scan`.
        report: gets what cannot be read and does not stop the rest.
        limits: bounds on what the target may make this library do.
        platform: of an image that is there for several.

    Raises:
        SourceError: the target cannot be read.
        UnknownFormatError: a file of none of the known formats.
    """
    path = os.fspath(target)
    options = Options(limits, platform=platform).started()
    if path == STANDARD_INPUT:
        with open_input(path, limits) as view, _view_parts(view, options, report) as parts:
            yield parts
    elif is_image_folder(path):
        from fatbin.scanning.images.target import folder_parts  # noqa: PLC0415 - only images

        with closing(folder_parts(path, options, report)) as found:
            yield Parts(found)
    elif is_file(path):
        with open_view(path) as view, _view_parts(view, options, report) as parts:
            yield parts
    else:
        from fatbin.scanning.many import plan  # noqa: PLC0415 - a file needs less

        planned = plan(path, options)
        for issue in planned.issues:
            report(SourceError(issue.message, location=issue.location))
        with closing(_planned_parts(planned, options, report)) as found:
            yield Parts(found)


@contextmanager
def _view_parts(view: View, options: Options, report: Report) -> Iterator[Parts]:
    kind, _ = kind_and_format(view)
    with closing(any_parts(view, holder_of(view), options, report)) as parts:
        yield Parts(parts, view.size, single=not kind)


def _planned_parts(planned: Plan, options: Options, report: Report) -> Generator[Part, None, None]:
    """Yield the libraries of a list of files; one that cannot be read does not stop the rest."""
    for file in planned.files:
        owner = planned.distributions.get(file.path)
        try:
            with open_view(file.path) as view:
                holder = holder_of(view, member=True)
                if owner is not None:
                    holder = holder._replace(
                        distribution=owner.name, distribution_version=owner.version
                    )
                yield from any_parts(view, holder, options, report)
        except UnknownFormatError:
            continue  # absent is not broken
        except FatbinError as exc:
            exc.location = exc.location or file.path
            report(exc)
