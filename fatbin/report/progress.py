"""A bar on a terminal: bytes and files done of all, and the name of what is read."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from fatbin.errors import printable
from fatbin.report.table import size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, TextIO

    class Reached(Protocol):
        """How far the work is."""

        @property
        def name(self) -> str:
            """What is read."""

        @property
        def done(self) -> int:
            """Bytes."""

        @property
        def total(self) -> int:
            """Bytes of all."""

        @property
        def files(self) -> int:
            """Done."""

        @property
        def of(self) -> int:
            """Files in all."""


_BAR = 24


class RichBar:
    """One line that is drawn over itself and gone at the end."""

    def __init__(self, stream: TextIO) -> None:
        """Begin on a terminal; nothing is drawn yet."""
        self._console = Console(file=stream, highlight=False)
        self._progress = Progress(
            BarColumn(_BAR),
            TextColumn("{task.description}", markup=False, style="none"),
            console=self._console,
            transient=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task("", total=None)
        self._progress.start()

    def show(self, reached: Reached) -> None:
        """Draw how far it is."""
        room = self._console.width - _BAR - 2
        self._progress.update(
            self._task,
            total=reached.total or None,
            completed=reached.done,
            description=progress_text(reached, room),
        )
        self._progress.refresh()

    def close(self) -> None:
        """Leave the line empty, and the cursor visible at its beginning."""
        self._progress.stop()


def progress_text(reached: Reached, room: int) -> str:
    """Return what stands beside the bar: the end of a name that is too long says most."""
    text = size_text(reached.done)
    if reached.total:
        text += f" of {size_text(reached.total)}"
    if reached.of > 1:
        text += f"  {reached.files:,} of {reached.of:,} files"
    name = printable(reached.name)
    left = room - len(text) - 2
    if left < len(name):
        name = "…" + name[len(name) - left + 1 :] if left > 1 else ""
    return f"{text}  {name}".rstrip()
