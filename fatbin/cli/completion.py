"""``completion``: what a shell needs to complete commands, options and words.

The texts are made from the parser by ``docs/generate.py`` and shipped, so that nothing is computed,
and nothing more installed, where they are used.
"""

from __future__ import annotations

import sys

from fatbin.cli import exits

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

SHELLS = ("bash", "zsh", "fish")


def configure_completion(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``completion``."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that is to complete")


def run_completion(arguments: argparse.Namespace) -> int:
    """Print the text for a shell."""
    from importlib.resources import files  # noqa: PLC0415 - only this command needs it

    text = (files("fatbin.cli") / "completions" / f"fatbin.{arguments.shell}").read_text("utf-8")
    sys.stdout.write(text)
    return exits.PASS
