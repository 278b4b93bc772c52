"""Many files at once: directories, environments, lists of targets; in order, in parallel if asked.

A target becomes a list of files, and these become jobs. Whatever the order they end in, results
stand in the order of the targets and their files.
"""

from __future__ import annotations

import os

from fatbin._record import Record
from fatbin.errors import FatbinError, UnknownFormatError
from fatbin.inventory import Inventory, Issue, Library
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.collector import Collector
from fatbin.scanning.scanner import Options, scan_file, scan_view
from fatbin.scanning.source import STANDARD_INPUT, open_input
from fatbin.scanning.targets import ENVIRONMENT, is_file, is_kept
from fatbin.scanning.trees import TreeFile, target_file, tree_files
from fatbin.scanning.work import FileResult, Job, Meter, aids_of, each_job, pieces, pool_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Executor

    from fatbin.limits import Limits
    from fatbin.scanning.cache import Cache
    from fatbin.scanning.packages import Distribution
    from fatbin.scanning.work import Reached

    Progress = Callable[[int, int, int, int], object]
    """Called with bytes done, bytes in all, files done, files in all."""


class Plan(Record):
    """A target as files.

    Attributes:
        target: as it was given.
        files: in order.
        issues: what could not be listed.
        alone: whether it is one file, whose unknown format is told.
        kept: whether its results are worth a cache: those of plain files are not.
        distributions: of files, by path.
    """

    target: str
    files: tuple[TreeFile, ...]
    issues: tuple[Issue, ...] = ()
    alone: bool = False
    kept: bool = True
    distributions: dict[str, Distribution] = {}  # noqa: RUF012 - never changed


def scan_many(
    targets: Iterable[str | os.PathLike[str]],
    *,
    limits: Limits = DEFAULT_LIMITS,
    linkage: bool = True,
    kernels: bool = True,
    verify: bool = False,
    platform: str = "",
    executor: Executor | None = None,
    progress: Progress | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> Inventory:
    """Scan several targets into one inventory; what cannot be read is an issue of it.

    Args:
        targets: as :func:`fatbin.scan` takes them.
        limits: bounds on what each file may make this function do.
        linkage: as for :func:`fatbin.scan`.
        kernels: as for :func:`fatbin.scan`.
        verify: as for :func:`fatbin.scan`.
        platform: as for :func:`fatbin.scan`.
        executor: runs the work: anything like :class:`concurrent.futures.Executor`, of threads,
            processes or other machines; it is not shut down. What a worker that dies was reading
            becomes an issue of each file. Without one, processes are used on Linux where there is
            much to read and the program has no threads; otherwise nothing is started.
        progress: called after each piece of work with bytes done, bytes in all, files done, files
            in all.
        cache: folder of a cache of results, such as :func:`fatbin.default_cache` returns; None
            for none. Kept are results of packages, images, and files of directories and
            environments, without any issue; a file that was changed is read again. Layers of images
            are known by the digest of their bytes, in whatever image they come.

    Returns:
        The libraries in the order of the targets, of a directory by path.
    """
    from fatbin.scanning.cache import Cache  # noqa: PLC0415

    options = Options(limits, linkage, kernels, verify, platform)
    plans = []
    for target in targets:
        try:
            plans.append(plan(os.fspath(target), options))
        except FatbinError as exc:
            text = os.fspath(target)
            plans.append(Plan(text, (), (Issue.of(exc, text),)))
    store = Cache(os.fspath(cache)) if cache is not None else None
    return run(plans, options, executor=executor, progress=progress, cache=store)


def plan(target: str, options: Options) -> Plan:
    """List the files of a target.

    Raises:
        SourceError: it cannot be read.
        UnknownFormatError: a directory without a file of a known format.
    """
    collector = Collector(target, options.limits)
    if target.startswith(ENVIRONMENT):
        from fatbin.scanning.environments import plan_environment  # noqa: PLC0415

        return plan_environment(target, options)
    if target == STANDARD_INPUT:
        import time  # noqa: PLC0415 - what comes through a pipe is never the same again

        file = TreeFile(target, 0, (time.time_ns(), 0, 0, 0, 0))
        return Plan(target, (file,), alone=True, kept=False)
    if is_file(target):
        return Plan(target, (target_file(target),), alone=True, kept=is_kept(target))
    files = tree_files(target, collector)
    if not files and not collector.issues:
        msg = "expected a directory with files of a known format, found none in it"
        raise UnknownFormatError(msg, location=target)
    return Plan(target, tuple(files), collector.issues)


def scan_alone(
    target: str,
    options: Options,
    *,
    cache: Cache | None = None,
    watch: Callable[[Reached], object] | None = None,
) -> Inventory:
    """Read one file, package or image as :func:`scan_file` does, if the cache does not know it.

    Raises:
        SourceError: it cannot be read.
        UnknownFormatError: none of the known formats.
        MissingDependencyError: a PE file without LIEF, or zstd packages without zstandard.
    """
    file = target_file(target) if target != STANDARD_INPUT else None
    store = cache if file is not None and is_kept(target) else None
    known = store.load(target, options) if store is not None else {}
    if file is not None and target in known and known[target][0] == file.identity:
        return Inventory(known[target][1].libraries, (), (target,))
    meter = Meter(watch, file.size if file is not None else 0, 1)
    found = scan_file(target, options, aids_of(cache.folder if cache else "", options, meter))
    if store is not None and file is not None:
        result = FileResult(found.libraries, found.issues)
        store.store(target, options, {target: (file.identity, result)})
    return found


def scan_piped(
    head: bytes,
    options: Options,
    *,
    cache: Cache | None = None,
    watch: Callable[[Reached], object] | None = None,
) -> Inventory:
    """Read what comes through standard input, of which ``head`` was read already.

    Raises as :func:`scan_alone` does.
    """
    with open_input(STANDARD_INPUT, options.limits, head) as view:
        aids = aids_of(cache.folder if cache else "", options, Meter(watch, view.size, 1))
        return scan_view(view, options, aids=aids)


def run(
    plans: list[Plan],
    options: Options,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    cache: Cache | None = None,
    watch: Callable[[Reached], object] | None = None,
) -> Inventory:
    """Read the files of plans, those that the cache does not know, and put the results together.

    Args:
        plans: of all targets.
        options: what is looked at.
        executor: as for :func:`scan_many`.
        progress: called after each job.
        cache: of results.
        watch: called more often, also within a file where the work is done in this process.
    """
    known = [
        cache.load(each.target, options) if cache is not None and each.kept else {}
        for each in plans
    ]
    results: dict[tuple[int, str], FileResult] = {}
    todo: list[tuple[int, Job]] = []
    folder = cache.folder if cache is not None else ""
    for index, each in enumerate(plans):
        missing = []
        for file in each.files:
            kept = known[index].get(file.path)
            if kept is not None and kept[0] == file.identity:
                results[index, file.path] = kept[1]
            else:
                missing.append(file)
        todo += [(index, Job(files, each.alone, options, folder)) for files in pieces(missing)]
    sizes = sum(file.size for each in plans for file in each.files)
    meter = Meter(watch, sizes, sum(len(each.files) for each in plans))
    meter.files = len(results)
    meter.done = sizes - sum(file.size for _, job in todo for file in job.files)
    with pool_for(executor, todo) as pool:
        for (index, job), found in each_job(pool, todo, meter, own=executor is None):
            for file, result in zip(job.files, found, strict=True):
                results[index, file.path] = result
            if progress is not None:
                progress(meter.done, meter.total, meter.files, meter.of)
    if cache is not None:
        for index, each in enumerate(plans):
            fresh = {f.path: (f.identity, results[index, f.path]) for f in each.files}
            if each.kept and fresh != known[index]:
                cache.store(each.target, options, fresh)
    return _together(plans, results)


def _together(plans: list[Plan], results: dict[tuple[int, str], FileResult]) -> Inventory:
    libraries: list[Library] = []
    issues: list[Issue] = []
    for index, each in enumerate(plans):
        issues += each.issues
        for file in each.files:
            result = results[index, file.path]
            issues += result.issues
            owner = each.distributions.get(file.path)
            for library in result.libraries:
                if owner is not None and not library.distribution:
                    library = library._replace(  # noqa: PLW2901
                        distribution=owner.name, distribution_version=owner.version
                    )
                if file.aliases and library.location == file.path:
                    library = library._replace(aliases=file.aliases)  # noqa: PLW2901
                libraries.append(library)
    return Inventory(tuple(libraries), tuple(issues), tuple(each.target for each in plans))
