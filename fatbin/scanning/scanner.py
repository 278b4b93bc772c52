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
from fatbin.format.container import MAGIC, MAGIC_BEFORE_CUDA_6, walk
from fatbin.format.cubin import is_cubin, read_cubin_head
from fatbin.format.elf import ELF_MAGIC
from fatbin.format.ptx import read_ptx_head
from fatbin.inventory import Entry, Inventory, Issue, Library, Module
from fatbin.kinds import Place
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.collector import Collector
from fatbin.scanning.elf import read_elf_host
from fatbin.scanning.embedded import Found
from fatbin.scanning.host import (
    ARCHIVE_MAGIC,
    LTOIR_MAGIC,
    TAR_BLOCK,
    THIN_ARCHIVE_MAGIC,
    may_be_tar,
)
from fatbin.scanning.modules import (
    bare_module,
    container_module,
    host_modules,
)
from fatbin.scanning.source import STANDARD_INPUT, open_input, open_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.inventory import Linkage
    from fatbin.limits import Limits
    from fatbin.scanning.host import Host

_HEAD_BYTES = 65536
_KNOWN_OTHERS = (
    (b"PK\x03\x04", "a zip archive (wheel?)"),
    (b"BC\xc0\xde", "LLVM bitcode"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O file"),
    (b"\x1f\x8b", "gzip data"),
    (b"(\xb5/\xfd", "zstd data"),
)


class Part(Record):
    """One library of a file: the file itself, or a member of an archive."""

    view: View
    format: str


def scan(
    path: str | os.PathLike[str],
    *,
    limits: Limits = DEFAULT_LIMITS,
    linkage: bool = True,
    kernels: bool = True,
    verify: bool = False,
    platform: str = "",
) -> Inventory:
    """Read what device code a file or container image holds.

    The format is told by content: ELF, PE, COFF, static archive, bare fatbin, cubin, PTX, LTO-IR;
    images as ``docker save`` writes them, and OCI layouts as a folder or as a tar archive.
    Only headers are read, and the parts of a host file where embedded device code can be.

    Args:
        path: of the file or folder; ``-`` is standard input.
        limits: bounds on what the file may make this function do.
        linkage: also read soname, needed libraries, CUDA runtime and version (imports LIEF).
        kernels: also open the smallest image of each module, so that modules without any kernel
            can be told (:attr:`Entry.kernels`).
        verify: also inflate every payload, check its size, and take from images what only they
            tell: toolkit, relocatable or not, kernels, missing functions. Of container images the
            digests of layers and documents are compared too.
        platform: of an image for several, such as ``linux/arm64``; without it the only one, or
            ``linux/amd64``.

    Returns:
        One library for a file, one for each member of an archive or image that holds device code or
        could not be read. Damage inside is in their ``issues``; what was whole is kept.

    Raises:
        SourceError: the file cannot be read.
        UnknownFormatError: the file is none of these formats.
        MissingDependencyError: a PE file without LIEF.
    """
    location = os.fspath(path)

    def examine(view: View) -> Inventory:
        return _scan_view(view, limits, linkage=linkage, kernels=kernels, verify=verify, quiet=True)

    if os.path.isfile(os.path.join(location, "oci-layout")):
        from fatbin.scanning.images.target import scan_folder  # noqa: PLC0415 - only images

        return scan_folder(location, examine, limits, platform=platform, verify=verify)
    with (
        open_input(location, limits) if location == STANDARD_INPUT else open_view(location) as view
    ):
        if may_be_tar(view.peek(0, TAR_BLOCK)):
            from fatbin.scanning.images.target import scan_archive  # noqa: PLC0415 - only images

            return scan_archive(view, examine, limits, platform=platform, verify=verify)
        return _scan_view(view, limits, linkage=linkage, kernels=kernels, verify=verify)


def scan_bytes(
    data: bytes,
    name: str = "<bytes>",
    *,
    limits: Limits = DEFAULT_LIMITS,
    kernels: bool = True,
    verify: bool = False,
) -> Inventory:
    """Read what device code some bytes hold, as :func:`scan` does for a file.

    Thin archives are not followed and no linkage is read.

    Raises:
        UnknownFormatError: the bytes are none of the known formats.
    """
    from fatbin.format.view import View  # noqa: PLC0415 - the name is a type only above

    return _scan_view(View(data, name), limits, linkage=False, kernels=kernels, verify=verify)


@contextmanager
def open_parts(
    path: str | os.PathLike[str],
    *,
    report: Report,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Iterator[Part]]:
    """Open a file and give its libraries as views; they end with the ``with`` block.

    Raises:
        SourceError: the file cannot be read.
        UnknownFormatError: the file is none of the known formats.
    """
    with open_view(os.fspath(path)) as view:
        yield _parts(view, identify(view), limits, report)


def identify(view: View) -> str:  # noqa: PLR0911 - one answer a format
    """Tell the format of a file by its first bytes.

    Returns:
        ``elf``, ``pe``, ``coff``, ``archive``, ``fatbin``, ``cubin``, ``ptx`` or ``ltoir``.

    Raises:
        UnknownFormatError: none of these.
    """
    head = view.peek(0, 64)
    if is_cubin(head):
        return "cubin"
    if head[:4] == ELF_MAGIC:
        return "elf"
    if head[:8] in (ARCHIVE_MAGIC, THIN_ARCHIVE_MAGIC):
        return "archive"
    magic = int.from_bytes(head[:4], "little")
    if magic in (MAGIC, MAGIC_BEFORE_CUDA_6):
        return "fatbin"
    if head[:4] == LTOIR_MAGIC:
        return "ltoir"
    if head[:2] == b"MZ":
        return "pe"
    from fatbin.scanning.coff import is_coff  # noqa: PLC0415 - only here and for objects

    if is_coff(view):
        return "coff"
    if read_ptx_head(view.peek(0, _HEAD_BYTES)) is not None:
        return "ptx"
    raise UnknownFormatError(
        "expected an ELF, PE or COFF file, an archive, a fatbin, a cubin, PTX or LTO-IR, "
        f"found {_guess(head)}",
        location=view.name,
    )


def _scan_view(
    view: View,
    limits: Limits,
    *,
    linkage: bool,
    kernels: bool,
    verify: bool,
    quiet: bool = False,
) -> Inventory:
    """Scan a file; a quiet scan leaves out libraries of which there is nothing to say."""
    form = identify(view)
    collector = Collector(view.name, limits)
    libraries = []
    for part in _parts(view, form, limits, collector):
        try:
            library = _library(
                part, limits, linkage=linkage, kernels=kernels, verify=verify, quiet=quiet
            )
        except (FormatError, LimitExceededError) as exc:
            library = Library(
                location=part.view.name,
                format=part.format,
                size=part.view.size,
                issues=(Issue.of(exc, part.view.name),),
            )
        if library.modules or library.issues or not (quiet or form == "archive"):
            libraries.append(library)
    return Inventory(libraries=tuple(libraries), issues=collector.issues, targets=(view.name,))


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


def _library(
    part: Part, limits: Limits, *, linkage: bool, kernels: bool, verify: bool, quiet: bool
) -> Library:
    view = part.view
    collector = Collector(view.name, limits)
    host = read_host(part, limits, collector)
    modules = list(part_modules(part, host, limits, collector))
    if verify:
        from fatbin.scanning.payloads import verify_module  # noqa: PLC0415 - a listing opens none

        modules = [verify_module(view, module, limits, collector) for module in modules]
    elif kernels:
        from fatbin.scanning.payloads import count_kernels  # noqa: PLC0415

        modules = [count_kernels(view, module, limits) for module in modules]
    modules.sort(key=lambda module: module.offset)
    linkage = linkage and bool(modules or not quiet)
    links = _linkage(view, host, limits, collector) if linkage and host is not None else None
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
        head = read_ptx_head(view.peek(0, _HEAD_BYTES))
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


def _guess(head: bytes) -> str:
    for magic, what in _KNOWN_OTHERS:
        if head.startswith(magic):
            return what
    try:
        head.decode()
    except UnicodeDecodeError as exc:
        if exc.start < len(head) - 4:
            return f"bytes {head[:8].hex(' ')}"
    if b"\0" in head:
        return f"bytes {head[:8].hex(' ')}"
    return "text"
