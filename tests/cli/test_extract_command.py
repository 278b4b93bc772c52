"""``fatbin extract`` as a user meets it."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest
from support import FIXTURES

from fatbin.cli import exits, main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["extract", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def fixture(name: str) -> str:
    return str(FIXTURES / name)


def test_one_line_for_each_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    code, out, err = run(capsys, fixture("multi.fatbin"), "-o", str(folder), "--kind", "sass")
    assert (code, err) == (exits.PASS, "")
    rows = [line.split() for line in out.splitlines()]
    assert rows == [
        ["path", "kind", "arch", "bytes"],
        [str(folder / "multi.fatbin.1.1.sm_75.cubin"), "sass", "sm_75", "3,112"],
        [str(folder / "multi.fatbin.1.2.sm_90a.cubin"), "sass", "sm_90a", "3,848"],
        [str(folder / "multi.fatbin.1.4.sm_100f.cubin"), "sass", "sm_100f", "5,600"],
    ]
    for row, name in zip(rows[1:], ("75", "90a", "100f"), strict=True):
        expected = (FIXTURES / f"saxpy_{name}.cubin").read_bytes()
        assert Path(row[0]).read_bytes() == expected


def test_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = fixture("lib_rdc.so")
    arguments = (source, "-o", str(tmp_path), "--place", "relocatable", "--format", "json")
    code, out, err = run(capsys, *arguments)
    assert (code, err) == (exits.PASS, "")
    document = json.loads(out)
    assert list(document) == ["schema_version", "files", "issues"]
    assert (document["schema_version"], document["issues"]) == (1, [])
    assert len(document["files"]) == len(os.listdir(tmp_path)) == 6
    first = document["files"][0]
    assert first == {
        "path": str(tmp_path / "lib_rdc.so.1.1.sm_80.cubin"),
        "library": source,
        "place": "relocatable",
        "module": 1,
        "entry": 1,
        "offset": first["offset"],
        "kind": "sass",
        "arch": "sm_80",
        "identifier": "",
        "size": 3392,
        "sha256": sha256((FIXTURES / "rdc_80.cubin").read_bytes()).hexdigest(),
    }


def test_list_writes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = (fixture("multi.fatbin"), "-o", str(tmp_path), "--format", "json")
    code, said, _ = run(capsys, *arguments, "--list")
    assert code == exits.PASS
    assert os.listdir(tmp_path) == []
    _, written, _ = run(capsys, *arguments)
    assert said == written
    assert len(os.listdir(tmp_path)) == 5
    assert run(capsys, *arguments, "--list")[0] == exits.PASS


def test_existing_files_are_named_and_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    taken = tmp_path / "multi.fatbin.1.2.sm_90a.cubin"
    taken.write_text("mine")
    arguments = (fixture("multi.fatbin"), "-o", str(tmp_path))
    code, out, err = run(capsys, *arguments)
    assert code == exits.ERROR
    assert err.splitlines() == [
        f"fatbin: {taken}: exists already and was not overwritten",
        "fatbin: --force replaces files",
    ]
    assert len(out.splitlines()) == 5
    assert taken.read_text() == "mine"
    code, _, err = run(capsys, *arguments, "--force")
    assert (code, err) == (exits.PASS, "")
    assert taken.read_bytes() == (FIXTURES / "saxpy_90a.cubin").read_bytes()


def test_obfuscated_ltoir(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = (fixture("host_dlto.o"), "-o", str(tmp_path))
    code, out, err = run(capsys, *arguments)
    assert code == exits.ERROR
    assert "host_dlto.o.1.1.compute_80.ptx" in out
    problem, hint = err.splitlines()
    assert "obfuscated LTO-IR" in problem
    assert "--raw" in hint
    code, out, err = run(capsys, *arguments, "--raw", "--kind", "ltoir")
    assert (code, err) == (exits.PASS, "")
    assert ".ltoir.zstd-obfuscated" in out


def test_damage_does_not_stop_the_rest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = ("hostile_usz_small.fatbin", "missing", "src/saxpy.cu", "truncated.fatbin")
    code, out, err = run(capsys, *map(fixture, names), fixture("sm_80.fatbin"), "-o", str(tmp_path))
    assert code == exits.ERROR
    assert "sm_80.fatbin.1.1.sm_80.cubin" in out
    assert "truncated.fatbin.1.1.sm_75.cubin" in out
    assert len(err.splitlines()) == 4
    assert "does not inflate to the declared 100 bytes" in err
    assert "No such file" in err
    assert "found text" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("host_nocuda.o",),
        ("multi.fatbin", "--arch", "sm_80"),
        ("multi.fatbin", "--kind", "ltoir"),
        ("multi.fatbin", "--kernel", "nothing*"),
        ("multi.fatbin", "--place", "loadable"),
        ("saxpy_80.cubin", "--containers"),
    ],
)
def test_nothing_selected(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    name, *options = arguments
    folder = tmp_path / "out"
    code, out, err = run(capsys, fixture(name), "-o", str(folder), *options)
    assert (code, out) == (exits.NOTHING, "")
    assert err == f"fatbin: nothing to extract from {fixture(name)}\n"
    assert not folder.exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--kind", "cubin"), "expected a kind out of"),
        (("--arch", "sm90"), "expected an architecture such as"),
        (("--place", "there"), "expected a place out of"),
    ],
)
def test_words_that_mean_nothing(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...], text: str
) -> None:
    code, out, err = run(capsys, fixture("multi.fatbin"), *options)
    assert (code, out) == (exits.ERROR, "")
    (line,) = err.splitlines()
    assert text in line


def test_raw_and_containers_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["extract", "--raw", "--containers", fixture("multi.fatbin")])
    assert caught.value.code == exits.ERROR
    assert "not allowed with" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_ends_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    sources = (fixture("multi.fatbin"), fixture("sm_80.fatbin"))
    code, out, err = run(capsys, *sources, "-o", str(tmp_path / "file"))
    assert (code, out) == (exits.ERROR, "")
    (line,) = err.splitlines()
    assert "cannot be written" in line


def test_files_of_equal_names_are_told_apart(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.fatbin").write_bytes((FIXTURES / "sm_80.fatbin").read_bytes())
    sources = (str(tmp_path / "a" / "x.fatbin"), str(tmp_path / "b" / "x.fatbin"))
    code, _, _ = run(capsys, *sources, "-o", str(tmp_path / "out"))
    assert code == exits.PASS
    assert sorted(os.listdir(tmp_path / "out")) == [
        "x.fatbin.1.1.sm_80.cubin",
        "x.fatbin.1.1.sm_80~2.cubin",
    ]


def test_the_default_folder_is_the_current_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, _ = run(capsys, fixture("sm_80.fatbin"))
    assert code == exits.PASS
    assert os.listdir(tmp_path) == ["sm_80.fatbin.1.1.sm_80.cubin"]
