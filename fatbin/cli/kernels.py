"""``kernels``: what is inside the images."""

from __future__ import annotations

import sys

from fatbin.cli import exits, limits
from fatbin.cli.tell import PLATFORM_HELP, TARGET_HELP, tell
from fatbin.errors import ArchitectureError, FatbinError, MissingDependencyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from fatbin.inventory import Entry, Issue
    from fatbin.survey.kernels import KernelRow

SORTS = ("file", "name", "arch", "registers", "shared", "stack", "code")


def configure_kernels(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``kernels``."""
    parser.add_argument("files", nargs="+", metavar="TARGET", help=TARGET_HELP)
    parser.add_argument(
        "--kernel",
        action="append",
        metavar="GLOB",
        help="only kernels whose name matches, demangled too with --demangle; can be repeated",
    )
    parser.add_argument(
        "--arch", metavar="LIST", help="only these architectures: sm_90a,sm_120 or compute_90"
    )
    parser.add_argument(
        "--missing",
        metavar="ARCH",
        help="the kernels that have SASS for other architectures but not for this one",
    )
    parser.add_argument(
        "--kind", choices=("sass", "ptx", "all"), default="sass", help="of images (default sass)"
    )
    parser.add_argument(
        "--functions", action="store_true", help="also device functions that are no kernels"
    )
    parser.add_argument(
        "--relocatable",
        action="store_true",
        help="also images that must be linked first, where there are finished ones",
    )
    parser.add_argument("--demangle", action="store_true", help="C++ names as in the source")
    parser.add_argument(
        "--sort",
        choices=SORTS,
        default="file",
        help="order of the rows; numbers largest first (default: as in the file)",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="the first N rows")
    limits.add_option(parser.add_argument)
    parser.add_argument("--platform", default="", metavar="OS/ARCH", help=PLATFORM_HELP)
    parser.add_argument(
        "--format",
        choices=("text", "json", "csv"),
        default="text",
        help="text (default), or everything as JSON or comma-separated values",
    )


def run_kernels(arguments: argparse.Namespace) -> int:
    """Write the kernels of each target."""
    from fatbin.inventory import Issue  # noqa: PLC0415 - usage errors need none of it
    from fatbin.report import kernels as report  # noqa: PLC0415

    issues: list[Issue] = []
    demangle = _demangler() if arguments.demangle else str
    rows = _selected(arguments, demangle, lambda error: issues.append(Issue.of(error)))
    if arguments.missing:
        count = _write_missing(arguments, rows, demangle)
    else:
        rows = _ordered(rows, arguments.sort, demangle)
        count = report.write(
            sys.stdout, _first(rows, arguments.limit), arguments.format, demangle, issues
        )
    for issue in issues:
        tell(issue)
    if issues:
        return exits.ERROR
    if not count and not arguments.missing:
        tell(f"no such kernel in {', '.join(arguments.files)}")
        return exits.NOTHING
    return exits.PASS


def _selected(
    arguments: argparse.Namespace,
    demangle: Callable[[str], str],
    report: Callable[[FatbinError], None],
) -> Iterator[KernelRow]:
    """Yield the rows that the options ask for, target by target."""
    from fnmatch import fnmatchcase  # noqa: PLC0415

    from fatbin.survey.kernels import kernels  # noqa: PLC0415

    wanted = _entry_filter(arguments)
    globs = arguments.kernel or []
    for path in arguments.files:
        rows = kernels(
            path,
            wanted=wanted,
            functions=arguments.functions,
            relocatable=arguments.relocatable,
            limits=limits.limits_of(arguments),
            report=report,
            platform=arguments.platform,
        )
        try:
            for row in rows:
                name = row.kernel.name
                if not globs or any(
                    fnmatchcase(name, glob) or fnmatchcase(demangle(name), glob) for glob in globs
                ):
                    yield row
        except FatbinError as exc:
            report(exc)


def _entry_filter(arguments: argparse.Namespace) -> Callable[[Entry], bool]:
    from fatbin.arch import Architecture  # noqa: PLC0415

    archs = set(Architecture.parse_list(arguments.arch)) if arguments.arch else None
    if arguments.arch and not archs:
        msg = f"expected architectures such as sm_90a,sm_120, found {arguments.arch!r}"
        raise ArchitectureError(msg)
    kinds = {
        "sass": ("sass",),
        "ptx": ("ptx", "relocatable-ptx"),
        "all": ("sass", "ptx", "relocatable-ptx"),
    }[arguments.kind]
    if archs and all(arch.virtual for arch in archs):
        kinds = ("ptx", "relocatable-ptx")  # --arch compute_90 needs no --kind ptx

    def wanted(entry: Entry) -> bool:
        return entry.kind in kinds and (archs is None or entry.arch in archs)

    return wanted


def _write_missing(
    arguments: argparse.Namespace, rows: Iterable[KernelRow], demangle: Callable[[str], str]
) -> int:
    from fatbin.arch import Architecture, ComputeCapability  # noqa: PLC0415
    from fatbin.report import kernels as report  # noqa: PLC0415
    from fatbin.survey.kernels import missing  # noqa: PLC0415

    text = arguments.missing
    try:
        number = Architecture.parse(text).number
    except ArchitectureError:
        number = ComputeCapability.parse(text).sm
    found = missing(rows, number)[: arguments.limit]
    return report.write_missing(sys.stdout, found, f"sm_{number}", arguments.format, demangle)


def _ordered(
    rows: Iterator[KernelRow], sort: str, demangle: Callable[[str], str]
) -> Iterator[KernelRow]:
    if sort == "file":
        return rows
    keys: dict[str, Callable[[KernelRow], object]] = {
        "name": lambda row: (
            demangle(row.kernel.name),
            row.kernel.arch is not None,
            row.kernel.arch,
        ),
        "arch": lambda row: (row.kernel.arch is not None, row.kernel.arch, row.kernel.name),
        "registers": lambda row: -row.kernel.registers,
        "shared": lambda row: -row.kernel.shared,
        "stack": lambda row: -row.kernel.stack,
        "code": lambda row: -row.kernel.code_size,
    }
    return iter(sorted(rows, key=keys[sort]))  # type: ignore[arg-type]


def _first(rows: Iterator[KernelRow], limit: int | None) -> Iterator[KernelRow]:
    from itertools import islice  # noqa: PLC0415

    return rows if limit is None else islice(rows, max(0, limit))


def _demangler() -> Callable[[str], str]:
    """Return a function from mangled to source names; what is not mangled stays as it is."""
    try:
        from pydemumble import demangle  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as exc:
        msg = "names cannot be demangled without pydemumble"
        raise MissingDependencyError(msg, requirement="'fatbin[demangle]'") from exc
    from functools import lru_cache  # noqa: PLC0415

    @lru_cache(maxsize=65536)
    def name(mangled: str) -> str:
        return str(demangle(mangled)) or mangled

    return name
