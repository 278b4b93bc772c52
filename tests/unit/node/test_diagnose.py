"""What logs show, and what they do not."""

from __future__ import annotations

import gzip
import io
import json

import pytest
from made_logs import HEALTHY, START, SYMPTOMS, WENT_ON
from support import FIXTURES

import fatbin
from fatbin.cli.main import build_parser
from fatbin.errors import ArchitectureError, FatbinError, SourceError
from fatbin.judge.facts.sources import SOURCES
from fatbin.judge.gpu import parse_gpus
from fatbin.node import symptoms
from fatbin.node.diagnose import diagnose
from fatbin.node.diagnosis import Confidence, Diagnosis, Symptom
from fatbin.node.log_lines import CHUNK_BYTES, LONGEST_LINE, find_stamp, find_who


def read(*logs: str | bytes, gpus: str = "", driver: str = "") -> Diagnosis:
    streams = [
        (f"log{n}", io.BytesIO(log if isinstance(log, bytes) else log.encode()))
        for n, log in enumerate(logs)
    ]
    return diagnose(streams, gpus=parse_gpus(gpus) if gpus else (), driver=driver)


def found(diagnosis: Diagnosis) -> dict[str, str]:
    return {cause.symptom: str(cause.confidence) for cause in diagnosis.causes}


# Rows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", sorted(SYMPTOMS))
def test_every_symptom_is_found_with_its_line(row: str) -> None:
    diagnosis = read("all is well\n" + SYMPTOMS[row])
    assert list(found(diagnosis)) == [row]
    (cause,) = diagnosis.causes
    assert cause.lines == 1
    (line,) = cause.evidence
    assert line.line == (5 if row == "NCCL-SILENT" else 2)


def test_every_row_is_tried() -> None:
    rows = {row.id for row in symptoms.SYMPTOMS}
    assert len(rows) == len(symptoms.SYMPTOMS)
    assert rows - set(SYMPTOMS) == {"NCCL-KNOWN", "LIBRARY"}  # these need a GPU: see below


@pytest.mark.parametrize("row", symptoms.SYMPTOMS, ids=lambda row: row.id)
def test_rows_are_whole(row: Symptom) -> None:
    assert row.sources
    assert all(s in SOURCES or s.startswith("https://") for s in row.sources)
    assert all(needle == needle.lower() and len(needle) > 10 for needle in row.needles)
    assert row.not_proof
    words = row.check.replace("GPU", "9.0").replace("DRIVER", "570").split()
    arguments = build_parser().parse_args(words[1:])
    assert words[0] == "fatbin"
    assert arguments.command in {"check", "explain", "gpus", "diagnose"}


@pytest.mark.parametrize("name", sorted(HEALTHY))
def test_nothing_is_found_in_logs_of_runs_that_went_well(name: str) -> None:
    diagnosis = read(HEALTHY[name])
    assert diagnosis.causes == ()
    assert diagnosis.advice == ()
    assert not diagnosis.names_a_cause


def test_an_illegal_access_names_no_cause() -> None:
    diagnosis = read(SYMPTOMS["E700"] + SYMPTOMS["XID13"] + SYMPTOMS["XID31"])
    assert set(found(diagnosis).values()) == {"effect"}
    assert not diagnosis.names_a_cause
    assert "no sign" in diagnosis.causes[0].not_proof


# NCCL's version -----------------------------------------------------------------------------------


def test_a_version_that_is_known_to_fail_on_the_gpu() -> None:
    log = START.replace("2.27.5+cuda12.9", "2.26.2+cuda12.2") + SYMPTOMS["E700"]
    assert found(read(log, gpus="RTX 5090"))["NCCL-KNOWN"] == "likely"
    assert "NCCL-KNOWN" not in found(read(log, gpus="9.0"))
    unnamed = read(log)
    assert "NCCL-KNOWN" not in found(unnamed)
    assert unnamed.advice[-1].startswith("name the GPU with --gpu")
    assert unnamed.nccl == ("2.26.2+cuda12.2",)


def test_the_gpu_is_taken_from_the_log() -> None:
    diagnosis = read("NCCL version 2.26.2+cuda12.2\n" + SYMPTOMS["TORCH-ARCH"])
    assert diagnosis.gpus == ("RTX 5090 (12.0)",)
    (known,) = [cause for cause in diagnosis.causes if cause.symptom == "NCCL-KNOWN"]
    assert known.details[0].startswith("KB-NCCL-1: NCCL 2.26.2+cuda12.2 on RTX 5090 (12.0): ")
    assert known.check == "fatbin check LIBNCCL --gpu 'RTX 5090'"
    assert read(HEALTHY["smi"]).gpus == ("H100 (9.0)",)
    assert read(HEALTHY["smi"]).driver == "570.124.06"
    tests = "#  Rank  0 Pid 1896106 on host device  0 [0x16] NVIDIA GeForce RTX 4090\n"
    assert read(tests).gpus == ("RTX 4090 (8.9)",)


def test_a_gpu_without_a_name_counts_by_its_number() -> None:
    log = "Some card with CUDA capability sm_121 is not compatible with the current PyTorch installation\n"
    assert read(log).gpus == ("12.1",)


def test_a_build_without_code_for_the_gpu() -> None:
    diagnosis = read("NCCL version 2.26.2+cuda12.2\n", gpus="B200")
    assert found(diagnosis) == {"NCCL-KNOWN": "possible"}
    assert diagnosis.causes[0].details == (
        (
            "NVIDIA's NCCL 2.26.2+cuda12.2 has no machine code for B200 (10.0): "
            "sm_50 sm_60 sm_61 sm_70 sm_80 sm_90 compute_90; "
            "use NCCL 2.25 or later built by CUDA 12.8 or later"
        ),
    )
    assert found(read("NCCL version 2.26.2\n", gpus="B200")) == {}  # which CUDA is not known


def test_a_version_is_named_once() -> None:
    log = "NCCL version 2.28.9+cuda13.0\nDistBackendError: internal error, NCCL version 2.28.9\n"
    assert read(log).nccl == ("2.28.9+cuda13.0",)
    assert read("vLLM is using nccl==2.20.5\n").nccl == ("2.20.5",)


def test_a_long_line_is_shown_around_what_it_shows() -> None:
    def shown(line: str) -> str:
        return read(line).causes[0].evidence[0].text

    needle = "no kernel image is available"
    assert shown("[rank0]: " + "a" * 80 + needle + "z" * 300).startswith("[rank0]: aaa")
    late = shown("[rank0]: " + "a" * 500 + needle + "z" * 300)
    assert late == "a" * 66 + needle + "z" * (200 - 66 - len(needle))
    assert shown("a" * 500 + needle) == "a" * (200 - len(needle)) + needle


def test_torch_without_a_gpu() -> None:
    log = "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!\n"
    assert found(read(log)) == {"E100": "possible"}


def test_silence_with_a_known_fault_is_likely() -> None:
    log = START.replace("2.27.5+cuda12.9", "2.26.2+cuda12.2")
    assert found(read(log, gpus="12.0"))["NCCL-SILENT"] == "likely"


def test_silence_is_measured_where_the_log_tells_times() -> None:
    log = "2026-01-10 08:00:00 start\n" + START + "2026-01-10 08:07:30 still here\n"
    diagnosis = read(log)
    assert found(diagnosis) == {"NCCL-SILENT": "possible"}
    assert diagnosis.gap_s == 450
    assert "450 s" in diagnosis.causes[0].details[0]
    assert diagnosis.last_nccl is not None
    assert (diagnosis.last_nccl.line, diagnosis.last_nccl.when) == (5, "2026-01-10 08:00:00")


def test_a_process_that_failed_is_not_silent() -> None:
    log = (
        START
        + "trainer-0:4101:4180 [0] enqueue.cc:42 NCCL WARN Cuda failure 'named symbol not found'\n"
    )
    assert found(read(log)) == {"E500": "likely"}


def test_nccl_errors_name_the_cuda_error_beside_them() -> None:
    (effect,) = read(SYMPTOMS["NCCL-CUDA"]).causes
    assert effect.details == ("no CUDA error stands beside it: run again with NCCL_DEBUG=INFO",)
    both = read(SYMPTOMS["E500"] + SYMPTOMS["NCCL-CUDA"])
    assert [cause.symptom for cause in both.causes] == ["E500", "NCCL-CUDA"]
    assert "named symbol not found (error 500), first in log0 line 1" in both.causes[1].details[0]


def test_torch_says_what_it_was_built_for() -> None:
    log = (
        SYMPTOMS["TORCH-ARCH"]
        + "The current PyTorch install supports CUDA capabilities sm_80 sm_90.\n"
    )
    assert read(log).causes[0].details == ("torch says that it was built for sm_80 sm_90",)


# Ranks --------------------------------------------------------------------------------------------

WAITED = "[rank{0}]:[E1129 10:30:0{0}.1 P.cpp:607] [Rank {0}] Watchdog caught collective operation timeout\n"
FAILED = "[rank{0}]:[E1129 10:20:0{0}.1 P.cpp:1] RuntimeError: CUDA error: no kernel image is available\n"


def test_the_rank_that_failed_comes_before_those_that_waited() -> None:
    diagnosis = read(WAITED.format(0) + WAITED.format(2) + FAILED.format(1) + WAITED.format(1))
    assert [(s.who, s.state, s.first, s.line) for s in diagnosis.ranks] == [
        ("rank 1", "failed", "E209", 3),
        ("rank 0", "waited", "WATCHDOG", 1),
        ("rank 2", "waited", "WATCHDOG", 2),
    ]
    assert diagnosis.advice[0] == "rank 1 failed first: E209, log0 line 3"


def test_of_two_that_failed_the_time_decides_across_logs() -> None:
    diagnosis = read(FAILED.format(3), FAILED.format(1), WAITED.format(0))
    assert [s.who for s in diagnosis.ranks] == ["rank 1", "rank 3", "rank 0"]
    assert diagnosis.advice[0] == "rank 1 failed first: E209, log1 line 1"


def test_times_that_cannot_be_compared_are_not() -> None:
    other = "2026-11-29 10:00:00 [rank1] CUDA error: no kernel image is available\n"
    diagnosis = read(FAILED.format(3), other)
    assert diagnosis.advice[0].startswith("which rank failed first cannot be told")


def test_when_all_waited_the_others_are_asked_for() -> None:
    line = "trainer-0:4101:4101 [0] NCCL INFO comm 0x1 rank 0 nranks 4 cudaDev 0 - Init START\n"
    diagnosis = read(line + WAITED.format(0) + WAITED.format(1))
    assert diagnosis.advice == (
        "no line of rank 2, rank 3 is in these logs: read theirs too",
        (
            "rank 0, rank 1 only waited: the rank that failed, or never came, is another; give the logs "
            "of all ranks"
        ),
    )
    assert read(WAITED.format(0)).advice == (
        "this may be the log of a healthy rank: give the logs of all ranks",
    )


@pytest.mark.parametrize(
    ("line", "who"),
    [
        ("[rank3]: boom", ("rank 3", "")),
        ("[default1]:boom", ("rank 1", "")),
        ("[1,7]<stderr>:boom", ("rank 7", "")),
        ("n-1.x:12:34 [5] NCCL INFO x", ("", "n-1.x:12 device 5")),
        ("\x1b[36m(Actor pid=9, ip=10.0.0.1)\x1b[0m x", ("", "Actor pid 9 on 10.0.0.1")),
        ("(Actor pid=9) [Rank 2] x", ("rank 2", "Actor pid 9")),
        ("plain", ("", "")),
    ],
)
def test_who_wrote_a_line(line: str, who: tuple[str, str]) -> None:
    assert find_who(line.encode()) == who


@pytest.mark.parametrize(
    ("early", "late", "seconds"),
    [
        ("2025-12-31 23:59:50", "2026-01-01T00:00:10Z", 20),
        ("2024-02-28 00:00:00", "2024-03-01 00:00:00", 2 * 86400),
        ("[E321 02:07:08.4]", "[E322 02:07:08.4]", 86400),
        ("[    1.500000] a", "[   91.500000] b", 90),
        ("Nov 29 10:00:00 host kernel:", "Nov 30 10:00:00 host kernel:", 86400),
        ("INFO 09-12 23:40:47 x", "INFO 09-12 23:41:47 x", 60),
    ],
)
def test_times_of_one_kind_have_a_distance(early: str, late: str, seconds: int) -> None:
    first, second = find_stamp(early.encode()), find_stamp(late.encode())
    assert first is not None
    assert second is not None
    assert first.kind == second.kind
    assert second.seconds - first.seconds == seconds


# Libraries ----------------------------------------------------------------------------------------


def test_libraries_are_checked_at_once() -> None:
    inventory = fatbin.scan(str(FIXTURES / "lib_3arch.so"))
    logs = [("log", io.BytesIO(SYMPTOMS["E209"].encode()))]
    diagnosis = diagnose(logs, gpus=parse_gpus("8.0"), libraries=inventory)
    assert found(diagnosis) == {"E209": "likely", "LIBRARY": "likely"}
    assert diagnosis.causes[1].details[0].startswith("FB101 lib_3arch.so has no code for 8.0")
    fine = diagnose([("log", io.BytesIO(b""))], gpus=parse_gpus("9.0"), libraries=inventory)
    assert fine.causes == ()
    assert fine.verdict is not None
    assert fine.verdict.outcome == "PASS"
    with pytest.raises(ArchitectureError):
        diagnose([("log", io.BytesIO(b""))], libraries=inventory)


# Bytes --------------------------------------------------------------------------------------------


def test_lines_of_any_length_and_number() -> None:
    needle = SYMPTOMS["E209"]
    for before in (CHUNK_BYTES - 40, CHUNK_BYTES, LONGEST_LINE - 20, 3 * LONGEST_LINE + 5):
        diagnosis = read("x" * before + " " + needle)
        assert list(found(diagnosis)) == ["E209"], before
        assert len(diagnosis.causes[0].evidence[0].text) <= 200
        assert "no kernel image is available" in diagnosis.causes[0].evidence[0].text
    many = read("quiet\n" * 200_000 + needle)
    assert many.lines == 200_001
    assert many.causes[0].evidence[0].line == 200_001


def test_evidence_is_bounded_and_counted() -> None:
    (cause,) = read(SYMPTOMS["E209"] * 1000).causes
    assert (len(cause.evidence), cause.lines) == (3, 1000)


def test_a_compressed_log_is_read() -> None:
    data = gzip.compress(SYMPTOMS["E209"].encode())
    assert list(found(read(data))) == ["E209"]
    with pytest.raises(SourceError, match="damaged gzip data"):
        read(data[:-12])
    with pytest.raises(SourceError):
        read(b"\x1f\x8b" + b"no gzip at all")


def test_another_encoding_is_refused() -> None:
    with pytest.raises(SourceError, match="found UTF-16"):
        read(SYMPTOMS["E209"].encode("utf-16"))


def test_what_was_read_before_an_error_counts() -> None:
    errors: list[FatbinError] = []
    logs = [("a", io.BytesIO(b"\xff\xfe")), ("b", io.BytesIO(SYMPTOMS["E209"].encode()))]
    diagnosis = diagnose(logs, report=errors.append)
    assert list(found(diagnosis)) == ["E209"]
    assert [str(error) for error in errors] == ["a: expected text in UTF-8, found UTF-16"]


def test_a_diagnosis_is_json() -> None:
    diagnosis = read(START + WENT_ON + SYMPTOMS["E209"], gpus="9.0")
    document = json.loads(json.dumps(diagnosis.to_dict()))
    assert document["schema_version"] == 1
    assert document["verdict"] is None
    assert document["causes"][0]["confidence"] == str(Confidence.LIKELY)
