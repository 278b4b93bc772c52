"""GPUs by name, with the compute capability of each.

Names are written as people say them: with ``Quadro``, without ``NVIDIA``, ``Tesla``, ``GeForce``.
:func:`find_gpu` also takes them as ``nvidia-smi`` prints them.
"""

from __future__ import annotations

import re

from fatbin._record import Record
from fatbin.arch import ComputeCapability
from fatbin.errors import UnknownGpuError

__all__ = ["GPUS", "GpuRow", "find_gpu", "gpus_of"]


class GpuRow(Record):
    """One GPU.

    Attributes:
        name: without ``NVIDIA``, ``Tesla``, ``GeForce``.
        capability: the compute capability as text, ``12.0``.
        kind: ``data centre``, ``workstation``, ``consumer``, ``laptop``, ``Tegra``, ``desktop AI``
            or ``mining``.
        sources: keys of ``SOURCES``.
        certain: False when the compute capability is not sure.
    """

    name: str
    capability: str
    kind: str
    sources: tuple[str, ...]
    certain: bool = True

    @property
    def cc(self) -> ComputeCapability:
        """The compute capability as a value."""
        return ComputeCapability.parse(self.capability)


# Capability, kind, source, names. Kinds and names are NVIDIA's; a name stands once.
_LISTED = (
    ("2.0", "data centre", "cuda-legacy-gpus", "C2050, C2070, C2075, M2050, M2070, M2090"),
    ("2.0", "consumer", "cuda-legacy-gpus", "GTX 465, GTX 470, GTX 480, GTX 570, GTX 580, GTX 590"),
    ("2.0", "workstation", "cuda-legacy-gpus", "Quadro 4000, Quadro 5000, Quadro 6000"),
    ("2.1", "consumer", "cuda-legacy-gpus", "GTS 450, GTX 460, GTX 550 Ti, GTX 560 Ti"),
    ("2.1", "workstation", "cuda-legacy-gpus", "Quadro 600, Quadro 2000"),
    ("3.0", "data centre", "cuda-legacy-gpus", "K10"),
    ("3.0", "data centre", "pci-ids", "K8, GRID K1, GRID K2, GRID K340, GRID K520"),
    (
        "3.0", "consumer", "cuda-legacy-gpus",
        ("GTX 650, GTX 650 Ti, GTX 650 Ti BOOST, GTX 660, GTX 660 Ti, GTX 670, GTX 680, GTX 690, "
        "GT 740, GTX 760, GTX 770"),
    ),
    (
        "3.0", "workstation", "cuda-legacy-gpus",
        ("Quadro 410, Quadro K420, Quadro K600, Quadro K2000, Quadro K2000D, Quadro K4000, "
        "Quadro K4200, Quadro K5000"),
    ),
    ("3.2", "Tegra", "cuda-legacy-gpus", "Tegra K1, Jetson TK1"),
    ("3.5", "data centre", "cuda-legacy-gpus", "K20, K20X, K40"),
    (
        "3.5", "consumer", "cuda-legacy-gpus",
        "GTX TITAN, GTX TITAN Black, GTX TITAN Z, GTX 780, GTX 780 Ti",
    ),
    ("3.5", "consumer", "pci-ids", "GT 710, GT 720"),
    ("3.5", "workstation", "cuda-legacy-gpus", "Quadro K5200, Quadro K6000"),
    ("3.7", "data centre", "cuda-legacy-gpus", "K80"),
    ("5.0", "data centre", "pci-ids", "M10"),
    ("5.0", "consumer", "cuda-legacy-gpus", "GTX 750, GTX 750 Ti"),
    ("5.0", "consumer", "pci-ids", "GTX 745"),
    ("5.0", "workstation", "cuda-legacy-gpus", "Quadro K620, Quadro K1200, Quadro K2200, NVS 810"),
    (
        "5.0", "laptop", "cuda-legacy-gpus",
        ("Quadro M500M, Quadro M520, Quadro M600M, Quadro M1000M, Quadro M1200, Quadro M2000M, "
        "830M, 840M, 930M, 940M, GTX 850M, GTX 950M, GTX 960M"),
    ),
    ("5.0", "laptop", "pci-ids", "MX110, MX130, 940MX"),
    ("5.2", "data centre", "cuda-legacy-gpus", "M40, M60"),
    ("5.2", "data centre", "pci-ids", "M4, M6"),
    (
        "5.2", "consumer", "cuda-legacy-gpus",
        "GTX 950, GTX 960, GTX 970, GTX 980, GTX 980 Ti, GTX TITAN X",
    ),
    (
        "5.2", "workstation", "cuda-legacy-gpus",
        "Quadro M2000, Quadro M4000, Quadro M5000, Quadro M6000",
    ),
    (
        "5.2", "laptop", "cuda-legacy-gpus",
        "GTX 965M, GTX 970M, GTX 980M, Quadro M2200, Quadro M5500M",
    ),
    ("5.3", "Tegra", "cuda-legacy-gpus", "Jetson Nano, Jetson TX1, Tegra X1"),
    ("6.0", "data centre", "cuda-legacy-gpus", "P100"),
    ("6.0", "workstation", "cuda-legacy-gpus", "Quadro GP100"),
    ("6.1", "data centre", "cuda-legacy-gpus", "P4, P40"),
    ("6.1", "data centre", "pci-ids", "P6, P10"),
    (
        "6.1", "consumer", "cuda-legacy-gpus",
        ("GTX 1050, GTX 1060, GTX 1070, GTX 1070 Ti, GTX 1080, GTX 1080 Ti, TITAN X (Pascal), "
        "TITAN Xp"),
    ),
    ("6.1", "consumer", "pci-ids", "GT 1010, GT 1030, GTX 1050 Ti"),
    (
        "6.1", "workstation", "cuda-legacy-gpus",
        ("Quadro P400, Quadro P600, Quadro P620, Quadro P1000, Quadro P2000, Quadro P2200, "
        "Quadro P4000, Quadro P5000, Quadro P6000"),
    ),
    (
        "6.1", "laptop", "cuda-legacy-gpus",
        "Quadro P500, Quadro P520, Quadro P3000, Quadro P3200, Quadro P4200, Quadro P5200",
    ),
    ("6.1", "laptop", "pci-ids", "MX150, MX230, MX250, MX330, MX350"),
    ("6.2", "Tegra", "cuda-legacy-gpus", "Jetson TX2, Tegra X2"),
    ("7.0", "data centre", "cuda-legacy-gpus", "V100"),
    ("7.0", "data centre", "pci-ids", "V100S"),
    ("7.0", "workstation", "cuda-legacy-gpus", "Quadro GV100, TITAN V"),
    ("7.2", "Tegra", "cuda-legacy-gpus", "Jetson AGX Xavier, Jetson Xavier NX"),
    ("7.5", "data centre", "cuda-gpus", "T4"),
    ("7.5", "data centre", "pci-ids", "T4G, T10"),
    (
        "7.5", "consumer", "cuda-gpus",
        ("GTX 1650, GTX 1650 Ti, GTX 1660, GTX 1660 Ti, RTX 2060, RTX 2070, RTX 2080, RTX 2080 Ti, "
        "TITAN RTX"),
    ),
    (
        "7.5", "consumer", "pci-ids",
        "GTX 1630, GTX 1650 SUPER, GTX 1660 SUPER, RTX 2060 SUPER, RTX 2070 SUPER, RTX 2080 SUPER",
    ),
    (
        "7.5", "workstation", "cuda-gpus",
        "Quadro RTX 4000, Quadro RTX 5000, Quadro RTX 6000, Quadro RTX 8000, T400, T600, T1000",
    ),
    ("7.5", "laptop", "cuda-gpus", "Quadro RTX 3000, Quadro T1000, Quadro T2000, T500, T1200"),
    ("7.5", "laptop", "pci-ids", "T550, MX450, MX550"),
    ("7.5", "mining", "pci-ids", "CMP 30HX, CMP 40HX, CMP 50HX"),
    ("8.0", "data centre", "cuda-gpus", "A30, A100"),
    ("8.0", "data centre", "pci-ids", "A30X, A100X, A800"),
    ("8.0", "workstation", "pci-ids", "A800 40GB Active"),
    ("8.0", "mining", "pci-ids", "CMP 170HX"),
    ("8.6", "data centre", "cuda-gpus", "A2, A10, A16, A40"),
    ("8.6", "data centre", "pci-ids", "A10G, A10M"),
    (
        "8.6", "consumer", "cuda-gpus",
        ("RTX 3050, RTX 3050 Ti, RTX 3060, RTX 3060 Ti, RTX 3070, RTX 3070 Ti, RTX 3080, "
        "RTX 3080 Ti, RTX 3090, RTX 3090 Ti"),
    ),
    (
        "8.6", "workstation", "cuda-gpus",
        "RTX A2000, RTX A3000, RTX A4000, RTX A5000, RTX A6000",
    ),
    ("8.6", "workstation", "pci-ids", "RTX A400, RTX A1000, RTX A4500, RTX A5500"),
    ("8.6", "laptop", "pci-ids", "RTX A500, RTX 2050, MX570"),
    ("8.6", "mining", "pci-ids", "CMP 70HX, CMP 90HX"),
    ("8.7", "Tegra", "cuda-gpus", "Jetson AGX Orin, Jetson Orin NX, Jetson Orin Nano"),
    ("8.9", "data centre", "cuda-gpus", "L4, L40, L40S"),
    ("8.9", "data centre", "pci-ids", "L2, L20, L40G"),
    (
        "8.9", "consumer", "cuda-gpus",
        "RTX 4050, RTX 4060, RTX 4060 Ti, RTX 4070, RTX 4070 Ti, RTX 4080, RTX 4090",
    ),
    (
        "8.9", "consumer", "pci-ids",
        "RTX 4070 SUPER, RTX 4070 Ti SUPER, RTX 4080 SUPER, RTX 4090 D",
    ),
    (
        "8.9", "workstation", "cuda-gpus",
        ("RTX 2000 Ada Generation, RTX 4000 Ada Generation, RTX 4000 SFF Ada Generation, "
        "RTX 4500 Ada Generation, RTX 5000 Ada Generation, RTX 6000 Ada Generation"),
    ),
    ("8.9", "workstation", "pci-ids", "RTX 5880 Ada Generation"),
    (
        "8.9", "laptop", "pci-ids",
        ("RTX 500 Ada Generation, RTX 1000 Ada Generation, RTX 3000 Ada Generation, "
        "RTX 3500 Ada Generation"),
    ),
    ("9.0", "data centre", "cuda-gpus", "H100, H200, GH200"),
    ("9.0", "data centre", "pci-ids", "H20, H800"),
    ("10.0", "data centre", "cuda-gpus", "B200, GB200"),
    ("10.0", "data centre", "pci-ids", "B100"),
    ("10.3", "data centre", "cuda-gpus", "B300, GB300"),
    ("10.7", "data centre", "pytorch/pytorch#190654", "Vera Rubin"),
    ("11.0", "Tegra", "cuda-gpus", "Jetson AGX Thor, Jetson T5000, Jetson T4000"),
    (
        "12.0", "data centre", "cuda-gpus",
        "RTX PRO 4500 Blackwell Server Edition, RTX PRO 6000 Blackwell Server Edition",
    ),
    (
        "12.0", "consumer", "cuda-gpus",
        "RTX 5050, RTX 5060, RTX 5060 Ti, RTX 5070, RTX 5070 Ti, RTX 5080, RTX 5090",
    ),
    ("12.0", "consumer", "pci-ids", "RTX 5090 D"),
    (
        "12.0", "workstation", "cuda-gpus",
        ("RTX PRO 2000 Blackwell, RTX PRO 4000 Blackwell, RTX PRO 4000 Blackwell SFF Edition, "
        "RTX PRO 4500 Blackwell, RTX PRO 5000 Blackwell, "
        "RTX PRO 6000 Blackwell Workstation Edition, "
        "RTX PRO 6000 Blackwell Max-Q Workstation Edition"),
    ),
    (
        "12.0", "laptop", "pci-ids",
        "RTX PRO 500 Blackwell, RTX PRO 1000 Blackwell, RTX PRO 3000 Blackwell",
    ),
    ("12.1", "desktop AI", "cuda-gpus", "GB10"),
)  # fmt: skip

# What is likely, and not to be found in a list of NVIDIA's or clear from the chip.
_LIKELY = (
    ("5.0", "laptop", "cuda-legacy-gpus", "Quadro M3000M, Quadro M4000M, Quadro M5000M"),
    ("5.2", "laptop", "cuda-legacy-gpus", "910M, Quadro M620"),
    ("6.2", "Tegra", "drive", "DRIVE PX 2"),
    ("7.2", "Tegra", "drive", "DRIVE AGX Xavier"),
    ("8.7", "Tegra", "drive", "DRIVE AGX Orin"),
    ("10.7", "data centre", "pytorch/pytorch#190654", "R100, VR200"),
    ("11.0", "Tegra", "drive", "DRIVE AGX Thor"),
    ("12.0", "data centre", "pci-ids", "RTX 6000D"),
    ("12.0", "consumer", "pci-ids", "RTX 5090 D v2"),
)


def _rows(groups: tuple[tuple[str, str, str, str], ...], *, certain: bool) -> tuple[GpuRow, ...]:
    return tuple(
        GpuRow(name, capability, kind, (source,), certain)
        for capability, kind, source, names in groups
        for name in names.split(", ")
    )


GPUS: tuple[GpuRow, ...] = _rows(_LISTED, certain=True) + _rows(_LIKELY, certain=False)
"""One row a GPU; those that are not certain stand last."""

_ALSO_CALLED = {
    "spark": "GB10",  # DGX Spark
    "h20 3e": "H20",
    "k20c": "K20",
    "k20m": "K20",
    "k20xm": "K20X",
    "k40c": "K40",
    "k40m": "K40",
    "tegra xavier": "Jetson AGX Xavier",
    "tegra orin": "Jetson AGX Orin",
}
"""Other names, as :func:`_key` gives them, and those of their rows."""

_SEVERAL = {
    "gt 630": ("2.1", "3.0", "3.5"),
    "gt 640": ("2.1", "3.0", "3.5"),
    "gt 730": ("2.1", "3.5"),
    "gtx 860m": ("3.0", "5.0"),
}
"""Names under which different chips were sold."""

_NOISE = frozenset((
    "nvidia", "corporation", "geforce", "tesla", "grid", "graphics", "device", "gpu", "laptop",
    "mobile", "notebook", "generation", "edition", "design", "with", "tensor", "core", "grace",
    "hopper", "superchip", "module", "developer", "kit", "nvgpu", "integrated", "pcie", "pci",
    "sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6", "nvl", "nvl2", "nvl4", "nvl8", "nvl16",
    "nvl32", "nvl36", "nvl72", "hgx", "dgx", "dgxs", "fhhl", "oem", "lhr", "ac", "max", "q",
    "server", "workstation", "sff", "active", "hbm", "hbm2", "hbm2e", "hbm3", "hbm3e", "hbm4",
    "gddr5", "gddr5x", "gddr6", "gddr6x", "gddr7", "ddr3",
))  # fmt: skip
"""Words that tell GPUs of one name apart, or say whose they are, not what code they run."""

_UNSAID = frozenset((
    "gtx", "rtx", "quadro", "ada", "blackwell", "jetson", "drive", "agx", "pascal", "nvs", "vera",
    "tegra",
))  # fmt: skip
"""Words of a name that people leave out."""

_MOBILE = frozenset(("laptop", "mobile", "notebook"))
_SIZE = re.compile(r"\b\d+ ?[gm]i?b\b|\b\d+g(?= hbm)")
_PROFILE = re.compile(r"(?:[- ]\d)?[- ]\d{1,3}[abcq]$")  # of a virtual GPU: A100-4-20C, T4-16Q
_NEAREST = 3
_LONGEST = 80  # no name is longer


def gpus_of(cc: ComputeCapability) -> tuple[GpuRow, ...]:
    """Return the GPUs of a compute capability."""
    return tuple(row for row in GPUS if row.capability == str(cc))


def find_gpu(text: str) -> GpuRow:
    """Return the row of a GPU by its name, as people write it or ``nvidia-smi`` prints it.

    Letter case, maker, brand, memory size, form factor and MIG slices do not count.

    Raises:
        UnknownGpuError: no GPU has this name, or several that differ in compute capability do.
    """
    name = _plain(text)
    words = _words(name)
    if _key(words) in _ALSO_CALLED:
        words = _words(_ALSO_CALLED[_key(words)].lower())
    capabilities = _SEVERAL.get(_key(words))
    if capabilities:
        msg = f"{text!r} was sold with compute capability {' and '.join(capabilities)}"
        raise UnknownGpuError(msg, hint="write the compute capability instead of the name")
    found = _matches(words) or _matches([word for word in words if word != "quadro"])
    if not found:
        raise UnknownGpuError(f"no GPU is known as {text!r}{_nearest(name)}", hint=_HINT)
    if len({row.capability for row in found}) > 1:
        names = ", ".join(f"{row.name} ({row.capability})" for row in found)
        raise UnknownGpuError(
            f"{text!r} can be several GPUs: {names}",
            hint="write the whole name, or the compute capability",
        )
    return min(found, key=lambda row: _distance(words, row.name))


_HINT = "'fatbin gpus' lists what is known; a compute capability such as 9.0 does too"


def _plain(text: str) -> str:
    """Return a name in small letters with single blanks, without marks and without MIG slices."""
    text = re.sub(r"\((?:tm|r)\)|[®™]", " ", text.lower())
    return " ".join(re.split(r"\bmig\b", re.sub(r"[\s()\[\]_/-]+", " ", text))[0].split())


def _words(name: str) -> list[str]:
    """Return the words of a plain name, those that people join taken apart."""
    name = re.sub(r"[()-]", " ", name)
    name = _PROFILE.sub("", _SIZE.sub(" ", name))
    name = re.sub(r"\b(rtx|gtx|gts|gt|quadro|tesla|jetson|titan)(?=[a-z]?\d)", r"\1 ", name)
    name = re.sub(r"\bmx (?=\d)", "mx", name)
    name = re.sub(r"(?<=\d)(ti|super|ada)\b", r" \1", name)
    name = re.sub(r"\b(\d{4})d\b", r"\1 d", name)
    return name.split()


def _key(words: list[str]) -> str:
    return " ".join(word for word in words if word not in _NOISE)


def _matches(words: list[str]) -> list[GpuRow]:
    """Return the rows that a name can mean: of the same words, or with words that were left out."""
    said = set(words) - _NOISE
    if _MOBILE & set(words):
        exact = [row for row in GPUS if _core(row) == {_mobile(word) for word in said}]
        if exact:
            return exact
    exact = [row for row in GPUS if _core(row) == said]
    if exact or said <= _UNSAID:
        return exact
    unsaid = _UNSAID | {"pro"} if "blackwell" in said else _UNSAID
    return [row for row in GPUS if said <= _core(row) and _core(row) - said <= unsaid]


def _core(row: GpuRow) -> set[str]:
    known = _CORES.get(row.name)
    if known is None:
        known = _CORES[row.name] = set(_words(row.name.lower())) - _NOISE
    return known


_CORES: dict[str, set[str]] = {}


def _mobile(word: str) -> str:
    return f"{word}m" if word.isdigit() else word


def _distance(words: list[str], name: str) -> int:
    return len(set(words) ^ set(_words(name.lower())))


def _nearest(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only mistakes pay for it

    named = {row.name.lower(): row.name for row in GPUS}
    close = get_close_matches(_key(_words(name))[:_LONGEST], named, _NEAREST, 0.5)
    return f"; the nearest are {', '.join(named[match] for match in close)}" if close else ""
