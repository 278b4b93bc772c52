"""The names of the kernels that a file holds, and for which architectures."""

from __future__ import annotations

from fatbin.errors import FormatError, LimitExceededError
from fatbin.format.images import Ptx
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.scanner import Collector, open_parts, part_modules, read_host
from fatbin.survey.kernels import open_cubin
from fatbin.survey.payloads import payloads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.arch import Architecture
    from fatbin.inventory import Issue
    from fatbin.limits import Limits

    Names = dict[str, set[Architecture | None]]

_KINDS = frozenset(("sass", "ptx", "relocatable-ptx"))


def kernel_names(
    path: str, limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[str, Names, tuple[Issue, ...]]]:
    """Yield ``(location, architectures by kernel name, issues)`` of each library with device code.

    Every SASS and PTX image is inflated, one at a time. LTO-IR does not tell its kernels.

    Raises:
        SourceError: the file cannot be read.
        UnknownFormatError: the file is none of the known formats.
        MissingDependencyError: a PE file without LIEF.
    """
    with open_parts(path, report=Collector(path, limits), limits=limits) as parts:
        for part in parts:
            view = part.view
            collector = Collector(view.name, limits)
            names: Names = {}
            modules = []
            try:
                host = read_host(part, limits, collector)
                modules = list(part_modules(part, host, limits, collector))
            except (FormatError, LimitExceededError) as exc:
                collector(exc)
            for entry, data in payloads(view, modules, _KINDS, limits, collector):
                kernels: tuple[str, ...]
                if entry.kind == "sass":
                    cubin = open_cubin(view.name, entry, data, limits, collector)
                    kernels = cubin.kernel_names if cubin is not None else ()
                else:
                    kernels = Ptx(data).entries
                for name in kernels:
                    names.setdefault(name, set()).add(entry.arch)
            if modules:
                yield view.name, names, collector.issues
