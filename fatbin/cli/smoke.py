"""``smoke``: whether NCCL works on this machine's GPUs, by trying it."""

from __future__ import annotations

import sys

from fatbin.cli import exits

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fatbin.node.smoke.records import SmokeOutcome

_START, _TIMEOUT, _SIZE = 120.0, 30.0, 4 << 20


def configure_smoke(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``smoke``."""
    add = parser.add_argument
    add("what", choices=("nccl",), help="what to try: the NCCL that torch brings")
    add("--ranks", type=positive, metavar="N", help="processes, a GPU each (default: one a GPU)")
    add(
        "--init",
        choices=("eager", "lazy", "both"),
        default="eager",
        help="when the communicator is made: at once, or at the first operation (default: eager)",
    )
    add(
        "--timeout",
        type=seconds,
        default=_TIMEOUT,
        metavar="SECONDS",
        help="for each job, once every rank has torch and its GPU (default: 30)",
    )
    add(
        "--start-timeout",
        type=seconds,
        default=_START,
        metavar="SECONDS",
        help="until then: importing torch can take its time (default: 120)",
    )
    add(
        "--size",
        type=_size,
        default=_SIZE,
        metavar="BYTES",
        help="of the larger messages, 1048576 or more (default: 4194304)",
    )
    add("--python", metavar="PROGRAM", help="the Python that has torch (default: this one)")
    add(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text (default), or everything as JSON",
    )
    add("--verbose", action="store_true", help="show every step, log line and stack of each rank")


def run_smoke(arguments: argparse.Namespace) -> int:
    """Try it and write what comes of it."""
    from fatbin.cli.ending import end_tidily  # noqa: PLC0415 - --help runs nothing
    from fatbin.node.smoke.nccl import INITS, smoke_nccl  # noqa: PLC0415

    with end_tidily():
        result = smoke_nccl(
            ranks=arguments.ranks,
            inits=INITS if arguments.init == "both" else (arguments.init,),
            timeout=arguments.timeout,
            start_timeout=arguments.start_timeout,
            size=arguments.size,
            python=(arguments.python,) if arguments.python else (),
        )
    if arguments.format == "json":
        import json  # noqa: PLC0415 - only documents need it

        sys.stdout.write(json.dumps(result.to_dict(), indent=2) + "\n")
    else:
        from fatbin.report import smoke as report  # noqa: PLC0415 - JSON does not need it

        report.smoke_text(report.writer(sys.stdout), result, verbose=arguments.verbose)
    return exit_code(result.outcome)


def exit_code(outcome: SmokeOutcome) -> int:
    """Return the exit code of an outcome; nothing tried is not a pass."""
    if outcome == "PASS":
        return exits.PASS
    return exits.NOTHING if outcome == "SKIPPED" else exits.FAIL


def positive(text: str) -> int:
    """Read a number of 1 or more."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def seconds(text: str) -> float:
    """Read a time that is more than nothing, and less than a day."""
    number = float(text)
    if not 0 < number <= 86_400:  # noqa: PLR2004 - a day; it also refuses nan and inf
        raise ValueError(text)
    return number


def _size(text: str) -> int:
    number = int(text)
    from fatbin.node.smoke.nccl import message_size  # noqa: PLC0415 - --help runs nothing

    try:
        return message_size(number)
    except ValueError as exc:
        import argparse  # noqa: PLC0415 - it is there already

        raise argparse.ArgumentTypeError(str(exc)) from exc
