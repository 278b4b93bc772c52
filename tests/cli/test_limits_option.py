"""``--limits``: every command that reads files has it, and says what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import FIXTURES

from fatbin.cli import main

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = str(FIXTURES / "lib_3arch.so")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["list", LIBRARY], 2),
        (["inspect", LIBRARY], 2),
        (["kernels", LIBRARY], 2),
        (["size", LIBRARY], 2),
        (["size", LIBRARY, "--by", "kernel"], 2),
        (["extract", LIBRARY, "--list"], 2),
        (["diff", LIBRARY, LIBRARY], 2),
        (["diff", LIBRARY, LIBRARY, "--kernels"], 2),
        (["check", LIBRARY, "--gpu", "7.5"], 1),
    ],
    ids=lambda value: " ".join(value[::2]) if isinstance(value, list) else str(value),
)
def test_every_command_holds_to_it(
    words: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    assert main([*words, "--limits", "entries=2"]) == code
    said = capsys.readouterr()
    assert "more than 2 entries" in said.out + said.err


def test_diagnose_holds_to_it_for_its_libraries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "job.log"
    log.write_text("nothing of note\n")
    words = ["diagnose", str(log), "--library", LIBRARY, "--gpu", "7.5"]
    main([*words, "--limits", "entries=2"])
    assert "more than 2 entries" in capsys.readouterr().out
    main(words)
    assert "more than 2 entries" not in capsys.readouterr().out


def test_it_can_be_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["list", LIBRARY, "--limits", "entries=2", "--limits", "sections=3"]
    assert main(words) == 2
    assert "(limit sections)" in capsys.readouterr().err


def test_sizes_have_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", LIBRARY, "--verify", "--limits", "image_bytes=3KiB"]) == 2
    assert "over the limit of 3072 bytes" in capsys.readouterr().err
    assert main(["list", LIBRARY, "--verify", "--limits", "image_bytes=1GiB"]) == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("entries", "expected NAME=VALUE such as seconds=60, found 'entries'"),
        ("entry=3", "archive_members, depth, streams, document_bytes, seconds, found 'entry'"),
        ("until=3", "found 'until'"),
        ("entries=", "expected a number for entries, such as 1000 or 64MiB, found ''"),
        ("entries=0", "found '0'"),
        ("entries=-1", "found '-1'"),
        ("entries=1kb", "found '1kb'"),
        ("entries=\u00b2", "found '\u00b2'"),
    ],
)
def test_what_is_wrong_with_it_is_said(
    given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["list", LIBRARY, "--limits", given])
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_seconds_can_be_turned_off() -> None:
    assert main(["list", LIBRARY, "--limits", "seconds=0"]) == 0
    assert main(["list", LIBRARY, "--limits", "seconds=3600"]) == 0
