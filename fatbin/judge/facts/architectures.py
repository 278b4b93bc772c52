"""The architectures of NVIDIA's GPUs: who compiles for them, who drives them.

One table; it is longer than a module of code should be, because a row a line hides what it says.
"""

from __future__ import annotations

from fatbin._record import Record
from fatbin.arch import ComputeCapability

__all__ = ["ARCHITECTURES", "ArchitectureRow", "row_of"]


class ArchitectureRow(Record):
    """One architecture.

    Attributes:
        sm: the SM number, 90 of ``sm_90``.
        generation: NVIDIA's name.
        examples: GPUs that have it.
        device_class: ``discrete``, ``data centre``, ``Tegra``, ``integrated`` or ``unknown``.
        first_toolkit: the first that compiles for it.
        first_ptx_isa: the first PTX ISA that has it as ``.target``.
        sources: keys of ``SOURCES``.
        last_toolkit: the last that compiles for it; empty when the newest known still does.
        variants: suffixes of targets besides the plain one, ``("a", "f")``.
        first_driver: the first driver branch; None when unknown, or not numbered that way.
        last_driver: the last driver branch; None when the newest known still drives it, or when
            branches are not numbered that way.
        driver_note: what the two numbers do not say.
        integrated: True where machine code is not shared with the discrete GPUs of the same major
            number. GB10 (12.1) and Thor (11.0) have integrated GPUs too, and are not such parts.
        certain: False when a fact of the row is not sure; ``note`` says which.
        note: what else there is to know.
    """

    sm: int
    generation: str
    examples: str
    device_class: str
    first_toolkit: str
    first_ptx_isa: str
    sources: tuple[str, ...]
    last_toolkit: str = ""
    variants: tuple[str, ...] = ()
    first_driver: int | None = None
    last_driver: int | None = None
    driver_note: str = ""
    integrated: bool = False
    certain: bool = True
    note: str = ""

    @property
    def cc(self) -> ComputeCapability:
        """The compute capability of the devices."""
        return ComputeCapability.of_sm(self.sm)


ARCHITECTURES: tuple[ArchitectureRow, ...] = (
    ArchitectureRow(
        20,
        "Fermi",
        "Tesla C2050, M2090, GTX 480, GTX 580",
        "discrete",
        first_toolkit="3.0",
        last_toolkit="8.0",
        first_ptx_isa="2.0",
        last_driver=390,
        driver_note="first driver about R260",
        sources=("clang", "data-centre-drivers"),
    ),
    ArchitectureRow(
        21,
        "Fermi",
        "GTX 460, Quadro 2000",
        "discrete",
        first_toolkit="3.2",
        last_toolkit="8.0",
        first_ptx_isa="2.0",
        last_driver=390,
        driver_note="first driver about R260",
        sources=("clang", "data-centre-drivers"),
        note="machine code only: its PTX is compute_20",
    ),
    ArchitectureRow(
        30,
        "Kepler",
        "GTX 680, K10",
        "discrete",
        first_toolkit="4.2",
        last_toolkit="10.2",
        first_ptx_isa="3.0",
        last_driver=470,
        driver_note="first driver about R295",
        sources=("clang", "data-centre-drivers"),
    ),
    ArchitectureRow(
        32,
        "Kepler",
        "Tegra K1 (Jetson TK1)",
        "Tegra",
        first_toolkit="6.0",
        last_toolkit="10.2",
        first_ptx_isa="4.0",
        driver_note="Linux for Tegra",
        integrated=True,
        sources=("clang", "guide"),
        certain=False,
        note="toolkits and PTX ISA by LLVM's tables only",
    ),
    ArchitectureRow(
        35,
        "Kepler",
        "K20, K40, GTX 780 Ti, GTX TITAN",
        "discrete",
        first_toolkit="5.0",
        last_toolkit="11.8",
        first_ptx_isa="3.1",
        last_driver=470,
        driver_note="first driver about R304",
        sources=("clang", "ptxas", "data-centre-drivers"),
    ),
    ArchitectureRow(
        37,
        "Kepler",
        "K80",
        "data centre",
        first_toolkit="6.5",
        last_toolkit="11.8",
        first_ptx_isa="4.1",
        last_driver=470,
        driver_note="first driver about R340",
        sources=("clang", "ptxas", "data-centre-drivers"),
    ),
    ArchitectureRow(
        50,
        "Maxwell",
        "GTX 750 Ti, Quadro K2200, M1200",
        "discrete",
        first_toolkit="6.0",
        last_toolkit="12.9",
        first_ptx_isa="4.0",
        last_driver=580,
        driver_note="first driver about R331",
        sources=("clang", "ptxas", "cuda-legacy-gpus", "deprecation"),
    ),
    ArchitectureRow(
        52,
        "Maxwell",
        "GTX 980, M40, M60",
        "discrete",
        first_toolkit="6.5",
        last_toolkit="12.9",
        first_ptx_isa="4.1",
        last_driver=580,
        driver_note="first driver about R343",
        sources=("ptxas", "cuda-legacy-gpus", "deprecation"),
        note="what nvcc compiles for unasked before CUDA 13.0",
    ),
    ArchitectureRow(
        53,
        "Maxwell",
        "Jetson Nano, Jetson TX1",
        "Tegra",
        first_toolkit="7.0",
        last_toolkit="12.9",
        first_ptx_isa="4.2",
        driver_note="Linux for Tegra, up to JetPack 4",
        integrated=True,
        sources=("ptxas", "cuda-legacy-gpus", "pytorch", "guide"),
    ),
    ArchitectureRow(
        60,
        "Pascal",
        "P100, Quadro GP100",
        "data centre",
        first_toolkit="8.0",
        last_toolkit="12.9",
        first_ptx_isa="5.0",
        first_driver=367,
        last_driver=580,
        sources=("ptxas", "cuda-legacy-gpus", "release-notes", "deprecation"),
    ),
    ArchitectureRow(
        61,
        "Pascal",
        "GTX 1080, P4, P40",
        "discrete",
        first_toolkit="8.0",
        last_toolkit="12.9",
        first_ptx_isa="5.0",
        first_driver=367,
        last_driver=580,
        sources=("ptxas", "cuda-legacy-gpus", "release-notes", "deprecation"),
    ),
    ArchitectureRow(
        62,
        "Pascal",
        "Jetson TX2, DRIVE PX 2",
        "Tegra",
        first_toolkit="8.0",
        last_toolkit="12.9",
        first_ptx_isa="5.0",
        driver_note="Linux for Tegra, up to JetPack 4",
        integrated=True,
        sources=("ptxas", "cuda-legacy-gpus", "pytorch", "guide"),
    ),
    ArchitectureRow(
        70,
        "Volta",
        "V100, TITAN V",
        "data centre",
        first_toolkit="9.0",
        last_toolkit="12.9",
        first_ptx_isa="6.0",
        first_driver=384,
        last_driver=580,
        sources=("ptxas", "cuda-legacy-gpus", "release-notes", "deprecation"),
    ),
    ArchitectureRow(
        72,
        "Volta",
        "Jetson AGX Xavier, Jetson Xavier NX",
        "Tegra",
        first_toolkit="9.2",
        last_toolkit="12.9",
        first_ptx_isa="6.1",
        driver_note="Linux for Tegra, up to JetPack 5",
        integrated=True,
        sources=("ptxas", "cuda-legacy-gpus", "pytorch", "clang", "guide"),
        certain=False,
        note="the first toolkit: LLVM's tables say 9.1",
    ),
    ArchitectureRow(
        75,
        "Turing",
        "T4, RTX 2080 Ti, GTX 1660, Quadro RTX 6000",
        "discrete",
        first_toolkit="10.0",
        first_ptx_isa="6.3",
        first_driver=410,
        sources=("ptxas", "release-notes"),
        note="the oldest that CUDA 13 compiles for, and what it compiles for unasked",
    ),
    ArchitectureRow(
        80,
        "Ampere",
        "A100, A30",
        "data centre",
        first_toolkit="11.0",
        first_ptx_isa="7.0",
        first_driver=450,
        sources=("ptxas", "cuda-gpus", "release-notes"),
    ),
    ArchitectureRow(
        86,
        "Ampere",
        "A10, A40, RTX 3090, RTX A6000",
        "discrete",
        first_toolkit="11.1",
        first_ptx_isa="7.1",
        first_driver=455,
        sources=("ptxas", "cuda-gpus", "release-notes"),
    ),
    ArchitectureRow(
        87,
        "Ampere",
        "Jetson AGX Orin, Orin NX, Orin Nano, DRIVE Orin",
        "Tegra",
        first_toolkit="11.4",
        first_ptx_isa="7.4",
        driver_note="Linux for Tegra 35 (JetPack 5); R595 from JetPack 7.2 on",
        integrated=True,
        sources=("ptxas", "cuda-gpus", "release-notes", "pytorch", "nvjitlink", "guide"),
        note="nvJitLink 13.2 and later takes sm_80 and sm_86 code for it, earlier ones do not",
    ),
    ArchitectureRow(
        88,
        "Ampere",
        "no GPU known",
        "unknown",
        first_toolkit="13.0",
        first_ptx_isa="9.0",
        first_driver=580,
        driver_note="first driver assumed from the toolkit",
        integrated=True,
        sources=("ptxas", "nvjitlink", "llvm/llvm-project#170258"),
        certain=False,
        note="nobody has named the device; nvJitLink 13.0 and 13.1 treat it like a Tegra",
    ),
    ArchitectureRow(
        89,
        "Ada",
        "L4, L40S, RTX 4090, RTX 6000 Ada Generation",
        "discrete",
        first_toolkit="11.8",
        first_ptx_isa="7.8",
        first_driver=520,
        sources=("ptxas", "cuda-gpus", "ada-guide", "release-notes"),
    ),
    ArchitectureRow(
        90,
        "Hopper",
        "H100, H200, GH200",
        "data centre",
        first_toolkit="11.8",
        first_ptx_isa="7.8",
        variants=("a",),
        first_driver=520,
        driver_note="sm_90a code from R525 on",
        sources=("ptxas", "cuda-gpus", "release-notes"),
        note="sm_90a from CUDA 12.0 and PTX ISA 8.0 on",
    ),
    ArchitectureRow(
        100,
        "Blackwell",
        "B200, GB200",
        "data centre",
        first_toolkit="12.8",
        first_ptx_isa="8.6",
        variants=("a", "f"),
        first_driver=570,
        sources=("ptxas", "cuda-gpus", "release-notes"),
        note="sm_100f from CUDA 12.9 on",
    ),
    ArchitectureRow(
        101,
        "Blackwell",
        "Thor before CUDA 13",
        "Tegra",
        first_toolkit="12.8",
        last_toolkit="12.9",
        first_ptx_isa="8.6",
        variants=("a", "f"),
        driver_note="early JetPack and DRIVE releases only",
        integrated=True,
        sources=("ptxas", "openxla/xla#30514", "pytorch/pytorch#156176"),
        note="renamed sm_110 in CUDA 13.0, which still reads PTX for sm_101; sm_101f from 12.9 on",
    ),
    ArchitectureRow(
        103,
        "Blackwell Ultra",
        "B300, GB300",
        "data centre",
        first_toolkit="12.9",
        first_ptx_isa="8.8",
        variants=("a", "f"),
        first_driver=575,
        driver_note="R580 by some documents",
        sources=("ptxas", "cuda-gpus", "release-notes"),
    ),
    ArchitectureRow(
        107,
        "Rubin",
        "Vera Rubin",
        "data centre",
        first_toolkit="13.4",
        first_ptx_isa="9.4",
        variants=("a", "f"),
        first_driver=615,
        sources=("ptxas", "cutlass", "pytorch/pytorch#190654"),
    ),
    ArchitectureRow(
        110,
        "Blackwell",
        "Jetson T5000, Jetson T4000, DRIVE AGX Thor",
        "Tegra",
        first_toolkit="13.0",
        first_ptx_isa="9.0",
        variants=("a", "f"),
        first_driver=580,
        driver_note="JetPack 7, the driver of Arm servers",
        sources=("ptxas", "cuda-gpus"),
        note="called sm_101 by CUDA 12.8 and 12.9",
    ),
    ArchitectureRow(
        120,
        "Blackwell",
        "RTX 5090, RTX PRO 6000 Blackwell",
        "discrete",
        first_toolkit="12.8",
        first_ptx_isa="8.7",
        variants=("a", "f"),
        first_driver=570,
        sources=("ptxas", "cuda-gpus", "release-notes"),
        note="sm_120f from CUDA 12.9 on",
    ),
    ArchitectureRow(
        121,
        "Blackwell",
        "GB10 (DGX Spark)",
        "integrated",
        first_toolkit="12.9",
        first_ptx_isa="8.8",
        variants=("a", "f"),
        first_driver=580,
        driver_note="the driver of Arm servers",
        sources=("ptxas", "cuda-gpus", "nvjitlink"),
        note="an integrated GPU, but not split from 12.0 as Orin is from 8.0",
    ),
)
"""One row an architecture, by SM number."""

_BY_NUMBER = {row.sm: row for row in ARCHITECTURES}


def row_of(cc: ComputeCapability) -> ArchitectureRow | None:
    """Return the row of a compute capability; None when it is not known (yet)."""
    return _BY_NUMBER.get(cc.sm)
