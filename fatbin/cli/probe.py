"""``probe``: the modules of a file given to the driver of this machine."""

from __future__ import annotations

import sys

from fatbin.cli import exits, limits
from fatbin.cli.tell import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fatbin.node.probe_records import Probe


def configure_probe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``probe``."""
    parser.add_argument("file", metavar="FILE", help="told by content, not by name")
    parser.add_argument(
        "--gpu",
        metavar="NUMBER",
        help="as CUDA counts, from 0, or all (default: the first of each compute capability)",
    )
    parser.add_argument(
        "--jit", action="store_true", help="also what the driver compiles first; takes time"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long one module may take (default: 60)",
    )
    limits.add_option(parser.add_argument)
    parser.add_argument("--names", action="store_true", help="in JSON: the names of the kernels")
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text (default), or every module as JSON",
    )


def run_probe(arguments: argparse.Namespace) -> int:
    """Write what the driver did with each module; no GPU is an error here."""
    from fatbin.node.probe import probe  # noqa: PLC0415 - --help asks no driver

    gpu = arguments.gpu
    found = probe(
        arguments.file,
        gpu=int(gpu) if gpu is not None and gpu.isdecimal() else gpu,
        jit=arguments.jit,
        names=arguments.names,
        timeout=arguments.timeout,
        limits=limits.limits_of(arguments),
    )
    for issue in found.issues:
        tell(issue)
    if not found.gpus:
        tell(f"no device code in {arguments.file}")
        return exits.ERROR if found.issues else exits.NOTHING
    if arguments.format == "json":
        import json  # noqa: PLC0415 - only documents need it

        sys.stdout.write(json.dumps(found.to_dict(), indent=2) + "\n")
    else:
        from fatbin.report import probe as report  # noqa: PLC0415 - JSON does not need it

        report.probe_text(report.writer(sys.stdout), found)
    return _code(found)


def _code(found: Probe) -> int:
    if not found.agrees:
        return exits.FAIL
    if found.issues:
        return exits.ERROR
    if not found.tried:
        tell("no module was given to the driver")
        return exits.NOTHING
    return exits.PASS
