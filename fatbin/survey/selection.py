"""Which images are meant: by kind, architecture, place and kernel."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from fatbin._record import Record
from fatbin.arch import Architecture, ComputeCapability
from fatbin.errors import FatbinError
from fatbin.kinds import EntryKind, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fatbin.inventory import Entry

KINDS = tuple(dict.fromkeys(kind.label for kind in EntryKind if kind is not EntryKind.GROUP))
"""The kinds of images; those of a group are selected by their own kinds."""
_UNKNOWN = r"unknown-\d{1,5}"
_CAPABILITY = r"\d{1,9}\.\d"


class Selection(Record):
    """What an image must be; an empty part allows everything.

    Attributes:
        kinds: words such as ``sass``.
        architectures: what the code was compiled for, exactly.
        capabilities: ... or the number of it, real or virtual, of any variant.
        places: where it lies.
        kernels: patterns of which one must match the mangled name of a kernel in it.
    """

    kinds: frozenset[str] = frozenset()
    architectures: frozenset[Architecture] = frozenset()
    capabilities: frozenset[ComputeCapability] = frozenset()
    places: frozenset[Place] = frozenset()
    kernels: tuple[str, ...] = ()

    def takes(self, entry: Entry) -> bool:
        """Tell whether an entry is meant, as far as its header says."""
        if self.kinds and entry.kind not in self.kinds:
            return False
        if self.places and entry.place not in self.places:
            return False
        if not self.architectures and not self.capabilities:
            return True
        arch = entry.arch
        return arch is not None and (
            arch in self.architectures or arch.compute_capability in self.capabilities
        )

    def takes_kernels(self, names: Iterable[str]) -> bool:
        """Tell whether an image with these kernels is meant."""
        return any(fnmatchcase(name, glob) for name in names for glob in self.kernels)


def select(
    kinds: str = "", architectures: str = "", places: str = "", kernels: Iterable[str] = ()
) -> Selection:
    """Read a selection from lists as they stand on a command line.

    Args:
        kinds: such as ``sass,ptx``.
        architectures: ``sm_90a`` and ``compute_120`` mean just these; ``9.0`` means everything for
            that compute capability, real and virtual, of any variant.
        places: such as ``loadable,embedded``.
        kernels: patterns with ``*``, ``?`` and ``[...]``.

    Raises:
        FatbinError: a word that is none of these; ArchitectureError for architectures.
    """
    exact, loose = set(), set()
    for word in _words(architectures):
        if re.fullmatch(_CAPABILITY, word):
            loose.add(ComputeCapability.parse(word))
        else:
            exact.add(Architecture.parse(word))
    for word in _words(kinds):
        if word not in KINDS and not re.fullmatch(_UNKNOWN, word):
            msg = f"expected a kind out of {', '.join(KINDS)}, unknown-N, found {word!r}"
            raise FatbinError(msg)
    known = {place.value: place for place in Place}
    for word in _words(places):
        if word not in known:
            msg = f"expected a place out of {', '.join(known)}, found {word!r}"
            raise FatbinError(msg)
    return Selection(
        frozenset(_words(kinds)),
        frozenset(exact),
        frozenset(loose),
        frozenset(known[word] for word in _words(places)),
        tuple(kernels),
    )


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,;]+", text) if word]
