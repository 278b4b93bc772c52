"""``check``: whether the device code of files runs on given GPUs; a gate for builds."""

from __future__ import annotations

import os
import sys

from fatbin._record import Record
from fatbin.cli import exits, scanning
from fatbin.cli.tell import PLATFORM_HELP, tell, tell_error
from fatbin.errors import CheckFailed, FatbinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fatbin.inventory import Inventory
    from fatbin.judge.baseline import Baseline
    from fatbin.judge.driver import Driver
    from fatbin.judge.gpu import Gpu
    from fatbin.judge.policy import Policy
    from fatbin.judge.policy_file import PolicyFile
    from fatbin.judge.verdict import Verdict

FORMATS = ("text", "json", "sarif", "junit", "markdown", "github", "html")
EPOCH = "SOURCE_DATE_EPOCH"
GPUS, DRIVER, SKIP = "FATBIN_GPUS", "FATBIN_DRIVER", "FATBIN_SKIP"


def configure_check(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``check``."""
    parser.add_argument(
        "targets",
        nargs="+",
        metavar="TARGET",
        help="a file, wheel, container image, directory or env:PATH; an inventory as JSON; - is "
        "standard input",
    )
    _add_demands(parser)
    _add_exceptions(parser)
    _add_output(parser)


def _add_demands(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what to check for").add_argument
    add(
        "--gpu",
        action="append",
        metavar="GPUS",
        help=f"9.0, 'RTX 5090', 'H100, L4'; can be repeated (default: {GPUS}, then the policy's)",
    )
    add(
        "--driver",
        metavar="VERSION",
        help=f"the oldest driver, such as 570.124 (default: {DRIVER}, then the policy's)",
    )
    add("--ptx", choices=("pass", "warn", "fail"), help="what PTX for the driver to compile does")
    add("--max-holes", metavar="SHARE", help="of a library's modules, such as 2%% or 0.02")
    add("--max-newer-only", metavar="SHARE", help="of a library's modules, such as 10%% or 0.1")
    add(
        "--expect",
        action="append",
        metavar="ARCHS",
        help="exactly these architectures: '8.0 9.0a 12.0+PTX'",
    )
    add("--forbid", action="append", metavar="ARCHS", help="none of these architectures")
    add("--strict", action="store_true", help="WARN fails too")


def _add_exceptions(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("policy and exceptions")
    where = group.add_mutually_exclusive_group()
    where.add_argument(
        "--policy",
        metavar="FILE",
        help="fatbin.toml or pyproject.toml (default: looked for in this folder and above)",
    )
    where.add_argument("--no-policy", action="store_true", help="look for no policy file")
    group.add_argument(
        "--ignore",
        action="append",
        metavar="RULE",
        help="'CODE: REASON' or 'CODE@GLOB: REASON': findings that do not count",
    )
    group.add_argument(
        "--optional",
        action="append",
        metavar="GLOB",
        help="libraries whose FAIL counts as WARN",
    )
    group.add_argument(
        "--baseline",
        metavar="FILE",
        help="a verdict as JSON: its findings do not count again (default: the policy's)",
    )
    group.add_argument(
        "--skip",
        metavar="REASON",
        help=f"check and print, but exit 0 whatever comes of it (also {SKIP})",
    )
    group.add_argument(
        "--allow-empty", action="store_true", help="exit 0 when there is no device code"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("reading and output").add_argument
    add("--format", choices=FORMATS, default="text", help="of the document (default: text)")
    add("-o", "--output", metavar="FILE", help="write the document here, when it is whole")
    add("--verify", action="store_true", help="also inflate every payload (reads whole files)")
    add("--platform", default="", metavar="OS/ARCH", help=PLATFORM_HELP)
    scanning.add_options(add)
    add("--verbose", action="store_true", help="say more in text")


class _Request(Record):
    """What is asked for, from options, environment and policy file."""

    gpus: tuple[Gpu, ...]
    driver: Driver | None
    policy: Policy
    baseline: Baseline | None


def run_check(arguments: argparse.Namespace) -> int:
    """Judge the targets together and write one document."""
    request = _request(arguments)
    if request is None:
        return exits.ERROR
    if arguments.output is not None:
        from fatbin.cli.output import require_place  # noqa: PLC0415 - only files need it

        require_place(arguments.output)
    inventory, unread = _read_all(arguments)
    if unread == len(arguments.targets):
        return exits.ERROR
    from fatbin.judge.check import check  # noqa: PLC0415 - usage errors need no judge
    from fatbin.variables import cuda_variables  # noqa: PLC0415

    verdict = check(
        inventory,
        gpus=request.gpus,
        driver=request.driver,
        policy=request.policy,
        environment=cuda_variables(os.environ),
        baseline=request.baseline,
    )
    _write(verdict, request.policy, arguments)
    return _judge(verdict, request.policy, unread, arguments)


# What is asked for --------------------------------------------------------------------------------


def _request(arguments: argparse.Namespace) -> _Request | None:
    """Put options over environment over policy file; None when no GPU is named anywhere."""
    from fatbin.judge.driver import Driver  # noqa: PLC0415 - --help needs no judge
    from fatbin.judge.gpu import parse_gpus  # noqa: PLC0415

    given = _given(arguments)
    file = _policy_file(arguments)
    policy = file.policy.merged(given)
    for where, gpus in (
        ("--gpu", arguments.gpu),
        (GPUS, _variable(GPUS)),
        (file.path, file.gpus or None),
    ):
        if gpus is not None:
            found = _located(where, parse_gpus, gpus)
            break
    else:
        tell("expected a GPU to check for, found none")
        tell(f"write --gpu 9.0 or --gpu 'RTX 5090', set {GPUS}, or name gpus in a fatbin.toml")
        return None
    driver = None
    for where, text in (
        ("--driver", arguments.driver),
        (DRIVER, _variable(DRIVER)),
        (file.path, file.driver or None),
    ):
        if text is not None:
            driver = _located(where, Driver.parse, text)
            break
    return _Request(found, driver, policy, _baseline(arguments.baseline, file.baseline))


def _baseline(given: str | None, of_policy: str) -> Baseline | None:
    """Read the baseline that is named; an option goes over the policy."""
    if given is None and not of_policy:
        return None
    from fatbin.judge.baseline import read_baseline  # noqa: PLC0415 - most checks have none

    return read_baseline(of_policy if given is None else given)


def _located(where: str, read: Any, value: Any) -> Any:  # noqa: ANN401 - any value, any reader
    """Read a value; an error says where it comes from."""
    try:
        return read(value)
    except FatbinError as exc:
        exc.location = exc.location or where
        raise


def _variable(name: str) -> str | None:
    """Return a variable of the environment; one that is set but empty counts as not set."""
    return os.environ.get(name) or None


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of a policy that options and environment give."""
    from fatbin.judge import policy  # noqa: PLC0415 - --help needs no judge

    given: dict[str, Any] = {}
    for key, spec in policy.KEYS.items():
        value = getattr(arguments, key.replace("-", "_"), None)  # gpus and driver are apart
        if value is not None and value is not False and spec.field in policy.Policy._fields:
            given[spec.field] = spec.read(value, spec.option)
    reason = _variable(SKIP)
    if "skip_reason" not in given and reason is not None:
        given["skip_reason"] = policy.reason_of(reason, SKIP)
    return given


def _policy_file(arguments: argparse.Namespace) -> PolicyFile:
    """Return the policy file that is named or found; an empty one when there is none."""
    from fatbin.judge.policy import Policy  # noqa: PLC0415 - --help needs no judge
    from fatbin.judge.policy_file import (  # noqa: PLC0415
        PolicyFile,
        find_policy,
        read_policy,
    )

    if arguments.policy is not None:
        return read_policy(arguments.policy)
    found = None if arguments.no_policy else find_policy(os.curdir)
    if found is None:
        return PolicyFile(Policy())
    path = os.path.relpath(found)
    tell(f"policy: {path}")
    return read_policy(path)


# What comes of it ---------------------------------------------------------------------------------


def _read_all(arguments: argparse.Namespace) -> tuple[Inventory, int]:
    """Read the targets one by one; what cannot be read is told, counted, and left out."""
    from fatbin.cli.targets import read_target  # noqa: PLC0415 - usage errors need no scanner
    from fatbin.inventory import Inventory  # noqa: PLC0415

    parts: list[Inventory] = []
    how = scanning.How.of(arguments)
    for target in arguments.targets:
        try:
            parts.append(
                read_target(target, how, verify=arguments.verify, platform=arguments.platform)
            )
        except FatbinError as exc:
            tell_error(exc)
    inventory = Inventory(
        libraries=tuple(library for part in parts for library in part.libraries),
        issues=tuple(issue for part in parts for issue in part.issues),
        targets=tuple(arguments.targets),
    )
    return inventory, len(arguments.targets) - len(parts)


def _write(verdict: Verdict, policy: Policy, arguments: argparse.Namespace) -> None:
    from fatbin.report import formats  # noqa: PLC0415 - --help writes nothing

    titles = {}
    if arguments.format in {"sarif", "html"}:
        from fatbin.judge.codes import CODES  # noqa: PLC0415 - the others need no titles

        titles = {name: code.title for name, code in CODES.items()}
    write = formats.FORMATS[arguments.format]
    options = formats.Options(
        verbose=arguments.verbose,
        strict=policy.strict,
        titles=titles,
        root=os.getcwd(),
        made=_made() if arguments.format == "html" else "",
    )
    if arguments.output is None:
        write(sys.stdout, verdict, options)
        return
    import io  # noqa: PLC0415 - only files need it

    from fatbin.cli.output import write_document  # noqa: PLC0415

    document = io.StringIO()
    write(document, verdict, options)
    write_document(arguments.output, document.getvalue())


def _made() -> str:
    """Return the date that a reproducible build gives to what it makes; empty without one."""
    given = os.environ.get(EPOCH, "")
    if not given.isascii() or not given.isdigit():
        return ""
    import time  # noqa: PLC0415 - only reports with a date need it

    try:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(int(given)))
    except (ValueError, OverflowError, OSError):
        return ""


def _judge(verdict: Verdict, policy: Policy, unread: int, arguments: argparse.Namespace) -> int:
    """Return the exit code, and tell what decides about it."""
    from fatbin.judge.verdict import Outcome  # noqa: PLC0415 - --help needs no judge

    code = exits.PASS
    if verdict.outcome is Outcome.FAIL or (policy.strict and verdict.outcome is Outcome.WARN):
        code = exits.FAIL
    elif verdict.outcome is Outcome.NOTHING and not arguments.allow_empty:
        code = exits.NOTHING
    if code and arguments.output is not None:
        _tell_why(verdict, policy)
    if code and policy.skip_reason:
        tell(f"{verdict.outcome} does not count: {policy.skip_reason}")
        code = exits.PASS
    elif code == exits.FAIL and verdict.outcome is Outcome.WARN:
        tell("WARN fails too: strict")
    return exits.ERROR if unread and code != exits.FAIL else code


def _tell_why(verdict: Verdict, policy: Policy) -> None:
    """Tell in one line what a document in a file says at length."""
    try:
        verdict.require_pass(strict=policy.strict)
    except CheckFailed as exc:
        tell(exc)
