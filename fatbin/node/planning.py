"""What of a file is given to the driver, and what is expected of it."""

from __future__ import annotations

import os

from fatbin._record import Record
from fatbin.errors import FormatError, LimitExceededError, UnknownFormatError
from fatbin.judge.choice import Choice, How
from fatbin.kinds import Place
from fatbin.scanning.collector import Collector
from fatbin.scanning.parts import (
    file_parts,
    holder_of,
    kind_and_format,
    part_modules,
    read_host,
)
from fatbin.scanning.payloads import verify_module
from fatbin.scanning.source import open_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.errors import FatbinError
    from fatbin.format.view import View
    from fatbin.inventory import Issue, Module
    from fatbin.judge.loader import Loader
    from fatbin.limits import Limits

RELOCATABLE = "relocatable: input of a link, which crashes a driver that is given it"
DAMAGED = "damaged"
LTOIR = "LTO-IR, which the driver does not load"
COMPILED = "PTX that the driver would compile"


class SourceFile(Record):
    """A file that modules lie in.

    Attributes:
        path: to open.
        size: in bytes.
        modified: its time of modification in nanoseconds.
    """

    path: str
    size: int
    modified: int


class Item(Record):
    """One module and where its bytes are.

    Attributes:
        module: as the inventory has it.
        location: of its library.
        file: index in ``Plan.files``.
        start: of the library, in that file.
        size: of the library.
    """

    module: Module
    location: str
    file: int
    start: int
    size: int


class Plan(Record):
    """The modules of a file.

    Attributes:
        items: in the order of the file.
        files: that they lie in: the file itself, and the members of a thin archive.
        issues: what could not be read.
    """

    items: tuple[Item, ...]
    files: tuple[SourceFile, ...]
    issues: tuple[Issue, ...]


def plan(path: str, limits: Limits) -> Plan:
    """Read the headers of a file.

    Raises:
        SourceError: the file cannot be read.
        UnknownFormatError: the file is none of the known formats.
    """
    limits = limits.started()
    items: list[Item] = []
    files: dict[SourceFile, int] = {}
    report = Collector(path, limits)
    with open_view(path) as whole:
        kind, form = kind_and_format(whole)
        if kind:
            msg = "expected a single file, found a package: unpack it for this"
            raise UnknownFormatError(msg, location=path)
        for part in file_parts(whole, form, holder_of(whole), limits, report):
            view = part.view
            try:
                found = list(part_modules(part, read_host(part, limits, report), limits, report))
            except (FormatError, LimitExceededError) as exc:  # of this library; go on
                exc.location = exc.location or view.name
                report(exc)
                continue
            file = files.setdefault(_file_of(path, view), len(files))
            items += (
                Item(module, view.name, file, view.start, view.size)
                for module in sorted(found, key=lambda module: module.offset)
            )
    return Plan(tuple(items), tuple(files), report.issues)


def _file_of(path: str, view: View) -> SourceFile:
    """Return the file that a library is read from; members of thin archives are files."""
    status = os.fstat(view.descriptor)
    inner = view.name[len(path) :].removeprefix("::")
    if inner and not view.start and view.stop == status.st_size:
        path = os.path.join(os.path.dirname(path), inner)
    return SourceFile(path, status.st_size, status.st_mtime_ns)


def why_not(module: Module, choice: Choice, *, jit: bool) -> str:
    """Return why a module is not given to the driver; empty when it is."""
    relocatable = [entry.kind == "relocatable-ptx" for entry in module.entries]
    if module.place is Place.RELOCATABLE or (relocatable and all(relocatable)):
        return RELOCATABLE
    if module.form == "ltoir":
        return LTOIR
    if not module.whole:
        return DAMAGED
    if choice.how is not How.NATIVE and choice.serves and not jit:
        return COMPILED
    return ""


def predict_opened(
    item: Item, files: tuple[SourceFile, ...], loader: Loader, limits: Limits
) -> Choice:
    """Say what the driver should do with a module by its payloads too: some answers change."""
    told: list[FatbinError] = []  # entries that cannot be opened stay as their headers say
    with open_view(files[item.file].path) as outer:
        view = outer.window(item.start, item.size, item.location)
        view.origin = view.start
        module = verify_module(view, item.module, limits, told.append)
    return loader.choose(module)


def expected(choice: Choice) -> int:
    """Return the CUresult that loading should give; what comes late does not come then."""
    return 0 if choice.late else choice.code
