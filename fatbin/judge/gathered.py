"""Bare files that are shipped together: cubins of a package or a folder, which its code picks from.

Each is compiled for one architecture, so most are not for a given GPU, by design: what the modules
of a library are to each other, the files of a package are. One that is named stands alone.
"""

from __future__ import annotations

from fatbin.judge.loader import Loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.inventory import Inventory, Library
    from fatbin.judge.choice import Environment
    from fatbin.judge.driver import Driver
    from fatbin.judge.gpu import Gpu

_BARE = frozenset(("fatbin", "cubin", "ptx"))


class Gathered:
    """Which GPUs are served by some bare file of each package or folder."""

    def __init__(
        self,
        inventory: Inventory,
        gpus: tuple[Gpu, ...],
        driver: Driver | None,
        environment: Environment,
    ) -> None:
        """Look at every bare file that is part of a target, and not a target itself."""
        self._targets = frozenset(inventory.targets)
        self._folders = sorted(
            (target.rstrip("/\\") for target in inventory.targets), key=len, reverse=True
        )
        self._served: set[tuple[str, Gpu]] = set()
        loaders = [(gpu, Loader(gpu.cc, driver, environment)) for gpu in gpus]
        for library in inventory.libraries:
            group = self.group(library)
            if not group:
                continue
            for gpu, loader in loaders:
                if (group, gpu) not in self._served and any(
                    loader.choose(module).serves for module in library.modules
                ):
                    self._served.add((group, gpu))

    def group(self, library: Library) -> str:
        """Return what a bare file was shipped with: its distribution, or the target it is part of.

        Empty for files with host code, and for files that stand alone.
        """
        if library.format not in _BARE or library.location in self._targets:
            return ""
        if library.distribution:
            return f"{library.distribution} {library.distribution_version}".strip()
        outer, inside, _ = library.location.partition("::")
        if inside:
            return outer
        return next(
            (f for f in self._folders if library.location.startswith((f"{f}/", f"{f}\\"))), ""
        )

    def serves(self, library: Library, gpu: Gpu) -> str:
        """Return the group of a bare file if another of it serves a GPU; else nothing."""
        group = self.group(library)
        return group if group and (group, gpu) in self._served else ""
