"""Compute capabilities of devices and architectures of code, as value types.

A *compute capability* belongs to a device (``9.0``); an *architecture* is what code was compiled
for: real (``sm_90a``, SASS) or virtual (``compute_90a``, PTX and LTO-IR). Both parse from and print
to the field's own spelling, compare, hash and pickle.

Sources: CUDA C++ Programming Guide, "Compute Capabilities"; nvcc documentation, "GPU Feature List"
and "Virtual Architecture Feature List" (suffixes ``a`` since CUDA 12.0, ``f`` since CUDA 12.9).
"""

from __future__ import annotations

import re

from fatbin._record import Value
from fatbin.errors import ArchitectureError

VARIANTS = ("", "f", "a", "?")
"""The suffixes an architecture can carry, in order: baseline, family, arch-specific, unknown."""

# Compiled when first used: start-up pays for nothing that a header walk does not need.
_CAPABILITY = r"(?P<major>[0-9]{1,4})\.(?P<minor>[0-9])|(?:sm_)?(?P<number>[0-9]{2,5})"
_ARCHITECTURE = (
    r"(?:(?P<prefix>sm|compute|lto)_(?P<number>[0-9]{2,10})"
    r"|(?P<major>[0-9]{1,9})\.(?P<minor>[0-9]))(?P<variant>[af?]?)"
)
_PTX_MARK = r"(?i)\+PTX\Z"


class ComputeCapability(Value):
    """What a device can run: ``ComputeCapability.parse("12.0")``.

    Attributes:
        major: every digit but the last of the SM number (12 of 120).
        minor: the last digit, 0 to 9.
    """

    __slots__ = ("major", "minor")
    major: int
    minor: int

    def __init__(self, major: int, minor: int) -> None:
        """Make a value of two numbers.

        Raises:
            ArchitectureError: negative major, or minor outside 0 to 9.
        """
        if major < 0 or not 0 <= minor <= 9:  # noqa: PLR2004 - one decimal digit
            msg = (
                "expected a compute capability with a minor number of one digit, "
                f"found {major}.{minor}"
            )
            raise ArchitectureError(msg)
        object.__setattr__(self, "major", major)
        object.__setattr__(self, "minor", minor)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by value."""
        return (ComputeCapability, (self.major, self.minor))

    @classmethod
    def parse(cls, text: str | ComputeCapability) -> ComputeCapability:
        """Read ``9.0``, ``sm_90`` or ``90``; all digits count (``120`` is 12.0).

        Raises:
            ArchitectureError: the text is none of these.
        """
        if isinstance(text, ComputeCapability):
            return text
        match = re.fullmatch(_CAPABILITY, text.strip().lower())
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

    def _key(self) -> tuple[int, ...]:
        return (self.major, self.minor)


class Architecture(Value):
    """What code was compiled for: ``sm_90a`` (real), ``compute_100f`` (virtual).

    Attributes:
        number: the SM number, 90 of ``sm_90a``.
        variant: ``""`` baseline, ``"f"`` family-specific, ``"a"`` architecture-specific, ``"?"``
            when the bytes do not tell (a bare cubin for SM 100 and later may be plain or ``f``).
        virtual: True for PTX and LTO-IR (``compute_``), False for SASS (``sm_``).
    """

    __slots__ = ("number", "variant", "virtual")
    number: int
    variant: str
    virtual: bool

    def __init__(self, number: int, variant: str = "", *, virtual: bool = False) -> None:
        """Make a value of its parts.

        Raises:
            ArchitectureError: unknown variant or a number below 10.
        """
        if variant not in VARIANTS:
            msg = f"expected a variant of {VARIANTS}, found {variant!r}"
            raise ArchitectureError(msg)
        if number < 10:  # noqa: PLR2004 - two digits are the least: major and minor
            msg = f"expected an SM number of two digits or more, found {number}"
            raise ArchitectureError(msg)
        object.__setattr__(self, "number", number)
        object.__setattr__(self, "variant", variant)
        object.__setattr__(self, "virtual", virtual)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by value."""
        return (_architecture_of, (self.number, self.variant, self.virtual))

    @classmethod
    def parse(cls, text: str | Architecture) -> Architecture:
        """Read ``sm_90a``, ``compute_100f``, ``lto_80`` (virtual) or ``9.0a`` (real).

        ``str()`` is the inverse: ``Architecture.parse(str(arch)) == arch``.

        Raises:
            ArchitectureError: the text is none of these.
        """
        if isinstance(text, Architecture):
            return text
        match = re.fullmatch(_ARCHITECTURE, text.strip().lower())
        if match is None:
            msg = f"expected an architecture such as sm_90a or compute_120, found {text!r}"
            raise ArchitectureError(msg)
        number = int(match["number"] or match["major"] + match["minor"])
        return cls(number, match["variant"], virtual=match["prefix"] in ("compute", "lto"))

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
            arch = cls.parse(re.sub(_PTX_MARK, "", word))
            found[arch] = None
            if re.search(_PTX_MARK, word):
                found[cls(arch.number, arch.variant, virtual=True)] = None
        return tuple(found)

    @property
    def compute_capability(self) -> ComputeCapability:
        """The compute capability of the number."""
        return ComputeCapability.of_sm(self.number)

    def __str__(self) -> str:
        """Return the field's spelling: ``sm_90a``, ``compute_120``."""
        return f"{'compute' if self.virtual else 'sm'}_{self.number}{self.variant}"

    def _key(self) -> tuple[int, ...]:
        return (self.number, VARIANTS.index(self.variant), int(self.virtual))


def architecture(number: int, variant: str, *, virtual: bool) -> Architecture | None:
    """Return the one shared value for these facts; None for 0, which entry headers use for none."""
    known = _SHARED.get((number, variant, virtual))
    if known is None and number >= 10:  # noqa: PLR2004 - as in Architecture
        known = Architecture(number, variant, virtual=virtual)
        if len(_SHARED) < _MOST_SHARED:  # a hostile file may name any number
            _SHARED[number, variant, virtual] = known
    return known


_SHARED: dict[tuple[int, str, bool], Architecture] = {}
_MOST_SHARED = 1024


def _architecture_of(number: int, variant: str, virtual: bool) -> Architecture:  # noqa: FBT001
    return Architecture(number, variant, virtual=virtual)
