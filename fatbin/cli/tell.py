"""Messages for people, on standard error."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.errors import FatbinError


TARGET_HELP = (
    "a file, wheel or other package, container image, directory, env: or env:PATH; "
    "- is standard input"
)
PLATFORM_HELP = (
    "of a container image for several, such as linux/arm64 (default: the only one, or linux/amd64)"
)


def tell(message: object) -> None:
    """Write one line; what it quotes from a file cannot steer the terminal or add lines."""
    from fatbin.errors import printable  # noqa: PLC0415 - most runs have nothing to tell

    if sys.stderr is not None:
        sys.stderr.write(f"fatbin: {printable(str(message))}\n")


def tell_error(error: FatbinError) -> None:
    """Write what went wrong, and on a second line what helps, where that is known."""
    tell(error)
    if error.hint:
        tell(error.hint)
