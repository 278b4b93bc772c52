"""``explain``: what the code of a finding means."""

from __future__ import annotations

import sys

from fatbin.cli import exits
from fatbin.cli.tell import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def configure_explain(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``explain``."""
    parser.add_argument("codes", nargs="*", metavar="CODE", help="of a finding, such as FB101")
    parser.add_argument("--list", action="store_true", help="every code with its meaning in a line")


def run_explain(arguments: argparse.Namespace) -> int:
    """Print the page of each code."""
    from fatbin.judge.codes import CODES, page  # noqa: PLC0415 - --help needs no codes

    if arguments.list:
        from fatbin.report.table import writer  # noqa: PLC0415 - pages need no table

        rows = [(code.code, code.severity, code.title) for code in CODES.values()]
        writer(sys.stdout).table(("code", "severity", "meaning"), rows)
        return exits.PASS
    if not arguments.codes:
        tell("expected the code of a finding, such as FB101, or --list")
        return exits.ERROR
    known = [code for code in map(str.upper, arguments.codes) if code in CODES]
    sys.stdout.write("\n".join(page(code).rstrip("\n") + "\n" for code in known))
    unknown = [code for code in arguments.codes if code.upper() not in CODES]
    for code in unknown:
        from fatbin.judge.policy import nearest  # noqa: PLC0415 - only mistakes need it

        meant = nearest(code, CODES)
        tell(f"no finding has the code {code!r}" + (f"; the nearest is {meant}" if meant else ""))
    if unknown:
        tell("fatbin explain --list shows every code")
    return exits.ERROR if unknown else exits.PASS
