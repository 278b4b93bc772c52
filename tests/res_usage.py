"""Resources of functions as ``cuobjdump -res-usage`` names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fatbin.kernel import Kernel


def columns(kernel: Kernel) -> dict[str, int]:
    """Return what cuobjdump calls the resources of a function."""
    return {
        "REG": kernel.registers,
        "STACK": kernel.stack,
        "SHARED": kernel.shared,
        "LOCAL": kernel.local,
        **{f"CONSTANT[{bank}]": size for bank, size in kernel.constant},
        "TEXTURE": 0,
        "SURFACE": 0,
        "SAMPLER": 0,
    }
