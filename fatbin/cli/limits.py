"""The option ``--limits``: bounds on what a target may cost, by name."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from fatbin.limits import Limits

_VALUE = re.compile(r"(\d{1,18})(|KiB|MiB|GiB|TiB)")
_UNITS = {"": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}


def add_option(add: Callable[..., argparse.Action]) -> None:
    """Add the option to what adds arguments."""
    add(
        "--limits",
        action="append",
        default=[],
        type=_limit,
        metavar="NAME=VALUE",
        help="another bound on what a target may cost, such as seconds=60; can be repeated",
    )


def limits_of(arguments: argparse.Namespace) -> Limits:
    """Return the limits that hold: the defaults, with what was given."""
    from fatbin.limits import DEFAULT_LIMITS  # noqa: PLC0415 - usage errors need none

    given: list[tuple[str, int]] = arguments.limits
    return DEFAULT_LIMITS._replace(**dict(given))


def _limit(text: str) -> tuple[str, int]:
    from argparse import ArgumentTypeError  # noqa: PLC0415 - only where the option is given

    from fatbin.limits import NAMES, OFF  # noqa: PLC0415 - likewise

    name, equals, value = text.partition("=")
    if not equals:
        msg = f"expected NAME=VALUE such as seconds=60, found {text!r}"
        raise ArgumentTypeError(msg)
    if name not in NAMES:
        msg = f"expected one of {', '.join(NAMES)}, found {name!r}"
        raise ArgumentTypeError(msg)
    match = _VALUE.fullmatch(value)
    number = int(match[1]) << _UNITS[match[2]] if match else 0
    if match is None or (number == 0 and name not in OFF):
        msg = f"expected a number for {name}, such as 1000 or 64MiB, found {value!r}"
        raise ArgumentTypeError(msg)
    return name, number
