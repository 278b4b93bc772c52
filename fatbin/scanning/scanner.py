"""The scanner: a path to an inventory, told by content and never by name."""

from __future__ import annotations

from fatbin._record import Record
from fatbin.errors import FormatError, LimitExceededError
from fatbin.inventory import Inventory, Issue, Library
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.aids import NO_AIDS
from fatbin.scanning.collector import Collector
from fatbin.scanning.parts import (
    file_parts,
    holder_of,
    kind_and_format,
    package_parts,
    part_modules,
    read_host,
)
from fatbin.scanning.source import STANDARD_INPUT, is_image_folder, open_input, open_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.inventory import Linkage, Module
    from fatbin.limits import Limits
    from fatbin.scanning.aids import Aids
    from fatbin.scanning.host import Host
    from fatbin.scanning.parts import Part
    from fatbin.scanning.spool import Budget


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

    def started(self) -> Options:
        """Return the options with the clock of the limits running."""
        limits = self.limits.started()
        return self if limits is self.limits else self._replace(limits=limits)


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
    options = options.started()
    if path == STANDARD_INPUT:
        with open_input(path, options.limits) as view:
            return scan_view(view, options, aids=aids)
    if is_image_folder(path):
        from fatbin.scanning.images.target import scan_folder  # noqa: PLC0415 - only images

        return scan_folder(path, options, aids)
    with open_view(path) as view:
        return scan_view(view, options, aids=aids)


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
    options = options.started()
    kind, form = kind_and_format(view)
    if kind and kind != "zip":
        from fatbin.scanning.images.target import scan_image  # noqa: PLC0415 - only for archives

        inventory = scan_image(view, kind, options, aids)
        if inventory is not None:
            return inventory
    collector = Collector(view.name, options.limits)
    libraries = []
    holder = holder_of(view, member=member)
    if kind:
        parts = package_parts(view, kind, holder, options, collector, budget, aids.watch)
    else:
        parts = file_parts(view, form, holder, options.limits, collector)
    for part in parts:
        library = library_of(part, options)
        if library is not None:
            libraries.append(library)
    return Inventory(libraries=tuple(libraries), issues=collector.issues, targets=(view.name,))


def library_of(part: Part, options: Options) -> Library | None:
    """Scan one library; one whose first header cannot be read has an issue and nothing else.

    Returns:
        The library; None for one of many that holds no device code.
    """
    holder = part.holder
    inside = not part.alone
    try:
        library = _library(part, options, member=inside)
    except (FormatError, LimitExceededError) as exc:
        library = Library(
            location=part.view.name,
            format=part.format,
            size=part.view.size,
            issues=(Issue.of(exc, part.view.name),),
        )
    if inside and not library.modules and not library.issues:
        return None
    if holder.distribution:
        return library._replace(
            distribution=holder.distribution, distribution_version=holder.distribution_version
        )
    return library


def _library(part: Part, options: Options, *, member: bool) -> Library:
    view = part.view
    limits = options.limits
    collector = Collector(view.name, limits)
    host = read_host(part, limits, collector)
    modules = list(part_modules(part, host, limits, collector))
    if options.verify or options.kernels:
        modules = _opened(view, modules, options, collector)
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


def _opened(view: View, modules: list[Module], options: Options, report: Report) -> list[Module]:
    """Open images of modules; those whose turn never comes stay as they are."""
    from fatbin.scanning.payloads import (  # noqa: PLC0415 - a listing opens none
        count_kernels,
        verify_module,
    )

    limits = options.limits
    opened: list[Module] = []
    for index, module in enumerate(modules):
        late = limits.late(view.name)
        if late is not None:
            report(late)
            return opened + modules[index:]
        if options.verify:
            opened.append(verify_module(view, module, limits, report))
        else:
            opened.append(count_kernels(view, module, limits))
    return opened


def _linkage(view: View, host: Host, limits: Limits, report: Report) -> Linkage | None:
    if not host.linked:
        return None
    from fatbin.scanning.linkage import LINKAGE_ERRORS, read_linkage  # noqa: PLC0415 - needs LIEF

    try:
        return read_linkage(view, host, limits)
    except LINKAGE_ERRORS as exc:
        report(exc)
        return None
