"""``preflight``: whether this node is ready, for an init container or a node's own checks."""

from __future__ import annotations

import argparse
import sys

from fatbin.cli import exits, limits
from fatbin.cli.smoke import positive, seconds
from fatbin.cli.tell import tell, tell_error
from fatbin.errors import FatbinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.node.preflight_records import Preflight, PreflightOutcome

STAGES = ("detect", "check", "probe", "smoke")


def configure_preflight(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``preflight``."""
    add = parser.add_argument_group("what to look at").add_argument
    add("targets", nargs="*", metavar="TARGET", help="libraries to look at besides NCCL")
    add("--library", action="append", default=[], metavar="PATH", help="another library")
    add("--stages", type=_stages, default=STAGES, metavar="NAMES", help="only these: check,smoke")
    add(
        "--skip-stage", type=_stages, action="append", default=[], metavar="NAMES", help="not these"
    )
    add(
        "--nccl",
        action=argparse.BooleanOptionalAction,
        default=None,  # True, which the help of Python 3.10 would say again
        help="look for NCCL and try it (default), or not",
    )
    add("--ranks", type=positive, metavar="N", help="of the trial of NCCL (default: one a GPU)")
    add(
        "--timeout",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="for a source of detect, a module of probe, the job of smoke (default: 30)",
    )
    add("--jit", action="store_true", help="probe: also what the driver compiles first; takes time")
    add("--python", metavar="PROGRAM", help="the Python that has torch (default: this one)")
    limits.add_option(add)
    add = parser.add_argument_group("output").add_argument
    add("--strict", action="store_true", help="WARN ends with 1 too")
    add("--json", metavar="FILE", help="write everything here as JSON; - for standard output")
    add("--prometheus", metavar="FILE", help="write metrics here, for a textfile collector")
    add("--termination-log", metavar="FILE", help="write the cause here, 4096 bytes at most")


def run_preflight(arguments: argparse.Namespace) -> int:
    """Run the stages and write what comes of them."""
    from fatbin.cli.ending import end_tidily  # noqa: PLC0415 - --help runs nothing
    from fatbin.node.preflight import preflight  # noqa: PLC0415

    left_out = {name for names in arguments.skip_stage for name in names}
    entered: list[str] = []
    try:
        with end_tidily():
            result = preflight(
                (*arguments.targets, *arguments.library),
                stages=[name for name in arguments.stages if name not in left_out],
                nccl=arguments.nccl is not False,
                ranks=arguments.ranks,
                timeout=arguments.timeout,
                jit=arguments.jit,
                limits=limits.limits_of(arguments),
                python=(arguments.python,) if arguments.python else (),
                entering=entered.append,
            )
    except (SystemExit, KeyboardInterrupt):
        stage = entered[-1] if entered else "its start"
        _put_log(arguments, f"ERROR: ended from outside in {stage}\n")
        raise
    code = exit_code(result.outcome, strict=arguments.strict)
    written = _write(arguments, result)
    return code if written or code else exits.ERROR


def exit_code(outcome: PreflightOutcome, *, strict: bool = False) -> int:
    """Return the exit code of an outcome."""
    if outcome == "WARN":
        return exits.FAIL if strict else exits.PASS
    return {"PASS": exits.PASS, "FAIL": exits.FAIL, "ERROR": exits.ERROR}.get(
        outcome.value, exits.NOTHING
    )


def _write(arguments: argparse.Namespace, result: Preflight) -> bool:
    """Write the documents; one that cannot be written does not stop the others."""
    import json  # noqa: PLC0415 - every other command can do without

    from fatbin.report import preflight as report  # noqa: PLC0415 - only now it is known

    document = json.dumps(result.to_dict(), indent=2) + "\n"
    if arguments.json == "-":
        sys.stdout.write(document)
    else:
        report.preflight_text(report.writer(sys.stdout), result)
    written = _put_log(arguments, report.termination_message(result))
    for path, text in (
        (None if arguments.json == "-" else arguments.json, document),
        (arguments.prometheus, report.metrics(result)),
    ):
        written = (path is None or _put(path, text)) and written
    return written


def _put(path: str, text: str) -> bool:
    from fatbin.cli.output import write_document  # noqa: PLC0415 - only files need it

    try:
        write_document(path, text)
    except FatbinError as exc:
        tell_error(exc)
        return False
    return True


def _put_log(arguments: argparse.Namespace, text: str) -> bool:
    """Write the termination message in place: in a container that file is mounted."""
    path = arguments.termination_log
    if path is None:
        return True
    try:
        with open(path, "wb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as exc:
        tell(f"{path}: cannot be written: {exc.strerror or exc}")
        return False
    return True


def _stages(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in STAGES]
    if unknown or not names:
        msg = f"expected names of stages ({', '.join(STAGES)}), found {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return names
