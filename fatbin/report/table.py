"""Tables and lines on a terminal (through rich) or in a pipe (plain text)."""

from __future__ import annotations

import os

from fatbin.errors import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol, TextIO

    class Writer(Protocol):
        """What a document is written with."""

        def heading(self, text: str) -> None:
            """Write the name of what follows."""

        def line(self, text: str, tone: str = "") -> None:
            """Write one line; a tone is a word of :data:`TONES`, or nothing."""

        def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
            """Write a table; a column whose name begins with ``>`` is right-aligned."""


TONES = {"PASS": "green", "WARN": "yellow", "FAIL": "bold red", "NOTHING": "magenta"}
"""Words that stand out on a terminal, as a cell of a table or as the tone of a line."""


def writer(stream: TextIO) -> Writer:
    """Return a writer for a stream: rich tables on a terminal, plain text elsewhere.

    Where rich is not installed, a terminal gets plain text too.
    """
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        try:
            return RichWriter(stream)
        except ModuleNotFoundError as exc:
            if exc.name != "rich":
                raise
    return PlainWriter(stream)


class PlainWriter:
    """Columns padded with blanks, two between them."""

    def __init__(self, stream: TextIO) -> None:
        """Write to a stream."""
        self._stream = stream

    def heading(self, text: str) -> None:
        """Write the name of what follows."""
        self.line(text)

    def line(self, text: str, tone: str = "") -> None:  # noqa: ARG002 - for terminals
        """Write one line."""
        self._stream.write(printable(text) + "\n")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Write a table with a header line."""
        names = [name.lstrip(">") for name in columns]
        right = [name.startswith(">") for name in columns]
        cells = [names, *([printable(cell) for cell in row] for row in rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(names))]
        for row in cells:
            padded = (
                cell.rjust(width) if aligned else cell.ljust(width)
                for cell, width, aligned in zip(row, widths, right, strict=True)
            )
            self._stream.write("  " + "  ".join(padded).rstrip() + "\n")


class RichWriter:
    """The same through rich: colours unless NO_COLOR is set, and columns that fit the width."""

    def __init__(self, stream: TextIO) -> None:
        """Write to a terminal.

        Raises:
            ModuleNotFoundError: rich is not installed.
        """
        from rich.console import Console  # noqa: PLC0415 - only terminals pay for it

        self._console = Console(file=stream, highlight=False, soft_wrap=True)

    def heading(self, text: str) -> None:
        """Write the name of what follows, in bold."""
        self._console.print(printable(text), style="bold", markup=False)

    def line(self, text: str, tone: str = "") -> None:
        """Write one line in the colour of its tone."""
        self._console.print(printable(text), style=TONES.get(tone), markup=False)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Write a table; architectures stand out."""
        from rich import box  # noqa: PLC0415
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=True)
        for name in columns:
            table.add_column(
                name.lstrip(">"),
                justify="right" if name.startswith(">") else "left",
                style="cyan" if name == "arch" else "",
                overflow="fold",
            )
        for row in rows:
            table.add_row(*(Text(printable(cell), style=TONES.get(cell, "")) for cell in row))
        self._console.print(table)


def size_text(size: int) -> str:
    """Return bytes for people: exact below 100,000, then kB, MB, GB (powers of ten).

    >>> size_text(3240), size_text(153_100_000)
    ('3,240 B', '153.1 MB')
    """
    if size < 100_000:  # noqa: PLR2004 - where exact figures stop being readable
        return f"{size:,} B"
    value = float(size)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 1000 or unit == "GB":  # noqa: PLR2004
            break
    return f"{value:,.1f} {unit}"
