"""Child processes that may hang or crash without harm, and that never outlive this one.

Libraries of the driver are loaded in them only: a process that has called ``cuInit`` must not fork
CUDA programs any more, and a damaged image can end the process that loads it.

A child is a fresh Python, never a fork. It gets the text of its modules on standard input, so it
works from a checkout, a wheel and a zip archive alike, and it is isolated (``-I``): neither the
current folder nor variables for Python change what it imports.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

from fatbin.errors import DeviceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

BOOT = """\
import json, os, sys, types
def read(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(1)
        data += part
    return data
job = json.loads(read(int(sys.argv[1])))
for name, text in job["modules"]:
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
sys.modules["fatbin.node.child_side"].end_with_parent(job["parent"])
module.main(job["request"])
"""
"""What a child runs first: it reads its job, as :func:`job_for` makes it, and calls ``main``."""
COMMON = "fatbin.node.child_side"
_LINE_BYTES = 64 << 20
_KEPT_BYTES = 2000
_END: bytes = b""
_GRACE = 5.0
_POLL = 0.002


class TimedOut(Exception):  # noqa: N818 - no error for users: callers turn it into words
    """A child said nothing for too long."""


class Child:
    """One child process and the lines that it sends; use it in a ``with`` statement."""

    def __init__(
        self, worker: str, request: Mapping[str, Any], *, env: Mapping[str, str] | None = None
    ) -> None:
        """Start a worker, a module with a function ``main(request)``.

        Raises:
            DeviceError: there is no Python to start, or the worker's text is not there.
        """
        job = job_for((COMMON, worker), request)
        python = _python()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own Python and text
                [python, "-I", "-S", "-c", BOOT, str(len(job))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=None if env is None else dict(env),
                start_new_session=os.name == "posix",
            )
        except OSError as exc:
            raise DeviceError(f"{python} cannot be started: {exc.strerror or exc}") from exc
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._errors = b""
        self._silent = False
        self._threads = [
            threading.Thread(target=target, args=arguments, daemon=True)
            for target, arguments in (
                (self._write, (job,)),
                (self._read, ()),
                (self._read_errors, ()),
            )
        ]
        for thread in self._threads:
            thread.start()

    def _write(self, job: bytes) -> None:
        """Send the job; standard input stays open, and its end tells the child that we are gone."""
        stream = self._process.stdin
        assert stream is not None  # noqa: S101 - a pipe was asked for
        try:
            stream.write(job)
            stream.flush()
        except OSError:
            return  # the child has ended; the reader sees that

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None  # noqa: S101 - as above
        while line := stream.readline(_LINE_BYTES):
            self._lines.put(line)
        self._lines.put(_END)

    def _read_errors(self) -> None:
        stream = self._process.stderr
        assert stream is not None  # noqa: S101 - as above
        while data := stream.read1(4096):  # type: ignore[attr-defined]
            self._errors = (self._errors + data)[-_KEPT_BYTES:]

    def line(self, timeout: float) -> bytes:
        """Return the next line; nothing at the end of the output.

        Raises:
            TimedOut: there was none for so many seconds.
        """
        try:
            line = self._lines.get(timeout=max(0.0, timeout))
        except queue.Empty:
            raise TimedOut from None
        self._silent = line == _END
        return line

    def message(self, timeout: float) -> dict[str, Any] | None:
        """Return the next line as a JSON object; None at the end, or when it is something else.

        Raises:
            TimedOut: there was none for so many seconds.
        """
        line = self.line(timeout)
        try:
            found = json.loads(line) if line else None
        except ValueError:
            return None  # cut off by the end of the process
        return found if isinstance(found, dict) else None

    def end(self) -> str:
        """End the process if it has not ended; return how it ended, empty when it went well."""
        by_itself = self._ends_within(_GRACE if self._silent else 0.0)
        if self._process.returncode is None:
            self._kill()
        # What is ended here is no fault of its own.
        code = self._process.wait() if by_itself else 0
        for thread in self._threads:
            thread.join(_GRACE)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None  # noqa: S101 - as above
            with suppress(BrokenPipeError):  # the rest of a job that a dead child did not read
                stream.close()
        return _how(code)

    def _ends_within(self, seconds: float) -> bool:
        """Tell whether the process ends by itself; it is not reaped where that can be done."""
        if self._process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                return False
            return True
        deadline = Deadline(seconds)
        pid, how = self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT
        while os.waitid(os.P_PID, pid, how) is None:
            if not deadline.left:
                return False
            time.sleep(_POLL)
        return True

    def _kill(self) -> None:
        """End the process and what it started, which would hold its pipes open."""
        if os.name == "posix":
            # Not reaped yet, so the number is still ours; macOS refuses when all have ended.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()

    @property
    def errors(self) -> str:
        """The last line that the process wrote to standard error."""
        lines = self._errors.decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""

    def __enter__(self) -> Child:  # noqa: PYI034 - Self needs Python 3.11
        """Return the child itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, whatever it is doing."""
        self.end()


class Deadline:
    """A point in time, and what is left until then."""

    def __init__(self, seconds: float) -> None:
        """Start now."""
        self._at = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left; 0 when it has passed."""
        return max(0.0, self._at - time.monotonic())


def _how(code: int) -> str:
    """Return in words how a process ended; empty when it went well."""
    if code == 0:
        return ""
    if code < 0:
        try:
            return f"crashed {signal.Signals(-code).name}"
        except ValueError:
            return f"crashed signal {-code}"
    return f"ended with exit code {code if code < 256 else hex(code)}"  # noqa: PLR2004 - NTSTATUS


def _python() -> str:
    if not sys.executable or getattr(sys, "frozen", False):
        msg = "there is no Python to start a child process with"
        raise DeviceError(
            msg, hint="run fatbin with a Python of its own, not frozen into a program"
        )
    return sys.executable


def job_for(modules: Iterable[str], request: Mapping[str, Any]) -> bytes:
    """Return what a child that runs :data:`BOOT` reads: texts of modules, the last of them its own.

    Raises:
        DeviceError: a module's text is not there.
    """
    texts = [(name, _text_of(name)) for name in modules]
    return json.dumps({"modules": texts, "request": request, "parent": os.getpid()}).encode()


def _text_of(module: str) -> str:
    from importlib.util import find_spec  # noqa: PLC0415 - once a process

    spec = find_spec(module)
    source = getattr(spec and spec.loader, "get_source", None)
    text: str | None = source(module) if source is not None else None
    if text is None:
        msg = f"the source text of {module} is not there, and child processes need it"
        raise DeviceError(msg)
    return text
