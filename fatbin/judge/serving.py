"""Which code serves which device: SASS by major version, PTX by target, with the exceptions.

One direction throughout: ``serves(code, device)``. A verdict of LIKELY or UNSURE is an answer and
is never rounded to yes or no.
"""

from __future__ import annotations

from fatbin._record import Record, Word
from fatbin.arch import ComputeCapability
from fatbin.judge.facts.architectures import row_of
from fatbin.judge.facts.versions import version_numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.arch import Architecture

INTEGRATED_REOPENED = (13, 2)
"""CUDA version of the drivers from which on 8.0 and 8.6 code is taken on 8.7 and 8.8."""

MASK_BITS = {
    ComputeCapability(10, 0): 0x01,
    ComputeCapability(10, 3): 0x08,
    ComputeCapability(12, 0): 0x10,
    ComputeCapability(12, 1): 0x40,
}
"""Bits of attribute CAN_FASTPATH_FINALIZE; numbering inferred from sm_100 (0x09), sm_120 (0x50)."""

_MASK_WRITTEN = (13, 0)
_REOPENED_MAJOR = 8
_FAMILIES = ((100, 103, 107), (101, 110), (120, 121))
_BLACKWELL = frozenset(number for family in _FAMILIES for number in family)
_RENAMED = 101  # sm_101 of CUDA 12.8 and 12.9 is sm_110 from 13.0 on
_THOR = 110
_RUBIN = 107


class Certainty(Word):
    """The four answers to "does this code serve that device"."""

    YES = "yes"
    LIKELY = "likely"
    """Evidence, but no promise of the vendor."""
    UNSURE = "unsure"
    """Evidence that conflicts."""
    NO = "no"


class Serving(Record):
    """An answer and what it rests on.

    Attributes:
        certainty: the answer.
        because: ids of statements, the deciding one first.
    """

    certainty: Certainty
    because: tuple[str, ...]


def ptx_serves(code: Architecture, device: ComputeCapability) -> Serving:
    """Say whether the target of a PTX text allows its compilation for a device.

    The number of the target must not be above the device's; ``f`` must be of the same family, ``a``
    of the same number. Tegra is no exception. The ISA version is another question.

    Source: ``ptxas --help`` of CUDA 13, tried for all pairs; the CUDA C++ Programming Guide.
    """
    number = code.number
    sm = _THOR if device.sm == _RENAMED else device.sm  # 10.1 is what 11.0 was called before
    if code.variant == "a":
        same = number == sm or (number == _RENAMED and sm == _THOR)
        return _answer(same, "ptx.arch-specific")
    if code.variant == "f":
        return _answer(sm in _family(number) and number <= sm, "ptx.family")
    return _answer(number <= sm, "ptx.target")


def sass_serves(  # noqa: PLR0911 - one answer a rule, in the order in which they decide
    code: Architecture,
    device: ComputeCapability,
    driver_cuda: tuple[int, int] | None = None,
    *,
    mask: int | None = None,
    toolkit: str = "",
    has_compat: bool = False,
) -> Serving:
    """Say whether a cubin for ``code`` runs on a device.

    Args:
        code: a real architecture; of a virtual one the answer is that of its number.
        device: the GPU.
        driver_cuda: CUDA version of the driver, ``(12, 8)``; None when not known.
        mask: ``CAN_FASTPATH_FINALIZE`` of the cubin; None when it has none.
        toolkit: that made the cubin, ``12.9``; empty when not known.
        has_compat: whether the cubin's ``.nv.compat`` is known, so that a missing mask is one.

    Source: CUDA C++ Programming Guide, "Binary Compatibility" and "Family-Specific Features"; the
    exceptions one by one in :mod:`fatbin.judge.facts.statements`.
    """
    number, sm = code.number, device.sm
    if code.variant == "f" and number not in _BLACKWELL:
        return Serving(Certainty.NO, ("sass.no-family",))
    if number == sm:
        return Serving(Certainty.YES, ("sass.same",))
    if number == _RENAMED and sm == _THOR:
        return Serving(Certainty.LIKELY, ("sass.renamed-thor",))
    if code.variant == "a":
        return Serving(Certainty.NO, ("sass.arch-specific",))
    if number // 10 != sm // 10:
        return Serving(Certainty.NO, ("sass.other-major",))
    if number > sm:
        return Serving(Certainty.NO, ("sass.minor-below",))
    if _is_integrated(number) or _is_integrated(sm):
        return _integrated(device, driver_cuda)
    if sm == _RUBIN:
        return Serving(Certainty.UNSURE, ("sass.rubin",))
    if number in _BLACKWELL:
        return _masked(code, device, mask, toolkit, has_compat=has_compat)
    return Serving(Certainty.YES, ("sass.minor-upward",))


def _is_integrated(number: int) -> bool:
    row = row_of(ComputeCapability.of_sm(number))
    return row is not None and row.integrated


def _integrated(device: ComputeCapability, driver_cuda: tuple[int, int] | None) -> Serving:
    """Tegra and discrete parts do not share cubins; from CUDA 13.2 on 8.x does, by evidence."""
    reopened = driver_cuda is None or driver_cuda >= INTEGRATED_REOPENED
    if device.major == _REOPENED_MAJOR and reopened:
        return Serving(Certainty.LIKELY, ("sass.integrated-reopened", "sass.integrated"))
    return Serving(Certainty.NO, ("sass.integrated",))


def _masked(
    code: Architecture,
    device: ComputeCapability,
    mask: int | None,
    toolkit: str,
    *,
    has_compat: bool,
) -> Serving:
    """Answer for Blackwell cubins off their own number, which a mask of their own may name."""
    bit = MASK_BITS.get(device)
    if mask is not None and bit is not None:
        return _answer(bool(mask & bit), "sass.mask")
    version = version_numbers(toolkit)[:2]
    if version >= _MASK_WRITTEN:
        return Serving(Certainty.YES, ("sass.family-upward",))
    if code.variant == "f" and not version and not has_compat:
        return Serving(Certainty.YES, ("sass.family-upward",))
    return Serving(Certainty.UNSURE, ("sass.no-mask", "sass.minor-upward"))


def _family(number: int) -> tuple[int, ...]:
    """Return the family of a number; none below 10.0, where there are no families."""
    return next((family for family in _FAMILIES if number in family), ())


def _answer(yes: bool, *because: str) -> Serving:  # noqa: FBT001 - the answer itself
    return Serving(Certainty.YES if yes else Certainty.NO, because)
