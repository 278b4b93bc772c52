"""One rank as its parent sees it: a process, the lines that it sends, and how it ends.

The process gets the text of its modules on standard input, so it works from a checkout, a wheel and
a zip archive alike. Unlike the children that ask the driver it is not isolated: it is to find torch
as the application does. The current folder alone is left out.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from contextlib import suppress

from fatbin.errors import DeviceError
from fatbin.node.children import BOOT, COMMON, job_for
from fatbin.node.smoke.records import RankReport, SmokeStep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_BOOT = f"""\
import sys
if sys.path[:1] == [""]:
    del sys.path[0]
{BOOT}"""
_MODULES = (COMMON, "fatbin.node.smoke.operations", "fatbin.node.smoke.worker")
_NCCL = re.compile(r"NCCL (?:INFO|WARN|TRACE|version)|NCCL_")
_WARN = re.compile(r"NCCL WARN")
_KEPT_LINES = 30
_LINE_CHARACTERS = 500
_STACK_BYTES = 1 << 20
_READ_BYTES = 1 << 16
_DRAINED_READS = 1024
_OURS = "_wait_for_parent"


class Rank:
    """A process that is one rank; :meth:`end` must be called."""

    def __init__(
        self,
        request: dict[str, Any],
        *,
        python: Sequence[str],
        env: Mapping[str, str],
        started: float,
    ) -> None:
        """Start it.

        Args:
            request: what it is to do; the descriptors are added here.
            python: the command of the Python that has torch.
            env: variables of the process.
            started: when the round began, by the monotonic clock.

        Raises:
            DeviceError: the process cannot be started.
        """
        self.number: int = request["rank"]
        self._started = started
        self._facts: dict[str, Any] = {}
        self._steps: list[SmokeStep] = []
        self._report = RankReport(self.number)
        self._nccl: list[str] = []
        self._warnings: list[str] = []
        self._errors: list[str] = []
        self._stack = b""
        self._ended_by_us = False
        stacks, stacks_end = os.pipe()
        store_end, self._store = os.pipe()
        request = {**request, "stacks": stacks_end, "store": store_end}
        self._job = job_for(_MODULES, request)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own text
                [*python, "-c", _BOOT, str(len(self._job))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(stacks_end, store_end),
                env=dict(env),
                start_new_session=True,
            )
        except OSError as exc:
            os.close(stacks)
            os.close(self._store)
            raise DeviceError(f"{python[0]} cannot be started: {exc.strerror or exc}") from exc
        finally:
            os.close(stacks_end)
            os.close(store_end)
        assert self._process.stdin is not None  # noqa: S101 - pipes were asked for
        assert self._process.stdout is not None  # noqa: S101
        assert self._process.stderr is not None  # noqa: S101
        self.input: int = self._process.stdin.fileno()
        output, errors = self._process.stdout.fileno(), self._process.stderr.fileno()
        self._takers = {output: self._on_line, errors: self._on_error}
        self._parts = dict.fromkeys(self._takers, b"")
        self._stacks = stacks
        self.outputs: tuple[int, int, int] = (output, errors, stacks)
        for descriptor in (self.input, *self.outputs):
            os.set_blocking(descriptor, False)

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    # What goes there ------------------------------------------------------------------------------

    def write(self) -> bool:
        """Send a part of the job; return whether there is more."""
        try:
            self._job = self._job[os.write(self.input, self._job) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False  # it has ended; that shows in its output
        return bool(self._job)

    def tell_store(self, where: str) -> None:
        """Tell where rank 0 has opened the store."""
        try:
            os.write(self._store, where.encode() + b"\n")
        except BrokenPipeError:
            return  # it has ended; that shows in its output

    # What comes from there ------------------------------------------------------------------------

    def read(self, descriptor: int) -> bool:
        """Take in what one of its outputs has; return False at its end."""
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return True
        self._take(descriptor, data)
        return bool(data)

    def _take(self, descriptor: int, data: bytes) -> None:
        if descriptor == self._stacks:
            self._stack = (self._stack + data)[-_STACK_BYTES:]
            return
        *lines, rest = (self._parts[descriptor] + data).split(b"\n")
        if not data and rest:
            lines, rest = [*lines, rest], b""
        self._parts[descriptor] = rest[-_STACK_BYTES:]
        for line in lines:
            self._takers[descriptor](line.decode(errors="replace").rstrip())

    def _on_line(self, line: str) -> None:
        """Take a message; whatever else is printed there is no message, and kept as an error."""
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self._on_error(line)
            return
        at = float(message.get("at", 0.0)) - self._started
        if "step" in message:
            self._steps.append(SmokeStep(message["step"], at))
        elif "checked" in message:
            self._steps[-1] = self._steps[-1]._replace(checked=True)
        elif "facts" in message:
            self._facts.update(message["facts"])
        elif "skipped" in message:
            self._report = self._report._replace(skipped=message["skipped"])
        elif "failed" in message:
            self._report = self._report._replace(
                failed=message["failed"], error=message["error"], failed_at=at
            )
        elif "finished" in message:
            self._report = self._report._replace(finished=True)

    def _on_error(self, line: str) -> None:
        line = line[:_LINE_CHARACTERS]
        if not line.strip():
            return
        if not _NCCL.search(line):
            self._errors = [*self._errors, line][-_KEPT_LINES:]
            return
        self._nccl = [*self._nccl, line][-_KEPT_LINES:]
        self._report = self._report._replace(nccl_at=time.monotonic() - self._started)
        if _WARN.search(line) and len(self._warnings) < _KEPT_LINES:
            self._warnings.append(line)

    @property
    def store(self) -> str:
        """Where it has opened the store; empty before that."""
        return str(self._facts.get("store", ""))

    @property
    def ready(self) -> bool:
        """Whether it has torch and its GPU, and is about to meet the others."""
        return any(step.name == "meeting the other ranks" for step in self._steps)

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to come: done, failed, nothing to try, or ended."""
        report = self._report
        return report.finished or bool(report.skipped) or report.broke

    @property
    def succeeded(self) -> bool:
        """Whether it has done everything."""
        return self._report.finished

    # How it ends ----------------------------------------------------------------------------------

    def look(self) -> None:
        """See whether it has ended by itself."""
        code = self._code()
        report = self._report
        if code is None or self._ended_by_us or report.ended or report.finished or report.skipped:
            return
        self._drain()
        if self._report.error and code == 1:
            return  # as it said
        self._report = self._report._replace(
            ended=_how(code), ended_at=time.monotonic() - self._started
        )

    def _code(self) -> int | None:
        """Return how it has ended, None while it runs; it stays unreaped, and its number ours."""
        if self._process.returncode is not None or not hasattr(os, "waitid"):
            return self._process.poll()
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def _drain(self) -> None:
        """Take in what is left in the pipes of an ended process."""
        for descriptor in self.outputs:
            for _ in range(_DRAINED_READS):
                try:
                    data = os.read(descriptor, _READ_BYTES)
                except BlockingIOError:
                    break  # something that it started still has the other end
                self._take(descriptor, data)
                if not data:
                    break

    def ask_stack(self) -> None:
        """Have it write its stack; a process that cannot be asked yet is left alone."""
        if self._steps and self._code() is None:
            os.kill(self.pid, signal.SIGUSR1)

    def note(self, *, cores: float | None, cache: int | None) -> None:
        """Keep what was measured from outside."""
        self._report = self._report._replace(cores=cores, cache=cache)

    def end(self) -> RankReport:
        """End the process with all that it started, and return what was seen."""
        self.look()
        self._ended_by_us = True
        if self._process.returncode is None:
            # Not reaped yet, so the number is still ours; macOS refuses when all have ended.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        self._drain()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None  # noqa: S101 - pipes were asked for
            stream.close()
        os.close(self._stacks)
        os.close(self._store)
        facts = self._facts
        return self._report._replace(
            gpu=str(facts.get("gpu", "")),
            torch=str(facts.get("torch", "")),
            library=str(facts.get("library", "")),
            library_version=str(facts.get("version", "")),
            steps=tuple(self._steps),
            nccl=tuple(self._nccl),
            warnings=tuple(self._warnings),
            errors=tuple(self._errors),
            stack=stack_lines(self._stack.decode(errors="replace")),
        )


def stack_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a stack, without the thread that watches for the end of the parent."""
    threads = re.split(r"\n\n(?=Thread |Current thread )|^(?=Thread |Current thread )", text)
    kept = [thread.strip() for thread in threads if thread.strip() and _OURS not in thread]
    return tuple(line for thread in kept for line in thread.splitlines())


def _how(code: int) -> str:
    """Return in words how a process ended by itself."""
    if code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"
    return f"exit code {code}"
