"""From modules to a library: how many modules serve a GPU, and what the others are.

Working libraries hold many modules that serve a given GPU by no image, by design; telling those
from a forgotten architecture is what this module does. Measured on 35 libraries that all work on an
H200.
"""

from __future__ import annotations

from collections import Counter
from operator import itemgetter

from fatbin._record import Record
from fatbin.arch import ComputeCapability
from fatbin.inventory import Entry
from fatbin.judge.choice import NO_BINARY_FOR_GPU, NOT_FOUND, Choice, How
from fatbin.judge.content import DEVICE_LINKED, Content, content_of
from fatbin.judge.loader import Loader
from fatbin.judge.serving import Certainty
from fatbin.judge.verdict import Coverage
from fatbin.kinds import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fatbin.arch import Architecture
    from fatbin.inventory import Library, Module

IMAGES = ("sass", "ptx")
_MOST_ARCHITECTURES = 64
_MOST_CHOICES = 200_000
"""Architectures compared for the best one, and choices made for it, unless it is the only one; a
hostile file may name any number. Real ones name 15, in modules of a few hundred kinds."""
_PLAIN = ("", "?")
_NEWEST_GENERATION = 10


class Group(Record):
    """Modules of a library that the driver cannot tell apart.

    Attributes:
        module: the first of them.
        size: how many there are.
    """

    module: Module
    size: int


class Sorted(Record):
    """The modules of a library, sorted by what is to be done with them.

    Attributes:
        judged: groups of modules that hold images to choose from.
        pool: relocatable modules, what the driver can link where the library is device-linked.
        empty: number of modules without any kernel.
        unjudged: number of modules with nothing but LTO-IR or unnamed kinds.
        relocatable_only: whether ``judged`` are relocatable modules, since there are no others.
        content: what the entries of the library are.
    """

    judged: tuple[Group, ...]
    pool: tuple[Module, ...]
    empty: int
    unjudged: int
    relocatable_only: bool
    content: Content


class Answered(Record):
    """A group of modules and what the driver does with each.

    Attributes:
        group: the modules.
        choice: for each of them.
        word: the field of :class:`fatbin.judge.verdict.Coverage` that counts them.
        by_design: whether this answer is what the module was made for: PTX without any SASS, and
            doubtful code in a module that would be specialised if the doubt came true.
    """

    group: Group
    choice: Choice
    word: str
    by_design: bool = False


def sort_modules(library: Library) -> Sorted:
    """Sort the modules of a library, once for all GPUs."""
    content = content_of(library)
    pool = tuple(m for m in library.modules if m.place is Place.RELOCATABLE)
    loaded = [m for m in library.modules if m.place is not Place.RELOCATABLE]
    judged, empty, unjudged = _sort(loaded, linkable=bool(pool))
    if judged or not pool or empty:
        return Sorted(judged, pool, empty, unjudged, relocatable_only=False, content=content)
    groups, none, others = _sort(pool, linkable=False)
    return Sorted(
        groups,
        (),
        empty + none,
        unjudged + others,
        relocatable_only=bool(groups),
        content=content,
    )


def _sort(modules: Iterable[Module], *, linkable: bool) -> tuple[tuple[Group, ...], int, int]:
    groups: dict[tuple[object, ...], list[Module]] = {}
    empty = unjudged = 0
    for module in modules:
        images = [entry for entry in module.entries if entry.kind in IMAGES]
        if images:
            if all(entry.kernels == 0 for entry in images):
                empty += 1
            else:
                groups.setdefault(_signature(module), []).append(module)
        elif module.wrapper == DEVICE_LINKED and linkable:
            groups.setdefault(_signature(module), []).append(module)
        elif module.entries:
            unjudged += 1
        else:
            empty += 1
    return tuple(Group(found[0], len(found)) for found in groups.values()), empty, unjudged


def _signature(module: Module) -> tuple[object, ...]:
    """Return everything of a module that the choice looks at.

    Called for every module, so it takes the short way: fields are picked by position, and
    architectures by identity, which are shared values (:func:`fatbin.arch.architecture`). Equal
    ones that are not shared only make more groups.
    """
    return (
        module.form,
        module.wrapper == DEVICE_LINKED,
        tuple([(id(entry.arch), entry.group < 0, _LOOKED_AT(entry)) for entry in module.entries]),
    )


_LOOKED_AT = itemgetter(
    *(
        Entry._fields.index(field)
        for field in (
            "kind",
            "kind_number",
            "isa_version",
            "flags",
            "compression",
            "compat",
            "fastpath_finalize",
            "toolkit",
            "relocatable",
            "unresolved",
            "image_arch",
        )
    )
)
"""The fields of an entry that :mod:`fatbin.judge.loader` reads, beside its architecture and whether
it stands in a group."""


def answer_modules(sorted_modules: Sorted, loader: Loader) -> tuple[Answered, ...]:
    """Say for each group of modules what the driver does, and what kind of answer that is."""
    return tuple(_answered(group, loader) for group in sorted_modules.judged)


def _answered(group: Group, loader: Loader) -> Answered:
    module, device = group.module, loader.device
    choice = loader.choose(module)
    word = _word(module, choice, device)
    if word == "jit":
        by_design = not any(entry.kind == "sass" for entry in module.entries)
    else:
        by_design = word in ("likely", "unsure") and _gap(module.entries, device) == "specialised"
    return Answered(group, choice, word, by_design)


def count(answered: Iterable[Answered], sorted_modules: Sorted, best: int) -> Coverage:
    """Add the answers up."""
    counts: Counter[str] = Counter()
    for answer in answered:
        counts[answer.word] += answer.group.size
    return Coverage(
        modules=sum(counts.values()),
        empty=sorted_modules.empty,
        unjudged=sorted_modules.unjudged,
        best=best,
        **counts,
    )


def best_coverage(sorted_modules: Sorted) -> int:
    """Return the largest number of modules that serve any one architecture the library names."""
    named: Counter[int] = Counter()
    for group in sorted_modules.judged:
        for number in {e.arch.number for e in group.module.entries if e.kind in IMAGES and e.arch}:
            named[number] += group.size
    best = 0
    most = _MOST_CHOICES // max(1, len(sorted_modules.judged))
    for number, _ in named.most_common(max(1, min(_MOST_ARCHITECTURES, most))):
        device = ComputeCapability.of_sm(number)
        loader = Loader(device, pool=sorted_modules.pool)
        serving = sum(
            group.size for group in sorted_modules.judged if loader.choose(group.module).serves
        )
        best = max(best, serving)
    return best


_WORDS = {How.NATIVE: "native", How.JIT: "jit"}


def _word(module: Module, choice: Choice, device: ComputeCapability) -> str:
    if choice.how in _WORDS:
        doubts = {Certainty.LIKELY: "likely", Certainty.UNSURE: "unsure"}
        return doubts.get(choice.certainty, _WORDS[choice.how])
    if choice.serves:
        return "jit_link"
    absent = choice.code == NO_BINARY_FOR_GPU and not choice.driver  # else a newer driver sees it
    if absent or is_link_failure(choice):
        return _gap(module.entries, device)
    return "refused"


def is_link_failure(choice: Choice) -> bool:
    """Tell whether a device-linked module has no linked image that fits, and cannot be linked."""
    return choice.code == NOT_FOUND and "container.device-linked" in choice.because


def _gap(entries: Iterable[Entry], device: ComputeCapability) -> str:
    """Say what a module is that holds nothing for a device."""
    plain = [
        entry.arch
        for entry in entries
        if entry.kind in IMAGES and entry.arch is not None and entry.arch.variant in _PLAIN
    ]
    if len({generation(arch) for arch in plain}) < 2:  # noqa: PLR2004 - portable means two
        return "specialised"
    return "newer_only" if all(arch.number > device.sm for arch in plain) else "holes"


def generation(arch: Architecture) -> int:
    """Return the generation of an architecture: its major version, 10 to 12 as one.

    Blackwell spans 10.x, 11.0 and 12.x; a module for it alone is as specialised as one for Hopper.
    """
    major = arch.number // 10
    return _NEWEST_GENERATION if major in (10, 11, 12) else major
