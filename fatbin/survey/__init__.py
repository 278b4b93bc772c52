"""What is inside the images, added up: kernels, sizes, differences; and images taken out.

The public names are imported when first used, as those of :mod:`fatbin` are. The modules are not
public.
"""

from __future__ import annotations

import fatbin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.survey.accounts import Account, LibrarySize, Slice
    from fatbin.survey.diff import compare
    from fatbin.survey.differences import (
        Code,
        Diff,
        FactChange,
        Held,
        KernelChange,
        LibraryDiff,
        Sizes,
        Summary,
        VersionChange,
    )
    from fatbin.survey.sizes import account

_HOMES = {
    "fatbin.survey.accounts": ("Account", "LibrarySize", "Slice"),
    "fatbin.survey.diff": ("compare",),
    "fatbin.survey.differences": (
        "Code",
        "Diff",
        "FactChange",
        "Held",
        "KernelChange",
        "LibraryDiff",
        "Sizes",
        "Summary",
        "VersionChange",
    ),
    "fatbin.survey.sizes": ("account",),
}

__all__ = [
    "Account",
    "Code",
    "Diff",
    "FactChange",
    "Held",
    "KernelChange",
    "LibraryDiff",
    "LibrarySize",
    "Sizes",
    "Slice",
    "Summary",
    "VersionChange",
    "account",
    "compare",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    return fatbin._imported(name, _HOMES, globals())


def __dir__() -> list[str]:
    """List the public names only."""
    return sorted(__all__)
