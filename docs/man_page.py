"""The manual page, made from the parser: ``man fatbin``.

It says what ``--help`` says, in the order of the commands. The text is escaped here: a line of help
may begin with a quote or a dot, which troff takes for a request.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fatbin import __version__
from fatbin.cli.main import COMMANDS, build_parser

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

SUMMARY = "CUDA device code in files, and on which GPUs it runs"
VARIABLES = (
    ("FATBIN_GPUS, FATBIN_DRIVER", "What check is for, where --gpu and --driver do not say."),
    ("FATBIN_SKIP", "A reason; check exits 0 whatever comes of it."),
    ("FATBIN_CACHE_DIR", "Where what was read is remembered."),
    ("NO_COLOR", "No colours on a terminal."),
)


def man_page(exits: Iterable[tuple[str, str]]) -> str:
    """Return the page in the man macros of troff, with the exit codes and their meanings."""
    parser = build_parser()
    (inner,) = (a.choices for a in parser._actions if isinstance(a.choices, dict))  # noqa: SLF001
    lines = [
        '.\\" Made from the parser by docs/generate.py.',
        f'.TH FATBIN 1 "" "fatbin {__version__}" "User Commands"',
        *_section("NAME", f"fatbin \\- {SUMMARY}"),
        *_section("SYNOPSIS", ".B fatbin", ".I COMMAND", "[options] ..."),
        *_section("DESCRIPTION", _text(parser.description or "")),
        ".SH COMMANDS",
    ]
    for command in COMMANDS:
        lines += _command(inner[command.name], command.description)
    lines += [".SH EXIT STATUS", *_list((code, text.replace("`", "")) for code, text in exits)]
    lines += [".SH ENVIRONMENT", *_list(VARIABLES)]
    return "\n".join(lines) + "\n"


def _command(parser: argparse.ArgumentParser, description: str) -> Iterator[str]:
    yield f".SS {_text(parser.prog)}"
    yield ".nh"  # options and names stay whole
    yield f"\\fB{_text(parser.prog)}\\fR {' '.join(_usage(parser))}"
    yield ".hy"
    yield from (".PP", _text(description))
    for action in parser._actions:  # noqa: SLF001 - argparse has no other list of them
        if action.dest != "help":
            yield ".TP"
            yield _names(action)
            yield _text(_help(action))
    yield from (".PP", _text(_sentence(parser.epilog or "")))


def _usage(parser: argparse.ArgumentParser) -> Iterator[str]:
    options = [a for a in parser._actions if a.option_strings and a.dest != "help"]  # noqa: SLF001
    if options:
        yield "[options]"
    for action in parser._actions:  # noqa: SLF001 - as above
        if not action.option_strings:
            value = _value(action)
            yield {"*": f"[{value} ...]", "+": f"{value} ..."}.get(str(action.nargs), value)


def _names(action: argparse.Action) -> str:
    names = ", ".join(f"\\fB{_text(option)}\\fR" for option in action.option_strings)
    if action.nargs == 0:
        return names
    return f"{names} {_value(action)}".strip()


def _value(action: argparse.Action) -> str:
    if action.choices:
        return "{" + ",".join(_text(str(choice)) for choice in action.choices) + "}"
    return f"\\fI{_text(str(action.metavar))}\\fR"


def _help(action: argparse.Action) -> str:
    return _sentence((action.help or "").replace("%%", "%"))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "." if text and not text.endswith((".", "!")) else text


def _list(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, meaning in rows:
        yield from (".TP", f".B {_text(name)}", _text(meaning))


def _section(title: str, *lines: str) -> Iterator[str]:
    yield from (f".SH {title}", *lines)


def _text(text: str) -> str:
    r"""Return text that troff prints as it stands.

    >>> _text("'CODE: REASON', a\\b --strict")
    "\\&'CODE: REASON', a\\eb \\-\\-strict"
    """
    text = re.sub(r"[\\-]", lambda found: {"\\": "\\e", "-": "\\-"}[found[0]], text)
    return "\\&" + text if text[:1] in {"'", "."} else text
