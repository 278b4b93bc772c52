"""The argument parser and the entry point."""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys

from fatbin import __version__
from fatbin.cli import exits
from fatbin.errors import FatbinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

EPILOG = "exit codes: 0 done, 1 a gate fails, 2 could not do it, 3 no device code anywhere"


class _Formatter(argparse.HelpFormatter):
    """Knows the width by itself: argparse imports shutil for it, and asks with every argument."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_WIDTH)


def _terminal_width() -> int:
    try:
        return int(os.environ.get("COLUMNS", "")) - 2
    except ValueError:
        pass
    try:
        return os.get_terminal_size().columns - 2
    except OSError:
        return 98


_WIDTH = max(40, _terminal_width())


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="fatbin",
        formatter_class=_Formatter,
        description="Know what CUDA device code a file holds. No CUDA toolkit, no GPU needed.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"fatbin {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    listing = commands.add_parser(
        "list",
        help="which device code a file holds, by place, kind and architecture",
        description="List the device code of libraries, objects, archives, fatbins, cubins, PTX.",
        epilog=EPILOG,
        formatter_class=_Formatter,
    )
    _add_files(listing)
    listing.add_argument("--entries", action="store_true", help="one line for each entry")

    inspect = commands.add_parser(
        "inspect",
        help="containers, headers, options, linkage and damage of a file",
        description="Show everything the headers say: containers with their entries, flags, "
        "options and identifiers, how the library is linked, and what is damaged.",
        epilog=EPILOG,
        formatter_class=_Formatter,
    )
    _add_files(inspect)
    return parser


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="told by content, not by name")
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
        "--allow-empty", action="store_true", help="exit 0 when there is no device code"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    # Records are tuples without cycles: the collector would only walk them again and again.
    gc.disable()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # file names are any bytes
    arguments = build_parser().parse_args(argv)
    from fatbin.cli import read  # noqa: PLC0415 - --help needs none of it

    command = {"list": read.run_list, "inspect": read.run_inspect}[arguments.command]
    try:
        code = command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has gone: not an error, and Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.ERROR
    except KeyboardInterrupt:
        return 130
    except FatbinError as exc:
        sys.stderr.write(f"fatbin: {exc}\n")
        if exc.hint:
            sys.stderr.write(f"fatbin: {exc.hint}\n")
        return exits.ERROR
    return code
