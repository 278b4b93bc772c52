"""``diff``: what changed between two builds."""

from __future__ import annotations

import sys

from fatbin.cli import exits, limits
from fatbin.cli.tell import PLATFORM_HELP, TARGET_HELP, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

SCHEMA_VERSION = 1
"""Of the JSON document; raised when a key changes its meaning or goes away."""
_KERNELS_SHOWN = 20


def configure_diff(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``diff``."""
    parser.add_argument("before", metavar="A", help=TARGET_HELP)
    parser.add_argument("after", metavar="B", help="the target it is compared with")
    parser.add_argument(
        "--kernels",
        action="store_true",
        help="also compare the names of kernels (inflates every image)",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help=f"list every kernel that came or went, not {_KERNELS_SHOWN} a library",
    )
    parser.add_argument(
        "--exit-code",
        action="store_true",
        help="exit 1 when architectures, PTX versions or kernels differ",
    )
    parser.add_argument("--platform", default="", metavar="OS/ARCH", help=PLATFORM_HELP)
    limits.add_option(parser.add_argument)
    parser.add_argument(
        "--format",
        choices=("text", "json", "markdown"),
        default="text",
        help="text (default), everything as JSON, or Markdown",
    )


def run_diff(arguments: argparse.Namespace) -> int:
    """Compare two targets."""
    from fatbin.survey.diff import compare  # noqa: PLC0415 - usage errors need no scanner

    diff = compare(
        arguments.before,
        arguments.after,
        kernels=arguments.kernels,
        limits=limits.limits_of(arguments),
        platform=arguments.platform,
    )
    if arguments.format == "json":
        import json  # noqa: PLC0415 - only documents need it

        document = {"schema_version": SCHEMA_VERSION, **diff.to_dict()}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        from fatbin.report import diff as report  # noqa: PLC0415 - JSON does not need it

        top = None if arguments.all else _KERNELS_SHOWN
        if arguments.format == "markdown":
            report.diff_markdown(sys.stdout, diff, top)
        else:
            report.diff_text(report.writer(sys.stdout), diff, top)
    for issue in diff.issues:
        tell(issue)
    if diff.issues:
        return exits.ERROR
    return exits.FAIL if arguments.exit_code and diff.differs else exits.PASS
