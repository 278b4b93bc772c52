"""Where the facts come from: public documents, and tools that anybody can ask again."""

from __future__ import annotations

SOURCES: dict[str, str] = {
    "h200": "measured on an H200 with driver 580.159.04 (CUDA 13.0): 227 images in up to five "
    "environments, 23,006 modules of 35 libraries, device-linked programs, NCCL; 134 "
    "containers whose headers, payloads or order were changed",
    "ptxas": "measured with ptxas 11.7 to 13.5: the targets that each accepts, the PTX it reads",
    "nvjitlink": "measured with nvJitLink 12.9 to 13.5: which image of a container each takes",
    "cuobjdump": "measured with cuobjdump 12.4 to 13.5: what each lists of the same files",
    "nccl-releases": "measured with cuobjdump 13.5: the images of the NCCL releases 2.26.2 "
    "(CUDA 12.2), 2.27.7 (13.0), 2.29.7 (12.9) and 2.32.3 (13.4)",
    "cuda-gpus": "https://developer.nvidia.com/cuda-gpus",
    "cuda-legacy-gpus": "https://developer.nvidia.com/cuda-legacy-gpus, and its earlier editions",
    "drive": "NVIDIA DRIVE documentation: the GPU of each platform "
    "(https://developer.nvidia.com/drive)",
    "pci-ids": "https://pci-ids.ucw.cz: the chip of a GPU; of others with that chip NVIDIA lists "
    "the compute capability",
    "guide": "CUDA C++ Programming Guide, Compute Capabilities and binary compatibility: "
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide",
    "ada-guide": "https://docs.nvidia.com/cuda/ada-compatibility-guide",
    "blackwell-guide": "https://docs.nvidia.com/cuda/blackwell-compatibility-guide",
    "ptx-isa": "PTX ISA, release history: https://docs.nvidia.com/cuda/parallel-thread-execution",
    "cuda-python": "NVIDIA/cuda-python, cuda/bindings/utils/_ptx_utils.py: PTX ISA and CUDA",
    "release-notes": "CUDA Toolkit Release Notes, toolkits and their drivers: "
    "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes",
    "minor-versions": "CUDA Compatibility, Minor Version Compatibility: "
    "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
    "data-centre-drivers": "NVIDIA Data Center Drivers: "
    "https://docs.nvidia.com/datacenter/tesla/drivers",
    "deprecation": "NVIDIA's schedule for its Unix drivers: 580 is the last branch for Maxwell, "
    "Pascal and Volta",
    "cuda.h": "CUDA Driver API and Runtime API, codes: cuda.h and driver_types.h of CUDA 13.0",
    "clang": "llvm/llvm-project, clang/lib/Basic/Cuda.cpp: first and last toolkit of each SM",
    "pytorch": "pytorch/pytorch, torch/cuda/__init__.py, DEVICE_REQUIREMENT "
    "(https://github.com/pytorch/pytorch/pull/166185)",
    "cutlass": "NVIDIA/cutlass, release notes of 4.8.0: Rubin needs R615",
    "nccl-makefile": "NVIDIA/nccl, makefiles/common.mk of each release, evaluated for each CUDA",
    "pytorch/FBGEMM#6151": "https://github.com/pytorch/FBGEMM/issues/6151",
    "flashinfer-ai/flashinfer#2839": "https://github.com/flashinfer-ai/flashinfer/issues/2839",
    "jax-ml/jax#40492": "https://github.com/jax-ml/jax/issues/40492",
    "nvidia-holoscan/holohub#1687": "https://github.com/nvidia-holoscan/holohub/issues/1687",
    "NVIDIA/cuvs#2568": "https://github.com/NVIDIA/cuvs/issues/2568",
    "pytorch/pytorch#164590": "https://github.com/pytorch/pytorch/issues/164590",
    "llvm/llvm-project#170258": "https://github.com/llvm/llvm-project/pull/170258",
    "Lightning-AI/pytorch-lightning#20757": "https://github.com/Lightning-AI/pytorch-lightning/issues/20757",
    "NVIDIA/nccl#1637": "https://github.com/NVIDIA/nccl/issues/1637",
    "NVIDIA/nccl#1852": "https://github.com/NVIDIA/nccl/issues/1852",
    "NVIDIA/nccl#2418": "https://github.com/NVIDIA/nccl/issues/2418",
    "NVIDIA/nccl-tests#287": "https://github.com/NVIDIA/nccl-tests/issues/287",
    "NVIDIA/nccl-tests#291": "https://github.com/NVIDIA/nccl-tests/issues/291",
    "ml-explore/mlx#2407": "https://github.com/ml-explore/mlx/pull/2407",
    "ollama/ollama#12258": "https://github.com/ollama/ollama/issues/12258",
    "openxla/xla#30514": "https://github.com/openxla/xla/pull/30514",
    "pytorch/pytorch#152780": "https://github.com/pytorch/pytorch/issues/152780",
    "pytorch/pytorch#156176": "https://github.com/pytorch/pytorch/pull/156176",
    "pytorch/pytorch#190654": "https://github.com/pytorch/pytorch/issues/190654",
}
"""What each key of a row's ``sources`` stands for."""
