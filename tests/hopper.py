"""Which image of a container a device of compute capability 9.0 takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fatbin.scanning.opened import OpenContainer, OpenEntry


def for_hopper(container: OpenContainer) -> OpenEntry | None:
    """Of cubins sm_90a, then sm_90; else the highest PTX up to 9.0, a before plain."""
    best: tuple[int, int, int] = (0, 0, 0)
    chosen = None
    for entry in container.entries:
        arch, kind = entry.facts.arch, entry.facts.kind
        if arch is None or arch.variant == "f" or arch.number > 90:
            continue
        exact = arch.variant == "a"
        if exact and arch.number != 90:
            continue
        if kind == "sass" and arch.number == 90:
            rank = (2, arch.number, int(exact))
        elif kind == "ptx":
            rank = (1, arch.number, int(exact))
        else:
            continue
        if rank > best:
            best, chosen = rank, entry
    return chosen
