"""Which entries a driver may take for a device, one by one; every answer is remembered."""

from __future__ import annotations

from fatbin.judge.facts.toolkits import GROUPS
from fatbin.judge.facts.versions import version_numbers
from fatbin.judge.serving import Certainty, Serving, ptx_serves, sass_serves
from fatbin.kinds import EntryKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.arch import Architecture, ComputeCapability
    from fatbin.inventory import Entry
    from fatbin.judge.driver import Driver

_NO_VERSION = (1_000_000_000, 0)


class Fitting:
    """Single entries before one device and one driver.

    Attributes:
        cuda: version of the driver, ``(12, 8)``; None when it is not known.
    """

    def __init__(self, device: ComputeCapability, reader: Driver | None) -> None:
        """Know nothing yet."""
        self.cuda: tuple[int, int] | None = reader.cuda if reader else None
        self._device = device
        self._reader = reader
        self._sass: dict[tuple[object, ...], tuple[Architecture | None, Serving]] = {}
        self._ptx: dict[int, tuple[Architecture | None, Serving]] = {}

    def passes_over(self, entry: Entry) -> bool:
        """Tell whether the driver does not see an entry: an image of a group, and it is too old."""
        if entry.group < 0 or self._reader is None:
            return False
        return self._reader.reading_branch < GROUPS.first_driver

    def serving(self, entry: Entry) -> Serving:
        """Say whether an entry of a container serves, with what is not sure of how it is packed."""
        if entry.kind not in ("sass", "ptx"):
            return Serving(Certainty.NO, ("container.nothing-fits",))
        serving = self.sass(entry) if entry.kind == "sass" else self.ptx(entry)
        if serving.certainty is Certainty.NO:
            return serving
        if entry.kind_number == EntryKind.ELF_16:
            return Serving(Certainty.UNSURE, ("container.kind-16", *serving.because))
        if entry.group >= 0 and serving.certainty is Certainty.YES:
            return Serving(Certainty.LIKELY, ("driver.groups", *serving.because))
        return serving

    def sass(self, entry: Entry) -> Serving:
        """Say whether a cubin serves, however it is stored."""
        arch = entry.arch
        # By identity, which is quick; the architecture is kept, so that it is no other's later.
        key = (id(arch), entry.fastpath_finalize, entry.toolkit, bool(entry.compat))
        known = self._sass.get(key)
        if known is None:
            answer = (
                Serving(Certainty.NO, ("container.nothing-fits",))
                if arch is None
                else sass_serves(
                    arch,
                    self._device,
                    self.cuda,
                    mask=entry.fastpath_finalize,
                    toolkit=entry.toolkit,
                    has_compat=bool(entry.compat),
                )
            )
            known = self._sass[key] = arch, answer
        return known[1]

    def ptx(self, entry: Entry) -> Serving:
        """Say whether the target of PTX lets it be compiled, however it is stored."""
        arch = entry.arch
        known = self._ptx.get(id(arch))
        if known is None:
            answer = (
                Serving(Certainty.NO, ("container.nothing-fits",))
                if arch is None
                else ptx_serves(arch, self._device)
            )
            known = self._ptx[id(arch)] = arch, answer
        return known[1]

    def reads(self, entry: Entry) -> bool:
        """Tell whether the driver reads PTX of this ISA version."""
        return self._reader is None or isa_of(entry) <= self._reader.ptx_isa

    def why_not(self, entry: Entry) -> tuple[str, ...]:
        """Return ids of the statements for which an image does not fit; none where it does."""
        if entry.kind not in ("sass", "ptx"):
            return ()
        if self.passes_over(entry):
            return ("driver.groups",)
        serving = self.serving(entry)
        return serving.because if serving.certainty is Certainty.NO else ()


def isa_of(entry: Entry) -> tuple[int, int]:
    """Return the PTX ISA version of an entry as numbers; (0, 0) when none is named.

    What cannot be read as a version is newer than every driver.
    """
    if not entry.isa_version:
        return (0, 0)
    major, minor, *_ = (*version_numbers(entry.isa_version), 0, 0)
    return (major, minor) if major else _NO_VERSION
