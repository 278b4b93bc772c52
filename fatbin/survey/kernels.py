"""The kernels of a target, one image in memory at a time."""

from __future__ import annotations

from fatbin._record import Record
from fatbin.errors import FatbinError, raise_error
from fatbin.format.images import Cubin, Ptx
from fatbin.kernel import Kernel
from fatbin.kinds import Place
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.opened import OpenFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from fatbin.arch import Architecture
    from fatbin.errors import Report
    from fatbin.inventory import Entry
    from fatbin.limits import Limits
    from fatbin.scanning.opened import OpenEntry, OpenLibrary

PTX_KINDS = ("ptx", "relocatable-ptx")


class KernelRow(Record):
    """A kernel and where it was found.

    Attributes:
        location: of the library.
        place: where its image was found.
        kind: of the image: ``sass`` or ``ptx``.
        offset: of the image's entry in the library.
        kernel: the kernel; of a PTX text only its name and architecture are known.
    """

    location: str
    place: Place
    kind: str
    offset: int
    kernel: Kernel


def kernels(
    target: str | os.PathLike[str],
    *,
    wanted: Callable[[Entry], bool] | None = None,
    functions: bool = False,
    relocatable: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    report: Report | None = None,
    platform: str = "",
) -> Iterator[KernelRow]:
    """Yield the kernels of each image of a target, in the order of its files.

    Args:
        target: a file, package, image, folder or environment, as for :func:`fatbin.scan`.
        wanted: tells by an entry whether its image is opened; without it every cubin is.
        functions: also device functions.
        relocatable: also images that must be linked first, where a library has finished ones too.
        limits: bounds on what the file may make this function do.
        report: gets an error for each image that cannot be read; without it the first is raised.
        platform: of a container image that is there for several.

    Raises:
        SourceError: the target cannot be read.
        UnknownFormatError: the target is none of the known formats.
        FatbinError: damage, when no ``report`` is given.
    """
    with OpenFile(target, limits, report or raise_error, platform) as file:
        for library in file.libraries():
            for entry in _images(library, wanted or _is_sass, relocatable=relocatable):
                yield from _rows(library.location, entry, functions=functions, report=report)


def _is_sass(entry: Entry) -> bool:
    return entry.kind == "sass"


def _images(
    library: OpenLibrary, wanted: Callable[[Entry], bool], *, relocatable: bool
) -> Iterator[OpenEntry]:
    """Yield the entries to open; relocatable ones only where asked for or nothing else is there."""
    entries = [entry for container in library.containers for entry in container.entries]
    finished = any(entry.facts.place is not Place.RELOCATABLE for entry in entries)
    for entry in entries:
        if entry.facts.place is Place.RELOCATABLE and finished and not relocatable:
            continue
        if wanted(entry.facts):
            yield entry


def _rows(
    location: str, entry: OpenEntry, *, functions: bool, report: Report | None
) -> Iterator[KernelRow]:
    facts = entry.facts
    try:
        image = entry.image(report)
        found: Iterable[Kernel] = ()
        if isinstance(image, Cubin):
            # The entry says more of the variant than the image: it carries the f.
            arch = facts.arch or image.arch
            found = (k._replace(arch=arch) for k in image.functions if functions or k.entry)
        elif isinstance(image, Ptx):
            arch = facts.arch or image.arch
            found = (Kernel(name=name, entry=True, arch=arch) for name in image.entries)
        kind = "ptx" if facts.kind in PTX_KINDS else facts.kind
        for kernel in found:
            yield KernelRow(location, facts.place, kind, facts.offset, kernel)
    except FatbinError as exc:
        if report is None:
            raise
        exc.location = exc.location or location
        report(exc)


def missing(rows: Iterable[KernelRow], number: int) -> list[tuple[str, tuple[str, ...]]]:
    """Return the kernels that have SASS for other architectures but none of an SM number.

    Args:
        rows: kernels of cubins.
        number: SM number, such as 120; any variant of it counts as there.

    Returns:
        ``(name, architectures that have it)``, by name.
    """
    found: dict[str, set[Architecture]] = {}
    there = set()
    for row in rows:
        arch = row.kernel.arch
        if row.kind != "sass" or arch is None:
            continue
        if arch.number == number:
            there.add(row.kernel.name)
        else:
            found.setdefault(row.kernel.name, set()).add(arch)
    return [
        (name, tuple(map(str, sorted(archs))))
        for name, archs in sorted(found.items())
        if name not in there
    ]
