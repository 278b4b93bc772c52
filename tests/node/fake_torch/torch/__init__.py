"""A stand-in for torch with as much as one rank of the smoke test uses, and with faults on demand.

``FAKE_TORCH`` holds the faults, divided by commas: ``1:raise@all_reduce`` raises in rank 1 when it
comes to ``all_reduce``; without a number it is every rank. The words are those of :data:`FAULTS`,
the places ``import``, ``device``, ``init_process_group``, ``destroy_process_group`` and the names of
operations. Whoever comes to a fault leaves a file in the folder ``FAKE_MARKS``. Other ranks are played: nothing is sent anywhere but to the store.
"""

# ruff: noqa: T201 - it prints as libraries do, and takes what torch takes

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import time

__version__ = "9.9.9+fake"


class _State:
    rank = 0
    world = 1
    file = None


state = _State()


def _raise() -> None:
    host = f"node:{os.getpid()}:1 [{state.rank}]"
    print(
        f"\n[2026-01-01 00:00:00] {host} enqueue.cc:1587 NCCL WARN Cuda failure 'named symbol not found'"
    )
    msg = (
        "NCCL error in: NCCLUtils.cpp:77, unhandled cuda error, NCCL version 2.28.9\n"
        "ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\n"
        "Cuda failure 'named symbol not found'"
    )
    raise DistBackendError(msg)


def _hang() -> None:
    while True:
        time.sleep(3600)


def _busy() -> None:
    """Compile for ever, as it looks from outside."""
    folder = os.environ["CUDA_CACHE_PATH"]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "index"), "ab", buffering=0) as index:
        while True:
            index.write(b"x" * 16)
            end = time.monotonic() + 0.2
            while time.monotonic() < end:
                pass


def _spin() -> None:
    while True:
        pass


def _segv() -> None:
    ctypes.string_at(0)


def _exit() -> None:
    sys.stdout.flush()
    os._exit(7)


def _noise() -> None:
    print("a library prints this to standard output")
    print('{"finished": true, "at": 0}')
    os.write(1, b'{"failed": "no", "error": "Lie", "at": 0}\n')
    os.write(2, b"\xff\xfe no text at all \x00\n")


def _wrong() -> None:
    state.wrong = True  # type: ignore[attr-defined]


FAULTS = {
    "raise": _raise,
    "hang": _hang,
    "busy": _busy,
    "spin": _spin,
    "segv": _segv,
    "exit": _exit,
    "noise": _noise,
    "wrong": _wrong,
}


def at(place: str) -> None:
    """Be at a place: whatever is to happen there does."""
    for text in filter(None, os.environ.get("FAKE_TORCH", "").split(",")):
        who, _, what = text.rpartition(":")
        fault, _, where = what.partition("@")
        if where == place and who in {"", str(state.rank)}:
            if os.environ.get("FAKE_MARKS"):
                with open(os.path.join(os.environ["FAKE_MARKS"], str(os.getpid())), "wb"):
                    pass
            FAULTS[fault]()


class DistBackendError(RuntimeError):
    """What torch raises for an error of NCCL's."""


class Tensor:
    """Numbers."""

    def __init__(self, numbers: list[float]) -> None:
        self.numbers = numbers

    def __mod__(self, other: float) -> Tensor:
        return Tensor([number % other for number in self.numbers])

    def __add__(self, other: float) -> Tensor:
        return Tensor([number + other for number in self.numbers])

    def __sub__(self, other: float) -> Tensor:
        return self + -other

    def __mul__(self, other: float) -> Tensor:
        return Tensor([number * other for number in self.numbers])

    def to(self, _device: object) -> Tensor:
        return Tensor(list(self.numbers))

    def cpu(self) -> Tensor:
        return self

    def tolist(self) -> list[float]:
        return self.numbers

    def numel(self) -> int:
        return len(self.numbers)


float32 = "float32"


def arange(count: int, dtype: object) -> Tensor:
    assert dtype == float32
    return Tensor([float(number) for number in range(count)])


def cat(tensors: list[Tensor]) -> Tensor:
    return Tensor([number for tensor in tensors for number in tensor.numbers])


def equal(one: Tensor, other: Tensor) -> bool:
    return one.numbers == other.numbers


class device:  # noqa: N801 - as torch has it
    def __init__(self, kind: str, index: int) -> None:
        self.kind, self.index = kind, index


def _map_library() -> None:
    """Have a file mapped, as the dynamic loader would."""
    path = os.environ.get("FAKE_LIBRARY")
    if path:
        with open(path, "rb") as file:
            state.file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # type: ignore[assignment]


_map_library()
at("import")

from torch import cuda, distributed, version  # noqa: E402, F401
