"""Small hostile files that used to crash a scan, hide device code or steer the terminal."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from fatbin import Limits, scan, scan_bytes

FIXTURES = Path(__file__).parents[2] / "fixtures"
PTX = b".version 8.0\n.target sm_%s\n.address_size 64\n.visible .entry f() { ret; }\n"


def _archive(name: bytes, data: bytes, magic: bytes = b"!<arch>\n") -> bytes:
    head = name.ljust(16) + b"0".ljust(12) + b"0".ljust(6) + b"0".ljust(6) + b"644".ljust(8)
    return magic + head + str(len(data)).encode().ljust(10) + b"`\n" + data


def _elf(*, data: bytes = b"", segment_offset: int = 64) -> bytes:
    """Return an ELF file of one loadable segment and no sections."""
    head = b"\x7fELF\2\1\1" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    head += struct.pack("<IIQQQQQQ", 1, 4, segment_offset, 0, 0, 1 << 20, 1 << 20, 4096)
    return head + data


@pytest.mark.parametrize("name", ["/²", "#1/²", "/١٢"])
def test_digits_that_are_not_ascii_name_no_offset(name: str) -> None:
    inventory = scan_bytes(_archive(name.encode(), b"\x7fELF0000"))
    assert inventory.all_issues


def test_a_segment_beyond_any_file_is_survived(tmp_path: Path) -> None:
    path = tmp_path / "far.so"
    path.write_bytes(_elf(segment_offset=1 << 63))
    assert not list(scan(path).entries)


def test_decoys_do_not_hide_device_code_in_silence() -> None:
    decoys = b"\x7fELF\2\1\1\0" * 50 + bytes(64)
    data = _elf(data=decoys + PTX % b"80" + b"\0")
    issues = scan_bytes(data, limits=Limits(containers=40)).all_issues
    assert [issue.code for issue in issues].count("LimitExceeded") == 1


def test_texts_without_a_terminator_between_them_are_two() -> None:
    data = _elf(data=b"\0" + PTX % b"80" + PTX % b"90a" + b"\0")
    inventory = scan_bytes(data)
    assert [str(entry.arch) for entry in inventory.entries] == ["compute_80", "compute_90a"]
    assert [entry.size for entry in inventory.entries] == [len(PTX % b"80"), len(PTX % b"90a")]


def test_a_thin_archive_in_memory_opens_no_files() -> None:
    target = str(FIXTURES / "lib_3arch.so").encode()
    names = target + b"/\n"
    data = _archive(b"//", names + b"\n" * (len(names) % 2), b"!<thin>\n") + _archive(
        b"/0", b"", b""
    )
    inventory = scan_bytes(data)
    assert not list(inventory.entries)
    assert any("not opened" in issue.message for issue in inventory.all_issues)


def _run(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "fatbin", *arguments]
    return subprocess.run(command, check=False, capture_output=True, **options)  # type: ignore[call-overload,no-any-return]


def test_what_standard_error_quotes_cannot_steer_the_terminal(tmp_path: Path) -> None:
    done = _run("list", str(tmp_path / "no\x1b[31m\nfile"))
    assert done.returncode == 2
    assert b"\x1b" not in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error_and_not_a_verdict() -> None:
    command = [sys.executable, "-m", "fatbin", "list", str(FIXTURES / "lib_3arch.so")]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, check=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert b"cannot be written" in done.stderr
    assert b"Traceback" not in done.stderr
