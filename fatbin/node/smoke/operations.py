"""What a rank has NCCL do: operations that launch its kernels, with known results.

Tensors are made and compared on the processor and copied to the GPU, so no kernel of torch's own is
needed: what fails here is NCCL. This module goes to the ranks as text, like
:mod:`fatbin.node.smoke.worker`; torch is handed in.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_SMALL = 1024
_PERIOD = 1000
_FLOAT = 4


def operations(
    torch: Any,  # noqa: ANN401 - a module
    rank: int,
    world: int,
    device: Any,  # noqa: ANN401 - of torch
    size: int,
) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield operations that launch a kernel of NCCL's, each with its name.

    A sum of one rank launches none, and works without any code for the GPU; an average, a sum with
    a factor and a message to oneself do launch one (measured with NCCL 2.28.9).
    """
    job = _Job(torch, rank, world, device)
    if world == 1:
        yield f"all_reduce AVG of {_SMALL:,} B", lambda: job.all_reduce(_SMALL, "avg")
        yield f"all_reduce PREMUL_SUM of {size:,} B", lambda: job.all_reduce(size, "premul")
        yield f"send and receive {size:,} B to itself", lambda: job.ring(size)
        return
    yield f"all_reduce SUM of {_SMALL:,} B", lambda: job.all_reduce(_SMALL, "sum")
    yield f"all_reduce SUM of {size:,} B", lambda: job.all_reduce(size, "sum")
    yield f"broadcast of {size:,} B", lambda: job.broadcast(size)
    yield f"all_gather of {_SMALL:,} B", lambda: job.all_gather(_SMALL)
    yield f"send and receive {_SMALL:,} B in a ring", lambda: job.ring(_SMALL)


class _Job:
    """Operations with known results; each returns what is wrong, empty when nothing is."""

    def __init__(self, torch: Any, rank: int, world: int, device: Any) -> None:  # noqa: ANN401
        self._torch, self._dist = torch, torch.distributed
        self._rank, self._world, self._device = rank, world, device

    def all_reduce(self, size: int, how: str) -> str:
        base, ranks = self._base(size), self._world
        if how == "sum":
            op, expected = self._dist.ReduceOp.SUM, base * ranks + sum(range(ranks))
        elif how == "avg":
            op, expected = self._dist.ReduceOp.AVG, base
        else:
            op, expected = self._dist._make_nccl_premul_sum(2.0), base * 2
        tensor = self._on_gpu(base + self._rank)
        self._dist.all_reduce(tensor, op=op)
        return self._wrong(tensor, expected)

    def broadcast(self, size: int) -> str:
        base, root = self._base(size), self._world - 1
        tensor = self._on_gpu(base + self._rank)
        self._dist.broadcast(tensor, src=root)
        return self._wrong(tensor, base + root)

    def all_gather(self, size: int) -> str:
        base = self._base(size)
        expected = self._torch.cat([base + rank for rank in range(self._world)])
        gathered = self._on_gpu(expected * 0 - 1)
        self._dist.all_gather_into_tensor(gathered, self._on_gpu(base + self._rank))
        return self._wrong(gathered, expected)

    def ring(self, size: int) -> str:
        """Send to the next rank and receive from the one before; with one rank both are itself."""
        base, dist = self._base(size), self._dist
        after, before = (self._rank + 1) % self._world, (self._rank - 1) % self._world
        sent, got = self._on_gpu(base + self._rank), self._on_gpu(base * 0 - 1)
        pair = [dist.P2POp(dist.isend, sent, after), dist.P2POp(dist.irecv, got, before)]
        for work in dist.batch_isend_irecv(pair):
            work.wait()
        return self._wrong(got, base + before)

    def _base(self, size: int) -> Any:  # noqa: ANN401 - of torch
        """Return numbers that differ by place; sums of them are exact in single precision."""
        return self._torch.arange(size // _FLOAT, dtype=self._torch.float32) % _PERIOD

    def _on_gpu(self, tensor: Any) -> Any:  # noqa: ANN401 - of torch
        return tensor.to(self._device)

    def _wrong(self, tensor: Any, expected: Any) -> str:  # noqa: ANN401 - of torch
        self._torch.cuda.synchronize(self._device)
        found = tensor.cpu()
        if self._torch.equal(found, expected):
            return ""
        pairs = list(zip(found.tolist(), expected.tolist(), strict=False))
        places = [place for place, (a, b) in enumerate(pairs) if a != b]
        if not places:
            return f"expected {expected.numel():,} numbers, found {found.numel():,}"
        first = places[0]
        return (
            f"number {first:,} is {pairs[first][0]:g}, expected {pairs[first][1]:g}; "
            f"{len(places):,} of {len(pairs):,} are wrong"
        )
