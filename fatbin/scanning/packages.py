"""Packages: wheels, zips, conda packages and tar archives, and those within them, member by member.

What is no device code and no package is passed over after its first bytes. What cannot be read is
reported with its location, and the rest goes on; only what all of a target may cost ends a walk.
"""

from __future__ import annotations

import re
from contextlib import ExitStack, closing

from fatbin._record import Record
from fatbin.errors import (
    FatbinError,
    LimitExceededError,
    MissingDependencyError,
    SourceError,
    UnknownFormatError,
)
from fatbin.format.view import View
from fatbin.scanning.holes import filled
from fatbin.scanning.host import ZIP_MAGICS
from fatbin.scanning.identify import PTX_HEAD_BYTES
from fatbin.scanning.spool import (
    HEAD_BYTES,
    Budget,
    may_be_text,
    read_head,
    spooled_view,
    worth_reading,
)
from fatbin.scanning.streams import (
    WORTH_A_THREAD,
    Rest,
    ViewStream,
    compression_by_magic,
    inflated,
)
from fatbin.scanning.tape import is_tar
from fatbin.scanning.tars import read_tar
from fatbin.scanning.zip_content import check_stored, content, opened_early, opened_members
from fatbin.scanning.zips import read_zip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fatbin.errors import Report
    from fatbin.limits import Limits
    from fatbin.scanning.aids import Watch
    from fatbin.scanning.spool import Stream
    from fatbin.scanning.tars import TarMember
    from fatbin.scanning.zip_content import Opened
    from fatbin.scanning.zips import ZipMember

_WHOLE = frozenset(("archive_bytes", "archive_members", "seconds"))
_TAR_NAME = re.compile(
    r"\.(?:tar(?:\.(?:gz|bz2|xz|zst))?|tgz|tbz2?|txz|tzst|conda)$", re.IGNORECASE
)
_CHUNK = 1 << 20
_EARLY = 64
"""Members that are opened before their turn; what is read of each is bounded too."""
_METADATA_BYTES = 65536
_METADATA = re.compile(r"[^/]+\.dist-info/METADATA")
_FIELD = r"^{}:[ \t]*(\S[^\r\n]*?)[ \t]*\r?$"


class Distribution(Record):
    """What a package manager calls a package.

    Attributes:
        name: such as ``nvidia-nccl-cu12``; empty when not known.
        version: such as ``2.26.2``.
    """

    name: str = ""
    version: str = ""


NO_DISTRIBUTION = Distribution()


class Found(Record):
    """A member that can hold device code.

    Attributes:
        view: its bytes; they end with the next step of the walk.
        distribution: of the innermost package that tells.
        packed: bytes that it takes in the package that holds it; -1 where nothing tells.
    """

    view: View
    distribution: Distribution
    packed: int


class Walk:
    """What all packages that are nested in one target share.

    Attributes:
        limits: what they may cost.
        report: gets what cannot be read.
        budget: what they have cost.
        verify: also check the CRC of members that are read in place.
        watch: hears which member of the target itself is read, and where it ends.
    """

    __slots__ = ("budget", "limits", "report", "verify", "watch")

    def __init__(
        self,
        limits: Limits,
        report: Report,
        budget: Budget | None = None,
        *,
        verify: bool = False,
        watch: Watch | None = None,
    ) -> None:
        """Begin with nothing spent, or with the budget of what holds the packages."""
        self.limits: Limits = limits
        self.report: Report = report
        self.budget: Budget = budget or Budget(limits)
        self.verify: bool = verify
        self.watch: Watch | None = watch


def package_kind(head: bytes, name: str = "") -> str:
    """Tell a package by its first bytes: ``zip``, ``tar``, a compression, or empty.

    Args:
        head: at least 512 bytes, or all there are.
        name: of a member; compressed ones are packages only when they are called so, since many
            files are compressed and few of them are archives. Empty for what was asked for itself.
    """
    if head[:4] in ZIP_MAGICS:
        return "zip"
    if is_tar(head):
        return "tar"
    if not name or _TAR_NAME.search(name):
        return compression_by_magic(head)
    return ""


def walk_package(
    view: View, kind: str, walk: Walk, outer: Distribution = NO_DISTRIBUTION
) -> Iterator[Found]:
    """Yield what can hold device code in a package, and in the packages within it.

    What ends the walk is reported too.

    Args:
        view: of the package.
        kind: as :func:`package_kind` tells it.
        walk: limits, and who is told.
        outer: what the package belongs to, where it does not tell itself.

    Raises:
        UnknownFormatError: a compressed file that holds no tar archive.
        MissingDependencyError: zstd before Python 3.14 without zstandard.
    """
    try:
        if kind == "zip":
            yield from _zip(view, walk, 1, outer)
        else:
            yield from _tar(ViewStream(view), kind, view.name, walk, 1, outer)
    except (UnknownFormatError, MissingDependencyError):
        raise
    except FatbinError as exc:
        exc.location = exc.location or view.name
        walk.report(exc)


def _zip(view: View, walk: Walk, depth: int, outer: Distribution) -> Iterator[Found]:
    members: Iterable[ZipMember] = read_zip(view, walk.limits, walk.report)
    distribution = None
    if view.name.endswith(".whl"):
        members = list(members)
        distribution = _of_wheel(view, members)
    distribution = distribution or _of_name(view.name) or outer
    with ExitStack() as stack:
        opened: Iterator[Opened] = opened_members(view, members)
        if isinstance(members, list) and view.size >= WORTH_A_THREAD:
            from fatbin.scanning.ahead import Ahead  # noqa: PLC0415 - small wheels need no thread

            opened = stack.enter_context(closing(Ahead(opened_early(view, members), _EARLY)))
        yield from _members(opened, view.name, walk, depth, distribution)


def _members(
    opened: Iterator[Opened], location: str, walk: Walk, depth: int, distribution: Distribution
) -> Iterator[Found]:
    for member, source in opened:
        name = f"{location}::{member.name}"
        walk.budget.member(name)
        if depth == 1 and walk.watch is not None:
            walk.watch(name, member.end)
        try:
            if isinstance(source, FatbinError):
                raise source
            if isinstance(source, View):
                yield from _in_place(source, member, walk, depth, distribution)
            else:
                yield from _streamed(source, name, walk, depth, distribution, member.stored)
        except FatbinError as exc:
            _tell(exc, name, walk)


def _tar(
    stream: Stream, kind: str, name: str, walk: Walk, depth: int, outer: Distribution
) -> Iterator[Found]:
    source = stream
    if kind != "tar":
        stream = inflated(stream, kind, name, walk.limits)
        head = read_head(stream, name)
        if not head:
            msg = f"{kind} data that inflates to nothing: cut off, or empty"
            raise SourceError(msg, location=name)
        if not is_tar(head):
            msg = f"expected a tar archive in {kind} data, found something else"
            raise UnknownFormatError(msg, location=name)
        stream = Rest(head, stream)
    distribution = _of_name(name) or outer
    watch = walk.watch if depth == 1 else None
    for member in read_tar(stream, name, walk.budget, walk.report):
        location = f"{name}::{member.name}"
        if watch is not None and isinstance(source, ViewStream):
            watch(location, source.position)
        try:
            yield from _tar_member(member, location, walk, depth, distribution)
        except FatbinError as exc:
            _tell(exc, location, walk)
    if kind != "tar":
        while rest := stream.read(_CHUNK):  # the checksum stands at the end
            walk.budget.spend(len(rest), name)


def _tar_member(
    member: TarMember, location: str, walk: Walk, depth: int, distribution: Distribution
) -> Iterator[Found]:
    if member.holes is not None:
        stream = filled(member.content, member.holes, member.size, location)
        yield from _streamed(stream, location, walk, depth, distribution, member.size)
        return
    view = member.content.take(location)
    if view is not None:
        yield from _in_place(view, None, walk, depth, distribution)
    else:
        yield from _streamed(member.content, location, walk, depth, distribution, -1)


def _tell(error: FatbinError, location: str, walk: Walk) -> None:
    """Report an error of one member; what counts for the target as a whole is raised again."""
    if isinstance(error, LimitExceededError) and error.limit in _WHOLE:
        raise error
    if isinstance(error, UnknownFormatError):
        return  # absent is not broken
    error.location = error.location or location
    walk.report(error)


def _in_place(
    view: View, member: ZipMember | None, walk: Walk, depth: int, distribution: Distribution
) -> Iterator[Found]:
    head = view.peek(0, HEAD_BYTES)
    kind = package_kind(head, view.name)
    if not kind:
        if len(head) == HEAD_BYTES and may_be_text(head):
            head = view.peek(0, PTX_HEAD_BYTES)
        if not worth_reading(head):
            return
    if member is not None and walk.verify:
        check_stored(view, member)
    if not kind:
        yield Found(view, distribution, view.size)
        return
    _check_depth(depth, view.name, walk)
    if kind == "zip":
        yield from _zip(view, walk, depth + 1, distribution)
    else:
        yield from _tar(ViewStream(view), kind, view.name, walk, depth + 1, distribution)


def _streamed(
    stream: Stream, name: str, walk: Walk, depth: int, distribution: Distribution, stored: int
) -> Iterator[Found]:
    head = read_head(stream, name)
    walk.budget.spend(len(head), name)
    kind = package_kind(head, name)
    if not kind and not worth_reading(head):
        return
    if kind:
        _check_depth(depth, name, walk)
    if kind not in ("", "zip"):
        yield from _tar(Rest(head, stream), kind, name, walk, depth + 1, distribution)
        return
    with spooled_view(
        stream, name, limits=walk.limits, head=head, stored=stored, budget=walk.budget
    ) as view:
        if kind:
            yield from _zip(view, walk, depth + 1, distribution)
        else:
            yield Found(view, distribution, stored)


def _check_depth(depth: int, name: str, walk: Walk) -> None:
    error = walk.limits.too_deep(depth, name)
    if error is not None:
        raise error


def _of_wheel(view: View, members: list[ZipMember]) -> Distribution | None:
    """Return what the metadata of a wheel says."""
    for member in members:
        if _METADATA.fullmatch(member.name):
            try:
                source = content(view, member, view.name)
                if isinstance(source, View):
                    source = ViewStream(source)
                return distribution_of_metadata(source.read(_METADATA_BYTES))
            except FatbinError:
                return None  # told when the member comes round, or never asked for
    return None


def distribution_of_metadata(data: bytes) -> Distribution | None:
    """Return name and version of a METADATA or PKG-INFO file; None when it lacks one."""
    text = data.decode("utf-8", "backslashreplace").split("\n\n", 1)[0]
    found = [re.search(_FIELD.format(field), text, re.MULTILINE) for field in ("Name", "Version")]
    name, version = (match[1] if match else "" for match in found)
    return Distribution(name, version) if name and version else None


def _of_name(location: str) -> Distribution | None:
    """Return what the name of a package file says, by the rules of its kind."""
    name = re.split(r"::|[/\\]", location)[-1]
    if name.endswith(".whl"):
        parts = name.split("-")
        if len(parts) >= 5:  # noqa: PLR2004 - name, version, maybe a build, three tags
            return Distribution(parts[0].replace("_", "-"), parts[1])
    for suffix in (".conda", ".tar.bz2"):
        parts = name.removesuffix(suffix).rsplit("-", 2)
        if name.endswith(suffix) and len(parts) == 3:  # noqa: PLR2004 - name, version, build
            return Distribution(parts[0], parts[1])
    match = re.fullmatch(r"(.+)-(\d[^-]*)(?:\.tar\.gz|\.zip)", name)
    return Distribution(match[1], match[2]) if match else None
