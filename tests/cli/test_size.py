"""``fatbin size`` as a user meets it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from support import FIXTURES

from fatbin.cli import exits, main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["size", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def fixture(name: str) -> str:
    return str(FIXTURES / name)


def table(out: str) -> list[str]:
    return [" ".join(line.split()) for line in out.splitlines()]


def test_parts_and_architectures(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, fixture("lib_rdc.so"))
    assert (code, err) == (exits.PASS, "")
    assert table(out) == [
        f"{fixture('lib_rdc.so')} (ELF x86_64, 41,352 bytes)",
        "part bytes share",
        "host code 2,934 7.1 %",
        "host data and tables 16,106 38.9 %",
        "device code 15,976 38.6 %",
        "relocatable leftovers 5,554 13.4 %",
        "container headers 768 1.9 %",
        "payload padding 14 0.0 %",
        "total 41,352 100.0 %",
        "",
        "part arch entries stored bytes share inflated bytes ratio",
        "device code sm_100f 1 9,792 23.7 % 9,792 1.00",
        "device code sm_80 1 6,184 15.0 % 6,184 1.00",
        "relocatable leftovers sm_100f 2 2,928 7.1 % 12,624 4.31",
        "relocatable leftovers sm_80 2 1,935 4.7 % 7,168 3.70",
        "relocatable leftovers compute_80 2 691 1.7 % 1,283 1.86",
    ]


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        (
            "kind",
            [
                "device code group 1 1,450 39.3 % 7,088 4.89",
                "device code sass 1 1,438 39.0 % 5,600 3.89",
                "device code ptx 1 380 10.3 % 823 2.17",
                "device code sass in group 2 in group - 7,088 -",
            ],
        ),
        (
            "place",
            [
                "device code bare 3 3,268 88.6 % 13,511 4.13",
                "device code bare in group 2 in group - 7,088 -",
            ],
        ),
    ],
)
def test_other_groupings(capsys: pytest.CaptureFixture[str], by: str, rows: list[str]) -> None:
    code, out, _ = run(capsys, "--by", by, fixture("concat.fatbin"))
    assert code == exits.PASS
    lines = table(out)
    assert lines[lines.index("") + 2 :] == rows


def test_top_adds_up_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--top", "1", fixture("lib_3arch.so"))
    assert table(out)[-2:] == [
        "device code sm_120 1 1,337 6.1 % 5,600 4.19",
        "device code 2 more 2 1,833 8.3 % 6,960 3.80",
    ]


def test_by_library(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--by", "library", fixture("libmixed.a"), fixture("lib_3arch.so"))
    lines = table(out)
    assert len(lines) == 7
    assert lines[1] == (f"{fixture('lib_3arch.so')} 21,992 1,398 17,154 3,170 0 270 12,560 3.96")
    assert lines[-2] == "archive tables and other members 1,554"
    assert lines[-1].startswith("total 50,538 2,327 22,905 22,979 0 773 ")


def test_by_library_with_fewer_rows(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--by", "library", "--top", "1", fixture("libmixed.a"))
    lines = table(out)
    assert [line.split(" ")[0] for line in lines[2:]] == ["2", "archive", "total"]


def test_by_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--by", "kernel", "--top", "1", fixture("lib_rdc.so"))
    assert code == exits.PASS
    assert table(out) == [
        fixture("lib_rdc.so"),
        "kernel images code bytes duplicates duplicate bytes",
        "_Z2k1Pf 4 1,536 2 768",
        "1 more 4 1,536 2 768",
        "2 kernel names in 6 images, 3,072 bytes of code, of which 1,536 are duplicates",
        "4 device functions, 1,024 bytes",
    ]


FILES = sorted(p for p in FIXTURES.iterdir() if p.is_file() and p.suffix != ".json")


@pytest.mark.parametrize("by", ["arch", "kind", "place", "library"])
def test_stored_bytes_of_csv_add_up_to_the_file(
    capsys: pytest.CaptureFixture[str], by: str
) -> None:
    paths = [path for path in FILES if path.name != "libthin.a"]
    _, out, _ = run(capsys, "--format", "csv", "--by", by, *map(str, paths))
    sums: dict[str, int] = {}
    for row in csv.DictReader(io.StringIO(out)):
        sums[row["file"]] = sums.get(row["file"], 0) + int(row["stored_bytes"])
    assert sums == {str(path): path.stat().st_size for path in paths}


def test_kernels_as_csv(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--format", "csv", "--by", "kernel", fixture("multi.fatbin"))
    (row,) = csv.DictReader(io.StringIO(out))
    assert row["kernel"] == "saxpy"
    assert row["archs"] == "sm_75 sm_90a sm_100f"
    assert (row["images"], row["duplicate_bytes"]) == ("3", "0")


def test_json_has_everything(capsys: pytest.CaptureFixture[str]) -> None:
    files = [fixture("concat.fatbin"), fixture("libmixed.a")]
    _, out, _ = run(capsys, "--format", "json", *files)
    document = json.loads(out)
    assert document["schema_version"] == 1
    assert "kernels" not in document
    assert [found["target"] for found in document["files"]] == files
    for found in document["files"]:
        assert found["size"] == Path(found["target"]).stat().st_size
        assert found["size"] == found["archive"] + sum(lib["size"] for lib in found["libraries"])
        for library in found["libraries"]:
            assert sum(library["parts"].values()) == library["size"]
            assert sum(library["overhead"].values()) == library["parts"]["overhead"]
    (library,) = document["files"][0]["libraries"]
    assert {
        "place": "bare",
        "kind": "sass",
        "arch": "sm_90a",
        "in_group": True,
        "leftover": False,
        "entries": 1,
        "stored": 0,
        "inflated": 3_848,
    } in library["device"]


def test_json_with_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--format", "json", "--by", "kernel", fixture("lib_rdc.so"))
    (library,) = json.loads(out)["kernels"]
    assert library["target"] == fixture("lib_rdc.so")
    assert library["kernels"][0] == {
        "name": "_Z2k1Pf",
        "archs": ["sm_80", "sm_100f"],
        "images": 4,
        "code": 1_536,
        "duplicates": 2,
        "duplicate_code": 768,
    }


def test_damage_is_told_once_and_the_rest_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--by", "kernel", fixture("truncated.fatbin"))
    assert code == exits.ERROR
    assert "1 kernel name in 1 image" in out
    assert len(err.splitlines()) == 1
    assert "+0xc80: entry (sass, SM 90)" in err


@pytest.mark.parametrize("by", ["arch", "kernel"])
def test_a_blank_line_stands_between_files(capsys: pytest.CaptureFixture[str], by: str) -> None:
    one, two = fixture("multi.fatbin"), fixture("saxpy_80.cubin")
    outputs = [run(capsys, "--by", by, *files)[1] for files in ([one], [two], [one, two])]
    assert outputs[2] == f"{outputs[0]}\n{outputs[1]}"


def test_a_missing_file_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "no/such/file", fixture("multi.fatbin"))
    assert code == exits.ERROR
    assert err.startswith("fatbin: no/such/file: ")
    assert "13,752 bytes" in out


def test_no_device_code(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, fixture("host_nocuda.o"))
    assert (code, err) == (exits.NOTHING, f"fatbin: no device code in {fixture('host_nocuda.o')}\n")
    assert "total" in out
    assert run(capsys, "--allow-empty", fixture("host_nocuda.o"))[0] == exits.PASS


@pytest.mark.parametrize("number", ["0", "-1", "x", "²"])
def test_top_wants_a_positive_number(capsys: pytest.CaptureFixture[str], number: str) -> None:
    with pytest.raises(SystemExit) as error:
        main(["size", f"--top={number}", fixture("multi.fatbin")])
    assert error.value.code == exits.ERROR
    assert "expected a whole number from 1 on, found" in capsys.readouterr().err


def test_header_modes_inflate_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from fatbin.format import codec

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(codec, "decompress", refuse)
    for by in ("arch", "kind", "place", "library"):
        assert run(capsys, "--by", by, fixture("concat.fatbin"))[0] == exits.PASS
    with pytest.raises(AssertionError):
        run(capsys, "--by", "kernel", fixture("concat.fatbin"))
