"""``fatbin gpus`` as a user meets it."""

from __future__ import annotations

import json

import pytest

from fatbin.cli import exits, main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["gpus", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def table(out: str) -> list[str]:
    return [" ".join(line.split()) for line in out.splitlines()]


def test_all_architectures(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys)
    assert (code, err) == (exits.PASS, "")
    lines = table(out)
    assert lines[0] == (
        "cc arch generation examples class first toolkit last toolkit first PTX ISA first driver "
        "last driver"
    )
    assert len(lines) == 1 + 28 + 1
    assert "7.0 sm_70 Volta V100, TITAN V data centre 9.0 12.9 6.0 384 580" in lines
    assert "9.0 sm_90 Hopper H100, H200, GH200 data centre 11.8 current 7.8 520 current" in lines
    assert "8.8 ? sm_88 Ampere no GPU known unknown 13.0 current 9.0 580 current" in lines
    assert lines[-1] == "? not certain"


def test_only_what_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "rtx 3090", "9.0", "sm_86")
    assert code == exits.PASS
    lines = table(out)
    assert [line.split(" ")[0] for line in lines[1:3]] == ["8.6", "9.0"]
    assert "9.0: sm_90a code from R525 on" in lines
    assert "8.6 RTX 3090 consumer" in lines
    assert "9.0 H200 data centre" in lines
    assert not any("V100" in line or "not certain" in line for line in lines)


def test_uncertain_gpus_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "12.0")
    lines = table(out)
    assert "12.0 ? RTX 6000D data centre" in lines
    assert "12.0 RTX 5090 consumer" in lines
    assert lines[-1] == "? not certain"


def test_json_has_everything(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--format", "json")
    assert code == exits.PASS
    document = json.loads(out)
    assert document["schema_version"] == 1
    assert len(document["architectures"]) == 28
    (row,) = (row for row in document["architectures"] if row["sm"] == 70)
    assert row == {
        "cc": "7.0",
        "sm": 70,
        "generation": "Volta",
        "examples": "V100, TITAN V",
        "device_class": "data centre",
        "first_toolkit": "9.0",
        "first_ptx_isa": "6.0",
        "sources": ["ptxas", "cuda-legacy-gpus", "release-notes", "deprecation"],
        "last_toolkit": "12.9",
        "variants": [],
        "first_driver": 384,
        "last_driver": 580,
        "driver_note": "",
        "integrated": False,
        "certain": True,
        "note": "",
        "gpus": [
            {"name": "V100", "kind": "data centre", "sources": ["cuda-legacy-gpus"], "certain": True},
            {"name": "V100S", "kind": "data centre", "sources": ["pci-ids"], "certain": True},
            {"name": "Quadro GV100", "kind": "workstation", "sources": ["cuda-legacy-gpus"], "certain": True},
            {"name": "TITAN V", "kind": "workstation", "sources": ["cuda-legacy-gpus"], "certain": True},
        ],
    }  # fmt: skip


def test_json_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--format", "json", "NVIDIA H100 80GB HBM3")
    (row,) = json.loads(out)["architectures"]
    assert (row["cc"], row["last_toolkit"], row["variants"]) == ("9.0", None, ["a"])


@pytest.mark.parametrize(
    ("gpu", "message"),
    [
        ("RTX 6000", "'RTX 6000' can be several GPUs: Quadro RTX 6000 (7.5), RTX 6000 Ada"),
        ("RTX 9090", "no GPU is known as 'RTX 9090'; the nearest are RTX 5090"),
        ("sm_90a", "'sm_90a', which is an architecture of code"),
        ("13.0", "no GPU of compute capability 13.0 is known"),
        ("", "expected GPUs such as 9.0 or RTX 5090"),
    ],
)
def test_what_is_not_known(capsys: pytest.CaptureFixture[str], gpu: str, message: str) -> None:
    code, out, err = run(capsys, gpu)
    assert (code, out) == (exits.ERROR, "")
    assert message in err
