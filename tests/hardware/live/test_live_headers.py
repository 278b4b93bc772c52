"""Containers that no toolkit writes, given to the driver: python -m pytest tests/hardware/live."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from h200 import H200
from headers import CRASH, HEADERS, OK, STREAMS, stream
from hosts import archive
from support import require

import fatbin
from fatbin.kinds import EntryKind

if TYPE_CHECKING:
    from fatbin import Detection, EntrySpec, ProbeResult

pytestmark = pytest.mark.gpu
MEASURED = "13.0"
"""CUDA version of the driver that the recorded results are of."""
CONTAINERS = {name: row.data for name, row in HEADERS.items()} | {
    f"{bits:x} {word}": stream(bits, word) for bits, word in STREAMS
}


@pytest.fixture(scope="module")
def results(here: Detection, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ProbeResult]:
    gpu = next((g for g in here.gpus if g.compute_capability == H200), None)
    if gpu is None or here.cuda_version != MEASURED:
        require("h200", f"recorded on a GPU of 9.0 with a driver of CUDA {MEASURED}")
    path = tmp_path_factory.mktemp("headers") / "headers.a"
    names = [f"{number}.fatbin" for number in range(len(CONTAINERS))]
    path.write_bytes(archive(*zip(names, CONTAINERS.values(), strict=True)))
    (probed,) = fatbin.probe(path, gpu=gpu.number, jit=True, names=True, detection=here).gpus
    found = {result.location.rpartition("::")[2]: result for result in probed.results}
    return dict(zip(CONTAINERS, map(found.__getitem__, names), strict=True))


def kernels(spec: EntrySpec) -> tuple[str, ...]:
    if spec.kind == EntryKind.PTX:
        return fatbin.Ptx(spec.payload).entries
    return fatbin.Cubin(spec.payload).kernel_names


def test_headers_do_what_they_did(results: dict[str, ProbeResult]) -> None:
    differing = []
    for name, row in HEADERS.items():
        result = results[name]
        taken = kernels(row.entries[row.taken]) if row.code == OK else ()
        seen = CRASH if result.status == "crashed" else result.code
        if (seen, result.kernel_names) != (row.code, taken):
            differing.append((name, result.said, result.kernel_names))
    assert differing == []


def test_streams_do_what_they_did(results: dict[str, ProbeResult]) -> None:
    differing = [
        (bits, word, results[f"{bits:x} {word}"].said)
        for (bits, word), code in STREAMS.items()
        if results[f"{bits:x} {word}"].code != code
    ]
    assert differing == []
