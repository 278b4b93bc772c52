"""The command line as a user meets it: documents to stdout, talk to stderr, exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import FIXTURES, ROOT

import fatbin
from fatbin.cli import exits, main
from fatbin.inventory import Inventory


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def fixture(name: str) -> str:
    return str(FIXTURES / name)


def test_list_adds_up_by_place_kind_and_architecture(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "list", fixture("lib_rdc.so"))
    assert (code, err) == (exits.PASS, "")
    assert out.splitlines() == [
        f"{fixture('lib_rdc.so')}  (ELF x86_64, 41,352 B, 3 containers)",
        "  place        kind  arch        count   stored  inflated",
        "  loadable     sass  sm_80           1  6,184 B   6,184 B",
        "  loadable     sass  sm_100f         1  9,792 B   9,792 B",
        "  relocatable  sass  sm_80           2  1,935 B   7,168 B",
        "  relocatable  sass  sm_100f         2  2,928 B  12,624 B",
        "  relocatable  ptx   compute_80      2    691 B   1,283 B",
    ]


def test_list_entries(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", "--entries", fixture("concat.fatbin"))
    assert code == exits.PASS
    rows = [line.split() for line in out.splitlines()[2:]]
    assert [(row[1], row[2], row[3]) for row in rows] == [
        ("0x10", "ptx", "compute_80"),
        ("0x1e0", "sass", "sm_100f"),
        ("0x7f0", "group", "-"),
        ("0x838", "sass", "sm_80"),
        ("0x878", "sass", "sm_90a"),
    ]


def test_inspect_shows_headers_options_and_linkage(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "inspect", fixture("lib_rdc.so"))
    assert (code, err) == (exits.PASS, "")
    assert "needed    libstdc++.so.6, libgcc_s.so.1, libc.so.6" in out
    assert "wrapper version 2 (device-linked)" in out
    assert "'--compile-only'" in out
    assert ".nv.compat 0209" in out
    assert re.search(r"0x38b8 +sass +sm_80 +1\.8 +64 +none +6184 +6184 +bits-64 host-linux", out)


def test_inspect_tells_damage_in_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "inspect", fixture("truncated.fatbin"))
    assert (code, err) == (exits.ERROR, "")
    assert "1 issue" in out
    assert "+0xc80: entry (sass, SM 90): header of 64 and payload of 3848 bytes run past" in out
    assert "damaged" in out


def test_json_is_the_inventory(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("list", "inspect"):
        code, out, _ = run(
            capsys, command, "--format", "json", fixture("multi.fatbin"), fixture("libmixed.a")
        )
        assert code == exits.PASS
        inventory = Inventory.from_json(out)
        assert inventory.targets == (fixture("multi.fatbin"), fixture("libmixed.a"))
        assert len(inventory.libraries) == 4
        assert json.loads(out)["schema_version"] == 1


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("no/such/file", exits.ERROR, "No such file"),
        (
            "../docs",
            exits.ERROR,
            "expected a directory with files of a known format, found none in it",
        ),
        ("src/saxpy.cu", exits.ERROR, "found text"),
        ("host_nocuda.o", exits.NOTHING, "no device code in"),
        ("libnocuda.a", exits.NOTHING, "no device code in"),
        ("hostile_hs0.fatbin", exits.ERROR, "header size 0 is smaller than the fixed 64 bytes"),
    ],
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], name: str, code: int, text: str
) -> None:
    got, _, err = run(capsys, "list", fixture(name))
    assert got == code
    (line,) = err.splitlines()
    assert line.startswith("fatbin: ")
    assert text in line


def test_an_empty_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    code, out, err = run(capsys, "list", str(tmp_path / "empty"))
    assert (code, out) == (exits.ERROR, "")
    assert "empty file" in err


def test_allow_empty(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("list", "inspect"):
        for name in ("host_nocuda.o", "empty.fatbin"):
            assert run(capsys, command, fixture(name))[0] == exits.NOTHING
            assert run(capsys, command, "--allow-empty", fixture(name))[0] == exits.PASS


def test_one_bad_file_does_not_stop_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "list", "missing", fixture("sm_80.fatbin"))
    assert code == exits.ERROR
    assert "sm_80" in out
    assert "missing: No such file" in err


def test_verify_finds_what_headers_hide(capsys: pytest.CaptureFixture[str]) -> None:
    name = fixture("hostile_usz_small.fatbin")
    assert run(capsys, "list", name)[0] == exits.PASS
    code, _, err = run(capsys, "list", "--verify", name)
    assert code == exits.ERROR
    assert "does not inflate to the declared 100 bytes" in err


@pytest.mark.parametrize(
    "arguments", [[], ["list"], ["lost"], ["list", "--format", "xml", "x"], ["--no"]]
)
def test_usage_errors(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == exits.ERROR
    assert "usage: fatbin" in capsys.readouterr().err


def test_names_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from fatbin.format.build import EntrySpec, build

    path = tmp_path / "x.fatbin"
    path.write_bytes(
        build([EntrySpec(kind=2, payload=b"\x7fELF", arch=80, identifier="\x1b[2Jboo\n")])
    )
    for arguments in (("list", "--entries"), ("inspect",)):
        _, out, _ = run(capsys, *arguments, str(path))
        assert "\x1b" not in out
        assert "\\x1b[2Jboo\\n" in out


def child(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | extra,
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_ways_to_start_give_the_same() -> None:
    launcher = child("cli.py", "list", "fixtures/lib_3arch.so")
    module = child("-m", "fatbin", "list", "fixtures/lib_3arch.so")
    script = subprocess.run(
        [str(Path(sys.executable).parent / "fatbin"), "list", "fixtures/lib_3arch.so"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert launcher.returncode == module.returncode == script.returncode == exits.PASS
    assert launcher.stdout == module.stdout == script.stdout
    assert "sm_120" in launcher.stdout
    assert launcher.stderr == module.stderr == script.stderr == ""


def test_version() -> None:
    assert child("-m", "fatbin", "--version").stdout == f"fatbin {fatbin.__version__}\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    code = (
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-m', 'fatbin', 'inspect', *['fixtures/lib_rdc.so'] * 200],"
        " stdout=subprocess.PIPE, stderr=subprocess.PIPE)\n"
        "p.stdout.readline(); p.stdout.close()\n"
        "sys.stdout.write(p.stderr.read().decode())\n"
    )
    assert child("-c", code).stdout == ""


def test_names_of_any_bytes_are_printed(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.fatbin")
    with open(path, "wb") as file:
        file.write((FIXTURES / "sm_80.fatbin").read_bytes())
    done = child(
        "-m", "fatbin", "list", os.fsdecode(path), PYTHONIOENCODING="ascii", PYTHONUTF8="0"
    )
    assert done.returncode == exits.PASS
    assert "caf\\udce9.fatbin" in done.stdout


@pytest.mark.parametrize("no_color", [False, True])
def test_a_terminal_gets_rich_tables(no_color: bool) -> None:  # noqa: FBT001
    import pty

    leader, follower = pty.openpty()
    extra = {"NO_COLOR": "1"} if no_color else {}
    environment = {
        key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM", "CI")
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "fatbin", "list", "fixtures/lib_3arch.so"],
        cwd=ROOT,
        stdout=follower,
        env=environment | {"TERM": "xterm-256color", "COLUMNS": "100"} | extra,
    )
    os.close(follower)
    out = b""
    while True:
        try:
            chunk = os.read(leader, 4096)
        except OSError:
            break
        if not chunk:
            break
        out += chunk
    os.close(leader)
    assert process.wait() == exits.PASS
    assert "sm_120" in out.decode()
    assert "─" in out.decode()
    assert (b"\x1b[36m" in out) is not no_color


def test_a_program_that_calls_main_keeps_its_collector_and_its_threads_their_pace() -> None:
    import gc

    from fatbin.cli import main

    interval = sys.getswitchinterval()
    assert gc.isenabled()
    assert main(["explain", "--list"]) == 0
    with pytest.raises(SystemExit):
        main(["--help"])
    assert gc.isenabled()
    assert sys.getswitchinterval() == interval
