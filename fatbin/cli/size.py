"""``size``: where the bytes of libraries go."""

from __future__ import annotations

import argparse
import sys

from fatbin.cli import exits, limits
from fatbin.cli.tell import PLATFORM_HELP, TARGET_HELP, tell, tell_error
from fatbin.errors import FatbinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fatbin.limits import Limits
    from fatbin.scanning.parts import Part
    from fatbin.survey.kernel_sizes import LibraryKernels
    from fatbin.survey.sizes import Account

SCHEMA_VERSION = 1
"""Of the JSON document; raised when a key changes its meaning or goes away."""
_KERNELS_SHOWN = 20


def configure_size(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``size``."""
    parser.add_argument("files", nargs="+", metavar="TARGET", help=TARGET_HELP)
    parser.add_argument(
        "--by",
        choices=("arch", "kind", "place", "library", "distribution", "kernel"),
        default="arch",
        help="what device code is added up by (default: arch); kernel inflates every image",
    )
    parser.add_argument(
        "--top",
        type=_positive,
        metavar="N",
        help=f"only the N largest rows (default: all; of kernels {_KERNELS_SHOWN})",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "csv"),
        default="text",
        help="text (default), or everything as JSON or comma-separated values",
    )
    parser.add_argument("--platform", default="", metavar="OS/ARCH", help=PLATFORM_HELP)
    limits.add_option(parser.add_argument)
    parser.add_argument(
        "--allow-empty", action="store_true", help="exit 0 when there is no device code"
    )


def run_size(arguments: argparse.Namespace) -> int:
    """Account for each target; what cannot be read at all is told and does not stop the rest."""
    from fatbin.survey.sizes import account  # noqa: PLC0415 - usage errors need no scanner

    accounts: list[Account] = []
    kernels: list[tuple[str, LibraryKernels]] = []
    failed = False
    allowed = limits.limits_of(arguments)
    for path in arguments.files:
        each = _kernels_of(path, kernels, allowed) if arguments.by == "kernel" else None
        try:
            accounts.append(account(path, limits=allowed, platform=arguments.platform, each=each))
        except FatbinError as exc:
            tell_error(exc)
            failed = True
    if arguments.format == "json":
        _write_json(accounts, kernels, with_kernels=arguments.by == "kernel")
    elif arguments.format == "csv":
        _write_csv(accounts, kernels, arguments.by)
    else:
        _write_text(accounts, kernels, arguments.by, arguments.top)
    issues = dict.fromkeys(issue for found in accounts for issue in found.all_issues)
    issues.update(dict.fromkeys(issue for _, library in kernels for issue in library.issues))
    for issue in issues:
        tell(issue)
    if failed or issues:
        return exits.ERROR
    if not arguments.allow_empty and not any(lib.device for a in accounts for lib in a.libraries):
        tell(f"no device code in {', '.join(arguments.files)}")
        return exits.NOTHING
    return exits.PASS


def _kernels_of(
    path: str, kernels: list[tuple[str, LibraryKernels]], allowed: Limits
) -> Callable[[Part], None]:
    """Return what adds the kernels of each library of a target while it is open."""
    from fatbin.survey.kernel_sizes import library_kernels  # noqa: PLC0415 - opens images

    def each(part: Part) -> None:
        library = library_kernels(part, allowed)
        if library is not None:
            kernels.append((path, library))

    return each


def _write_text(
    accounts: list[Account], kernels: list[tuple[str, LibraryKernels]], by: str, top: int | None
) -> None:
    from fatbin.report import sizes  # noqa: PLC0415 - other formats need less
    from fatbin.survey.grouping import rows  # noqa: PLC0415

    out = sizes.writer(sys.stdout)
    if by in ("library", "distribution"):
        sizes.libraries_text(out, accounts, top, by)
    elif by == "kernel":
        for index, (_, library) in enumerate(kernels):
            if index:
                out.line("")
            sizes.kernels_text(out, library, _KERNELS_SHOWN if top is None else top)
    else:
        for index, found in enumerate(accounts):
            if index:
                out.line("")
            sizes.account_text(out, found, rows(found.libraries, by), by, top)


def _write_csv(accounts: list[Account], kernels: list[tuple[str, LibraryKernels]], by: str) -> None:
    from fatbin.report import sizes  # noqa: PLC0415 - other formats need less
    from fatbin.survey.grouping import rows  # noqa: PLC0415

    if by == "kernel":
        sizes.kernels_csv(sys.stdout, kernels)
        return

    sizes.rows_csv(
        sys.stdout,
        ((a, {library.location: rows([library], by) for library in a.libraries}) for a in accounts),
        by,
    )


def _write_json(
    accounts: list[Account], kernels: list[tuple[str, LibraryKernels]], *, with_kernels: bool
) -> None:
    import json  # noqa: PLC0415 - only documents need it

    document: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "files": [found.to_dict() for found in accounts],
    }
    if with_kernels:
        document["kernels"] = [
            {"target": target, **library.to_dict()} for target, library in kernels
        ]
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def _positive(text: str) -> int:
    if text.isdecimal() and int(text):
        return int(text)
    msg = f"expected a whole number from 1 on, found {text!r}"
    raise argparse.ArgumentTypeError(msg)
