"""``diagnose``: what logs of NCCL, torch, Ray and the kernel say about device code."""

from __future__ import annotations

import os
import sys

from fatbin.cli import exits, limits
from fatbin.cli.tell import tell_error
from fatbin.errors import FatbinError, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import BinaryIO

    from fatbin.inventory import Inventory
    from fatbin.judge.gpu import Gpu
    from fatbin.limits import Limits

STDIN = "-"


def configure_diagnose(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``diagnose``."""
    add = parser.add_argument
    add("logs", nargs="+", metavar="LOG", help="a log, also one of gzip; - for standard input")
    add(
        "--gpu",
        action="append",
        metavar="GPUS",
        help="the GPUs it ran on: 9.0, 'RTX 5090' (default: those that the logs name)",
    )
    add(
        "--driver",
        metavar="VERSION",
        help="the driver there, such as 570.124 (default: the one that the logs name)",
    )
    add(
        "--library",
        action="append",
        metavar="PATH",
        help="check this library at once; can be repeated",
    )
    limits.add_option(add)
    add("--format", choices=("text", "json"), default="text", help="text (default), or JSON")
    add("--verbose", action="store_true", help="also say where each meaning is written")


def run_diagnose(arguments: argparse.Namespace) -> int:
    """Read the logs together and write one document."""
    from fatbin.judge.gpu import parse_gpus  # noqa: PLC0415 - --help needs no judge
    from fatbin.node.diagnose import diagnose  # noqa: PLC0415

    gpus: tuple[Gpu, ...] = parse_gpus(arguments.gpu) if arguments.gpu else ()
    bounds = limits.limits_of(arguments)
    libraries = _libraries(arguments.library, bounds) if arguments.library else None
    unread: list[FatbinError] = []
    found = diagnose(
        _opened(arguments.logs, unread),
        gpus=gpus,
        driver=arguments.driver or "",
        libraries=libraries,
        report=unread.append,
    )
    for error in unread:
        tell_error(error)
    if not found.files and unread:
        return exits.ERROR
    if arguments.format == "json":
        import json  # noqa: PLC0415 - only documents need it

        sys.stdout.write(json.dumps(found.to_dict(), indent=2) + "\n")
    else:
        from fatbin.node import diagnosis_text  # noqa: PLC0415 - JSON does not need it
        from fatbin.report.table import writer  # noqa: PLC0415

        diagnosis_text.write(writer(sys.stdout), found, verbose=arguments.verbose)
    if found.names_a_cause:
        return exits.FAIL
    return exits.ERROR if unread else exits.PASS


def _libraries(paths: list[str], bounds: Limits) -> Inventory:
    """Scan the libraries to check.

    Raises:
        FatbinError: one cannot be read.
    """
    from fatbin.cli.scanning import How  # noqa: PLC0415 - likewise
    from fatbin.cli.targets import read_target  # noqa: PLC0415 - few runs need a scanner
    from fatbin.inventory import Inventory  # noqa: PLC0415

    how = How(remember=False, show=False, limits=bounds)
    parts = [read_target(path, how, verify=False) for path in paths]
    return Inventory(
        libraries=tuple(library for part in parts for library in part.libraries),
        issues=tuple(issue for part in parts for issue in part.issues),
        targets=tuple(paths),
    )


def _opened(logs: list[str], unread: list[FatbinError]) -> Iterator[tuple[str, BinaryIO]]:
    """Yield each log that can be opened; the others are kept as errors."""
    for path in logs:
        try:
            if path == STDIN:
                yield "standard input", _standard_input()
                continue
            with _open(path) as stream:
                yield path, stream
        except FatbinError as exc:
            unread.append(exc)


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        msg = "expected a log, found a closed standard input"
        raise SourceError(msg, location=STDIN)
    return sys.stdin.buffer


def _open(path: str) -> BinaryIO:
    if os.path.isdir(path):
        msg = "expected a log, found a folder"
        raise SourceError(msg, location=path)
    try:
        return open(path, "rb")
    except OSError as exc:
        raise SourceError(f"cannot be read: {exc.strerror or exc}", location=path) from exc
    except ValueError as exc:  # a NUL in the path
        raise SourceError(f"cannot be read: {exc}", location=path) from exc
