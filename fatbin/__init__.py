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
        DecompressionError,
        DriverError,
        FatbinError,
        FormatError,
        InventoryError,
        LimitExceededError,
        MissingDependencyError,
        SizeMismatchError,
        SourceError,
        TruncatedError,
        UnknownFormatError,
        UnknownGpuError,
        UnsupportedVersionError,
    )
    from fatbin.format.build import EntrySpec, build
    from fatbin.format.images import Cubin, Ltoir, Ptx
    from fatbin.inventory import Entry, Inventory, Issue, Library, Linkage, Module
    from fatbin.kernel import Kernel, Parameter
    from fatbin.kinds import Compression, EntryFlags, EntryKind, Place
    from fatbin.limits import Limits
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
        "DecompressionError",
        "DriverError",
        "FatbinError",
        "FormatError",
        "InventoryError",
        "LimitExceededError",
        "MissingDependencyError",
        "SizeMismatchError",
        "SourceError",
        "TruncatedError",
        "UnknownFormatError",
        "UnknownGpuError",
        "UnsupportedVersionError",
    ),
    "fatbin.format.build": ("EntrySpec", "build"),
    "fatbin.format.images": ("Cubin", "Ltoir", "Ptx"),
    "fatbin.inventory": ("Entry", "Inventory", "Issue", "Library", "Linkage", "Module"),
    "fatbin.kernel": ("Kernel", "Parameter"),
    "fatbin.kinds": ("Compression", "EntryFlags", "EntryKind", "Place"),
    "fatbin.limits": ("Limits",),
    "fatbin.scanning.opened": ("OpenContainer", "OpenEntry", "OpenFile", "OpenLibrary", "open"),
    "fatbin.scanning.scanner": ("scan_bytes",),
    "fatbin.scanning.cache": ("default_cache",),
    "fatbin.scanning.loader": ("loader_order",),
    "fatbin.scanning.many": ("scan_many",),
    "fatbin.scanning.targets": ("scan",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Architecture",
    "ArchitectureError",
    "BadMagicError",
    "Compression",
    "ComputeCapability",
    "Cubin",
    "DecompressionError",
    "DriverError",
    "Entry",
    "EntryFlags",
    "EntryKind",
    "EntrySpec",
    "FatbinError",
    "FormatError",
    "Inventory",
    "InventoryError",
    "Issue",
    "Kernel",
    "Library",
    "LimitExceededError",
    "Limits",
    "Linkage",
    "Ltoir",
    "MissingDependencyError",
    "Module",
    "OpenContainer",
    "OpenEntry",
    "OpenFile",
    "OpenLibrary",
    "Parameter",
    "Place",
    "Ptx",
    "SizeMismatchError",
    "SourceError",
    "TruncatedError",
    "UnknownFormatError",
    "UnknownGpuError",
    "UnsupportedVersionError",
    "__version__",
    "build",
    "default_cache",
    "loader_order",
    "open",
    "scan",
    "scan_bytes",
    "scan_many",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    module = _HOME_OF.get(name)
    if module is None:
        msg = f"module 'fatbin' has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module  # noqa: PLC0415 - start-up pays for nothing

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names only."""
    return sorted(__all__)
