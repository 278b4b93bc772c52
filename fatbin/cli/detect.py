"""``detect``: the GPUs and the driver of this machine."""

from __future__ import annotations

import sys

from fatbin.cli import exits

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def configure_detect(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``detect``."""
    parser.add_argument(
        "--timeout",
        type=float,
        default=20.0,
        metavar="SECONDS",
        help="how long each source may take to answer (default: 20)",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text (default), or everything as JSON",
    )


def run_detect(arguments: argparse.Namespace) -> int:
    """Write what this machine has."""
    from fatbin.node.detect import detect  # noqa: PLC0415 - --help asks no driver

    detection = detect(timeout=arguments.timeout)
    if arguments.format == "json":
        import json  # noqa: PLC0415 - only documents need it

        sys.stdout.write(json.dumps(detection.to_dict(), indent=2) + "\n")
    else:
        from fatbin.report import detection as report  # noqa: PLC0415 - JSON does not need it

        report.detection_text(report.writer(sys.stdout), detection)
    return exits.PASS if detection.gpus else exits.NOTHING
