"""Attribute records of ``.nv.info``, ``.nv.info.<kernel>`` and ``.nv.compat``.

A record is ``u8 format, u8 id, u16 value``; format 4 is followed by ``value`` bytes. Names are
those that ``cuobjdump -elf`` 13.5 prints, matched record by record; an id without a name is kept by
its number.
"""

from __future__ import annotations

from fatbin.format.layouts import ATTRIBUTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SIZED = 4

MAX_THREADS = 0x05
PARAM_CBANK = 0x0A
EXTERNS = 0x0F
REQNTID = 0x10
FRAME_SIZE = 0x11
MIN_STACK_SIZE = 0x12
KPARAM_INFO = 0x17
CBANK_PARAM_SIZE = 0x19
MAXREG_COUNT = 0x1B
REGCOUNT = 0x2F
CUDA_API_VERSION = 0x37
NUM_BARRIERS = 0x4C

CAN_FASTPATH_FINALIZE = 0x0B

INFO_NAMES = {
    0x04: "CTAIDZ_USED",
    0x05: "MAX_THREADS",
    0x0A: "PARAM_CBANK",
    0x0F: "EXTERNS",
    0x10: "REQNTID",
    0x11: "FRAME_SIZE",
    0x12: "MIN_STACK_SIZE",
    0x17: "KPARAM_INFO",
    0x19: "CBANK_PARAM_SIZE",
    0x1B: "MAXREG_COUNT",
    0x1C: "EXIT_INSTR_OFFSETS",
    0x1D: "S2RCTAID_INSTR_OFFSETS",
    0x1E: "CRS_STACK_SIZE",
    0x23: "MAX_STACK_SIZE",
    0x28: "COOP_GROUP_INSTR_OFFSETS",
    0x29: "COOP_GROUP_MASK_REGIDS",
    0x2F: "REGCOUNT",
    0x31: "INT_WARP_WIDE_INSTR_OFFSETS",
    0x34: "INDIRECT_BRANCH_TARGETS",
    0x36: "SW_WAR",
    0x37: "CUDA_API_VERSION",
    0x41: "RESERVED_SMEM_USED",
    0x44: "UNUSED_LOAD_BYTE_OFFSET",
    0x4A: "VRC_CTA_INIT_COUNT",
    0x4C: "NUM_BARRIERS",
    0x50: "SPARSE_MMA_MASK",
    0x53: "GEN_ERRBAR_AT_EXIT",
    0x55: "ANNOTATIONS",
    0x66: "LANGUAGE",
    0x6B: "NVSAL_SW_WAR",
    0x6D: "PREEXIT_USED",
}
"""Ids of ``.nv.info`` and ``.nv.info.<kernel>``."""

COMPAT_NAMES = {
    0x02: "ISA_CLASS",
    0x03: "INST_TENSORMAP_V1",
    0x05: "INST_TCGEN05_MMA",
    0x06: "ENABLE_OPPORTUNISTIC_FINALIZATION",
    0x07: "MERCURY_ISA_VERSION",
    0x09: "CUDA_ACCELERATOR_TARGET",
    0x0B: "CAN_FASTPATH_FINALIZE",
    0x0C: "CUDA_INTERNAL_TARGET",
    0x0D: "MERCURY_ISA_MAJOR_MINOR_VERSION",
    0x0E: "FINALIZER_VERSION",
}
"""Ids of ``.nv.compat``."""


def attributes(data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield ``(format, id, value, data)`` of each record; ends quietly at damage.

    Records without sized data have ``b""``. Unknown ids and formats are yielded too.
    """
    unpack = ATTRIBUTE.unpack_from
    position, last = 0, len(data) - ATTRIBUTE.size
    while position <= last:
        form, ident, value = unpack(data, position)
        position += 4
        if form == SIZED:
            yield form, ident, value, data[position : position + value]
            position += value
        else:
            yield form, ident, value, b""


def fastpath_finalize(compat: bytes) -> int | None:
    """Return the mask of compute capabilities that a cubin may be finalized for.

    Args:
        compat: the bytes of ``.nv.compat``.

    Returns:
        None when there is no such attribute: toolkits before 13.0 write none.
    """
    for form, ident, _, data in attributes(compat):
        if ident == CAN_FASTPATH_FINALIZE and form == SIZED:
            return int.from_bytes(data, "little")
    return None
