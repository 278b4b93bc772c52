"""``gpus``: what is known of GPUs and their architectures."""

from __future__ import annotations

import sys

from fatbin.cli import exits

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from fatbin.judge.facts.architectures import ArchitectureRow

SCHEMA_VERSION = 1
"""Of the JSON document; raised when a key changes its meaning or goes away."""


def configure_gpus(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``gpus``."""
    parser.add_argument(
        "gpus",
        nargs="*",
        metavar="GPU",
        help="a name such as 'RTX 5090', as nvidia-smi prints it too, or a compute capability "
        "such as 9.0 (default: every architecture)",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text (default), or everything as JSON",
    )


def run_gpus(arguments: argparse.Namespace) -> int:
    """Write the architectures, all or those of the GPUs asked for."""
    from fatbin.judge.facts.architectures import ARCHITECTURES  # noqa: PLC0415 - help needs no rows

    rows = _asked(arguments.gpus) if arguments.gpus else ARCHITECTURES
    if arguments.format == "json":
        _write_json(rows)
        return exits.PASS
    from fatbin.judge.facts.gpus import gpus_of  # noqa: PLC0415 - as above
    from fatbin.report import gpus as report  # noqa: PLC0415 - JSON does not need it

    out = report.writer(sys.stdout)
    if arguments.gpus:
        report.gpus_text(out, rows, [gpus_of(row.cc) for row in rows])
    else:
        report.architectures_text(out, rows)
    return exits.PASS


def _asked(texts: Sequence[str]) -> tuple[ArchitectureRow, ...]:
    """Return the row of each GPU, each once.

    Raises:
        UnknownGpuError: a name or compute capability that is not known.
        ArchitectureError: an architecture of code.
    """
    from fatbin.errors import UnknownGpuError  # noqa: PLC0415 - as above
    from fatbin.judge.facts.architectures import row_of  # noqa: PLC0415
    from fatbin.judge.gpu import parse_gpus  # noqa: PLC0415

    rows: dict[ArchitectureRow, None] = {}
    for gpu in parse_gpus(texts):
        row = row_of(gpu.cc)
        if row is None:
            raise UnknownGpuError(f"no GPU of compute capability {gpu.cc} is known")
        rows[row] = None
    return tuple(rows)


def _write_json(rows: Sequence[ArchitectureRow]) -> None:
    import json  # noqa: PLC0415 - only documents need it

    from fatbin.judge.facts.gpus import gpus_of  # noqa: PLC0415 - help needs no rows

    document = {
        "schema_version": SCHEMA_VERSION,
        "architectures": [
            {
                "cc": str(row.cc),
                **row._asdict(),
                "last_toolkit": row.last_toolkit or None,
                "gpus": [
                    {key: value for key, value in gpu._asdict().items() if key != "capability"}
                    for gpu in gpus_of(row.cc)
                ],
            }
            for row in rows
        ],
    }
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
