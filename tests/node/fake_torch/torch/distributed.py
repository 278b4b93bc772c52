"""The operations; what other ranks would have sent is computed from what this one has."""

# ruff: noqa: T201, PLR0913 - it prints as libraries do, and takes what torch takes

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import state

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_available() -> bool:
    return "distributed" not in os.environ.get("FAKE_LACKS", "")


def is_nccl_available() -> bool:
    return "nccl" not in os.environ.get("FAKE_LACKS", "")


class TCPStore:
    """A real port, so that it is seen whether it is passed on."""

    def __init__(
        self,
        host: str,
        port: int,
        _world: int,
        *,
        is_master: bool,
        wait_for_workers: bool = True,
    ) -> None:
        if "port" in os.environ.get("FAKE_LACKS", ""):
            msg = "The server could not be initialized on any address"
            raise RuntimeError(msg)
        self.socket = socket.socket()
        if is_master:
            assert not wait_for_workers
            self.socket.bind((host, port))
            self.socket.listen()
            self.port = self.socket.getsockname()[1]
        else:
            self.socket.connect((host, port))

    def add(self, _key: str, _number: int) -> int:
        return int(state.world)


class HashStore:
    """Of one process."""


class FileStore:
    def __init__(self, path: str, _world: int) -> None:
        with open(path, "ab") as file:
            file.write(b"here")


class PrefixStore:
    def __init__(self, prefix: str, store: TCPStore) -> None:
        assert prefix
        self.store = store

    def add(self, key: str, number: int) -> int:
        return self.store.add(key, number)


def rendezvous(url: str) -> Iterator[tuple[object, int, int]]:
    assert url == "env://"
    store = TCPStore("127.0.0.1", 0, 1, is_master=True, wait_for_workers=False)
    yield store, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def init_process_group(
    backend: str,
    *,
    store: object,
    rank: int,
    world_size: int,
    timeout: object,
    device_id: torch.device | None = None,
) -> None:
    assert backend == "nccl"
    assert store is not None
    assert timeout
    state.rank, state.world = rank, world_size
    if rank == 0 and os.environ["NCCL_DEBUG"] == "INFO":
        print(f"node:{os.getpid()}:1 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>")
        print("NCCL version 2.28.9+cuda13.0", flush=True)
    torch.at("init_process_group")
    torch.at("eager" if device_id is not None else "lazy")


def destroy_process_group() -> None:
    torch.at("destroy_process_group")


class ReduceOp:
    SUM = "sum"
    AVG = "avg"


def _make_nccl_premul_sum(factor: float) -> float:
    return factor


def _took(tensor: torch.Tensor, numbers: torch.Tensor, place: str) -> None:
    torch.at(place)
    tensor.numbers = list(numbers.numbers)
    if getattr(state, "wrong", False):
        tensor.numbers[3] += 1


def all_reduce(tensor: torch.Tensor, op: object) -> None:
    base, ranks = tensor - state.rank, range(state.world)
    if op == "sum":
        _took(tensor, base * state.world + sum(ranks), "all_reduce")
    elif op == "avg":
        _took(tensor, base + sum(ranks) / state.world, "all_reduce")
    else:
        assert isinstance(op, float)
        _took(tensor, base * (op * state.world) + op * sum(ranks), "all_reduce")


def broadcast(tensor: torch.Tensor, src: int) -> None:
    _took(tensor, tensor - state.rank + src, "broadcast")


def all_gather_into_tensor(gathered: torch.Tensor, tensor: torch.Tensor) -> None:
    base = tensor - state.rank
    _took(gathered, torch.cat([base + rank for rank in range(state.world)]), "all_gather")


def isend() -> None:
    """Only named."""


def irecv() -> None:
    """Only named."""


class P2POp(NamedTuple):
    op: object
    tensor: torch.Tensor
    peer: int


class _Work:
    def wait(self) -> None:
        """Be done."""


def batch_isend_irecv(pair: list[P2POp]) -> list[_Work]:
    sent, got = pair
    assert sent.op is isend
    assert got.op is irecv
    assert sent.peer == (state.rank + 1) % state.world
    _took(got.tensor, sent.tensor - state.rank + got.peer, "batch_isend_irecv")
    return [_Work(), _Work()]
