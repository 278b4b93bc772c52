"""An open target, closer to the bytes: containers whose entries are inflated one at a time."""

from __future__ import annotations

from contextlib import ExitStack

from fatbin.errors import FormatError, LimitExceededError
from fatbin.inventory import Issue
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.parts import part_modules, read_host
from fatbin.scanning.payloads import Payloads
from fatbin.scanning.targets import open_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from types import TracebackType

    from fatbin.errors import FatbinError, Report
    from fatbin.format.images import Cubin, Ltoir, Ptx
    from fatbin.format.view import View
    from fatbin.inventory import Entry, Module
    from fatbin.limits import Limits
    from fatbin.scanning.parts import Part


class OpenEntry:
    """An entry of an open file.

    Attributes:
        facts: the entry as the inventory describes it.
        location: of the library, with the entry's offset.
    """

    __slots__ = ("_limits", "_payloads", "_view", "facts")

    def __init__(self, facts: Entry, view: View, limits: Limits, payloads: Payloads) -> None:
        """Tie an entry to the bytes it was read from."""
        self.facts: Entry = facts
        self._view = view
        self._limits = limits
        self._payloads = payloads

    @property
    def location(self) -> str:
        """The library's location and the entry's offset: ``libx.so+0x38b8``."""
        return f"{self._view.name}+{self.facts.offset:#x}"

    def read(self) -> bytes | bytearray:
        """Return the payload, inflated now and within the limits.

        A payload that is stored plain comes with its padding of up to 7 bytes, whose number the
        format does not store. The images of a group are cut out of it; it is inflated once.

        Raises:
            FormatError: it does not inflate to exactly the declared size, or is cut off;
                UnsupportedVersionError for obfuscated LTO-IR.
            LimitExceededError: larger than the limits allow.
            MissingDependencyError: LZ4 or zstd without cramjam.
        """
        return self._payloads.read(self.facts)

    def image(self, report: Report | None = None) -> Cubin | Ptx | Ltoir | bytes | bytearray:
        """Return the payload opened by its kind; plain bytes where nothing is known of the kind.

        Args:
            report: gets an error for each damaged table of a cubin that is asked for later; without
                it the first error is raised.

        Raises:
            FormatError: as :meth:`read`, or the payload is not what its kind says.
            LimitExceededError: larger than the limits allow.
            MissingDependencyError: LZ4 or zstd without cramjam.
        """
        from fatbin.format.images import open_image  # noqa: PLC0415 - listing opens no image

        return open_image(
            self.facts.kind,
            self.read(),
            name=self.location,
            limits=self._limits,
            report=report,
        )

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
        self.facts: Module = facts
        self.location: str = view.name
        payloads = Payloads(view, limits)
        self.entries: tuple[OpenEntry, ...] = tuple(
            OpenEntry(entry, view, limits, payloads) for entry in facts.entries
        )

    def __repr__(self) -> str:
        """Return form, place and number of entries."""
        facts = self.facts
        return (
            f"<{facts.form} with {len(self.entries)} entries at {self.location}+{facts.offset:#x}>"
        )


class OpenLibrary:
    """One library of an open target: the file itself, or a file in it.

    In a package, image, folder or environment its bytes can be read until the next library is asked
    for.

    Attributes:
        location: path, with ``::member`` for members of archives, packages and images.
        format: as in :class:`fatbin.Library`.
        size: in bytes.
        containers: by offset.
        distribution: the package it belongs to; empty when not known.
        distribution_version: of that package.
    """

    __slots__ = (
        "containers",
        "distribution",
        "distribution_version",
        "format",
        "location",
        "size",
    )

    def __init__(self, part: Part, containers: tuple[OpenContainer, ...]) -> None:
        """Tie containers to the library they were found in."""
        self.location: str = part.view.name
        self.format: str = part.format
        self.size: int = part.view.size
        self.distribution: str = part.holder.distribution
        self.distribution_version: str = part.holder.distribution_version
        self.containers: tuple[OpenContainer, ...] = containers

    def __repr__(self) -> str:
        """Return location and number of containers."""
        return f"<library {self.location} with {len(self.containers)} containers>"


class OpenFile:
    """An open target; use it in a ``with`` statement and take nothing of it out of there.

    Attributes:
        issues: what could not be read so far; it grows while :meth:`containers` runs.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        limits: Limits = DEFAULT_LIMITS,
        report: Report | None = None,
        platform: str = "",
    ) -> None:
        """Open it; see :func:`fatbin.open`. ``report`` gets the errors instead of issues."""
        self.issues: list[Issue] = []
        self._forward = report
        self._limits = limits = limits.started()
        self._stack = ExitStack()
        self._parts: Iterator[Part] = iter(
            self._stack.enter_context(
                open_parts(target, limits=limits, report=self.report, platform=platform)
            )
        )

    def libraries(self) -> Iterator[OpenLibrary]:
        """Yield the libraries of the target; can be run through once.

        Headers are read, images are not. Of a target with many files those without device code are
        left out. A library whose first header cannot be read is left out and told in
        :attr:`issues`.
        """
        for part in self._parts:
            try:
                host = read_host(part, self._limits, self.report)
                modules = sorted(
                    part_modules(part, host, self._limits, self.report), key=lambda m: m.offset
                )
            except (FormatError, LimitExceededError) as exc:  # of this library; go on with the rest
                exc.location = exc.location or part.view.name
                self.report(exc)
                continue
            if not modules and part.holder.member:
                continue
            yield OpenLibrary(
                part, tuple(OpenContainer(m, part.view, self._limits) for m in modules)
            )

    def containers(self) -> Iterator[OpenContainer]:
        """Yield the containers of all libraries of the target; can be run through once."""
        for library in self.libraries():
            yield from library.containers

    def close(self) -> None:
        """Let go of the target."""
        self._stack.close()

    def __enter__(self) -> OpenFile:  # noqa: PYI034 - Self needs Python 3.11
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let go of the target."""
        self.close()

    def report(self, error: FatbinError) -> None:
        """Keep an error as an issue, up to the limit; what readers of images report to."""
        if self._forward is not None:
            self._forward(error)
        elif len(self.issues) < self._limits.issues:
            self.issues.append(Issue.of(error))


def open(  # noqa: A001 - fatbin.open reads like gzip.open
    target: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS, platform: str = ""
) -> OpenFile:
    """Open a file, package, image, directory or environment to read its device code.

    Of what holds many files one is open at a time: the images of a library can be read until the
    next library is asked for. Compressed members are inflated when their turn comes, large ones to
    a temporary file without a name.

    Args:
        target: as :func:`fatbin.scan` takes it.
        limits: bounds on what the target may make this library do.
        platform: of an image that is there for several, such as ``linux/arm64``.

    Raises:
        SourceError: the target cannot be read.
        UnknownFormatError: a file of none of the known formats, a directory without any such file.
    """
    return OpenFile(target, limits, platform=platform)
