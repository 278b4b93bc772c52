"""The libraries of what was opened, one at a time, as views that others read.

A file is one library, or a static archive of several. Packages and images hold many files; each of
them is made readable when its turn comes and let go with the next step.
"""

from __future__ import annotations

import os

from fatbin._record import Record
from fatbin.errors import FormatError, SourceError, UnknownFormatError
from fatbin.format.container import walk
from fatbin.format.cubin import read_cubin_head
from fatbin.format.ptx import read_ptx_head
from fatbin.inventory import Entry, Module
from fatbin.kinds import Place
from fatbin.limits import Tally
from fatbin.scanning.elf import read_elf_host
from fatbin.scanning.embedded import Found
from fatbin.scanning.identify import PTX_HEAD_BYTES, identify
from fatbin.scanning.modules import bare_module, container_module, host_modules
from fatbin.scanning.source import open_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.limits import Limits
    from fatbin.scanning.aids import Watch
    from fatbin.scanning.archives import Members
    from fatbin.scanning.host import Host
    from fatbin.scanning.scanner import Options
    from fatbin.scanning.spool import Budget


class Holder(Record):
    """The file that libraries lie in: on disk, in a package, or in an image.

    Attributes:
        location: of the file.
        size: in bytes, inflated.
        packed: bytes that it takes in the package that holds it, or on disk; -1 where nothing
            tells, as in a compressed tar archive.
        member: whether it is one of many; False for a file that was asked for itself.
        distribution: that it belongs to; empty when not known.
        distribution_version: of that.
    """

    location: str
    size: int
    packed: int
    member: bool = False
    distribution: str = ""
    distribution_version: str = ""


class Part(Record):
    """One library: a file, or a member of a static archive.

    Attributes:
        view: its bytes.
        format: as :func:`fatbin.scanning.identify.identify` tells it.
        holder: the file that it is or lies in.
    """

    view: View
    format: str
    holder: Holder

    @property
    def alone(self) -> bool:
        """Whether it is what was asked for itself, and not one of many."""
        return self.view.name == self.holder.location and not self.holder.member

    @property
    def packed(self) -> int:
        """Bytes that it takes where it lies, or -1 where nothing tells."""
        holder = self.holder
        if self.view.name == holder.location:
            return holder.packed
        return self.view.size if holder.packed == holder.size else -1


def kind_and_format(view: View) -> tuple[str, str]:
    """Return the kind of a package and no format, or no kind and the format of a file.

    Raises:
        UnknownFormatError: it is neither.
    """
    tar = view.peek(257, 5) == b"ustar"
    if tar:
        from fatbin.scanning.tape import is_tar  # noqa: PLC0415 - plain files need none

        if is_tar(view.peek(0, 512)):
            return "tar", ""
    try:
        return "", identify(view)
    except UnknownFormatError:
        if tar:
            return "tar", ""  # with damage in its first header
        from fatbin.scanning.packages import package_kind  # noqa: PLC0415 - plain files need none

        kind = package_kind(view.peek(0, 512))
        if not kind:
            raise
        return kind, ""


def holder_of(view: View, *, member: bool = False) -> Holder:
    """Return the file that a view is all of."""
    return Holder(view.name, view.size, view.size, member)


def any_parts(
    view: View, holder: Holder, options: Options, report: Report, budget: Budget | None = None
) -> Generator[Part, None, None]:
    """Yield the libraries of a file, a package or an image; what cannot be read is reported.

    Args:
        view: of the whole file.
        holder: the file.
        options: limits, platform and whether to verify.
        report: gets what cannot be read.
        budget: of what it is a member of, where that has one.

    Raises:
        UnknownFormatError: none of the known formats; at the first step.
        SourceError: an image that is there for several platforms, and none of them was asked for.
        MissingDependencyError: zstd and nothing to inflate it.
    """
    options = options.started()
    kind, form = kind_and_format(view)
    if not kind:
        yield from file_parts(view, form, holder, options.limits, report)
        return
    if kind != "zip":
        from fatbin.scanning.images.target import image_parts  # noqa: PLC0415 - only for archives

        if (yield from image_parts(view, kind, options, report)):
            return
    yield from package_parts(view, kind, holder, options, report, budget)


def package_parts(
    view: View,
    kind: str,
    holder: Holder,
    options: Options,
    report: Report,
    budget: Budget | None = None,
    watch: Watch | None = None,
) -> Iterator[Part]:
    """Yield the libraries of a package, each valid until the next."""
    from fatbin.scanning.packages import (  # noqa: PLC0415 - plain files need none
        Distribution,
        Walk,
        walk_package,
    )

    walk = Walk(options.limits, report, budget, verify=options.verify, watch=watch)
    outer = Distribution(holder.distribution, holder.distribution_version)
    for found in walk_package(view, kind, walk, outer):
        try:
            form = identify(found.view)
        except UnknownFormatError:
            continue
        name, version = found.distribution
        inner = found.view
        holder = Holder(inner.name, inner.size, found.packed, True, name, version)  # noqa: FBT003
        yield from file_parts(inner, form, holder, options.limits, report)


def file_parts(
    view: View, form: str, holder: Holder, limits: Limits, report: Report
) -> Iterator[Part]:
    """Yield the libraries of a file: itself, or the members of a static archive."""
    if form != "archive":
        yield Part(view, form, holder)
        return
    from fatbin.scanning.archives import Members  # noqa: PLC0415 - only archives need it

    yield from _archive_parts(view, holder, Members(limits, report), report, 1)


def _archive_parts(
    view: View, holder: Holder, members: Members, report: Report, depth: int
) -> Iterator[Part]:
    for member in members.of(view):
        name = f"{view.name}::{member.name}"
        if member.thin and not view.path:
            msg = "a thin archive that is no file of its own names other files; they are not opened"
            report(FormatError(msg, offset=member.offset, location=name))
            continue
        if member.thin:
            yield from _thin_part(view.path, member.name, name, holder, report)
            continue
        inner = view.window(member.offset, member.size, name)
        inner.origin = inner.start  # a member is a library of its own
        form = _known_format(inner)
        if form == "archive":
            if members.deeper(depth, name):
                yield from _archive_parts(inner, holder, members, report, depth + 1)
        elif form:
            yield Part(inner, form, holder)


def _known_format(view: View) -> str:
    """Return the format of a member; empty for what else archives hold (import stubs, text)."""
    try:
        return identify(view)
    except UnknownFormatError:
        return ""


def _thin_part(
    archive: str, member: str, name: str, holder: Holder, report: Report
) -> Iterator[Part]:
    path = os.path.join(os.path.dirname(archive), member)
    try:
        with open_view(path) as inner:
            inner.name = name
            form = _known_format(inner)
            if form == "archive":
                msg = "an archive that a thin archive names; its members were not read"
                raise SourceError(msg, location=name)  # noqa: TRY301 - told as the others are
            if form:
                yield Part(inner, form, holder)
    except (SourceError, UnknownFormatError) as exc:
        exc.location = name
        report(exc)


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
        tally = Tally(limits)
        for container in walk(view, report=report, tally=tally):
            yield container_module(view, container, Place.BARE, "", {}, tally, report)
    elif part.format == "cubin":
        yield bare_module(Found(0, view.size, read_cubin_head(view, limits)), Place.BARE)
    elif part.format == "ptx":
        head = read_ptx_head(view.peek(0, PTX_HEAD_BYTES))
        if head is not None:
            yield bare_module(Found(0, view.size, head), Place.BARE)
    else:
        entry = Entry(place=Place.BARE, kind="ltoir", stored_size=view.size, size=view.size)
        yield Module(place=Place.BARE, form="ltoir", size=view.size, entries=(entry,))
