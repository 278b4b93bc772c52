"""The names of the kernels that a library holds, and for which architectures."""

from __future__ import annotations

from fatbin.format.images import Ptx
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.collector import Collector
from fatbin.survey.kernel_sizes import open_cubin
from fatbin.survey.payloads import each_payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fatbin.arch import Architecture
    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.inventory import Entry, Issue, Module
    from fatbin.limits import Limits
    from fatbin.scanning.parts import Part

    Names = dict[str, set[Architecture | None]]

_KINDS = frozenset(("sass", "ptx", "relocatable-ptx"))


def kernel_names(
    part: Part, modules: Iterable[Module], limits: Limits = DEFAULT_LIMITS
) -> tuple[Names, tuple[Issue, ...]]:
    """Return the architectures of an open library by kernel name, and what could not be read.

    Every SASS and PTX image is inflated, one at a time. LTO-IR does not tell its kernels.
    """
    collector = Collector(part.view.name, limits)
    return _names(part.view, modules, limits, collector), collector.issues


def _names(view: View, modules: Iterable[Module], limits: Limits, report: Report) -> Names:
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
