"""One rank of the NCCL smoke test, in a process of its own; the only module that imports torch.

The parent sends the text of this module to the Python that has torch, as
:mod:`fatbin.node.children` does, so only the standard library, torch and what is sent along are
imported here. Every step is told before it begins: whoever reads the lines knows in which call a
rank hangs or dies.
"""

from __future__ import annotations

import ctypes
import faulthandler
import io
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from datetime import timedelta

from fatbin.node.child_side import Channel, loaded_as
from fatbin.node.smoke.operations import operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_IOLBF = 1
_ERROR_TEXT = 4000
_LEAVE_SECONDS = 10.0
_HOST = "127.0.0.1"
_PATIENCE = timedelta(hours=1)
"""Of torch's own watchdog: the parent is the one who ends a rank that hangs."""


class Skipped(Exception):  # noqa: N818 - no error: there is nothing to try
    """What is to be tried is not there."""


class WrongValue(Exception):  # noqa: N818 - named in reports as it is
    """An operation ended well and left a wrong result."""


def main(request: dict[str, Any]) -> None:
    """Be one rank, and stay until the parent ends this process."""
    channel = Channel()
    _show_lines_at_once()
    faulthandler.enable(file=request["stacks"], all_threads=True)
    faulthandler.register(signal.SIGUSR1, file=request["stacks"], all_threads=True)
    steps = Steps(channel)
    store = None
    try:
        store = _run(request, steps)
    except Skipped as exc:
        channel.send(skipped=str(exc))
    except BaseException as exc:  # noqa: BLE001 - whatever it is, it is the answer
        channel.send(failed=str(exc)[:_ERROR_TEXT], error=type(exc).__name__, at=time.monotonic())
        traceback.print_exc()
        _flush()
        os._exit(1)
    else:
        channel.send(finished=True, at=time.monotonic())
    _stay_with(store)


def _stay_with(_store: object) -> None:
    """Keep the store, which rank 0 serves, until the parent, who sees all ranks, ends this."""
    threading.Event().wait()


def _show_lines_at_once() -> None:
    """Have what Python and C print leave with every line: NCCL's log goes through C's buffer."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)
    libc = ctypes.CDLL(None)
    libc.setvbuf(ctypes.c_void_p.in_dll(libc, "stdout"), None, _IOLBF, 0)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    ctypes.CDLL(None).fflush(None)


class Steps:
    """Tells the parent what is about to be done, and facts."""

    def __init__(self, channel: Channel) -> None:
        """Write to a channel."""
        self._channel = channel

    def begin(self, name: str) -> None:
        """Tell a step; the one before it is done then."""
        self._channel.send(step=name, at=time.monotonic())

    def checked(self, name: str) -> None:
        """Tell that an operation left the right values."""
        self._channel.send(checked=name, at=time.monotonic())

    def facts(self, **facts: Any) -> None:  # noqa: ANN401 - JSON
        """Tell facts."""
        self._channel.send(facts=facts)


def _run(request: dict[str, Any], steps: Steps) -> Any:  # noqa: ANN401 - of torch
    """Do everything; return what the other ranks need until they are done."""
    steps.begin("importing torch")
    torch = _torch()
    steps.facts(torch=str(torch.__version__), cuda=str(torch.version.cuda or ""))
    _require_nccl(torch)
    path, version = nccl_in_use()
    steps.facts(library=path, version=version or _built_with(torch))
    local = request["device"]
    steps.begin(f"opening GPU {local}")
    if torch.cuda.device_count() <= local:
        msg = f"GPU {local} is wanted, and torch counts {torch.cuda.device_count()} from 0"
        raise Skipped(msg)
    torch.cuda.set_device(local)
    device = torch.device("cuda", local)
    major, minor = torch.cuda.get_device_capability(device)
    steps.facts(gpu=f"{torch.cuda.get_device_name(device)} ({major}.{minor})")
    torch.cuda.synchronize(device)
    steps.begin("meeting the other ranks")
    store, rank, world = _store(torch.distributed, request, steps)
    for init in request["inits"]:
        _round(torch, steps, init, request, (store, rank, world, device))
    if request["launched"]:
        steps.begin("leaving together")
        _leave_together(store, rank, world)
    return store


def _torch() -> Any:  # noqa: ANN401 - a module
    try:
        import torch  # noqa: PLC0415 - a step of its own
        import torch.distributed  # noqa: PLC0415
    except ModuleNotFoundError as exc:
        if exc.name != "torch":
            raise
        msg = f"torch is not installed for {sys.executable}"
        raise Skipped(msg) from exc
    return torch


def _require_nccl(torch: Any) -> None:  # noqa: ANN401 - a module
    named = f"torch {torch.__version__}"
    if getattr(torch.version, "hip", None):
        msg = f"{named} is built for AMD GPUs"
        raise Skipped(msg)
    if not torch.distributed.is_available() or not torch.distributed.is_nccl_available():
        msg = f"{named} has no NCCL"
        raise Skipped(msg)
    if not torch.cuda.is_available():
        msg = f"{named} finds no GPU"
        raise Skipped(msg)


def _built_with(torch: Any) -> str:  # noqa: ANN401 - a module
    return ".".join(str(number) for number in torch.cuda.nccl.version())


# Which NCCL that is -------------------------------------------------------------------------------


class _DlInfo(ctypes.Structure):
    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def nccl_in_use() -> tuple[str, str]:
    """Return the path and the version of the NCCL that torch calls; empty where not known.

    The symbol that torch calls is looked up as the dynamic loader did: what is preloaded comes
    before what torch brings along. Where that says nothing, a mapped file with the name will do.
    """
    found = symbol_in_use("ncclGetVersion", loaded_as("libtorch_cuda"))
    if found is not None:
        path, function = found
        number = ctypes.c_int()
        code = function(ctypes.byref(number))
        return path, version_text(number.value) if code == 0 else ""
    return next(iter(loaded_as("libnccl.so")), ""), ""


def symbol_in_use(symbol: str, callers: list[str]) -> tuple[str, Any] | None:
    """Return the file that a symbol comes from, and the symbol; None when nobody has it."""
    for name in (None, *callers):
        try:
            library = ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
            function = getattr(library, symbol)
        except (OSError, AttributeError):
            continue  # not there; the next may know
        info = _DlInfo()
        dladdr = ctypes.CDLL(None).dladdr
        address = ctypes.cast(function, ctypes.c_void_p)
        if dladdr(address, ctypes.byref(info)) and info.file:
            return os.path.abspath(os.fsdecode(info.file)), function
    return None


def version_text(number: int) -> str:
    """Return ``2.28.9`` of 22809; before 2.9 there was one digit less."""
    thousands = 10_000 if number >= 10_000 else 1000  # noqa: PLR2004 - 2.9.0 is 20900
    return f"{number // thousands}.{number % thousands // 100}.{number % 100}"


# How the ranks meet -------------------------------------------------------------------------------


def _store(dist: Any, request: dict[str, Any], steps: Steps) -> tuple[Any, int, int]:  # noqa: ANN401 - a module
    """Return the store, the rank and the number of ranks.

    Rank 0 listens on a port that the system chooses, and tells it the parent, who tells the others:
    nobody can take it in between. No file is written where that works.
    """
    if request["launched"]:
        store, rank, world = next(dist.rendezvous("env://"))
        return dist.PrefixStore("fatbin-smoke", store), rank, world
    rank, world = request["rank"], request["ranks"]
    if rank:
        kind, _, where = _line(request["store"]).partition(":")
        if kind == "file":
            return dist.FileStore(where, world), rank, world
        return dist.TCPStore(_HOST, int(where), world, is_master=False), rank, world
    try:
        store = dist.TCPStore(_HOST, 0, world, is_master=True, wait_for_workers=False)
    except (OSError, RuntimeError) as exc:
        sys.stderr.write(f"no store on {_HOST}: {exc}\n")
        return _store_without_network(dist, world, steps), rank, world
    steps.facts(store=f"tcp:{store.port}")
    return store, rank, world


def _store_without_network(dist: Any, world: int, steps: Steps) -> Any:  # noqa: ANN401 - a module
    if world == 1:
        return dist.HashStore()
    for folder in (os.environ.get("TMPDIR", ""), "/dev/shm", "/tmp"):  # noqa: S108 - made private
        try:
            private = tempfile.mkdtemp(prefix="fatbin-smoke-", dir=folder or None)
        except OSError:
            continue  # read-only, or not there
        where = os.path.join(private, "store")
        steps.facts(store=f"file:{where}")
        return dist.FileStore(where, world)
    msg = "the ranks cannot meet: no port on 127.0.0.1 and no folder that can be written"
    raise RuntimeError(msg)


def _line(descriptor: int) -> str:
    data = b""
    while not data.endswith(b"\n"):
        part = os.read(descriptor, 4096)
        if not part:
            msg = "rank 0 has opened no store"
            raise RuntimeError(msg)
        data += part
    return data.decode().strip()


def _leave_together(store: Any, rank: int, world: int) -> None:  # noqa: ANN401 - of torch
    """Wait for the others where this rank may be the one who serves the store."""
    store.add("left", 1)
    deadline = time.monotonic() + _LEAVE_SECONDS
    while rank == 0 and store.add("left", 0) < world and time.monotonic() < deadline:
        time.sleep(0.05)


# What is tried ------------------------------------------------------------------------------------


def _round(
    torch: Any,  # noqa: ANN401 - a module
    steps: Steps,
    init: str,
    request: dict[str, Any],
    place: tuple[Any, int, int, Any],
) -> None:
    """Make the group in one way, try the operations, and end the group."""
    store, rank, world, device = place
    dist = torch.distributed
    several = len(request["inits"]) > 1
    label = f"{init}: " if several else ""
    more = {"device_id": device} if init == "eager" else {}
    steps.begin(f"{label}init_process_group ({init})")
    dist.init_process_group(
        "nccl",
        store=dist.PrefixStore(init, store),
        rank=rank,
        world_size=world,
        timeout=_PATIENCE,
        **more,
    )
    for name, operation in operations(torch, rank, world, device, request["size"]):
        steps.begin(label + name)
        problem = operation()
        if problem:
            raise WrongValue(problem)
        steps.checked(label + name)
    steps.begin(f"{label}destroy_process_group")
    dist.destroy_process_group()
