"""Paths inside a target, whatever kind of target it is."""

from __future__ import annotations

import os

from fatbin.scanning.targets import ENVIRONMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def paths_in(target: str) -> Callable[[str], str]:
    """Return a function from locations of libraries to their paths inside a target.

    The path of the target itself is empty. What does not lie under it (packages of a user in
    ``env:``) keeps its location.

    >>> path = paths_in("x.whl")
    >>> path("x.whl::pkg/lib/libx.so"), path("x.whl")
    ('pkg/lib/libx.so', '')

    Args:
        target: as it was given.
    """
    folder = target
    if target.startswith(ENVIRONMENT):
        from fatbin.scanning.environments import find_environment  # noqa: PLC0415 - only these

        folder = find_environment(target).prefix
    start = os.path.join(folder, "")

    def path(location: str) -> str:
        if location.startswith(f"{target}::"):
            return location[len(target) + 2 :]
        if location == target:
            return ""
        return location.removeprefix(start).replace(os.sep, "/")

    return path
