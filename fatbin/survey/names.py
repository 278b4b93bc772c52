"""The names of the kernels that a file holds, and for which architectures."""

from __future__ import annotations

from fatbin.errors import FormatError, LimitExceededError
from fatbin.format.images import Ptx
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.collector import Collector
from fatbin.scanning.scanner import open_parts, part_modules, read_host
from fatbin.survey.kernel_sizes import open_cubin
from fatbin.survey.payloads import each_payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.arch import Architecture
    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.inventory import Entry, Issue, Module
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
    with open_parts(path, report=Collector(path, limits), limits=limits, packages=True) as parts:
        for part in parts:
            collector = Collector(part.view.name, limits)
            modules = []
            try:
                host = read_host(part, limits, collector)
                modules = list(part_modules(part, host, limits, collector))
            except (FormatError, LimitExceededError) as exc:
                collector(exc)
            if modules:
                names = _names(part.view, modules, limits, collector)
                yield part.view.name, names, collector.issues


def _names(view: View, modules: list[Module], limits: Limits, report: Report) -> Names:
    names: Names = {}

    def add(entry: Entry, data: bytes | bytearray) -> None:
        kernels: tuple[str, ...] = ()
        if entry.kind != "sass":
            kernels = Ptx(data).entries
        elif cubin := open_cubin(view.name, entry, data, limits, report):
            kernels = cubin.kernel_names
        for name in kernels:
            names.setdefault(name, set()).add(entry.arch)

    each_payload(view, modules, _KINDS, limits, report, add)
    return names
