"""The CUDA driver's choice among the images of one module, as a pure function.

:func:`choose` says which image a driver takes for a device, how, and with which error it fails. The
rules are NVIDIA's documented ones where there are any, and otherwise what an H200 with driver
580.159 answered for 227 images in up to five environments and for 23,006 modules of 35 libraries;
``tests/hardware`` holds both. Every choice names the statements it rests on
(:mod:`fatbin.judge.facts.statements`).
"""

from __future__ import annotations

from fatbin.judge.choice import (
    INVALID_IMAGE,
    INVALID_PTX,
    INVALID_SOURCE,
    JIT_COMPILATION_DISABLED,
    NO_BINARY_FOR_GPU,
    NO_DEVICE,
    NOT_FOUND,
    UNSUPPORTED_PTX_VERSION,
    Choice,
    Environment,
    How,
)
from fatbin.judge.content import DEVICE_LINKED
from fatbin.judge.device_support import drives, last_driver_of
from fatbin.judge.driver import Driver, minimum_driver_for_isa
from fatbin.judge.facts.toolkits import GROUPS, ZSTD
from fatbin.judge.fitting import Fitting, isa_of
from fatbin.judge.serving import Certainty, Serving, ptx_serves, sass_serves
from fatbin.kinds import Compression, EntryFlags, EntryKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fatbin.arch import ComputeCapability
    from fatbin.inventory import Entry, Module


_FIRST_FAMILY = 100
_MERCURY = int(EntryFlags.MERCURY)
_VARIANT_RANK = {"a": 2, "f": 1, "?": 0, "": 0}


def choose(
    module: Module,
    device: ComputeCapability,
    driver: Driver | None = None,
    environment: Environment | None = None,
    *,
    pool: Iterable[Module] = (),
) -> Choice:
    """Say what the driver takes of a module.

    Args:
        module: a container, or a bare cubin or PTX text.
        device: compute capability of the GPU.
        driver: None stands for one that drives the GPU and reads everything.
        environment: variables of the process; none are set by default.
        pool: the relocatable modules of the same library, for a module that was device-linked.
    """
    return Loader(device, driver, environment, pool=pool).choose(module)


class Loader:
    """The choice for one device, driver and environment; remembers what it has answered.

    Attributes:
        device: compute capability of the GPU.
        driver: None when none is given.
        reader: the driver that reads code: the one given, else the last that drives the GPU; None
            where that is not known.
        environment: variables of the process.
        fitting: answers for single entries.
        linked_entries: what the driver links when a device-linked module gets its second chance,
            one entry for each module of the pool; empty before that.
    """

    def __init__(
        self,
        device: ComputeCapability,
        driver: Driver | None = None,
        environment: Environment | None = None,
        *,
        pool: Iterable[Module] = (),
    ) -> None:
        """Stand for one process on one device."""
        self.device = device
        self.driver = driver
        self.reader: Driver | None = driver or last_driver_of(device)
        self.environment: Environment = environment or Environment()
        self._pool = tuple(pool)
        self._linked: Choice | None = None
        self.linked_entries: tuple[Entry, ...] = ()
        self.fitting: Fitting = Fitting(device, self.reader)
        self._no_device = drives(device, driver)

    def choose(self, module: Module) -> Choice:
        """Say what the driver takes of a module."""
        if self._no_device:
            return Choice(How.NONE, code=NO_DEVICE, because=(self._no_device,))
        bare = module.form != "container"
        choice = self._of_bare(module) if bare else self._of_container(module)
        if choice.code == NO_BINARY_FOR_GPU and module.wrapper == DEVICE_LINKED and self._pool:
            return self._link(choice)
        return choice

    # Bare images: no header stands before them, so the image itself is what is judged.

    def _of_bare(self, module: Module) -> Choice:
        for index, entry in enumerate(module.entries):
            if entry.kind == "sass":
                return self._bare_sass(entry, index)
            if entry.kind == "ptx":
                return self._bare_ptx(entry, index)
        return _failed(NO_BINARY_FOR_GPU, -1, "container.ltoir")

    def _bare_sass(self, entry: Entry, index: int) -> Choice:
        serving = self.fitting.sass(entry)
        if serving.certainty is Certainty.NO:
            return _failed(NO_BINARY_FOR_GPU, index, *serving.because)
        return self._taken(How.NATIVE, entry, index, serving)

    def _bare_ptx(self, entry: Entry, index: int) -> Choice:
        serving = self.fitting.ptx(entry)
        if not self.fitting.reads(entry):
            choice = self._too_new(entry, index)
        elif serving.certainty is Certainty.NO:
            choice = _failed(INVALID_PTX, index, "ptx.bare-target", *serving.because)
        else:
            choice = self._taken(How.JIT, entry, index, serving)
        return self._unless_disabled(choice, index)

    # Containers: the driver goes by entry headers.

    def _of_container(self, module: Module) -> Choice:
        sass, doubtful = self._best_sass(module)
        ptx = self._best_ptx(module)
        if sass is not None:
            taken = self._taken(How.NATIVE, module.entries[sass[0]], *sass)
            return self._unless_nearer(taken, module, ptx) if ptx and taken.serves else taken
        if doubtful is not None and (
            ptx is None or module.entries[doubtful[0]].kind_number == EntryKind.ELF_16
        ):
            return self._taken(How.NATIVE, module.entries[doubtful[0]], *doubtful)
        if ptx is None:
            return self._nothing_fits(module)
        compiled = self._compiled(module.entries[ptx[0]], *ptx)
        if doubtful is None:
            return compiled
        # Whichever way the doubt falls, PTX that fits runs; without it the doubt is the answer.
        if compiled.serves:
            return compiled._replace(because=compiled.because + doubtful[1].because)
        return self._taken(How.NATIVE, module.entries[doubtful[0]], *doubtful)

    def _unless_nearer(self, taken: Choice, module: Module, ptx: tuple[int, Serving]) -> Choice:
        """Doubt SASS of its family beside PTX for a nearer member that cannot be compiled."""
        sass, nearer = module.entries[taken.entry].arch, module.entries[ptx[0]].arch
        if sass is None or nearer is None or not _FIRST_FAMILY <= sass.number < nearer.number:
            return taken
        if self._compiled(module.entries[ptx[0]], *ptx).serves:
            return taken  # whichever is taken, it runs
        because = ("sass.nearer-ptx", *taken.because)
        return taken._replace(certainty=Certainty.UNSURE, because=because)

    def _nothing_fits(self, module: Module) -> Choice:
        for index, entry in enumerate(module.entries):
            if (
                self.fitting.passes_over(entry)
                and self.fitting.serving(entry).certainty is not Certainty.NO
            ):
                failed = _failed(NO_BINARY_FOR_GPU, index, "driver.groups")
                return failed._replace(driver=GROUPS.first_driver)
        forced = self.environment.force_ptx_jit and any(e.kind == "sass" for e in module.entries)
        reason = "env.force-ptx-jit" if forced else "container.nothing-fits"
        return _failed(NO_BINARY_FOR_GPU, -1, reason)

    def _best_sass(
        self, module: Module
    ) -> tuple[tuple[int, Serving] | None, tuple[int, Serving] | None]:
        """Return the cubin that is taken and, where there is none, the best of doubtful ones."""
        if self.environment.force_ptx_jit:
            return None, None
        sure: tuple[tuple[int, ...], int, Serving] | None = None
        doubt: tuple[tuple[int, ...], int, Serving] | None = None
        for index, entry in enumerate(module.entries):
            arch = entry.arch
            if entry.kind != "sass" or arch is None or self.fitting.passes_over(entry):
                continue
            serving = self.fitting.serving(entry)
            if serving.certainty is Certainty.NO:
                continue
            rank = (arch.number, _VARIANT_RANK[arch.variant], not entry.flags & _MERCURY)
            if serving.certainty is Certainty.YES:
                if sure is None or rank > sure[0]:  # the first of equals stays
                    sure = rank, index, serving
            elif doubt is None or _doubt_rank(serving, rank) > _doubt_rank(doubt[2], doubt[0]):
                doubt = rank, index, serving
        return sure and (sure[1], sure[2]), doubt and (doubt[1], doubt[2])

    def _best_ptx(self, module: Module) -> tuple[int, Serving] | None:
        best: tuple[tuple[int, int], int, Serving] | None = None
        for index, entry in enumerate(module.entries):
            arch = entry.arch
            if entry.kind != "ptx" or arch is None or self.fitting.passes_over(entry):
                continue
            serving = self.fitting.serving(entry)
            rank = (arch.number, _VARIANT_RANK[arch.variant])
            if serving.certainty is not Certainty.NO and (best is None or rank > best[0]):
                best = rank, index, serving
        return best and (best[1], best[2])

    def _compiled(self, entry: Entry, index: int, serving: Serving) -> Choice:
        if not self.fitting.reads(entry):
            choice = self._too_new(entry, index)
        elif (
            entry.image_arch is not None
            and ptx_serves(entry.image_arch, self.device).certainty is Certainty.NO
        ):
            choice = _failed(INVALID_PTX, index, "container.header-decides")
        else:
            choice = self._taken(How.JIT, entry, index, serving)
        return self._unless_disabled(choice, index)

    def _unless_disabled(self, choice: Choice, index: int) -> Choice:
        """Return what compiling gives, or that it is switched off, which is looked at first."""
        environment = self.environment
        if not environment.disable_ptx_jit or (environment.warm_cache and choice.serves):
            return choice
        return _failed(JIT_COMPILATION_DISABLED, index, "env.disable-ptx-jit")

    def _taken(self, how: How, entry: Entry, index: int, serving: Serving) -> Choice:
        """Return the choice of an entry that fits, unless its payload is refused."""
        if (
            entry.compression is Compression.ZSTD
            and self.reader
            and self.reader.reading_branch < ZSTD.first_driver
        ):
            return _failed(INVALID_IMAGE, index, "driver.zstd")._replace(driver=ZSTD.first_driver)
        if how is How.NATIVE and entry.image_arch is not None:
            inner = sass_serves(entry.image_arch, self.device, self.fitting.cuda)
            if inner.certainty is Certainty.NO:
                return _failed(INVALID_SOURCE, index, "container.header-decides")
        if entry.unresolved and entry.relocatable is not False:
            late = not self.environment.eager
            return _failed(NOT_FOUND, index, "container.unresolved")._replace(late=late)
        return Choice(
            how,
            serving.certainty,
            entry=index,
            because=serving.because,
            driver=self._needed(entry, how),
        )

    def _too_new(self, entry: Entry, index: int) -> Choice:
        failed = _failed(UNSUPPORTED_PTX_VERSION, index, "ptx.isa", "ptx.chosen-before-isa")
        return failed._replace(driver=self._needed(entry, How.JIT))

    def _needed(self, entry: Entry, how: How) -> int:
        """Return the oldest driver branch that reads an entry; 0 when every one does."""
        packing = ZSTD.first_driver if entry.compression is Compression.ZSTD else 0
        if entry.group >= 0:
            packing = max(packing, GROUPS.first_driver)
        if how is How.NATIVE:
            return packing
        return max(packing, minimum_driver_for_isa(isa_of(entry)) or 0)

    # The second chance of device-linked modules.

    def _link(self, failed: Choice) -> Choice:
        if self._linked is None:
            self._linked = self._link_pool()
        if self._linked.code == NO_BINARY_FOR_GPU:
            return self._linked._replace(code=NOT_FOUND, entry=failed.entry, late=True)
        return self._linked

    def _link_pool(self) -> Choice:
        """Say whether every module of the pool can take part in a link by the driver."""
        because: dict[str, None] = {"container.jit-link": None}
        driver, certainty, entries = 0, Certainty.YES, []
        for module in self._pool:
            choice = self._of_container(module._replace(wrapper=0, entries=_linkable(module)))
            if not choice.serves:
                code = choice.code
                reasons = ("container.device-linked", *choice.because)
                return choice._replace(code=code, entry=-1, because=reasons, late=True)
            entries.append(module.entries[choice.entry])
            driver = max(driver, choice.driver)
            certainty = min(certainty, choice.certainty, key=_CERTAINTY_RANK.__getitem__)
            because |= dict.fromkeys(choice.because)
        self.linked_entries = tuple(entries)
        if certainty is Certainty.YES and not any(entry.kind != "sass" for entry in entries):
            certainty = Certainty.UNSURE  # what was seen to work is the link of PTX
        return Choice(How.JIT_LINK, certainty, because=tuple(because), driver=driver)


_CERTAINTY_RANK = {
    Certainty.NO: 0,
    Certainty.UNSURE: 1,
    Certainty.LIKELY: 2,
    Certainty.YES: 3,
}


def _failed(code: int, entry: int, *because: str) -> Choice:
    return Choice(How.NONE, code=code, entry=entry, because=because)


def _doubt_rank(serving: Serving, rank: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return _CERTAINTY_RANK[serving.certainty], rank


def _linkable(module: Module) -> tuple[Entry, ...]:
    """Return the entries of a pool module as the driver links them: missing functions are normal.

    The PTX that host objects carry as input of a link counts here, and only here.
    """
    return tuple(
        entry._replace(
            unresolved=None, kind="ptx" if entry.kind == "relocatable-ptx" else entry.kind
        )
        for entry in module.entries
    )
