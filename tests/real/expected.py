"""What the real libraries hold, as literals.

Counts come from the format reference and from :mod:`plain_walk`; names of needed libraries from
``readelf -d`` and ``objdump -p``.
"""

from __future__ import annotations

from typing import NamedTuple

import corpus

Entries = dict[str, dict[str, int]]


class Expected(NamedTuple):
    """One library.

    Attributes:
        wheel: where it is from.
        member: path inside the wheel.
        format: of the file.
        machine: of its host code.
        modules: how many containers.
        wrappers: how many containers are registered by a wrapper of each version.
        entries: by place and kind, then by architecture: how many.
        isa: by place: PTX ISA versions and how many texts of each.
        sections: names of the sections that hold containers, and how many.
        soname: of the library.
        cuda_runtime: how it links the CUDA runtime.
        needed: libraries, exactly.
        version: what it says of itself.
        alignment: that all containers in the file have at the least.
    """

    wheel: corpus.Wheel
    member: str
    format: str
    machine: str
    modules: int
    wrappers: dict[int, int]
    entries: Entries
    isa: dict[str, dict[str, int]]
    sections: dict[str, int]
    soname: str
    cuda_runtime: str
    needed: tuple[str, ...]
    version: str = ""
    alignment: int = 8


def _each(count: int, *architectures: str) -> dict[str, int]:
    return dict.fromkeys(architectures, count)


_LIBC = ("libm.so.6", "libgcc_s.so.1", "libc.so.6")
_LOADER = "ld-linux-x86-64.so.2"
_NCCL_NEEDS = ("libpthread.so.0", "librt.so.1", "libdl.so.2", "libstdc++.so.6", *_LIBC)
_NCCL = "nvidia/nccl/lib/libnccl.so.2"
_PASCAL_TO_BLACKWELL = ("sm_60", "sm_61", "sm_70", "sm_80", "sm_90", "sm_100", "sm_120")
_TURING_TO_BLACKWELL = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_107", "sm_110", "sm_120")
_FIRST_NCCL = ("sm_50", "sm_60", "sm_61", "sm_70", "sm_80", "sm_90")
_CUFFT = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_110", "sm_120")

NCCL_2_26 = Expected(
    wheel=corpus.NCCL_2_26,
    member=_NCCL,
    format="elf",
    machine="x86_64",
    modules=128,
    wrappers={1: 127, 2: 1},
    entries={
        "loadable sass": _each(1, *_FIRST_NCCL),
        "relocatable sass": _each(127, *_FIRST_NCCL),
        "relocatable ptx": {"compute_90": 127},
    },
    isa={"relocatable": {"8.2": 127}},
    sections={".nv_fatbin": 1, "__nv_relfatbin": 127},
    soname="libnccl.so.2",
    cuda_runtime="static",
    needed=(*_NCCL_NEEDS, _LOADER),
    version="2.26.2+cuda12.2",
)
NCCL_2_29 = Expected(
    wheel=corpus.NCCL_2_29,
    member=_NCCL,
    format="elf",
    machine="x86_64",
    modules=152,
    wrappers={1: 151, 2: 1},
    entries={
        "loadable sass": {**_each(18, *_PASCAL_TO_BLACKWELL), "sm_100f": 6},
        "loadable ptx": {"compute_120": 17},
        "relocatable sass": _each(128, *_PASCAL_TO_BLACKWELL),
        "relocatable ptx": {"compute_120": 128},
    },
    isa={"loadable": {"8.8": 17}, "relocatable": {"8.8": 128}},
    sections={".nv_fatbin": 24, "__nv_relfatbin": 128},
    soname="libnccl.so.2",
    cuda_runtime="static",
    needed=(*_NCCL_NEEDS, _LOADER),
    version="2.29.7+cuda12.9",
)
NCCL_2_31_ARM = Expected(
    wheel=corpus.NCCL_2_31_ARM,
    member=_NCCL,
    format="elf",
    machine="aarch64",
    modules=205,
    wrappers={1: 203, 2: 2},
    entries={
        "loadable sass": {**_each(56, *_PASCAL_TO_BLACKWELL), "sm_100f": 20},
        "loadable ptx": {"compute_120": 54},
        "relocatable sass": _each(129, *_PASCAL_TO_BLACKWELL),
        "relocatable ptx": {"compute_120": 129},
    },
    isa={"loadable": {"8.8": 54}, "relocatable": {"8.8": 129}},
    sections={".nv_fatbin": 76, "__nv_relfatbin": 129},
    soname="libnccl.so.2",
    cuda_runtime="static",
    needed=_NCCL_NEEDS,
    version="2.31.2+cuda12.9",
    alignment=256,
)
NCCL_2_32 = Expected(
    wheel=corpus.NCCL_2_32,
    member=_NCCL,
    format="elf",
    machine="x86_64",
    modules=205,
    wrappers={1: 203, 2: 2},
    entries={
        "loadable sass": {**_each(56, *_TURING_TO_BLACKWELL), "sm_100f": 20},
        "loadable ptx": {"compute_120": 54},
        "relocatable sass": _each(129, *_TURING_TO_BLACKWELL),
        "relocatable ptx": {"compute_120": 129},
    },
    isa={"loadable": {"9.4": 54}, "relocatable": {"9.4": 129}},
    sections={".nv_fatbin": 76, "__nv_relfatbin": 129},
    soname="libnccl.so.2",
    cuda_runtime="static",
    needed=(*_NCCL_NEEDS, _LOADER),
    version="2.32.3+cuda13.4",
)
FAISS = Expected(
    wheel=corpus.FAISS,
    member="faiss_gpu_cu12.libs/libfaiss-aa62252d.so",
    format="elf",
    machine="x86_64",
    modules=182,
    wrappers={1: 182},
    entries={"loadable sass": _each(182, "sm_70", "sm_80")},
    isa={},
    sections={".nv_fatbin": 182},
    soname="libfaiss-aa62252d.so",
    cuda_runtime="libcudart.so.12",
    needed=(
        "libopenblas-r0-f650aae0.3.3.so",
        "libpthread.so.0",
        "libdl.so.2",
        "libgomp-a34b3233.so.1.0.0",
        "libcudart.so.12",
        "librt.so.1",
        "libcublas.so.12",
        "libcublasLt.so.12",
        "libstdc++.so.6",
        *_LIBC,
        _LOADER,
    ),
)
CTRANSLATE2 = Expected(
    wheel=corpus.CTRANSLATE2,
    member="ctranslate2.libs/libctranslate2-a7a60d30.so.4.8.5",
    format="elf",
    machine="x86_64",
    modules=34,
    wrappers={1: 34},
    entries={
        "loadable sass": _each(34, "sm_53", "sm_60", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86"),
        "loadable ptx": {"compute_86": 34},
    },
    isa={"loadable": {"8.7": 34}},
    sections={".nv_fatbin": 34},
    soname="libctranslate2-a7a60d30.so.4.8.5",
    cuda_runtime="static",
    needed=(
        "libdl.so.2",
        "librt.so.1",
        "libpthread.so.0",
        "libgomp-e985bcbb.so.1.0.0",
        "libstdc++.so.6",
        *_LIBC,
        _LOADER,
    ),
)
CUFFT = Expected(
    wheel=corpus.CUFFT,
    member="nvidia/cu13/lib/libcufft.so.12",
    format="elf",
    machine="x86_64",
    modules=17_860,
    wrappers={0: 17_858, 1: 1, 2: 1},
    entries={
        "loadable sass": _each(1, *_CUFFT),
        "relocatable sass": _each(1, *_CUFFT),
        "relocatable ptx": _each(1, "compute_75", "compute_86"),
        "embedded sass": {
            "sm_75": 310,
            "sm_80": 357,
            "sm_86": 359,
            "sm_87": 156,
            "sm_89": 359,
            "sm_90": 394,
            "sm_100": 447,
            "sm_110": 355,
            "sm_120": 421,
        },
        "embedded ptx": {
            "compute_75": 7191,
            "compute_80": 585,
            "compute_86": 292,
            "compute_90": 68,
        },
        "embedded ltoir": {"compute_75": 6573},
    },
    isa={
        "relocatable": {"9.4": 2},
        "embedded": {"7.0": 7775, "7.5": 292, "7.8": 68, "9.0": 1},
    },
    sections={".nv_fatbin": 1, "__nv_relfatbin": 1, ".data": 17_846, ".ldata": 12},
    soname="libcufft.so.12",
    cuda_runtime="static",
    needed=("librt.so.1", "libpthread.so.0", "libdl.so.2", *_LIBC, _LOADER),
)
CUFFTW = Expected(
    wheel=corpus.CUFFT,
    member="nvidia/cu13/lib/libcufftw.so.12",
    format="elf",
    machine="x86_64",
    modules=0,
    wrappers={},
    entries={},
    isa={},
    sections={},
    soname="libcufftw.so.12",
    cuda_runtime="",
    needed=(
        "libcufft.so.12",
        "librt.so.1",
        "libpthread.so.0",
        "libdl.so.2",
        *_LIBC,
        _LOADER,
    ),
    alignment=256,
)
CUBLASLT = Expected(
    wheel=corpus.CUBLAS,
    member="nvidia/cublas/lib/libcublasLt.so.12",
    format="elf",
    machine="x86_64",
    modules=3484,
    wrappers={0: 469, 1: 3015},
    entries={
        "loadable sass": {
            "sm_50": 90,
            "sm_60": 91,
            "sm_61": 82,
            "sm_70": 144,
            "sm_75": 116,
            "sm_80": 477,
            "sm_86": 100,
            "sm_89": 247,
            "sm_90": 217,
            "sm_90a": 1375,
            "sm_100": 1399,
            "sm_103": 64,
            "sm_120": 300,
            "sm_120f": 1133,
            "sm_121": 4,
        },
        "loadable ptx": {"compute_52": 1, "compute_120": 129},
        "embedded sass": {"sm_100a": 29, "sm_100f": 414, "sm_103f": 12, "sm_120f": 14},
    },
    isa={"loadable": {"8.7": 108, "8.8": 22}},
    sections={".nv_fatbin": 3015, ".cask_resource": 469},
    soname="libcublasLt.so.12",
    cuda_runtime="static",
    needed=("librt.so.1", "libpthread.so.0", "libdl.so.2", *_LIBC, _LOADER),
)
CUSPARSE = Expected(
    wheel=corpus.CUSPARSE,
    member="nvidia/cusparse/lib/libcusparse.so.12",
    format="elf",
    machine="x86_64",
    modules=170,
    wrappers={0: 35, 1: 135},  # one container of .nv_fatbin has no wrapper
    entries={
        "loadable sass": {
            **_each(113, "sm_50", "sm_52", "sm_60", "sm_61", "sm_80", "sm_86", "sm_90"),
            **_each(113, "sm_100", "sm_101", "sm_103", "sm_120", "sm_121"),
            "sm_70": 108,
            "sm_75": 109,
            "sm_89": 105,
        },
        "loadable ptx": {
            **_each(8, "compute_50", "compute_52", "compute_60", "compute_61", "compute_90"),
            **_each(8, "compute_100", "compute_101", "compute_103", "compute_120"),
            "compute_121": 112,
        },
        "embedded sass": _each(34, "sm_70", "sm_80", "sm_90", "sm_100"),
        "embedded ptx": _each(34, "compute_70", "compute_80", "compute_90", "compute_100"),
        "embedded ltoir": _each(
            34,
            "compute_50",
            "compute_60",
            "compute_70",
            "compute_80",
            "compute_90",
            "compute_100",
        ),
    },
    isa={"loadable": {"8.8": 184}, "embedded": {"8.7": 136}},
    sections={".nv_fatbin": 136, ".rodata": 34},
    soname="libcusparse.so.12",
    cuda_runtime="static",
    needed=(
        "libnvJitLink.so.12",
        "libpthread.so.0",
        "librt.so.1",
        "libdl.so.2",
        *_LIBC,
        _LOADER,
    ),
)
CURAND_DLL = Expected(
    wheel=corpus.CURAND_WINDOWS,
    member="nvidia/curand/bin/curand64_10.dll",
    format="pe",
    machine="x86_64",
    modules=11,
    wrappers={1: 10, 2: 1},
    entries={
        "loadable sass": {
            **_each(11, "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89"),
            **_each(11, "sm_90", "sm_100", "sm_101", "sm_103", "sm_120", "sm_121"),
        },
        "loadable ptx": {"compute_121": 10},
    },
    isa={"loadable": {"8.8": 10}},
    sections={".nv_fatb": 11},
    soname="",
    cuda_runtime="static",
    needed=("KERNEL32.dll",),
    alignment=16,
)
NVJPEG_DLL = Expected(
    wheel=corpus.NVJPEG_WINDOWS_ARM,
    member="nvidia/cu13/bin/arm64/nvjpeg64_13.dll",
    format="pe",
    machine="aarch64",
    modules=10,
    wrappers={1: 10},
    entries={
        "loadable sass": {
            **_each(10, "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"),
            **_each(10, "sm_100", "sm_103", "sm_107", "sm_120", "sm_121"),
        },
        "loadable ptx": {"compute_121": 10},
    },
    isa={"loadable": {"9.4": 10}},
    sections={".nv_fatb": 10},
    soname="",
    cuda_runtime="",
    needed=("KERNEL32.dll",),
    alignment=16,
)

_AWQ_FIRST = ("c10.dll", "torch_cpu.dll", "torch_python.dll", "cudart64_12.dll")
_CRT = "api-ms-win-crt-{}-l1-1-0.dll".format


def _awq(name: str, modules: int, *architectures: str, needed: tuple[str, ...]) -> Expected:
    return Expected(
        wheel=corpus.AUTOAWQ_WINDOWS,
        member=f"{name}.cp312-win_amd64.pyd",
        format="pe",
        machine="x86_64",
        modules=modules,
        wrappers={1: modules},
        entries={"loadable sass": _each(modules, *architectures)},
        isa={},
        sections={".nv_fatb": modules},
        soname="",
        cuda_runtime="cudart64_12.dll",
        needed=(*_AWQ_FIRST, *needed),
        alignment=16,
    )


_AWQ_ALL = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90")
AUTOAWQ = (
    _awq(
        "awq_ext",
        7,
        *_AWQ_ALL,
        needed=(
            "c10_cuda.dll",
            "MSVCP140.dll",
            "python312.dll",
            "KERNEL32.dll",
            "VCRUNTIME140.dll",
            "VCRUNTIME140_1.dll",
            _CRT("runtime"),
            _CRT("heap"),
            _CRT("string"),
            _CRT("math"),
        ),
    ),
    _awq(
        "awq_v2_ext",  # neither 7.5 nor 8.7
        2,
        "sm_80",
        "sm_86",
        "sm_89",
        "sm_90",
        needed=(
            "python312.dll",
            "MSVCP140.dll",
            "KERNEL32.dll",
            "VCRUNTIME140_1.dll",
            "VCRUNTIME140.dll",
            _CRT("heap"),
            _CRT("string"),
            _CRT("runtime"),
            _CRT("math"),
            _CRT("stdio"),
        ),
    ),
    _awq(
        "exl_ext",
        4,
        *_AWQ_ALL,
        needed=(
            "c10_cuda.dll",
            "torch_cuda.dll",
            "cublas64_12.dll",
            "MSVCP140.dll",
            "python312.dll",
            "KERNEL32.dll",
            "VCRUNTIME140_1.dll",
            "VCRUNTIME140.dll",
            _CRT("math"),
            _CRT("runtime"),
            _CRT("heap"),
            _CRT("string"),
        ),
    ),
    _awq(
        "exlv2_ext",
        2,
        *_AWQ_ALL,
        needed=(
            "c10_cuda.dll",
            "torch_cuda.dll",
            "cublas64_12.dll",
            "MSVCP140.dll",
            "python312.dll",
            "KERNEL32.dll",
            "VCRUNTIME140.dll",
            "VCRUNTIME140_1.dll",
            _CRT("heap"),
            _CRT("string"),
            _CRT("math"),
            _CRT("runtime"),
        ),
    ),
)


def _bitsandbytes(toolkit: str, isa: str) -> Expected:
    new = toolkit in ("128", "129")
    real = _each(1, "sm_75", "sm_80", "sm_90", *(("sm_100", "sm_120") if new else ()))
    major = toolkit[:2]
    cuda = (f"libcublas.so.{major}", f"libcublasLt.so.{major}", f"libcusparse.so.{major}")
    runtime = "libcudart.so.11.0" if major == "11" else "libcudart.so.12"
    return Expected(
        wheel=corpus.BITSANDBYTES_ARM,
        member=f"bitsandbytes/libbitsandbytes_cuda{toolkit}.so",
        format="elf",
        machine="aarch64",
        modules=3,
        wrappers={1: 2, 2: 1},
        entries={
            "loadable sass": real,
            "relocatable sass": _each(2, *real),
            "relocatable ptx": {"compute_120" if new else "compute_90": 2},
        },
        isa={"relocatable": {isa: 2}},
        sections={".nv_fatbin": 1, "__nv_relfatbin": 2},
        soname=f"libbitsandbytes_cuda{toolkit}.so",
        cuda_runtime=runtime,
        needed=(
            runtime,
            *cuda,
            *(() if major == "11" else ("libnvJitLink.so.12",)),
            "librt.so.1",
            "libpthread.so.0",
            "libdl.so.2",
            "libstdc++.so.6",
            *_LIBC,
        ),
        alignment=256 if toolkit >= "126" else 8,
    )


BITSANDBYTES = (
    _bitsandbytes("118", "7.8"),
    _bitsandbytes("120", "8.0"),
    _bitsandbytes("121", "8.1"),
    _bitsandbytes("122", "8.2"),
    _bitsandbytes("123", "8.3"),
    _bitsandbytes("124", "8.4"),
    _bitsandbytes("125", "8.5"),
    _bitsandbytes("126", "8.5"),
    _bitsandbytes("128", "8.7"),
    _bitsandbytes("129", "8.8"),
)

ALL = (
    NCCL_2_26,
    NCCL_2_29,
    NCCL_2_31_ARM,
    NCCL_2_32,
    FAISS,
    CTRANSLATE2,
    CUFFT,
    CUFFTW,
    CUBLASLT,
    CUSPARSE,
    CURAND_DLL,
    NVJPEG_DLL,
    *AUTOAWQ,
    *BITSANDBYTES,
)
