"""What the judge's answers rest on: one statement a rule, with its source and whether it is sure.

Ids are stable. A finding names them in ``because``.
"""

from __future__ import annotations

from fatbin._record import Record

__all__ = ["STATEMENTS", "Statement"]


class Statement(Record):
    """One rule.

    Attributes:
        text: what it says, one sentence.
        sources: keys of ``SOURCES``.
        certain: False when it is inferred, reported by users only, or disputed.
    """

    text: str
    sources: tuple[str, ...]
    certain: bool = True


STATEMENTS: dict[str, Statement] = {
    "sass.same": Statement(
        "SASS runs on the compute capability that it was compiled for", ("guide", "h200")
    ),
    "sass.minor-upward": Statement(
        "SASS for X.y runs on X.z where z is y or more", ("guide", "ada-guide", "blackwell-guide")
    ),
    "sass.family-upward": Statement(
        "10.0 code (plain or f) runs on 10.3, 12.0 code on 12.1; not the other way round",
        ("guide", "blackwell-guide", "nvjitlink"),
    ),
    "sass.minor-below": Statement(
        "SASS never runs on a lower minor version: sm_86 does not run on 8.0",
        ("guide", "blackwell-guide"),
    ),
    "sass.other-major": Statement(
        "SASS never runs on another major version: 10.x, 11.0 and 12.x share none",
        ("guide", "blackwell-guide", "h200"),
    ),
    "sass.arch-specific": Statement(
        "SASS with the suffix a runs on its own compute capability only",
        ("guide", "pytorch/FBGEMM#6151", "flashinfer-ai/flashinfer#2839"),
    ),
    "sass.integrated": Statement(
        "Tegra GPUs (5.3, 6.2, 7.2, 8.7, 8.8) and discrete ones do not share SASS",
        ("guide", "nvjitlink", "jax-ml/jax#40492", "pytorch"),
    ),
    "sass.integrated-reopened": Statement(
        "from CUDA 13.2 on drivers seem to take 8.0 and 8.6 code on 8.7; the guide says no",
        ("nvjitlink", "nvidia-holoscan/holohub#1687"),
        certain=False,
    ),
    "sass.renamed-thor": Statement(
        "sm_101 of CUDA 12.8 and 12.9 became sm_110; nvJitLink of CUDA 13.5 takes it for 11.0, "
        "that of 13.0 does not",
        ("nvjitlink", "pytorch", "openxla/xla#30514"),
        certain=False,
    ),
    "sass.rubin": Statement(
        "whether code for 10.0 and 10.3 runs on 10.7 is disputed: NVIDIA's engineers say so, "
        "nvJitLink refuses, and NCCL ships sm_107",
        ("pytorch/pytorch#190654", "nvjitlink"),
        certain=False,
    ),
    "sass.mask": Statement(
        "the mask CAN_FASTPATH_FINALIZE in a cubin of CUDA 13 names the capabilities it runs on",
        ("nvjitlink",),
        certain=False,
    ),
    "sass.no-mask": Statement(
        "cubins of CUDA 12.8 and 12.9 have no such mask: nvJitLink refuses them on 10.3 and 12.1, "
        "the guide says that they run",
        ("nvjitlink", "NVIDIA/cuvs#2568", "blackwell-guide", "pytorch/pytorch#164590"),
        certain=False,
    ),
    "ptx.target": Statement(
        "PTX compiles for every device whose number is not below its target's", ("ptxas", "h200")
    ),
    "ptx.arch-specific": Statement(
        "PTX with the suffix a compiles for its own compute capability only", ("ptxas", "h200")
    ),
    "ptx.family": Statement(
        "PTX with the suffix f compiles within its family, not below its target",
        ("guide", "ptxas", "h200"),
    ),
    "ptx.isa": Statement(
        "a driver reads PTX up to the ISA version of its own CUDA; newer PTX fails with 222",
        ("h200", "ptxas", "release-notes"),
    ),
    "ptx.chosen-before-isa": Statement(
        "the PTX with the highest target is chosen before its ISA version is looked at: an older "
        "one beside it does not help",
        ("h200",),
    ),
    "ptx.bare-target": Statement(
        "a PTX text by itself with a target above the device fails with 218; inside a container "
        "with 209",
        ("h200",),
    ),
    "sass.nearer-ptx": Statement(
        "for 10.3 and 12.1 nvJitLink takes PTX made for them before SASS for 10.0 and 12.0; no "
        "driver was tried",
        ("nvjitlink",),
        certain=False,
    ),
    "sass.no-family": Statement(
        "there are no families below 10.0: SASS and PTX whose headers say 90f are passed over on "
        "9.0",
        ("h200",),
    ),
    "driver.groups": Statement(
        "a driver of CUDA 13.0 passes over the images of groups (fatbinary -concat): 209 without "
        "others; so do nvJitLink 12.9 to 13.1, while 13.2 and later read them",
        ("h200", "nvjitlink"),
        certain=False,
    ),
    "container.kind-16": Statement(
        "kind 16 was never seen in a real file; cuobjdump lists it as a cubin, and a driver took "
        "it before PTX and crashed",
        ("h200", "cuobjdump"),
        certain=False,
    ),
    "container.nothing-fits": Statement(
        "where no image of a container fits, loading it fails with 209", ("h200", "cuda.h")
    ),
    "container.ltoir": Statement(
        "LTO-IR cannot be loaded: it must be linked first (nvJitLink); alone it fails with 209",
        ("h200",),
    ),
    "container.header-decides": Statement(
        "the entry's header decides what is tried, not the image behind it", ("h200",)
    ),
    "container.unresolved": Statement(
        "a relocatable image that misses functions fails with 500 at the look-up, or when loading "
        "with CUDA_MODULE_LOADING=EAGER",
        ("h200",),
    ),
    "container.jit-link": Statement(
        "where no linked cubin of a device-linked library fits, the driver compiles and links the "
        "PTX in __nv_relfatbin, module after module",
        ("h200",),
    ),
    "container.device-linked": Statement(
        "where that is not possible the error is 500, named symbol not found, and not 209",
        ("h200",),
    ),
    "driver.zstd": Statement(
        "drivers before 550 do not read zstd-compressed entries: 200, device kernel image is "
        "invalid, although the architecture fits",
        ("ollama/ollama#12258", "ml-explore/mlx#2407"),
    ),
    "driver.device-dropped": Statement(
        "a driver branch after the last one for a GPU does not see it: no device",
        ("deprecation", "data-centre-drivers"),
    ),
    "driver.device-unknown": Statement(
        "a driver older than the first toolkit with the GPU's architecture does not know the GPU",
        ("release-notes",),
    ),
    "driver.runtime-major": Statement(
        "the CUDA runtime refuses a driver of a lower major version before any image is looked at: "
        "35, cudaErrorInsufficientDriver",
        ("minor-versions", "cuda.h"),
    ),
    "env.force-ptx-jit": Statement(
        "with CUDA_FORCE_PTX_JIT=1 cubins in containers are passed over: 209 without PTX",
        ("guide", "h200"),
    ),
    "env.disable-ptx-jit": Statement(
        "with CUDA_DISABLE_PTX_JIT=1 no PTX is compiled: 223, unless the compute cache has it",
        ("guide", "h200"),
    ),
    "library.per-module": Statement(
        "the driver picks within one module; what another module of the library holds is no help",
        ("h200", "cuda.h"),
    ),
    "library.specialised": Statement(
        "working libraries hold modules for one generation only, which are not called elsewhere: "
        "half of those in cuBLASLt",
        ("h200",),
    ),
    "library.holes": Statement(
        "in 35 libraries that work at most 0.7 % of the modules serve older and newer GPUs but not "
        "this one",
        ("h200",),
    ),
    "library.newer-only": Statement(
        "in libraries that work up to 5 % of the modules are for newer GPUs only; 26 % in cuDNN's "
        "runtime engines for 7.5",
        ("h200",),
    ),
    "library.jit-hang": Statement(
        "NCCL with nothing but 127 relocatable PTX images had not started after 580 seconds: one "
        "busy core, no line in the log, a growing compute cache",
        ("h200",),
    ),
}
"""By id; the part before the dot says what the statement is about."""
