"""Know what CUDA device code a file holds.

    >>> import fatbin
    >>> inventory = fatbin.scan("fixtures/lib_3arch.so")
    >>> sorted(map(str, inventory.libraries[0].sass))
    ['sm_120', 'sm_75', 'sm_90a']

Names are imported when first used, so that ``import fatbin`` costs next to nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.arch import Architecture, ComputeCapability
    from fatbin.errors import (
        ArchitectureError,
        BadMagicError,
        BaselineError,
        CheckFailed,
        DecompressionError,
        DeviceError,
        DriverError,
        FatbinError,
        FormatError,
        InventoryError,
        LimitExceededError,
        MissingDependencyError,
        PolicyError,
        SizeMismatchError,
        SourceError,
        TruncatedError,
        UnknownFormatError,
        UnknownGpuError,
        UnsupportedVersionError,
    )
    from fatbin.format.build import EntrySpec, build
    from fatbin.format.images import Cubin, Ltoir, Ptx
    from fatbin.guarding import Guarded, Machine, guard, ray_setup_hook
    from fatbin.inventory import Entry, Inventory, Issue, Library, Linkage, Module
    from fatbin.judge.baseline import Baseline, read_baseline
    from fatbin.judge.check import check
    from fatbin.judge.choice import Choice, Environment, How
    from fatbin.judge.driver import Driver
    from fatbin.judge.gpu import Gpu, parse_gpus
    from fatbin.judge.loader import choose
    from fatbin.judge.policy import Ignore, Policy
    from fatbin.judge.policy_file import read_policy
    from fatbin.judge.serving import Certainty
    from fatbin.judge.verdict import (
        Answer,
        Coverage,
        Evidence,
        Finding,
        IgnoredFinding,
        LibraryVerdict,
        Outcome,
        Severity,
        Verdict,
    )
    from fatbin.kernel import Kernel, Parameter
    from fatbin.kinds import Compression, EntryFlags, EntryKind, Place
    from fatbin.limits import Limits
    from fatbin.node.detect import detect
    from fatbin.node.preflight import preflight
    from fatbin.node.preflight_records import (
        Preflight,
        PreflightLibrary,
        PreflightOutcome,
        PreflightStage,
    )
    from fatbin.node.probe import probe
    from fatbin.node.probe_records import GpuProbe, Probe, ProbeResult
    from fatbin.node.records import Attempt, DetectedGpu, Detection
    from fatbin.node.smoke.nccl import smoke_nccl
    from fatbin.node.smoke.records import (
        RankReport,
        SmokeOutcome,
        SmokePrediction,
        SmokeResult,
        SmokeRound,
        SmokeStep,
    )
    from fatbin.scanning.cache import default_cache
    from fatbin.scanning.loader import loader_order
    from fatbin.scanning.many import scan_many
    from fatbin.scanning.opened import OpenContainer, OpenEntry, OpenFile, OpenLibrary, open  # noqa: A004
    from fatbin.scanning.scanner import scan_bytes
    from fatbin.scanning.targets import scan

_HOMES = {
    "fatbin.arch": ("Architecture", "ComputeCapability"),
    "fatbin.errors": (
        "ArchitectureError",
        "BadMagicError",
        "BaselineError",
        "CheckFailed",
        "DecompressionError",
        "DeviceError",
        "DriverError",
        "FatbinError",
        "FormatError",
        "InventoryError",
        "LimitExceededError",
        "MissingDependencyError",
        "PolicyError",
        "SizeMismatchError",
        "SourceError",
        "TruncatedError",
        "UnknownFormatError",
        "UnknownGpuError",
        "UnsupportedVersionError",
    ),
    "fatbin.format.build": ("EntrySpec", "build"),
    "fatbin.format.images": ("Cubin", "Ltoir", "Ptx"),
    "fatbin.guarding": ("Guarded", "Machine", "guard", "ray_setup_hook"),
    "fatbin.inventory": ("Entry", "Inventory", "Issue", "Library", "Linkage", "Module"),
    "fatbin.judge.baseline": ("Baseline", "read_baseline"),
    "fatbin.judge.check": ("check",),
    "fatbin.judge.driver": ("Driver",),
    "fatbin.judge.gpu": ("Gpu", "parse_gpus"),
    "fatbin.judge.choice": ("Choice", "Environment", "How"),
    "fatbin.judge.loader": ("choose",),
    "fatbin.judge.policy": ("Ignore", "Policy"),
    "fatbin.judge.policy_file": ("read_policy",),
    "fatbin.judge.serving": ("Certainty",),
    "fatbin.judge.verdict": (
        "Answer",
        "Coverage",
        "Evidence",
        "Finding",
        "IgnoredFinding",
        "LibraryVerdict",
        "Outcome",
        "Severity",
        "Verdict",
    ),
    "fatbin.kernel": ("Kernel", "Parameter"),
    "fatbin.kinds": ("Compression", "EntryFlags", "EntryKind", "Place"),
    "fatbin.limits": ("Limits",),
    "fatbin.node.detect": ("detect",),
    "fatbin.node.preflight": ("preflight",),
    "fatbin.node.preflight_records": (
        "Preflight",
        "PreflightLibrary",
        "PreflightOutcome",
        "PreflightStage",
    ),
    "fatbin.node.probe": ("probe",),
    "fatbin.node.probe_records": ("GpuProbe", "Probe", "ProbeResult"),
    "fatbin.node.records": ("Attempt", "DetectedGpu", "Detection"),
    "fatbin.node.smoke.nccl": ("smoke_nccl",),
    "fatbin.node.smoke.records": (
        "RankReport",
        "SmokeOutcome",
        "SmokePrediction",
        "SmokeResult",
        "SmokeRound",
        "SmokeStep",
    ),
    "fatbin.scanning.opened": ("OpenContainer", "OpenEntry", "OpenFile", "OpenLibrary", "open"),
    "fatbin.scanning.scanner": ("scan_bytes",),
    "fatbin.scanning.cache": ("default_cache",),
    "fatbin.scanning.loader": ("loader_order",),
    "fatbin.scanning.many": ("scan_many",),
    "fatbin.scanning.targets": ("scan",),
}

__all__ = [
    "Answer",
    "Architecture",
    "ArchitectureError",
    "Attempt",
    "BadMagicError",
    "Baseline",
    "BaselineError",
    "Certainty",
    "CheckFailed",
    "Choice",
    "Compression",
    "ComputeCapability",
    "Coverage",
    "Cubin",
    "DecompressionError",
    "DetectedGpu",
    "Detection",
    "DeviceError",
    "Driver",
    "DriverError",
    "Entry",
    "EntryFlags",
    "EntryKind",
    "EntrySpec",
    "Environment",
    "Evidence",
    "FatbinError",
    "Finding",
    "FormatError",
    "Gpu",
    "GpuProbe",
    "Guarded",
    "How",
    "Ignore",
    "IgnoredFinding",
    "Inventory",
    "InventoryError",
    "Issue",
    "Kernel",
    "Library",
    "LibraryVerdict",
    "LimitExceededError",
    "Limits",
    "Linkage",
    "Ltoir",
    "Machine",
    "MissingDependencyError",
    "Module",
    "OpenContainer",
    "OpenEntry",
    "OpenFile",
    "OpenLibrary",
    "Outcome",
    "Parameter",
    "Place",
    "Policy",
    "PolicyError",
    "Preflight",
    "PreflightLibrary",
    "PreflightOutcome",
    "PreflightStage",
    "Probe",
    "ProbeResult",
    "Ptx",
    "RankReport",
    "Severity",
    "SizeMismatchError",
    "SmokeOutcome",
    "SmokePrediction",
    "SmokeResult",
    "SmokeRound",
    "SmokeStep",
    "SourceError",
    "TruncatedError",
    "UnknownFormatError",
    "UnknownGpuError",
    "UnsupportedVersionError",
    "Verdict",
    "__version__",
    "build",
    "check",
    "choose",
    "default_cache",
    "detect",
    "guard",
    "loader_order",
    "open",
    "parse_gpus",
    "preflight",
    "probe",
    "ray_setup_hook",
    "read_baseline",
    "read_policy",
    "scan",
    "scan_bytes",
    "scan_many",
    "smoke_nccl",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    return _imported(name, _HOMES, globals())


def _imported(name: str, homes: dict[str, tuple[str, ...]], package: dict[str, object]) -> object:
    """Return a public name of a package from the module that it lives in, and keep it there.

    Raises:
        AttributeError: the package has no such name.
    """
    for module, names in homes.items():
        if name in names:
            from importlib import import_module  # noqa: PLC0415 - start-up pays for nothing

            value: object = getattr(import_module(module), name)
            package[name] = value
            return value
    msg = f"module {package['__name__']!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    """List the public names only."""
    return sorted(__all__)
