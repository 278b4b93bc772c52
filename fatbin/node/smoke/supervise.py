"""A round: all ranks at once, watched until they are done, one fails, or the time is up.

When one rank fails the others wait for it for ever, in a call that logs nothing. So the first
failure ends the round, after a moment in which the others may fail for the same reason.
"""

from __future__ import annotations

import os
import selectors
import shutil
import time

from fatbin._record import Record
from fatbin.node.smoke.ranks import Rank
from fatbin.node.smoke.signs import compute_cache, folder_size, processor_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fatbin.node.smoke.records import RankReport

_TICK = 0.1
_GRACE = 2.0
_SAMPLE = 1.0
_STACK_WAIT = 0.5


class Limits(Record):
    """How long a round may take.

    Attributes:
        start: seconds until every rank has imported torch and opened its GPU.
        work: seconds from then on until every rank is done.
    """

    start: float
    work: float


class Watched(Record):
    """What was seen of a round.

    Attributes:
        ranks: in order.
        seconds: it took.
        timed_out: whether the time was up.
        limit: seconds that were allowed for what was not done in time; 0 when all was.
    """

    ranks: tuple[RankReport, ...]
    seconds: float
    timed_out: bool
    limit: float


def watch(
    requests: Sequence[dict[str, Any]],
    *,
    python: Sequence[str],
    env: Mapping[str, str],
    limits: Limits,
) -> Watched:
    """Run a round, and leave no process behind.

    Raises:
        DeviceError: the processes cannot be started.
    """
    return _Round(requests, python, env, limits).run()


class _Round:
    """The ranks of one round."""

    def __init__(
        self,
        requests: Sequence[dict[str, Any]],
        python: Sequence[str],
        env: Mapping[str, str],
        limits: Limits,
    ) -> None:
        self._requests, self._python, self._env, self._limits = requests, python, env, limits
        self._cache = compute_cache(env)
        self._cache_before = folder_size(self._cache)
        self._started = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._ranks: list[Rank] = []
        self._store = ""

    def run(self) -> Watched:
        reports: list[RankReport] = []
        limit = 0.0
        try:
            for request in self._requests:
                self._start(request)
            limit = self._wait_for_all()
            stuck = [rank for rank in self._ranks if not rank.is_over]
            self._look_into(stuck)
        finally:
            self._selector.close()
            reports += [rank.end() for rank in self._ranks]
            self._remove_store()
        seconds = time.monotonic() - self._started
        return Watched(tuple(reports), seconds, limit > 0, limit)

    def _start(self, request: dict[str, Any]) -> None:
        rank = Rank(request, python=self._python, env=self._env, started=self._started)
        self._ranks.append(rank)
        self._selector.register(rank.input, selectors.EVENT_WRITE, rank)
        for descriptor in rank.outputs:
            self._selector.register(descriptor, selectors.EVENT_READ, rank)

    def _wait_for_all(self) -> float:
        """Wait until everything is known; return the limit that was reached, 0 when none was."""
        started, broken_at = time.monotonic(), 0.0
        ready_at = 0.0
        while not all(rank.is_over for rank in self._ranks):
            self._take_in(_TICK)
            now = time.monotonic()
            broken = any(rank.is_over and not rank.succeeded for rank in self._ranks)
            if broken and not broken_at:
                broken_at = now
            if broken_at and now - broken_at > _GRACE:
                return 0.0
            if not ready_at and all(rank.ready or rank.is_over for rank in self._ranks):
                ready_at = now
            since, limit = (
                (ready_at, self._limits.work) if ready_at else (started, self._limits.start)
            )
            if now - since > limit and not broken_at:
                return limit
        return 0.0

    def _take_in(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            rank: Rank = key.data
            more = rank.write() if key.fd == rank.input else rank.read(key.fd)
            if not more:
                self._selector.unregister(key.fd)
        for rank in self._ranks:
            rank.look()
        where = self._ranks[0].store
        if where and not self._store:
            self._store = where
            for rank in self._ranks[1:]:
                rank.tell_store(where)

    def _look_into(self, stuck: Sequence[Rank]) -> None:
        """Find out what ranks without an answer are doing, before they are ended."""
        if not stuck:
            return
        before = {rank: processor_seconds(rank.pid) for rank in stuck}
        began = time.monotonic()
        self._go_on_for(_SAMPLE)
        passed = time.monotonic() - began
        size = folder_size(self._cache)
        grown = None if size is None else size - (self._cache_before or 0)
        for rank in stuck:
            used = processor_seconds(rank.pid) - before[rank]
            rank.note(cores=max(0.0, used) / passed, cache=grown)
            rank.ask_stack()
        self._go_on_for(_STACK_WAIT)

    def _go_on_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._take_in(min(_TICK, left))
            if not self._selector.get_map():
                time.sleep(left)

    def _remove_store(self) -> None:
        """Take away the folder of a store in a file, which rank 0 made."""
        kind, _, where = self._store.partition(":")
        if kind == "file":
            shutil.rmtree(os.path.dirname(where), ignore_errors=True)
