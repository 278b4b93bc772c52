"""Targets to inventories, for the commands: with a cache and, on a terminal, a bar."""

from __future__ import annotations

from fatbin.cli import limits, progress
from fatbin.limits import DEFAULT_LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from fatbin.inventory import Inventory
    from fatbin.limits import Limits
    from fatbin.scanning.cache import Cache
    from fatbin.scanning.scanner import Options


def add_options(add: Callable[..., argparse.Action]) -> None:
    """Add the options that say how targets are read."""
    add(
        "--no-cache",
        action="store_true",
        help="read packages, images, directories and environments again, and remember nothing",
    )
    progress.add_option(add)
    limits.add_option(add)


class How:
    """How targets are read.

    Attributes:
        remember: whether a cache is used.
        show: whether a terminal shows how far it is.
        limits: what a target may cost.
    """

    def __init__(self, *, remember: bool, show: bool, limits: Limits = DEFAULT_LIMITS) -> None:
        """Keep all."""
        self.remember = remember
        self.show = show
        self.limits = limits

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> How:
        """Return what the options say."""
        return cls(
            remember=not arguments.no_cache,
            show=not arguments.no_progress,
            limits=limits.limits_of(arguments),
        )

    def cache(self) -> Cache | None:
        """Return the cache; None where none is wanted."""
        if not self.remember:
            return None
        from fatbin.scanning.cache import Cache, default_cache  # noqa: PLC0415

        return Cache(default_cache())


def scan_target(path: str, options: Options, how: How) -> Inventory:
    """Scan one target; see :func:`fatbin.scan`.

    Raises:
        FatbinError: it cannot be read.
    """
    from fatbin.scanning.targets import is_file, is_kept  # noqa: PLC0415 - usage errors need none

    if is_file(path) and not is_kept(path) and path != "-":
        from fatbin.scanning.scanner import scan_file  # noqa: PLC0415

        return scan_file(path, options)
    from fatbin.scanning.many import plan, run, scan_alone  # noqa: PLC0415 - a file needs less

    with progress.watching(wanted=how.show) as watch:
        if is_file(path):
            return scan_alone(path, options, cache=how.cache(), watch=watch)
        return run([plan(path, options)], options, cache=how.cache(), watch=watch)


def scan_input(head: bytes, options: Options, how: How) -> Inventory:
    """Scan what comes through standard input, of which ``head`` was read.

    Raises:
        FatbinError: it cannot be read.
    """
    from fatbin.scanning.many import scan_piped  # noqa: PLC0415 - documents need no scanner

    with progress.watching(wanted=how.show) as watch:
        return scan_piped(head, options, cache=how.cache(), watch=watch)
