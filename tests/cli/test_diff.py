"""``fatbin diff`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hosts import archive
from support import FIXTURES

from fatbin.cli import exits, main
from fatbin.format.build import EntrySpec, build


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["diff", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def fixture(name: str) -> str:
    return str(FIXTURES / name)


OLD, NEW = fixture("lib_1arch.so"), fixture("lib_3arch.so")


def table(out: str) -> list[str]:
    return [" ".join(line.split()) for line in out.splitlines()]


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--kernels", OLD, NEW)
    assert (code, err) == (exits.PASS, "")
    assert table(out) == [
        f"{OLD} -> {NEW}",
        "architectures, PTX versions or kernels differ",
        "",
        "lib_1arch.so -> lib_3arch.so",
        "+ loadable sass: sm_75, sm_90a, sm_120",
        "- loadable sass: sm_80",
        "- loadable ptx: compute_80",
        "+ 1 kernel of both sides, for sm_75, sm_90a, sm_120",
        "- 1 kernel of both sides, for sm_80, compute_80",
        "size before after change",
        "bytes of the file 21,976 21,992 +16 (+0.1 %)",
        "bytes of device code 3,620 3,170 -450 (-12.4 %)",
        "bytes of it inflated 4,063 12,560 +8,497 (+209.1 %)",
        "images 2 3 +1 (+50.0 %)",
    ]


def test_a_file_and_itself(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--kernels", "--exit-code", OLD, OLD)
    assert (code, err) == (exits.PASS, "")
    assert table(out) == [f"{OLD} -> {OLD}", "no difference"]


def test_exit_code_is_of_what_can_run(capsys: pytest.CaptureFixture[str]) -> None:
    plain, packed = fixture("cmode_none.fatbin"), fixture("cmode_size.fatbin")
    code, out, _ = run(capsys, "--exit-code", "--kernels", plain, packed)
    assert code == exits.PASS
    assert table(out)[1] == "same architectures, PTX versions and kernels; sizes or linkage differ"
    assert run(capsys, "--exit-code", OLD, NEW)[0] == exits.FAIL
    assert run(capsys, OLD, NEW)[0] == exits.PASS


def test_kernels_count_only_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    files = fixture("saxpy_80.cubin"), fixture("devfunc_80.cubin")
    code, out, _ = run(capsys, "--exit-code", *files)
    assert code == exits.PASS
    assert "kernel" not in out
    code, out, _ = run(capsys, "--exit-code", "--kernels", *files)
    assert code == exits.FAIL
    assert "- kernel saxpy (sm_80)" in out


def test_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--format", "markdown", "--kernels", fixture("lib_rdc.so"), NEW)
    assert code == exits.PASS
    lines = out.splitlines()
    assert lines[0] == (
        f"`{fixture('lib_rdc.so')}` → `{NEW}`: architectures, PTX versions or kernels differ"
    )
    assert "### `lib_rdc.so -> lib_3arch.so`" in lines
    assert "- **gained** loadable sass: sm\\_75, sm\\_90a, sm\\_120" in lines
    assert "- **lost** kernel `_Z2k1Pf` (sm\\_80, compute\\_80, sm\\_100f)" in lines
    assert "| bytes of the file | 41,352 | 21,992 | -19,360 (-46.8 %) |" in lines


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--format", "json", "--kernels", OLD, NEW)
    assert code == exits.PASS
    document = json.loads(out)
    assert (document["schema_version"], document["differs"]) == (1, True)
    assert (document["before"], document["after"], document["issues"]) == (OLD, NEW, [])
    (library,) = document["libraries"]
    assert library["lost"] == [
        {"place": "loadable", "kind": "sass", "arch": "sm_80"},
        {"place": "loadable", "kind": "ptx", "arch": "compute_80"},
    ]
    assert library["kernels_lost"] == [
        {"name": "saxpy", "archs": ["sm_80", "compute_80"], "known": True}
    ]
    assert library["sizes_after"] == {
        "file": 21_992, "stored": 3_170, "inflated": 12_560, "images": 3
    }  # fmt: skip


def test_long_lists_are_cut_unless_all_is_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    names = [f"k{number:02}" for number in range(30)]
    text = (FIXTURES / "saxpy_80.ptx").read_text()
    body = text + "".join(f".visible .entry {name}() {{ ret; }}\n" for name in names)
    paths = []
    for name, ptx in (("a", text), ("b", body)):
        path = tmp_path / name
        path.write_bytes(build([EntrySpec.ptx(ptx)]))
        paths.append(str(path))
    _, out, _ = run(capsys, "--kernels", *paths)
    assert "  + kernel k19 (compute_80)\n  + 10 more kernels\n" in out
    _, out, _ = run(capsys, "--kernels", "--all", *paths)
    assert [line.split()[2] for line in out.splitlines() if "+ kernel" in line] == names


def test_libraries_on_one_side_only(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    member = (FIXTURES / "multi.fatbin").read_bytes()
    paths = []
    for number, names in enumerate((("same", "old"), ("same", "new"))):
        path = tmp_path / str(number)
        path.write_bytes(archive(*((name, member) for name in names)))
        paths.append(str(path))
    _, out, _ = run(capsys, *paths)
    assert "architectures or PTX versions differ; 1 library without a difference\n" in out
    assert "new (only in the second)" in out
    assert "old (only in the first)" in out


def test_names_cannot_steer_a_terminal_or_markdown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "`a`\x1b[31m"
    path.write_bytes((FIXTURES / "multi.fatbin").read_bytes())
    for form in ("text", "markdown"):
        _, out, _ = run(capsys, "--format", form, OLD, str(path))
        assert "\x1b" not in out
    assert "`a`" not in out


def test_damage_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, fixture("multi.fatbin"), fixture("truncated.fatbin"))
    assert code == exits.ERROR
    assert "not everything could be read" in out
    assert "truncated.fatbin+0xc80" in err


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, OLD, "no/such/file")
    assert (code, out) == (exits.ERROR, "")
    assert err.startswith("fatbin: no/such/file: ")
