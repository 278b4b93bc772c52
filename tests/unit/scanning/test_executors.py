"""Executors of every kind: the same inventory in the same order, and a lost worker is told."""

from __future__ import annotations

import os
import pickle
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import FIXTURES, require

import fatbin
from fatbin import errors
from fatbin.scanning import work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TARGETS: list[str | Path] = [
    FIXTURES / "packages",
    FIXTURES / "lib_rdc.so",
    FIXTURES / "images" / "demo.tar",
    FIXTURES / "truncated.fatbin",
    "missing",
    FIXTURES / "images" / "platforms.tar",
    FIXTURES / "libmixed.a",
]


@contextmanager
def dask() -> Iterator[Executor]:
    try:
        import distributed
    except ModuleNotFoundError:
        require("distributed", "not installed")
    import dask as settings

    with (
        settings.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,  # type: ignore[no-untyped-call]
        client.get_executor() as executor,
    ):
        yield executor


def threads() -> Executor:
    return ThreadPoolExecutor(3)


def forked() -> Executor:
    if sys.platform != "linux":
        require("fork", "processes are copied on Linux only")
    return ProcessPoolExecutor(2, mp_context=get_context("fork"))


def spawned() -> Executor:
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


KINDS = [
    threads,
    pytest.param(forked, marks=pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")),
    spawned,
    pytest.param(dask, marks=pytest.mark.filterwarnings("ignore")),
]


@pytest.mark.parametrize("kind", KINDS)
def test_all_give_what_no_executor_gives(
    kind: Callable[[], Executor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fatbin.scanning.cache._RECENT_NS", 0)
    monkeypatch.setattr(work, "_JOB_FILES", 1)
    alone = fatbin.scan_many(TARGETS)
    assert len(alone.libraries) > 5
    assert {issue.location for issue in alone.issues} == {"missing", str(TARGETS[5])}
    with kind() as executor:
        for cache in (None, tmp_path / "cache", tmp_path / "cache"):
            counted: list[tuple[int, int]] = []
            found = fatbin.scan_many(
                TARGETS,
                executor=executor,
                cache=cache,
                progress=lambda _done, _all, files, of: counted.append((files, of)),  # noqa: B023
            )
            assert found == alone
            assert counted == sorted(counted)
            assert counted[-1] == (6, 6)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_worker_that_dies_is_an_issue_of_its_files(
    kind: Callable[[], Executor], tmp_path: Path
) -> None:
    for name in ("a.cubin", "victim.cubin", "z.cubin"):
        (tmp_path / name).write_bytes((FIXTURES / "saxpy_80.cubin").read_bytes())

    class Deadly(ThreadPoolExecutor):
        """Hands jobs on, of which one ends the process that runs it."""

        def submit(self, function: object, *arguments: object, **_: object) -> Future[object]:  # type: ignore[override]
            (job,) = arguments
            assert isinstance(job, work.Job)
            if any("victim" in file.path for file in job.files):
                return inner.submit(os._exit, 1)
            return inner.submit(function, job)  # type: ignore[arg-type]

    with kind() as inner, Deadly(1) as executor:
        targets = [tmp_path / name for name in ("victim.cubin", "a.cubin")]
        inventory = fatbin.scan_many(targets, executor=executor)
    (first, *rest) = inventory.issues
    assert first.location == str(targets[0])
    assert "the worker that read it or a file beside it failed" in first.message
    assert len(rest) + len(inventory.libraries) == 1  # a broken pool takes the others with it


def test_an_executor_that_breaks_while_it_is_given_work(tmp_path: Path) -> None:
    from concurrent.futures.process import BrokenProcessPool

    class Broken(ThreadPoolExecutor):
        def submit(self, *_: object, **__: object) -> Future[object]:  # type: ignore[override]
            msg = "gone"
            raise BrokenProcessPool(msg)

    (tmp_path / "a").write_bytes((FIXTURES / "saxpy_80.cubin").read_bytes())
    with Broken(1) as pool:
        (issue,) = fatbin.scan_many([tmp_path], executor=pool).issues
    assert issue.location == str(tmp_path / "a")
    assert "BrokenProcessPool: gone" in issue.message


def test_what_is_wrong_with_the_executor_itself_is_raised(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes((FIXTURES / "saxpy_80.cubin").read_bytes())
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        fatbin.scan_many([tmp_path], executor=pool)


ERRORS = [
    errors.FatbinError("m", location="l", hint="h"),
    errors.FormatError("m", offset=3, field="f", expected="e", found="g", location="l", hint="h"),
    errors.TruncatedError("m", offset=3),
    errors.SourceError("m", location="l"),
    errors.LimitExceededError("m", limit="depth", allowed=1, actual=2, offset=7, location="l"),
    errors.MissingDependencyError("m", requirement="zstandard"),
    errors.CheckFailed("m", outcome="FAIL"),
    errors.PolicyError("m", key="ignore[2]", line=7, location="l"),
    errors.DeviceError("m", code=100, name="CUDA_ERROR_NO_DEVICE"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_cross_processes(error: errors.FatbinError, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(error, protocol))  # noqa: S301 - made above
    assert type(again) is type(error)
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_no_error_was_forgotten() -> None:
    def below(kind: type[errors.FatbinError]) -> set[type]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    own = {
        kind for kind in below(errors.FatbinError) if "__init__" in vars(kind)
        and kind.__module__ == "fatbin.errors"
    }  # fmt: skip
    assert own <= {type(error) for error in ERRORS}
