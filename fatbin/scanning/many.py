"""Many files at once: directories, environments, lists of targets; in order, in parallel if asked.

A target becomes a list of files, files become jobs of about equal weight, and jobs run here or in
an executor of :mod:`concurrent.futures`. Whatever the order they end in, results stand in the order
of the targets and their files.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext

from fatbin._record import Record
from fatbin.errors import FatbinError, SourceError, UnknownFormatError
from fatbin.inventory import Inventory, Issue, Library
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.scanner import Collector, Options, scan_file, scan_view
from fatbin.scanning.source import STANDARD_INPUT, is_image_folder, open_view
from fatbin.scanning.targets import ENVIRONMENT, is_file
from fatbin.scanning.trees import TreeFile, identity, tree_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager

    from fatbin.limits import Limits
    from fatbin.scanning.cache import Cache
    from fatbin.scanning.packages import Distribution

    Progress = Callable[[int, int, int, int], object]
    """Called with bytes done, bytes in all, files done, files in all."""

_JOB_BYTES = 64 << 20
_JOB_FILES = 256
_MEMORY_BYTES = 256 << 10
_LARGE_BYTES = 2 << 30
_LARGE_FILES = 2000


class Plan(Record):
    """A target as files.

    Attributes:
        target: as it was given.
        files: in order.
        issues: what could not be listed.
        alone: whether it is one file, whose unknown format is told.
        distributions: of files, by path.
    """

    target: str
    files: tuple[TreeFile, ...]
    issues: tuple[Issue, ...] = ()
    alone: bool = False
    distributions: dict[str, Distribution] = {}  # noqa: RUF012 - never changed


class FileResult(Record):
    """What one file holds.

    Attributes:
        libraries: found in it.
        issues: of the file as a whole.
    """

    libraries: tuple[Library, ...] = ()
    issues: tuple[Issue, ...] = ()


class Job(Record):
    """Files for one call in another process."""

    files: tuple[TreeFile, ...]
    alone: bool
    options: Options


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
        executor: runs the work; with one of processes files are read in parallel. Without one,
            processes are used on Linux where there is much to read and the program has no
            threads; otherwise nothing is started.
        progress: called after each piece of work with bytes done, bytes in all, files done, files
            in all.
        cache: folder of a cache of results, such as :func:`fatbin.default_cache` returns; None
            for none. Only results of whole files without any issue are kept, and a file that was
            changed is read again.

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

        return Plan(target, (TreeFile(target, 0, (time.time_ns(), 0, 0, 0, 0)),), alone=True)
    if is_file(target):
        # The index of an image names everything in it by digest.
        file = os.path.join(target, "index.json") if is_image_folder(target) else target
        try:
            status = os.stat(file)
        except (OSError, ValueError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else None
            raise SourceError(reason or str(exc), location=target) from exc
        return Plan(target, (TreeFile(target, status.st_size, identity(status)),), alone=True)
    files = tree_files(target, collector)
    if not files and not collector.issues:
        msg = "expected a directory with files of a known format, found none in it"
        raise UnknownFormatError(msg, location=target)
    return Plan(target, tuple(files), collector.issues)


def run(
    plans: list[Plan],
    options: Options,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    cache: Cache | None = None,
) -> Inventory:
    """Read the files of plans, those that the cache does not know, and put the results together.

    Raises:
        FatbinError: a plan of one file that cannot be read, when it is the only plan.
    """
    known = [cache.load(each.target, options) if cache is not None else {} for each in plans]
    results: dict[tuple[int, str], FileResult] = {}
    todo: list[tuple[int, Job]] = []
    for index, each in enumerate(plans):
        missing = []
        for file in each.files:
            kept = known[index].get(file.path)
            if kept is not None and kept[0] == file.identity:
                results[index, file.path] = kept[1]
            else:
                missing.append(file)
        todo += [(index, Job(files, each.alone, options)) for files in _pieces(missing)]
    total_bytes = sum(file.size for each in plans for file in each.files)
    total_files = sum(len(each.files) for each in plans)
    done_files = len(results)
    done_bytes = total_bytes - sum(file.size for _, job in todo for file in job.files)
    with _pool(executor, todo) as pool:
        for (index, job), found in _each(pool, todo):
            for file, result in zip(job.files, found, strict=True):
                results[index, file.path] = result
                done_bytes += file.size
            done_files += len(job.files)
            if progress is not None:
                progress(done_bytes, total_bytes, done_files, total_files)
    if cache is not None:
        for index, each in enumerate(plans):
            fresh = {f.path: (f.identity, results[index, f.path]) for f in each.files}
            if fresh != known[index]:
                cache.store(each.target, options, fresh)
    return _together(plans, results)


def scan_files(job: Job) -> list[FileResult]:
    """Read the files of a job; runs in another process where there is an executor of them."""
    return [_scan_one(file.path, job.options, alone=job.alone) for file in job.files]


def _scan_one(path: str, options: Options, *, alone: bool) -> FileResult:
    try:
        if alone:
            inventory = scan_file(path, options)
        else:
            with open_view(path, _MEMORY_BYTES) as view:
                inventory = scan_view(view, options, member=True)
    except FatbinError as exc:
        if isinstance(exc, UnknownFormatError) and not alone:
            return FileResult()  # absent is not broken
        return FileResult(issues=(Issue.of(exc, path),))
    return FileResult(inventory.libraries, inventory.issues)


def _pieces(files: list[TreeFile]) -> Iterator[tuple[TreeFile, ...]]:
    """Cut a list into runs that are worth a call each."""
    start = weight = 0
    for index, file in enumerate(files):
        if index > start and (weight + file.size > _JOB_BYTES or index - start == _JOB_FILES):
            yield tuple(files[start:index])
            start, weight = index, 0
        weight += file.size
    if files:
        yield tuple(files[start:])


def _pool(
    executor: Executor | None, todo: list[tuple[int, Job]]
) -> AbstractContextManager[Executor | None]:
    """Return what runs the jobs; one that was given is not shut down here."""
    if executor is not None:
        return nullcontext(executor)
    files = sum(len(job.files) for _, job in todo)
    size = sum(file.size for _, job in todo for file in job.files)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if cores < 2 or len(todo) < 2 or (size < _LARGE_BYTES and files < _LARGE_FILES):  # noqa: PLR2004
        return nullcontext()
    import threading  # noqa: PLC0415 - only large trees come here

    if sys.platform != "linux" or threading.active_count() > 1:
        return nullcontext()
    # A copy of this process needs no guard in the main program, and is safe without threads.
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415
    from multiprocessing import get_context  # noqa: PLC0415

    return ProcessPoolExecutor(
        min(cores, len(todo)), mp_context=get_context("fork"), initializer=_leave_interrupts
    )


def _leave_interrupts() -> None:
    """Let the main process alone hear of an interrupt; it drops what has not begun."""
    import signal  # noqa: PLC0415

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _each(
    pool: Executor | None, todo: list[tuple[int, Job]]
) -> Iterator[tuple[tuple[int, Job], list[FileResult]]]:
    """Yield jobs with results as they end; when interrupted, what has not begun is dropped."""
    if pool is None:
        for item in todo:
            yield item, scan_files(item[1])
        return
    from concurrent.futures import BrokenExecutor, as_completed  # noqa: PLC0415

    futures = {pool.submit(scan_files, item[1]): item for item in todo}
    try:
        for future in as_completed(futures):
            item = futures[future]
            try:
                found = future.result()
            except BrokenExecutor:
                found = [FileResult(issues=(_lost(file),)) for file in item[1].files]
            yield item, found
    finally:
        for future in futures:
            future.cancel()


def _lost(file: TreeFile) -> Issue:
    error = SourceError("not read: the process that read it or a file beside it has ended")
    return Issue.of(error, file.path)


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
