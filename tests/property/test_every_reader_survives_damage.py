"""What the fuzzers look for holds for what they found before, for whole inputs, and for a few more.

The functions are those of ``fuzz/``; ``python -m fuzz`` runs them for as long as is wanted.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT, require

import fuzz.__main__
from fuzz.history import HISTORY, record, totals
from fuzz.session import Result
from fuzz.target import REGRESSIONS, attempt, regressions, signature
from fuzz.targets import TARGETS

FILES = [(name, path) for name in TARGETS for path in regressions(name)]


@cache
def seeds(name: str) -> list[bytes]:
    return TARGETS[name].seeds()


@pytest.mark.parametrize(("name", "path"), FILES, ids=[f"{n}-{p.name}" for n, p in FILES])
def test_what_was_found_once_is_mended(name: str, path: Path) -> None:
    attempt(TARGETS[name], path.read_bytes())


def test_every_regression_has_a_target_and_a_line() -> None:
    table = HISTORY.read_text()
    assert {folder.name for folder in REGRESSIONS.iterdir()} <= set(TARGETS)
    for name, path in FILES:
        assert f"`{name}/{path.name}`" in table
        assert path.stat().st_size <= 32_000


@pytest.mark.parametrize("name", TARGETS)
def test_whole_inputs(name: str) -> None:
    assert seeds(name)
    for data in seeds(name):
        attempt(TARGETS[name], data)


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs(name: str) -> None:
    target, whole = TARGETS[name], seeds(name)  # some are drawn, which @given must not do inside

    @settings(max_examples=max(10, settings().max_examples // 5))
    @given(st.sampled_from(whole), st.lists(st.integers(0, 1 << 32), min_size=1, max_size=3))
    def law(data: bytes, numbers: list[int]) -> None:
        for number in numbers:
            data = target.mutate(data, Random(number))[: target.max_bytes]
        attempt(target, data)

    law()


@pytest.mark.parametrize("name", TARGETS)
def test_mutations_are_the_same_each_time_and_change_something(name: str) -> None:
    target, data = TARGETS[name], seeds(name)[0]
    made = [target.mutate(data, Random(number)) for number in range(20)]
    assert made == [target.mutate(data, Random(number)) for number in range(20)]
    assert len(set(made) - {data}) > 5


def test_what_is_no_error_of_fatbin_is_a_find() -> None:
    def broken(data: bytes) -> None:
        if b"x" in data:
            raise KeyError(data)

    target = TARGETS["codec"]._replace(run=broken)
    assert attempt(target, b"a") is None
    with pytest.raises(KeyError) as caught:
        attempt(target, b"x")
    place = "tests/property/test_every_reader_survives_damage.py"
    assert signature(caught.value).startswith(f"KeyError at {place}:")


def test_runs_are_written_down_and_added_up(tmp_path: Path) -> None:
    path = tmp_path / "HISTORY.md"
    marks = "<!-- end of runs -->\n<!-- totals -->\nold\n<!-- end of totals -->\nmore\n"
    path.write_text(f"| a |\n{marks}")
    for edges in (100, 90):
        record(Result("codec", 60, 12_345, edges, 20, (tmp_path / "find",), 1), path)
    first, row, _, end, begin, _, _, one, both, *rest = path.read_text().splitlines()
    assert first == "| a |"
    assert row.endswith(" | codec | 60 | 12,345 | 100 | 20 | 1 |")
    assert [end, begin] == ["<!-- end of runs -->", "<!-- totals -->"]
    assert one == "| codec | 120 | 3 % | 24,690 | 100 | 2 |"
    assert both == "| all | 120 | 3 % | 24,690 | | 2 |"
    assert rest[:4] == [
        "",
        "| class | seconds | of an hour | executions | most edges | finds |",
        "|---" * 6 + "|",
        one,
    ]
    assert rest[4:] == [both, "<!-- end of totals -->", "more"]
    for name in ("package", "image"):
        record(Result(name, 1800, 10, 7, 1, (), 1), path)
    assert "| readers | 3,600 | 100 % | 20 | 7 | 0 |" in path.read_text().splitlines()
    path.write_text("no place for it\n")
    with pytest.raises(ValueError, match="expected the line"):
        record(Result("codec", 1, 1, 1, 1, (), 1), path)


def test_the_history_is_added_up_right() -> None:
    text = HISTORY.read_text()
    assert totals(text) in text


def test_without_atheris_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert fuzz.__main__.main(["codec"]) == 2
    assert "pip install" in capsys.readouterr().err


def test_a_short_run_under_atheris(tmp_path: Path) -> None:
    if find_spec("atheris") is None:
        require("atheris", "not installed: pip install -e '.[fuzz]'")
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "codec", "--seconds", "3", "--corpus", str(tmp_path)],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    name, _, executions, edges, corpus, finds = done.stdout.splitlines()[1].split()
    assert name == "codec"
    assert int(executions.replace(",", "")) > 10
    assert int(edges) > 10
    assert int(corpus) >= len(seeds("codec"))
    assert int(finds) == 0
