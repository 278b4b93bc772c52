"""The scanner: a path to an inventory, told by content and never by name."""

from __future__ import annotations

import os
from contextlib import contextmanager

from fatbin._record import Record
from fatbin.errors import (
    FormatError,
    LimitExceededError,
    SourceError,
    UnknownFormatError,
)
from fatbin.format.container import walk
from fatbin.format.cubin import read_cubin_head
from fatbin.format.ptx import read_ptx_head
from fatbin.inventory import Entry, Inventory, Issue, Library, Module
from fatbin.kinds import Place
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.aids import NO_AIDS
from fatbin.scanning.collector import Collector
from fatbin.scanning.elf import read_elf_host
from fatbin.scanning.embedded import Found
from fatbin.scanning.identify import PTX_HEAD_BYTES, identify
from fatbin.scanning.modules import (
    bare_module,
    container_module,
    host_modules,
)
from fatbin.scanning.source import STANDARD_INPUT, is_image_folder, open_input, open_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.inventory import Linkage
    from fatbin.limits import Limits
    from fatbin.scanning.aids import Aids
    from fatbin.scanning.host import Host
    from fatbin.scanning.packages import Distribution
    from fatbin.scanning.spool import Budget


class Part(Record):
    """One library of a file: the file itself, or a member of an archive."""

    view: View
    format: str


class Options(Record):
    """What a scan looks at, in a value that crosses to other processes.

    Attributes:
        limits: bounds on what a file may make this library do.
        linkage: also read how libraries hang together.
        kernels: also open the smallest image of each module.
        verify: also inflate every payload.
        platform: of container images, such as ``linux/arm64``; empty for the only one or
            ``linux/amd64``.
    """

    limits: Limits = DEFAULT_LIMITS
    linkage: bool = True
    kernels: bool = True
    verify: bool = False
    platform: str = ""


def scan_bytes(
    data: bytes,
    name: str = "<bytes>",
    *,
    limits: Limits = DEFAULT_LIMITS,
    kernels: bool = True,
    verify: bool = False,
) -> Inventory:
    """Read what device code some bytes hold, as :func:`scan` does for a file or package.

    Thin archives are not followed and no linkage is read.

    Raises:
        UnknownFormatError: the bytes are none of the known formats.
    """
    from fatbin.format.view import View  # noqa: PLC0415 - the name is a type only above

    return scan_view(
        View(data, name), Options(limits, linkage=False, kernels=kernels, verify=verify)
    )


def scan_file(path: str, options: Options, aids: Aids = NO_AIDS) -> Inventory:
    """Read what device code one file, package or image holds; see :func:`fatbin.scan`.

    Args:
        path: of the file, or of a folder that is an image layout; ``-`` is standard input.
        options: what is looked at.
        aids: what the result does not depend on.

    Raises:
        SourceError: the file cannot be read.
        UnknownFormatError: the file is none of the known formats.
        MissingDependencyError: a PE file without LIEF, or zstd packages without zstandard.
    """
    if path == STANDARD_INPUT:
        with open_input(path, options.limits) as view:
            return scan_view(view, options, aids=aids)
    if is_image_folder(path):
        from fatbin.scanning.images.target import scan_folder  # noqa: PLC0415 - only images

        return scan_folder(path, options, aids)
    with open_view(path) as view:
        return scan_view(view, options, aids=aids)


@contextmanager
def open_parts(
    path: str | os.PathLike[str],
    *,
    report: Report,
    limits: Limits = DEFAULT_LIMITS,
    packages: bool = False,
) -> Iterator[Iterator[Part]]:
    """Open a file and give its libraries as views; they end with the ``with`` block.

    Args:
        path: of the file.
        report: gets what cannot be read.
        limits: bounds on what the file may make this library do.
        packages: whether to look into packages, whose views end with the next one already.

    Raises:
        SourceError: the file cannot be read.
        UnknownFormatError: the file is none of the known formats, or a package unasked.
    """
    with open_view(os.fspath(path)) as view:
        kind, form = _kinds(view)
        if not kind:
            yield _parts(view, form, limits, report)
            return
        from fatbin.scanning.images.target import holds_image  # noqa: PLC0415 - only packages

        if packages and not holds_image(view, kind, limits):
            yield (part for part, _ in _package_parts(view, kind, Options(limits), report))
            return
        msg = "expected a single file, found a package: unpack it for this"
        raise UnknownFormatError(msg, location=view.name)


def _kinds(view: View) -> tuple[str, str]:
    """Return the kind of a package and no format, or no kind and the format of a file."""
    try:
        if view.peek(257, 5) != b"ustar":
            return "", identify(view)
    except UnknownFormatError:
        from fatbin.scanning.packages import package_kind  # noqa: PLC0415 - plain files need none

        kind = package_kind(view.peek(0, 512))
        if not kind:
            raise
        return kind, ""
    return "tar", ""


def scan_view(
    view: View,
    options: Options,
    *,
    member: bool = False,
    budget: Budget | None = None,
    aids: Aids = NO_AIDS,
) -> Inventory:
    """Read what device code a view holds: a file, a package, an image or a member of one.

    Args:
        view: of the whole file.
        options: what is looked at.
        member: whether it is one of many, and left out when it holds no device code.
        budget: of what it is a member of, where that has one.
        aids: what the result does not depend on.

    Raises:
        UnknownFormatError: none of the known formats.
        MissingDependencyError: a PE file without LIEF, or zstd packages without zstandard.
    """
    kind, form = _kinds(view)
    if kind and kind != "zip":
        from fatbin.scanning.images.target import scan_image  # noqa: PLC0415 - only for archives

        inventory = scan_image(view, kind, options, aids)
        if inventory is not None:
            return inventory
    collector = Collector(view.name, options.limits)
    libraries = []
    if kind:
        for part, distribution in _package_parts(view, kind, options, collector, budget, aids):
            library = _library_of(part, options, member=True)
            if library.modules or library.issues:
                name, version = distribution
                libraries.append(
                    library._replace(distribution=name, distribution_version=version)
                    if name
                    else library
                )
    else:
        for part in _parts(view, form, options.limits, collector):
            inside = member or form == "archive"
            library = _library_of(part, options, member=inside)
            if not inside or library.modules or library.issues:
                libraries.append(library)
    return Inventory(libraries=tuple(libraries), issues=collector.issues, targets=(view.name,))


def _package_parts(
    view: View,
    kind: str,
    options: Options,
    report: Report,
    budget: Budget | None = None,
    aids: Aids = NO_AIDS,
) -> Iterator[tuple[Part, Distribution]]:
    """Yield the libraries of a package with the distribution each belongs to."""
    from fatbin.scanning.packages import Walk, walk_package  # noqa: PLC0415 - plain files need none

    walk = Walk(options.limits, report, budget, verify=options.verify, watch=aids.watch)
    for found in walk_package(view, kind, walk):
        try:
            form = identify(found.view)
        except UnknownFormatError:
            continue
        for part in _parts(found.view, form, options.limits, report):
            yield part, found.distribution


def _library_of(part: Part, options: Options, *, member: bool) -> Library:
    """Scan one library; one whose first header cannot be read has an issue and nothing else."""
    try:
        return _library(part, options, member=member)
    except (FormatError, LimitExceededError) as exc:
        return Library(
            location=part.view.name,
            format=part.format,
            size=part.view.size,
            issues=(Issue.of(exc, part.view.name),),
        )


def _parts(view: View, form: str, limits: Limits, report: Report) -> Iterator[Part]:
    if form != "archive":
        yield Part(view, form)
        return
    from fatbin.scanning.archives import read_members  # noqa: PLC0415 - only archives need it

    for member in read_members(view, limits, report):
        name = f"{view.name}::{member.name}"
        if member.thin and not view.path:
            msg = "a thin archive that is no file of its own names other files; they are not opened"
            report(FormatError(msg, offset=member.offset, location=name))
            continue
        if member.thin:
            yield from _thin_part(view.path, member.name, name, report)
            continue
        inner = view.window(member.offset, member.size, name)
        inner.origin = inner.start  # a member is a library of its own
        yield from _member_part(inner)


def _member_part(view: View) -> Iterator[Part]:
    """Yield a member whose format is known; archives hold much else (import stubs, text)."""
    try:
        form = identify(view)
    except UnknownFormatError:
        return
    if form != "archive":
        yield Part(view, form)


def _thin_part(archive: str, member: str, name: str, report: Report) -> Iterator[Part]:
    path = os.path.join(os.path.dirname(archive), member)
    try:
        with open_view(path) as inner:
            inner.name = name
            yield from _member_part(inner)
    except (SourceError, UnknownFormatError) as exc:
        exc.location = name
        report(exc)


def _library(part: Part, options: Options, *, member: bool) -> Library:
    view = part.view
    limits = options.limits
    collector = Collector(view.name, limits)
    host = read_host(part, limits, collector)
    modules = list(part_modules(part, host, limits, collector))
    if options.verify:
        from fatbin.scanning.payloads import verify_module  # noqa: PLC0415 - a listing opens none

        modules = [verify_module(view, module, limits, collector) for module in modules]
    elif options.kernels:
        from fatbin.scanning.payloads import count_kernels  # noqa: PLC0415

        modules = [count_kernels(view, module, limits) for module in modules]
    modules.sort(key=lambda module: module.offset)
    links = None
    if options.linkage and host is not None and (modules or not member):
        links = _linkage(view, host, limits, collector)
    return Library(
        location=view.name,
        format=part.format,
        machine=host.machine if host is not None else "",
        size=view.size,
        modules=tuple(modules),
        issues=collector.issues,
        linkage=links,
    )


def read_host(part: Part, limits: Limits, report: Report) -> Host | None:
    """Read the tables of a host file; None for bare device code.

    Raises:
        FormatError: the first header is not usable.
        MissingDependencyError: a PE file without LIEF.
    """
    if part.format == "elf":
        return read_elf_host(part.view, limits, report)
    if part.format == "coff":
        from fatbin.scanning.coff import read_coff_host  # noqa: PLC0415 - only objects need it

        return read_coff_host(part.view, limits, report)
    if part.format == "pe":
        from fatbin.scanning.pe import read_pe_host  # noqa: PLC0415 - only PE files need LIEF

        return read_pe_host(part.view, report)
    return None


def part_modules(part: Part, host: Host | None, limits: Limits, report: Report) -> Iterator[Module]:
    """Yield the modules of one library as they are found.

    Raises:
        FormatError: a bare cubin that cannot be read at all.
    """
    view = part.view
    if host is not None:
        yield from host_modules(view, host, limits, report)
    elif part.format == "fatbin":
        for container in walk(view, limits=limits, report=report):
            yield container_module(view, container, Place.BARE, "", {}, limits, report)
    elif part.format == "cubin":
        yield bare_module(Found(0, view.size, read_cubin_head(view, limits)), Place.BARE)
    elif part.format == "ptx":
        head = read_ptx_head(view.peek(0, PTX_HEAD_BYTES))
        if head is not None:
            yield bare_module(Found(0, view.size, head), Place.BARE)
    else:
        entry = Entry(place=Place.BARE, kind="ltoir", stored_size=view.size, size=view.size)
        yield Module(place=Place.BARE, form="ltoir", size=view.size, entries=(entry,))


def _linkage(view: View, host: Host, limits: Limits, report: Report) -> Linkage | None:
    if not host.linked:
        return None
    from fatbin.scanning.linkage import LINKAGE_ERRORS, read_linkage  # noqa: PLC0415 - needs LIEF

    try:
        return read_linkage(view, host, limits)
    except LINKAGE_ERRORS as exc:
        report(exc)
        return None
