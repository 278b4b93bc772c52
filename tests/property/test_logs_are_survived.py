"""Any bytes are a log: reading them never fails, and its time grows with their number only."""

from __future__ import annotations

import io
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_logs import HEALTHY, START, SYMPTOMS

from fatbin.errors import FatbinError
from fatbin.judge.gpu import parse_gpus
from fatbin.node import diagnosis_text
from fatbin.node.diagnose import diagnose
from fatbin.report.table import PlainWriter

PIECES = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from([text.encode() for text in (*SYMPTOMS.values(), *HEALTHY.values(), START)]),
    st.sampled_from(
        [
            b"\x1b[36m(A pid=1)",
            b"[rank",
            b"]:",
            b"NCCL version ",
            b"NVRM: Xid (",
            b"2026-99-99 29:59:59 ",
        ]
    ),
)


@given(st.lists(st.lists(PIECES, max_size=12).map(b"".join), max_size=3))
def test_any_bytes_are_read_and_written(logs: list[bytes]) -> None:
    errors: list[FatbinError] = []
    streams = [(f"log\n{n}", io.BytesIO(log)) for n, log in enumerate(logs)]
    diagnosis = diagnose(streams, gpus=parse_gpus("12.0"), report=errors.append)
    json.dumps(diagnosis.to_dict())
    out = io.StringIO()
    diagnosis_text.write(PlainWriter(out), diagnosis, verbose=True)
    text = out.getvalue()
    assert text.endswith("\n")
    assert all(line.isprintable() for line in text.split("\n"))
    assert diagnosis.lines <= sum(log.count(b"\n") + 1 for log in logs)


@given(st.lists(PIECES, max_size=12).map(b"".join))
def test_a_symptom_is_found_whatever_stands_around_it(around: bytes) -> None:
    if around.startswith((b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff")):
        return
    log = around + b"\n" + SYMPTOMS["E209"].encode() + around
    diagnosis = diagnose([("log", io.BytesIO(log))])
    assert "E209" in {cause.symptom for cause in diagnosis.causes}


HARD = (
    b"a." * 8,
    b"nccl version 1" + b"1" * 16,
    b"nvrm: xid (" + b"(" * 16,
    b"(A pid=1, ip=" + b"1" * 8,
    b"[ " * 8,
    b"\x1b[0;0;0",
    b"no kernel image is available ",
    b"nccl info [rank1] ",
    b"2026-01-01 00:00:0",
    b"\n",
    b"nccl\n",
    b"h:1:2 [0] NCCL INFO Bootstrap\n",
    b"CUDA error: no kernel image is available\n",
)


def seconds(data: bytes) -> float:
    start = time.process_time()
    diagnose([("log", io.BytesIO(data))])
    return time.process_time() - start


@pytest.mark.parametrize("piece", HARD)
def test_time_is_linear(piece: bytes) -> None:
    small = min(seconds(piece * (200_000 // len(piece))) for _ in range(3))
    large = min(seconds(piece * (1_600_000 // len(piece))) for _ in range(2))
    assert large < 8 * small * 4 + 0.2  # eight times the bytes; anything quadratic takes 64 times
