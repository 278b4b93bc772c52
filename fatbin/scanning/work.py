"""Work that is cut into jobs: run here or by an executor, with what is done added up.

Files become jobs of about equal weight. Whatever a worker dies of, its job ends with an issue of
each file.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext

from fatbin._record import Record
from fatbin.errors import FatbinError, SourceError, UnknownFormatError
from fatbin.inventory import Issue
from fatbin.scanning.aids import Aids
from fatbin.scanning.host import THIN_ARCHIVE_MAGIC
from fatbin.scanning.scanner import Options, scan_file, scan_view
from fatbin.scanning.source import open_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager

    from fatbin.inventory import Library
    from fatbin.scanning.aids import Watch
    from fatbin.scanning.trees import TreeFile

_JOB_BYTES = 64 << 20
_JOB_FILES = 256
_MEMORY_BYTES = 256 << 10
_LARGE_BYTES = 2 << 30
_LARGE_FILES = 2000
_REASON = 300


class FileResult(Record):
    """What one file holds.

    Attributes:
        libraries: found in it.
        issues: of the file as a whole.
        lasts: whether the file alone decides about them; a thin archive names others.
    """

    libraries: tuple[Library, ...] = ()
    issues: tuple[Issue, ...] = ()
    lasts: bool = True


class Reached(Record):
    """How far the work is.

    Attributes:
        name: what is read now, or was last.
        done: bytes.
        total: bytes of all files.
        files: done.
        of: files in all.
    """

    name: str
    done: int
    total: int
    files: int
    of: int


class Job(Record):
    """Files for one call in another process, and the folder of a cache for layers of images."""

    files: tuple[TreeFile, ...]
    alone: bool
    options: Options
    cache: str = ""


class Meter:
    """Adds up what is done, and tells it.

    Attributes:
        done: bytes of files that are done.
        total: bytes of all.
        files: done.
        of: files in all.
    """

    def __init__(self, watch: Callable[[Reached], object] | None, total: int, of: int) -> None:
        """Begin with nothing done."""
        self._watch = watch
        self.done: int = 0
        self.files: int = 0
        self.total: int = total
        self.of: int = of

    @property
    def within(self) -> Watch | None:
        """What hears where the scan of a file is; None where nobody listens."""
        return self._within if self._watch is not None else None

    def finished(self, files: Iterable[TreeFile]) -> None:
        """Count files, and tell."""
        name = ""
        for file in files:
            self.done += file.size
            self.files += 1
            name = file.path
        if self._watch is not None:
            self._watch(Reached(name, self.done, self.total, self.files, self.of))

    def _within(self, name: str, count: int) -> None:
        if self._watch is not None:
            done = min(self.done + count, self.total)
            self._watch(Reached(name, done, self.total, self.files, self.of))


def aids_of(folder: str, options: Options, meter: Meter | None = None) -> Aids:
    """Return what helps a scan, with a folder of a cache and a meter where there are any."""
    layers = None
    if folder:
        from fatbin.scanning.images.kept import Layers  # noqa: PLC0415 - only with a cache

        layers = Layers(folder, options)
    return Aids(meter.within if meter is not None else None, layers)


def scan_files(job: Job) -> list[FileResult]:
    """Read the files of a job; runs in another process where there is an executor of them."""
    aids = aids_of(job.cache, job.options)
    return [_scan_one(file.path, job.options, alone=job.alone, aids=aids) for file in job.files]


def _scan_one(path: str, options: Options, *, alone: bool, aids: Aids) -> FileResult:
    lasts = True
    try:
        if alone:
            inventory = scan_file(path, options, aids)
        else:
            with open_view(path, _MEMORY_BYTES) as view:
                lasts = view.peek(0, len(THIN_ARCHIVE_MAGIC)) != THIN_ARCHIVE_MAGIC
                inventory = scan_view(view, options, member=True, aids=aids)
    except FatbinError as exc:
        if isinstance(exc, UnknownFormatError) and not alone:
            return FileResult()  # absent is not broken
        return FileResult(issues=(Issue.of(exc, path),))
    return FileResult(inventory.libraries, inventory.issues, lasts)


def pieces(files: list[TreeFile]) -> Iterator[tuple[TreeFile, ...]]:
    """Cut a list into runs that are worth a call each."""
    start = weight = 0
    for index, file in enumerate(files):
        if index > start and (weight + file.size > _JOB_BYTES or index - start == _JOB_FILES):
            yield tuple(files[start:index])
            start, weight = index, 0
        weight += file.size
    if files:
        yield tuple(files[start:])


def pool_for(
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
        min(cores, len(todo)), mp_context=get_context("fork"), initializer=_end_at_interrupts
    )


def _end_at_interrupts() -> None:
    """Let an interrupt from the keyboard, which all processes hear, end this one without a word."""
    import signal  # noqa: PLC0415

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def each_job(
    pool: Executor | None, todo: list[tuple[int, Job]], meter: Meter, *, own: bool = True
) -> Iterator[tuple[tuple[int, Job], list[FileResult]]]:
    """Yield jobs with results as they end; when interrupted, what has not begun is dropped.

    Args:
        pool: runs them; None for this process.
        todo: the jobs.
        meter: counts what is done.
        own: whether the pool is of :func:`pool_for`, used for nothing else, and may be shut down.
    """
    if pool is None:
        for item in todo:
            job = item[1]
            aids = aids_of(job.cache, job.options, meter)
            found = []
            for file in job.files:
                found.append(_scan_one(file.path, job.options, alone=job.alone, aids=aids))
                meter.finished((file,))
            yield item, found
        return
    from concurrent.futures import BrokenExecutor, Future, as_completed  # noqa: PLC0415

    futures: dict[Future[list[FileResult]], tuple[int, Job]] = {}
    try:
        for item in todo:
            try:
                future = pool.submit(scan_files, item[1])
            except BrokenExecutor as exc:  # it broke while jobs were still handed out
                future = Future()
                future.set_exception(exc)
            futures[future] = item
        for future in as_completed(futures):
            item = futures[future]
            try:
                found = future.result()
            except Exception as exc:  # noqa: BLE001 - each executor has its own for lost workers
                found = [FileResult(issues=(_lost(file, exc),)) for file in item[1].files]
            meter.finished(item[1].files)
            yield item, found
    finally:
        if own:
            # The pool's own thread drops them. Where an interrupt kills the workers it marks the
            # same futures as broken, and one that was cancelled meanwhile ends it with a traceback.
            pool.shutdown(cancel_futures=True)
        else:
            for future in futures:
                future.cancel()


def _lost(file: TreeFile, error: Exception) -> Issue:
    reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")[:_REASON]
    lost = SourceError(f"not read: the worker that read it or a file beside it failed ({reason})")
    return Issue.of(lost, file.path)
