"""``list`` and ``inspect``: facts about files."""

from __future__ import annotations

import sys

from fatbin.cli import exits, scanning
from fatbin.cli.tell import PLATFORM_HELP, TARGET_HELP, tell, tell_error
from fatbin.errors import FatbinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fatbin.inventory import Inventory, Issue


def configure_list(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``list``."""
    _add_files(parser)
    parser.add_argument("--entries", action="store_true", help="one line for each entry")


def configure_inspect(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``inspect``."""
    _add_files(parser)


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="TARGET",
        help=TARGET_HELP,
    )
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text (default), or the inventory as JSON",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="also inflate every payload and check its size (reads the whole file)",
    )
    parser.add_argument(
        "--platform",
        default="",
        metavar="OS/ARCH",
        help=PLATFORM_HELP,
    )
    parser.add_argument(
        "--allow-empty", action="store_true", help="exit 0 when there is no device code"
    )
    scanning.add_options(parser.add_argument)


def run_list(arguments: argparse.Namespace) -> int:
    """List the device code of each file."""
    inventory, code = _scan_all(arguments, linkage=False)
    if arguments.format == "json":
        sys.stdout.write(inventory.to_json() + "\n")
    else:
        from fatbin.report import text  # noqa: PLC0415 - JSON does not need it

        text.list_libraries(text.writer(sys.stdout), inventory, entries=arguments.entries)
    _tell(inventory.all_issues)
    return code


def run_inspect(arguments: argparse.Namespace) -> int:
    """Show everything the headers of each file say; damage is part of the document."""
    inventory, code = _scan_all(arguments, linkage=True)
    if arguments.format == "json":
        sys.stdout.write(inventory.to_json() + "\n")
    else:
        from fatbin.report import text  # noqa: PLC0415 - JSON does not need it

        text.inspect_libraries(text.writer(sys.stdout), inventory)
    return code


def _scan_all(arguments: argparse.Namespace, *, linkage: bool) -> tuple[Inventory, int]:
    """Scan the files one by one; what cannot be read at all is told and does not stop the rest.

    The exit code is 2 when anything could not be read, 3 when there is no device code, else 0.
    """
    from fatbin.inventory import Inventory  # noqa: PLC0415 - usage errors need no scanner

    parts: list[Inventory] = []
    failed = False
    for path in arguments.files:
        try:
            parts.append(_scan(path, arguments, linkage=linkage))
        except FatbinError as exc:
            tell_error(exc)
            failed = True
    inventory = Inventory(
        libraries=tuple(library for part in parts for library in part.libraries),
        issues=tuple(issue for part in parts for issue in part.issues),
        targets=tuple(arguments.files),
    )
    if failed or inventory.all_issues:
        return inventory, exits.ERROR
    if not arguments.allow_empty and not any(True for _ in inventory.entries):
        tell(f"no device code in {', '.join(arguments.files)}")
        return inventory, exits.NOTHING
    return inventory, exits.PASS


def _scan(path: str, arguments: argparse.Namespace, *, linkage: bool) -> Inventory:
    from fatbin.scanning.scanner import Options  # noqa: PLC0415 - as above

    how = scanning.How.of(arguments)
    options = Options(
        how.limits,
        linkage=linkage,
        kernels=False,
        verify=arguments.verify,
        platform=arguments.platform,
    )
    return scanning.scan_target(path, options, how)


def _tell(issues: tuple[Issue, ...]) -> None:
    for issue in issues:
        tell(issue)
