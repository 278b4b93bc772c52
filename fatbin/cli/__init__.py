"""The command line; each command is a thin wrapper over the library."""

from fatbin.cli.main import main

__all__ = ["main"]
