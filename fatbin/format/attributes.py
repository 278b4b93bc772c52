"""Attribute records of ``.nv.info``, ``.nv.info.<kernel>`` and ``.nv.compat``.

A record is ``u8 format, u8 id, u16 value``; format 4 is followed by ``value`` bytes. Names are
those that ``cuobjdump -elf`` 13.5 prints for each id, all of them; it shows ids 0x07 and 0x0D of
``.nv.compat`` as unknown. An id without a name is kept by its number.
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
    0x02: "IMAGE_SLOT",
    0x03: "JUMPTABLE_RELOCS",
    0x04: "CTAIDZ_USED",
    0x05: "MAX_THREADS",
    0x06: "IMAGE_OFFSET",
    0x07: "IMAGE_SIZE",
    0x08: "TEXTURE_NORMALIZED",
    0x09: "SAMPLER_INIT",
    0x0A: "PARAM_CBANK",
    0x0B: "SMEM_PARAM_OFFSETS",
    0x0C: "CBANK_PARAM_OFFSETS",
    0x0D: "SYNC_STACK",
    0x0E: "TEXID_SAMPID_MAP",
    0x0F: "EXTERNS",
    0x10: "REQNTID",
    0x11: "FRAME_SIZE",
    0x12: "MIN_STACK_SIZE",
    0x13: "SAMPLER_FORCE_UNNORMALIZED",
    0x14: "BINDLESS_IMAGE_OFFSETS",
    0x15: "BINDLESS_TEXTURE_BANK",
    0x16: "BINDLESS_SURFACE_BANK",
    0x17: "KPARAM_INFO",
    0x18: "SMEM_PARAM_SIZE",
    0x19: "CBANK_PARAM_SIZE",
    0x1A: "QUERY_NUMATTRIB",
    0x1B: "MAXREG_COUNT",
    0x1C: "EXIT_INSTR_OFFSETS",
    0x1D: "S2RCTAID_INSTR_OFFSETS",
    0x1E: "CRS_STACK_SIZE",
    0x1F: "NEED_CNP_WRAPPER",
    0x20: "NEED_CNP_PATCH",
    0x21: "EXPLICIT_CACHING",
    0x22: "ISTYPEP_USED",
    0x23: "MAX_STACK_SIZE",
    0x24: "SUQ_USED",
    0x25: "LD_CACHEMOD_INSTR_OFFSETS",
    0x26: "LOAD_CACHE_REQUEST",
    0x27: "ATOM_SYS_INSTR_OFFSETS",
    0x28: "COOP_GROUP_INSTR_OFFSETS",
    0x29: "COOP_GROUP_MASK_REGIDS",
    0x2B: "WMMA_USED",
    0x2C: "HAS_PRE_V10_OBJECT",
    0x2D: "ATOMF16_EMUL_INSTR_OFFSETS",
    0x2E: "ATOM16_EMUL_INSTR_REG_MAP",
    0x2F: "REGCOUNT",
    0x31: "INT_WARP_WIDE_INSTR_OFFSETS",
    0x32: "SHARED_SCRATCH",
    0x33: "STATISTICS",
    0x34: "INDIRECT_BRANCH_TARGETS",
    0x36: "SW_WAR",
    0x37: "CUDA_API_VERSION",
    0x38: "NUM_MBARRIERS",
    0x39: "MBARRIER_INSTR_OFFSETS",
    0x3A: "COROUTINE_RESUME_ID_OFFSETS",
    0x3B: "SAM_REGION_STACK_SIZE",
    0x3C: "PER_REG_TARGET_PERF_STATS",
    0x3D: "CTA_PER_CLUSTER",
    0x3E: "EXPLICIT_CLUSTER",
    0x3F: "MAX_CLUSTER_RANK",
    0x40: "INSTR_REG_MAP",
    0x41: "RESERVED_SMEM_USED",
    0x42: "RESERVED_SMEM_0_SIZE",
    0x43: "UCODE_SECTION_DATA",
    0x44: "UNUSED_LOAD_BYTE_OFFSET",
    0x45: "KPARAM_INFO_V2",
    0x46: "SYSCALL_OFFSETS",
    0x48: "GRAPHICS_GLOBAL_CBANK",
    0x49: "SHADER_TYPE",
    0x4A: "VRC_CTA_INIT_COUNT",
    0x4B: "TOOLS_PATCH_FUNC",
    0x4C: "NUM_BARRIERS",
    0x4D: "TEXMODE_INDEPENDENT",
    0x4E: "PERF_STATISTICS",
    0x4F: "AT_ENTRY_FRAGMENTS",
    0x50: "SPARSE_MMA_MASK",
    0x51: "TCGEN05_1CTA_USED",
    0x52: "TCGEN05_2CTA_USED",
    0x53: "GEN_ERRBAR_AT_EXIT",
    0x54: "REG_RECONFIG",
    0x55: "ANNOTATIONS",
    0x57: "STACK_CANARY_TRAP_OFFSETS",
    0x58: "STUB_FUNCTION_KIND",
    0x59: "LOCAL_CTA_ASYNC_STORE_OFFSETS",
    0x5B: "BLOCKS_ARE_CLUSTERS",
    0x5C: "SANITIZE",
    0x5D: "SYSCALLS_FALLBACK",
    0x5E: "CUDA_REQ",
    0x61: "RTCORE_ENTRY",
    0x62: "CLUSTER_LAUNCH_CONTROL_USED",
    0x64: "MIN_PER_CTA_MEMORY_SIZE",
    0x65: "IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS",
    0x66: "LANGUAGE",
    0x68: "GRID_ATTRIBUTES",
    0x69: "STACK_OFFSET",
    0x6A: "RT_LIVESTATE_SASS_MAP",
    0x6B: "NVSAL_SW_WAR",
    0x6C: "INSTR_OFFSETS",
    0x6D: "PREEXIT_USED",
}
"""Ids of ``.nv.info`` and ``.nv.info.<kernel>``."""

NAMELESS = frozenset((0x2A, 0x30, 0x35, 0x5F, 0x67))
"""Ids of ``.nv.info`` that occur, 0x67 on SM 107, and that cuobjdump 13.5 shows as unknown."""

COMPAT_NAMES = {
    0x02: "ISA_CLASS",
    0x03: "INST_TENSORMAP_V1",
    0x04: "INST_TCGEN05_MMA_DEPRECATED",
    0x05: "INST_TCGEN05_MMA",
    0x06: "ENABLE_OPPORTUNISTIC_FINALIZATION",
    0x07: "MERCURY_ISA_VERSION",
    0x09: "CUDA_ACCELERATOR_TARGET",
    0x0A: "CUDA_DRIVER_VERSION",
    0x0B: "CAN_FASTPATH_FINALIZE",
    0x0C: "CUDA_INTERNAL_TARGET",
    0x0D: "MERCURY_ISA_MAJOR_MINOR_VERSION",
    0x0E: "FINALIZER_VERSION",
    0x0F: "MIN_FINALIZER_VERSION_FOR_MVC",
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
