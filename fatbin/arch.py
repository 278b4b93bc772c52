"""Compute capabilities of devices and architectures of code, as value types.

A *compute capability* belongs to a device (``9.0``); an *architecture* is what code was compiled
for: real (``sm_90a``, SASS) or virtual (``compute_90a``, PTX and LTO-IR). Both parse from and print
to the field's own spelling, compare, hash and pickle.

Sources: CUDA C++ Programming Guide, "Compute Capabilities"; nvcc documentation, "GPU Feature List"
and "Virtual Architecture Feature List" (suffixes ``a`` since CUDA 12.0, ``f`` since CUDA 12.9).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, total_ordering

from fatbin.errors import ArchitectureError

VARIANTS = ("", "f", "a", "?")
"""The suffixes an architecture can carry, in order: baseline, family, arch-specific, unknown."""

_CAPABILITY = re.compile(r"(?P<major>\d{1,4})\.(?P<minor>\d)|(?:sm_)?(?P<number>\d{2,5})")
_ARCHITECTURE = re.compile(
    r"(?:(?P<prefix>sm|compute|lto)_(?P<number>\d{2,10})"
    r"|(?P<major>\d{1,9})\.(?P<minor>\d))(?P<variant>[af?]?)"
)
_PTX_MARK = re.compile(r"\+PTX\Z", re.IGNORECASE)


@total_ordering
@dataclass(frozen=True, slots=True)
class ComputeCapability:
    """What a device can run: ``ComputeCapability.parse("12.0")``.

    Attributes:
        major: every digit but the last of the SM number (12 of 120).
        minor: the last digit, 0 to 9.
    """

    major: int
    minor: int

    def __post_init__(self) -> None:
        """Refuse numbers that no SM number can spell.

        Raises:
            ArchitectureError: negative major, or minor outside 0 to 9.
        """
        if self.major < 0 or not 0 <= self.minor <= 9:  # noqa: PLR2004 - one decimal digit
            msg = (
                "expected a compute capability with a minor number of one digit, "
                f"found {self.major}.{self.minor}"
            )
            raise ArchitectureError(msg)

    @classmethod
    def parse(cls, text: str | ComputeCapability) -> ComputeCapability:
        """Read ``9.0``, ``sm_90`` or ``90``; all digits count (``120`` is 12.0).

        Raises:
            ArchitectureError: the text is none of these.
        """
        if isinstance(text, ComputeCapability):
            return text
        match = _CAPABILITY.fullmatch(text.strip().lower())
        if match is None:
            msg = f"expected a compute capability such as 9.0 or sm_90, found {text!r}"
            raise ArchitectureError(msg)
        if match["number"]:
            return cls.of_sm(int(match["number"]))
        return cls(int(match["major"]), int(match["minor"]))

    @classmethod
    def of_sm(cls, number: int) -> ComputeCapability:
        """Return the capability of an SM number: 120 gives 12.0."""
        return cls(*divmod(number, 10))

    @property
    def sm(self) -> int:
        """The SM number: 120 for 12.0."""
        return 10 * self.major + self.minor

    def __str__(self) -> str:
        """Return ``major.minor``."""
        return f"{self.major}.{self.minor}"

    def __lt__(self, other: object) -> bool:
        """Order by major, then minor."""
        if not isinstance(other, ComputeCapability):
            return NotImplemented
        return (self.major, self.minor) < (other.major, other.minor)


@total_ordering
@dataclass(frozen=True, slots=True)
class Architecture:
    """What code was compiled for: ``sm_90a`` (real), ``compute_100f`` (virtual).

    Attributes:
        number: the SM number, 90 of ``sm_90a``.
        variant: ``""`` baseline, ``"f"`` family-specific, ``"a"`` architecture-specific, ``"?"``
            when the bytes do not tell (a bare cubin for SM 100 and later may be plain or ``f``).
        virtual: True for PTX and LTO-IR (``compute_``), False for SASS (``sm_``).
    """

    number: int
    variant: str = ""
    virtual: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be spelled.

        Raises:
            ArchitectureError: unknown variant or a number below 10.
        """
        if self.variant not in VARIANTS:
            msg = f"expected a variant of {VARIANTS}, found {self.variant!r}"
            raise ArchitectureError(msg)
        if self.number < 10:  # noqa: PLR2004 - two digits are the least: major and minor
            msg = f"expected an SM number of two digits or more, found {self.number}"
            raise ArchitectureError(msg)

    @classmethod
    def parse(cls, text: str | Architecture) -> Architecture:
        """Read ``sm_90a``, ``compute_100f``, ``lto_80`` (virtual) or ``9.0a`` (real).

        ``str()`` is the inverse: ``Architecture.parse(str(arch)) == arch``.

        Raises:
            ArchitectureError: the text is none of these.
        """
        if isinstance(text, Architecture):
            return text
        match = _ARCHITECTURE.fullmatch(text.strip().lower())
        if match is None:
            msg = f"expected an architecture such as sm_90a or compute_120, found {text!r}"
            raise ArchitectureError(msg)
        number = int(match["number"] or match["major"] + match["minor"])
        return cls(number, match["variant"], match["prefix"] in ("compute", "lto"))

    @classmethod
    def parse_list(cls, text: str) -> tuple[Architecture, ...]:
        """Read a list as build systems write it: ``"8.0 9.0a;12.0+PTX"``, ``"sm_80,compute_90"``.

        ``+PTX`` adds the virtual architecture of the same number (the spelling of
        ``TORCH_CUDA_ARCH_LIST``). Separators are blanks, commas and semicolons; order is kept and
        repeats are dropped.

        Raises:
            ArchitectureError: one of the words is no architecture.
        """
        found: dict[Architecture, None] = {}
        for word in re.split(r"[\s,;]+", text.strip()):
            if not word:
                continue
            arch = cls.parse(_PTX_MARK.sub("", word))
            found[arch] = None
            if _PTX_MARK.search(word):
                found[cls(arch.number, arch.variant, virtual=True)] = None
        return tuple(found)

    @property
    def compute_capability(self) -> ComputeCapability:
        """The compute capability of the number."""
        return ComputeCapability.of_sm(self.number)

    def __str__(self) -> str:
        """Return the field's spelling: ``sm_90a``, ``compute_120``."""
        return f"{'compute' if self.virtual else 'sm'}_{self.number}{self.variant}"

    def __lt__(self, other: object) -> bool:
        """Order by number, then variant (plain, f, a), real before virtual."""
        if not isinstance(other, Architecture):
            return NotImplemented
        return self._key() < other._key()

    def _key(self) -> tuple[int, int, bool]:
        return (self.number, VARIANTS.index(self.variant), self.virtual)


@lru_cache(maxsize=1024)
def architecture(number: int, variant: str, virtual: bool) -> Architecture | None:  # noqa: FBT001
    """Return the one shared value for these facts; None for 0, which entry headers use for none."""
    return Architecture(number, variant, virtual) if number >= 10 else None  # noqa: PLR2004
