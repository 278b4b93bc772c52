"""One library on one GPU: everything that the rules look at, and the words that they share."""

from __future__ import annotations

from fatbin._record import Record
from fatbin.judge.facts.sources import SOURCES
from fatbin.judge.facts.statements import STATEMENTS
from fatbin.judge.gathered import FILES
from fatbin.judge.verdict import Evidence
from fatbin.kinds import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fatbin.arch import Architecture
    from fatbin.inventory import Entry, Library, Module
    from fatbin.judge.coverage import Answered, Sorted
    from fatbin.judge.driver import Driver
    from fatbin.judge.gpu import Gpu
    from fatbin.judge.loader import Loader
    from fatbin.judge.policy import Policy
    from fatbin.judge.verdict import Coverage

_MOST_ENTRIES = 8
"""Entries of a sample module that a finding cites; real modules have up to 15."""


class Case(Record):
    """One library on one GPU.

    Attributes:
        library: of the inventory.
        gpu: asked for.
        driver: asked for, or None.
        policy: of the check.
        modules: of the library, sorted.
        answered: what the driver does with each group of modules.
        coverage: the answers added up.
        loader: that gave them.
    """

    library: Library
    gpu: Gpu
    driver: Driver | None
    policy: Policy
    modules: Sorted
    answered: tuple[Answered, ...]
    coverage: Coverage
    loader: Loader

    def having(self, *words: str) -> Iterator[Answered]:
        """Yield the groups whose answer is one of these words."""
        return (answer for answer in self.answered if answer.word in words)

    def is_minor(self, answers: Iterable[Answered]) -> bool:
        """Tell whether a library can do without these modules being better than they are.

        It can where others serve the GPU natively, and these are so by design or few: no more than
        the share of holes that the policy allows. PTX that stands by itself in the data of a
        library, as in cuDNN and CUPTI, is compiled by that library when it wants to, and no other
        form of it is to be had.
        """
        found = [*answers]
        others = sum(answer.group.size for answer in found if not answer.by_design)
        if self.coverage.native:
            return others <= self.policy.max_holes * self.coverage.modules
        loose = all(
            answer.group.module.place is Place.EMBEDDED and answer.group.module.form == "ptx"
            for answer in found
        )
        return loose and not others

    @property
    def called(self) -> str:
        """The library for a message: ``libnccl.so.2 (2.26.2+cuda12.2)``."""
        name, version = name_of(self.library), version_of(self.library)
        return f"{name} ({version})" if version else name


def name_of(library: Library) -> str:
    """Return the soname of a library, or the name of its file or archive member.

    Files that were gathered from a folder are ``folder/*``.
    """
    if library.linkage is not None and library.linkage.soname:
        return library.linkage.soname
    parts = library.location.replace("\\", "/").replace("::", "/").split("/")
    if parts[-1] == FILES:
        return "/".join(parts[-2:])
    member = library.location.rpartition("::")[2].replace("\\", "/")
    return member.rpartition("/")[2] or library.location


def version_of(library: Library) -> str:
    """Return what a library says of its version; empty if nothing."""
    return library.linkage.version if library.linkage is not None else ""


def cuda_of(library: Library) -> str:
    """Return the CUDA version in a library's own version, ``12.2`` of ``2.26.2+cuda12.2``."""
    return version_of(library).partition("+cuda")[2]


def fact(ident: str) -> Evidence:
    """Return a statement as evidence."""
    statement = STATEMENTS[ident]
    return Evidence(
        "fact", ident, statement.text, sources_text(statement.sources), statement.certain
    )


def facts(idents: Iterable[str]) -> tuple[Evidence, ...]:
    """Return statements as evidence, each once."""
    return tuple(fact(ident) for ident in dict.fromkeys(idents))


def sources_text(keys: Iterable[str]) -> str:
    """Return what keys of sources stand for, in one line."""
    return "; ".join(SOURCES[key] for key in keys)


def entries(library: Library, module: Module, chosen: int = -1) -> tuple[Evidence, ...]:
    """Return entries of a module as evidence: the chosen one, or those that there are."""
    picked = [module.entries[chosen]] if chosen >= 0 else list(module.entries)
    found = [_entry(library, entry) for entry in picked[:_MOST_ENTRIES]]
    if len(picked) > _MOST_ENTRIES:
        where = f"{library.location}+{module.offset:#x}"
        found.append(Evidence("entry", where, f"and {len(picked) - _MOST_ENTRIES} more"))
    if not picked:
        where = f"{library.location}+{module.offset:#x}"
        found.append(Evidence("entry", where, "a container without entries"))
    return tuple(found)


def _entry(library: Library, entry: Entry) -> Evidence:
    words = [entry.kind.upper() if entry.kind in ("sass", "ptx") else entry.kind]
    if entry.arch is not None:
        words.append(str(entry.arch))
    if entry.isa_version:
        words.append(f"ISA {entry.isa_version}")
    if entry.toolkit:
        words.append(f"by CUDA {entry.toolkit}")
    return Evidence("entry", f"{library.location}+{entry.offset:#x}", " ".join(words))


def in_order(archs: Iterable[Architecture | None]) -> list[str]:
    """Return architectures as words, by number."""
    return [str(arch) for arch in sorted(arch for arch in archs if arch is not None)]


def listed(words: Iterable[str], none: str = "none", most: int = 16) -> str:
    """Return words with blanks between them, the rest counted; hostile files may name thousands."""
    found = list(words)
    shown = " ".join(found[:most]) or none
    return f"{shown} and {len(found) - most} more" if len(found) > most else shown


def plural(number: int, noun: str) -> str:
    """Return ``1 module``, ``2,782 modules``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def are(number: int) -> str:
    """Return the verb for a number of things."""
    return "is" if number == 1 else "are"


def percent(part: int, whole: int) -> str:
    """Return a share as ``0.7 %``."""
    return f"{100 * part / max(1, whole):.1f} %"
