"""``fatbin kernels`` as a user meets it."""

from __future__ import annotations

import csv
import io
import json
import sys

import pytest
from support import FIXTURES, require

from fatbin.cli import exits, main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["kernels", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def fixture(name: str) -> str:
    return str(FIXTURES / name)


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, fixture("res_80.cubin"))
    assert (code, err) == (exits.PASS, "")
    assert out.splitlines()[:2] == [
        fixture("res_80.cubin"),
        "  arch           regs  shared   stack      code  kernel",
    ]
    rows = [line.split() for line in out.splitlines()[2:]]
    assert [row[0] for row in rows] == ["sm_80"] * 5
    assert {row[5]: (row[1], row[2], row[3]) for row in rows} == {
        "kreg": ("24", "0", "0"),
        "kdyn": ("12", "0", "0"),
        "krec": ("34", "0", "0"),
        "klocal": ("30", "0", "256"),
        "kshared": ("10", "1,200", "0"),
    }


def test_filters(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--kernel", "k[ds]*", fixture("res_80.cubin"))
    assert [line.split()[5] for line in out.splitlines()[2:]] == ["kdyn", "kshared"]
    _, out, _ = run(capsys, "--arch", "9.0a,sm_75", fixture("multi.fatbin"))
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["sm_75", "sm_90a"]
    _, out, _ = run(capsys, "--arch", "compute_90a", fixture("multi.fatbin"))
    assert [line.split() for line in out.splitlines()[2:]] == [
        ["compute_90a", "-", "-", "-", "-", "saxpy"]
    ]
    _, out, _ = run(capsys, "--kind", "all", "--limit", "3", fixture("multi.fatbin"))
    assert len(out.splitlines()) == 5


def test_order(capsys: pytest.CaptureFixture[str]) -> None:
    for sort, first in (
        ("registers", "krec"),
        ("shared", "kshared"),
        ("stack", "klocal"),
        ("code", "kreg"),
        ("name", "kdyn"),
    ):
        _, out, _ = run(capsys, "--sort", sort, "--limit", "1", fixture("res_80.cubin"))
        assert out.splitlines()[2].split()[5] == first, sort
    _, out, _ = run(capsys, "--sort", "arch", fixture("five_archs.fatbin"))
    assert [line.split()[0] for line in out.splitlines()[2:]] == [
        "sm_75", "sm_80", "sm_90", "sm_100", "sm_120",
    ]  # fmt: skip


def test_missing(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("sm_86", "8.6"):
        code, out, _ = run(capsys, "--missing", text, fixture("five_archs.fatbin"))
        assert code == exits.PASS
        assert (
            out == "1 kernel without SASS for sm_86\n  saxpy  (sm_75 sm_80 sm_90 sm_100 sm_120)\n"
        )
    code, out, _ = run(
        capsys, "--missing", "sm_120", "--format", "json", fixture("five_archs.fatbin")
    )
    assert json.loads(out) == {"schema_version": 1, "missing": "sm_120", "kernels": []}
    assert code == exits.PASS
    _, out, _ = run(capsys, "--missing", "sm_86", "--format", "csv", fixture("five_archs.fatbin"))
    assert list(csv.reader(io.StringIO(out)))[1] == [
        "sm_86",
        "sm_75 sm_80 sm_90 sm_100 sm_120",
        "saxpy",
    ]


def test_json_and_csv(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--format", "json", fixture("res_90a.cubin"))
    document = json.loads(out)
    assert document["schema_version"] == 1
    assert document["issues"] == []
    (shared,) = [k for k in document["kernels"] if k["name"] == "kshared"]
    assert (shared["shared"], shared["max_threads"], shared["barriers"]) == (2224, [128, 1, 1], 1)
    assert shared["parameters"] == [{"ordinal": 0, "offset": 0, "size": 8}]
    assert shared["constant"] == {"0": 536}
    _, out, _ = run(capsys, "--format", "csv", fixture("res_90a.cubin"))
    table = list(csv.DictReader(io.StringIO(out)))
    assert [row["name"] for row in table] == [k["name"] for k in document["kernels"]]
    assert table[4]["max_threads"] == "128x1x1"


def test_demangled(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        import pydemumble  # noqa: F401
    except ModuleNotFoundError:
        require("pydemumble", "names cannot be demangled without it")
    _, out, _ = run(capsys, "--demangle", "--kernel", "k1(*", fixture("lib_rdc.so"))
    assert [line.split()[5] for line in out.splitlines()[2:]] == ["k1(float*)"] * 2
    _, out, _ = run(capsys, "--demangle", fixture("sm_80.fatbin"))
    assert out.splitlines()[2].split()[5] == "saxpy"


def test_without_a_demangler(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydemumble", None)
    code, out, err = run(capsys, "--demangle", fixture("sm_80.fatbin"))
    assert (code, out) == (exits.ERROR, "")
    assert "pip install 'fatbin[demangle]'" in err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("missing.so",), exits.ERROR, "No such file"),
        (("--arch", "gfx90", fixture("sm_80.fatbin")), exits.ERROR, "expected an architecture"),
        (("--arch", ",", fixture("sm_80.fatbin")), exits.ERROR, "expected architectures such as"),
        (("--missing", "x", fixture("sm_80.fatbin")), exits.ERROR, "compute capability"),
        (("--kernel", "nothing*", fixture("sm_80.fatbin")), exits.NOTHING, "no such kernel in"),
        ((fixture("hostile_bomb64m.fatbin"),), exits.ERROR, "over the limit of 1000 times"),
    ],
)
def test_bad_input(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, text: str
) -> None:
    got, _, err = run(capsys, *arguments)
    assert got == code
    assert text in err
