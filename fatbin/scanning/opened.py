"""An open file, closer to the bytes: containers whose entries can be inflated one at a time."""

from __future__ import annotations

from contextlib import ExitStack

from fatbin.inventory import Issue
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.modules import read_entry
from fatbin.scanning.scanner import Part, open_parts, part_modules, read_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from types import TracebackType

    from fatbin.errors import FatbinError
    from fatbin.format.images import Cubin, Ltoir, Ptx
    from fatbin.format.view import View
    from fatbin.inventory import Entry, Module
    from fatbin.limits import Limits


class OpenEntry:
    """An entry of an open file.

    Attributes:
        facts: the entry as the inventory describes it.
    """

    __slots__ = ("_limits", "_view", "facts")

    def __init__(self, facts: Entry, view: View, limits: Limits) -> None:
        """Tie an entry to the bytes it was read from."""
        self.facts = facts
        self._view = view
        self._limits = limits

    def read(self) -> bytes | bytearray:
        """Return the payload, inflated now and within the limits.

        A payload that is stored plain comes with its padding of up to 7 bytes, whose number the
        format does not store.

        Raises:
            FormatError: it does not inflate to exactly the declared size, or is cut off;
                UnsupportedVersionError for obfuscated LTO-IR.
            LimitExceededError: larger than the limits allow.
            MissingDependencyError: LZ4 or zstd without cramjam.
        """
        return read_entry(self._view, self.facts, self._limits)

    def image(self) -> Cubin | Ptx | Ltoir | bytes | bytearray:
        """Return the payload opened by its kind; plain bytes where nothing is known of the kind.

        Raises:
            FormatError: as :meth:`read`, or the payload is not what its kind says.
            LimitExceededError: larger than the limits allow.
            MissingDependencyError: LZ4 or zstd without cramjam.
        """
        from fatbin.format.images import open_image  # noqa: PLC0415 - listing opens no image

        name = f"{self._view.name}+{self.facts.offset:#x}"
        return open_image(self.facts.kind, self.read(), name=name, limits=self._limits)

    def __repr__(self) -> str:
        """Return kind, architecture and place."""
        facts = self.facts
        return f"<{facts.kind} {facts.arch or '-'} at {self._view.name}+{facts.offset:#x}>"


class OpenContainer:
    """A container (or a bare image) of an open file.

    Attributes:
        facts: the module as the inventory describes it.
        location: of the library it lies in.
        entries: in file order; images of a group follow the group.
    """

    __slots__ = ("entries", "facts", "location")

    def __init__(self, facts: Module, view: View, limits: Limits) -> None:
        """Tie a module to the bytes it was read from."""
        self.facts = facts
        self.location = view.name
        self.entries = tuple(OpenEntry(entry, view, limits) for entry in facts.entries)

    def __repr__(self) -> str:
        """Return form, place and number of entries."""
        facts = self.facts
        return (
            f"<{facts.form} with {len(self.entries)} entries at {self.location}+{facts.offset:#x}>"
        )


class OpenFile:
    """A mapped file; use it in a ``with`` statement and take nothing of it out of there.

    Attributes:
        issues: what could not be read so far; it grows while :meth:`containers` runs.
    """

    def __init__(self, path: str | os.PathLike[str], limits: Limits = DEFAULT_LIMITS) -> None:
        """Open the file; see :func:`fatbin.open`."""
        self.issues: list[Issue] = []
        self._limits = limits
        self._stack = ExitStack()
        self._parts: Iterator[Part] = self._stack.enter_context(
            open_parts(path, limits=limits, report=self._report)
        )

    def containers(self) -> Iterator[OpenContainer]:
        """Yield what the file holds, library by library; can be run through once.

        Named sections come first, then what was found elsewhere in the library.

        Raises:
            FormatError: a header without which nothing can be read.
        """
        for part in self._parts:
            host = read_host(part, self._limits, self._report)
            for module in part_modules(part, host, self._limits, self._report):
                yield OpenContainer(module, part.view, self._limits)

    def close(self) -> None:
        """Unmap the file."""
        self._stack.close()

    def __enter__(self) -> OpenFile:  # noqa: PYI034 - Self needs Python 3.11
        """Return the file itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Unmap the file."""
        self.close()

    def _report(self, error: FatbinError) -> None:
        if len(self.issues) < self._limits.issues:
            self.issues.append(Issue.of(error))


def open(  # noqa: A001 - fatbin.open reads like gzip.open
    path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS
) -> OpenFile:
    """Open a file to read the bytes of its device code.

    Args:
        path: of the file; its format is told by content, as in :func:`fatbin.scan`.
        limits: bounds on what the file may make this library do.

    Raises:
        SourceError: the file cannot be read.
        UnknownFormatError: the file is none of the known formats.
    """
    return OpenFile(path, limits)
