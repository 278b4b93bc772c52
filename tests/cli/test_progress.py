"""A bar where somebody watches, and nothing anywhere else."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import pytest
from packing import zipped
from support import FIXTURES, ROOT, require

from fatbin.cli import exits, main, progress
from fatbin.report.progress import RichBar, progress_text
from fatbin.scanning.work import Reached

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
CLEAN = "\x1b[2K"
COMMANDS = [["list"], ["inspect"], ["check", "--no-policy", "--gpu", "8.0"]]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def run(self, *arguments: str | Path) -> tuple[int, str]:
        """Run a command with this as its standard error."""
        self.seek(0)
        self.truncate()
        with patch.object(sys, "stderr", self):  # pytest puts its own in place before each test
            code = main([str(argument) for argument in arguments])
        return code, self.getvalue()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return a standard error that is a terminal, where everything takes long."""
    made = Terminal()
    monkeypatch.setattr(progress, "DELAY", 0)
    monkeypatch.setattr(progress, "_EVERY", 0)
    for name in ("CI", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    return made


@pytest.fixture
def package(tmp_path: Path) -> Path:
    path = tmp_path / "x.zip"
    path.write_bytes(zipped(*((f"{number}.cubin", CUBIN) for number in range(5))))
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_packages_directories_and_images_show_a_bar(
    command: list[str], package: Path, terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = package.parent / "tree"
    shutil.copytree(FIXTURES / "packages", folder)
    for number in range(4):
        (folder / f"{number}.cubin").write_bytes(CUBIN)
    image = FIXTURES / "images" / "demo.tar"
    for target, name in ((package, "4.cubin"), (folder, "3.cubin"), (image, "libdemo.so")):
        code, written = terminal.run(*command, "--no-cache", target)
        with_bar = capsys.readouterr().out
        assert name in written
        assert " of " in written
        assert written.rstrip().endswith(CLEAN)
        assert written.count("\x1b[?25l") == written.count("\x1b[?25h")
        assert terminal.run(*command, "--no-cache", "--no-progress", target) == (code, "")
        assert capsys.readouterr().out == with_bar
    assert with_bar


@pytest.mark.parametrize(
    ("name", "value"), [("TERM", "dumb"), ("CI", "true"), ("tty", "no"), ("DELAY", "long")]
)
def test_no_bar_where_nobody_watches(
    name: str, value: str, package: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "tty":
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    elif name == "DELAY":
        monkeypatch.setattr(progress, "DELAY", 1e9)
    else:
        monkeypatch.setenv(name, value)
    assert terminal.run("list", "--no-cache", package) == (exits.PASS, "")


def test_no_colour_is_honoured(
    package: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    import re

    def colours() -> list[str]:
        code, written = terminal.run("list", "--no-cache", package)
        assert code == exits.PASS
        return re.findall(r"\x1b\[[\d;]*m", written)

    assert [code for code in colours() if re.search(r"3\d", code)]
    monkeypatch.setenv("NO_COLOR", "1")
    assert not [code for code in colours() if re.search(r"3\d", code)]


def test_a_checkout_without_rich_has_no_bar(
    package: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Nothing:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name.partition(".")[0] == "rich":
                raise ModuleNotFoundError(name=name)

    for name in list(sys.modules):
        if name.partition(".")[0] == "rich" or name == "fatbin.report.progress":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Nothing, *sys.meta_path])
    assert terminal.run("list", "--no-cache", package) == (exits.PASS, "")


def test_an_error_comes_after_the_bar(package: Path, terminal: Terminal) -> None:
    data = package.read_bytes()
    package.write_bytes(data.replace(b"PK\1\2", b"PK\1\3", 3)[:-1])
    code, written = terminal.run("list", "--no-cache", package)
    assert code == exits.ERROR
    *_, last = written.split(CLEAN)
    assert last.strip().startswith("fatbin: ")


def test_an_interrupt_cleans_the_line(
    package: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = RichBar.show

    def show(bar: RichBar, reached: Reached) -> None:
        real(bar, reached)
        raise KeyboardInterrupt

    monkeypatch.setattr(RichBar, "show", show)
    code, written = terminal.run("list", "--no-cache", package)
    assert code == 130
    assert "0.cubin" in written
    assert written.rstrip().endswith(CLEAN)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are started there only")
def test_an_interrupt_ends_processes_and_leaves_nothing(tmp_path: Path) -> None:
    """The whole group of a terminal hears it, as with Ctrl-C."""
    if not Path("/proc/self/stat").exists():
        require("proc", "no /proc")
    tree, cache, temporary = (tmp_path / name for name in ("tree", "cache", "tmp"))
    for folder in (tree, temporary):
        folder.mkdir()
    for number in range(8):
        (tree / f"{number}.cubin").write_bytes(CUBIN)
    code = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start its jobs without it
from fatbin.cli import main
from fatbin.scanning import work
work._JOB_FILES = 1; work._LARGE_FILES = 1
os.sched_getaffinity = lambda _: {0, 1}
def slow(*_, **__):
    os.write(1, f"{os.getpid()}\\n".encode())  # in one piece
    time.sleep(600)
work._scan_one = slow
sys.exit(main(["list", sys.argv[1]]))
"""
    running = subprocess.Popen(
        [sys.executable, "-c", code, str(tree)],
        cwd=ROOT,
        env={**os.environ, "FATBIN_CACHE_DIR": str(cache), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stdout is not None
    lines = [running.stdout.readline() for _ in range(2)]
    assert all(lines), running.communicate()
    workers = [int(line) for line in lines]
    assert running.pid not in workers
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, "", "")
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline, "a worker is left"
        time.sleep(0.05)
    assert list(temporary.iterdir()) == []
    assert not cache.exists()


# What stands beside the bar ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reached", "room", "text"),
    [
        (Reached("a.so", 1_500_000, 3_000_000, 0, 1), 80, "1.5 MB of 3.0 MB  a.so"),
        (Reached("a.so", 1000, 2000, 1, 2345), 80, "1,000 B of 2,000 B  1 of 2,345 files  a.so"),
        (Reached("-::a", 1000, 0, 0, 1), 80, "1,000 B  -::a"),
        (Reached("long/name.so", 1000, 2000, 0, 1), 28, "1,000 B of 2,000 B  …name.so"),
        (Reached("name.so", 1000, 2000, 0, 1), 19, "1,000 B of 2,000 B"),
        (Reached("\x1b[2J\n", 1000, 2000, 0, 1), 80, "1,000 B of 2,000 B  \\x1b[2J\\n"),
    ],
)
def test_texts(reached: Reached, room: int, text: str) -> None:
    assert progress_text(reached, room) == text
    assert len(text) <= room


def test_names_are_no_markup() -> None:
    out = Terminal()
    bar = RichBar(out)
    bar.show(Reached("[bold]x[/nothing]", 1, 2, 0, 1))
    bar.close()
    assert "[bold]x[/nothing]" in out.getvalue()
