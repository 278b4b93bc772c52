"""Each limit that is met is told by its name, and what was found before it is kept."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from typing import TYPE_CHECKING

import bombs
import pytest
from hosts import Section, archive, elf
from packing import tarred, zipped
from support import FIXTURES, ROOT

import fatbin
from fatbin import EntrySpec, LimitExceededError, Limits, build, scan, scan_bytes
from fatbin.limits import NAMES, OFF, Tally

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
PTX = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f() { ret; }\n"
FIVE = build([EntrySpec.cubin(CUBIN)] * 5)
GROUP = build([EntrySpec.group([EntrySpec.cubin(CUBIN)] * 4, fatbin.Compression.ZSTD)])


def told(data: bytes, **limits: int) -> list[str]:
    found = scan_bytes(data, "x.tar", limits=Limits(**limits), verify=True)
    return [issue.field for issue in found.all_issues if issue.code == "LimitExceeded"]


@pytest.mark.parametrize(
    ("name", "data", "allowed"),
    [
        ("image_bytes", FIVE, 100),
        ("ratio", build([EntrySpec.ptx(PTX + b"//" + b"x" * 5000, compression="zstd")]), 2),
        ("containers", FIVE * 3, 2),
        ("containers", elf(Section(".data", (FIVE + b"\1") * 3)), 2),
        ("entries", FIVE, 3),
        ("entries", GROUP, 3),
        ("entries", elf(Section(".nv_fatbin", FIVE), Section("__nv_relfatbin", FIVE)), 7),
        ("entries", elf(Section(".nv_fatbin", FIVE), Section(".data", FIVE)), 7),
        ("issues", b"".join(build([]) + b"\1" * 16 for _ in range(5)), 2),
        ("members", archive(("a", CUBIN), ("b", CUBIN), ("c", CUBIN)), 2),
        ("members", archive(("a", archive(("b", CUBIN), ("c", CUBIN)))), 2),
        ("header_bytes", archive(*((f"a name of more than fifteen {n}", CUBIN) for n in "ab")), 40),
        ("sections", elf(Section(".data", CUBIN)), 2),
        ("text_bytes", elf(Section(".data", PTX + b"\0")), 20),
        ("header_bytes", elf(Section(".data", CUBIN)), 100),
        ("member_bytes", tarred(("a.cubin", CUBIN), mode="w:gz"), 1000),
        ("archive_bytes", zipped(("a.cubin", CUBIN), ("b.cubin", CUBIN)), 5000),
        ("archive_members", zipped(("a.cubin", CUBIN), ("b.cubin", CUBIN)), 1),
        ("depth", zipped(("a.zip", zipped(("b.cubin", CUBIN)))), 1),
        ("depth", archive(("a", archive(("b", CUBIN)))), 1),
    ],
)  # fmt: skip
def test_a_limit_is_told_by_its_name(name: str, data: bytes, allowed: int) -> None:
    assert name in told(data, **{name: allowed})
    assert told(data) == []


def test_a_message_names_the_limit_too() -> None:
    (issue,) = scan_bytes(FIVE, limits=Limits(entries=3)).all_issues
    assert issue.message.endswith("(limit entries)")
    assert (issue.expected, issue.found) == ("at most 3", "4")


@pytest.mark.parametrize("count", range(6))
def test_entries_are_kept_up_to_the_limit(count: int) -> None:
    (library,) = scan_bytes(FIVE, limits=Limits(entries=count)).libraries
    assert len(list(library.entries)) == min(count, 5)
    assert bool(library.issues) == (count < 5)


def test_images_of_groups_are_kept_up_to_the_limit() -> None:
    for count in range(1, 6):
        (library,) = scan_bytes(GROUP, limits=Limits(entries=count)).libraries
        assert len(list(library.entries)) == min(count, 5)
        assert bool(library.issues) == (count < 5)


def test_a_file_over_a_limit_does_not_pass() -> None:
    found = scan_bytes(FIVE, limits=Limits(entries=3))
    assert scan_bytes(FIVE).all_issues == ()
    assert fatbin.check(scan_bytes(FIVE), gpus="8.0").outcome == "PASS"
    verdict = fatbin.check(found, gpus="8.0")
    assert verdict.outcome == "FAIL"
    assert "FB501" in {finding.code for finding in verdict.findings}


# Streams ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_streams_that_hold_nothing_are_counted(pack: Callable[[bytes], bytes]) -> None:
    whole = tarred(("a.cubin", CUBIN))
    assert told(pack(b"") * 50 + pack(whole)) == []
    assert [entry.size for entry in scan_bytes(pack(b"") * 50 + pack(whole)).entries] == [
        len(CUBIN)
    ]
    assert "streams" in told(pack(b"") * 50 + pack(whole), streams=20)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_streams_of_a_parallel_compressor_are_not(pack: Callable[[bytes], bytes]) -> None:
    whole = tarred(*((f"{n}.cubin", CUBIN) for n in range(40)))
    pieces = [whole[at : at + 2048] for at in range(0, len(whole), 2048)]
    assert len(pieces) > 60
    data = b"".join(map(pack, pieces)) + bytes(100)
    assert told(data, streams=1) == []
    assert len(list(scan_bytes(data, limits=Limits(streams=1)).entries)) == 40


@pytest.mark.parametrize("damage", ["cut", "garbage", "flipped"])
def test_damage_of_a_gzip_stream_is_told(damage: str) -> None:
    data = bytearray(tarred(("a.cubin", CUBIN), ("b.cubin", CUBIN), mode="w:gz"))
    if damage == "cut":
        del data[-20:]
    elif damage == "garbage":
        data += b"garbage"
    else:
        data[-6] ^= 0xFF  # the checksum
    found = scan_bytes(bytes(data), "x.tar.gz")
    assert len(list(found.entries)) >= 1
    (issue,) = found.all_issues
    assert issue.code in {"Truncated", "Decompression"}
    assert issue.location == "x.tar.gz"


def test_small_reads_of_a_gzip_stream_are_the_bytes() -> None:
    from fatbin.format.view import View
    from fatbin.scanning.streams import Gzip, ViewStream

    data = bytes(range(256)) * 3000
    view = View(gzip.compress(data[:1000]) + gzip.compress(data[1000:]), "x")
    stream = Gzip(ViewStream(view), "x", Limits())
    pieces = []
    for size in (1, 511, 512, 400_000, 1, 2_000_000):
        pieces.append(stream.read(size))
        assert len(pieces[-1]) <= size
    while piece := stream.read(999):
        pieces.append(piece)
    assert b"".join(pieces) == data


def test_a_member_whose_last_bytes_wait_in_the_decoder_is_whole() -> None:
    data = (ROOT / "fuzz/regressions/package/bytes-wait-in-the-decoder.zip").read_bytes()
    found = scan_bytes(data, "x.zip")
    assert found.all_issues == ()
    assert [entry.size for entry in found.entries] == [599]


# Time ---------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Stop the clock; what is in the list is the time, and each look at it adds to it."""
    now = [1000.0, 0.0]

    def monotonic() -> float:
        now[0] += now[1]
        return now[0]

    monkeypatch.setattr("fatbin.limits.time.monotonic", monotonic)
    return now


def many(path: Path) -> Path:
    """Write an archive with a static archive, a library of several containers and a cubin."""
    library = elf(
        Section(".nv_fatbin", FIVE * 3), Section(".data", b"\0" * 64 + CUBIN + PTX + b"\0")
    )
    static = archive(("a", CUBIN), ("b", library))
    path.write_bytes(tarred(("lib.so", library), ("lib.a", static), ("x.cubin", CUBIN)))
    return path


def test_without_seconds_nobody_looks_at_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fatbin.limits.time.monotonic", lambda: pytest.fail("looked at"))
    assert scan(many(tmp_path / "x.tar"), verify=True).all_issues == ()


def test_whenever_the_time_is_over_it_is_told_once_a_place(
    tmp_path: Path, clock: list[float]
) -> None:
    path = many(tmp_path / "x.tar")
    whole = scan(path, verify=True)
    told_after = 0
    for seconds in range(1, 500, 3):
        clock[1] = 1.0
        found = scan(path, limits=Limits(seconds=seconds), verify=True)
        clock[1] = 0.0
        if found == whole:
            break
        told_after = seconds
        issues = [issue for issue in found.all_issues if issue.field == "seconds"]
        assert issues, f"read in part, and nothing is told, after {seconds} looks"
        assert len({issue.location for issue in issues}) == len(issues)
        assert "(limit seconds)" in issues[0].message
        assert len(list(found.entries)) <= len(list(whole.entries))
        if seconds % 10 == 1:
            assert fatbin.check(found, gpus="8.0").outcome == "FAIL"
    assert fatbin.check(whole, gpus="8.0").outcome == "PASS"
    assert 20 < told_after < 490


def test_each_command_that_opens_images_ends_in_time(tmp_path: Path, clock: list[float]) -> None:
    from fatbin.survey.kernel_sizes import kernel_sizes
    from fatbin.survey.kernels import kernels
    from fatbin.survey.sizes import account

    path = many(tmp_path / "x.tar")
    clock[1] = 1.0
    limits = Limits(seconds=40)
    errors: list[fatbin.FatbinError] = []
    assert len(list(kernels(path, limits=limits, report=errors.append))) >= 1
    assert {error.limit for error in errors if isinstance(error, LimitExceededError)} == {"seconds"}
    sizes = account(path, limits=Limits(seconds=10))
    assert any(issue.field == "seconds" for issue in sizes.all_issues)
    issues = [issue for one in kernel_sizes(path, limits) for issue in one.issues]
    assert any(issue.field == "seconds" for issue in issues)


def test_the_clock_starts_once() -> None:
    started = Limits(seconds=5).started()
    assert started.until > 0
    assert started.started() is started
    assert Limits().started() is not None
    assert Limits().started().until == 0


# What else a file can claim -------------------------------------------------------------------------


def test_overlapping_read_only_data_is_searched_once() -> None:
    from fatbin.format.view import View
    from fatbin.limits import DEFAULT_LIMITS
    from fatbin.scanning import linkage
    from fatbin.scanning.elf import read_elf_host

    searched: list[tuple[int, int]] = []

    class Pattern:
        def search(self, _: object, start: int, stop: int) -> None:
            searched.append((start, stop))

    data = bombs._sections(1000)
    view = View(data, "x")
    host = read_elf_host(view, DEFAULT_LIMITS, lambda error: pytest.fail(str(error)))
    assert linkage._search(view, host, Pattern()) is None  # type: ignore[arg-type]
    assert sum(stop - start for start, stop in searched) <= len(data)


def test_a_mark_in_the_second_of_two_overlapping_sections_is_found() -> None:
    from fatbin.scanning.linkage import STATIC_RUNTIME_MARK

    data = elf(
        Section(".rodata", bytes(100) + STATIC_RUNTIME_MARK + bytes(50)),
        Section(".rodata.x", b"y" * 9),
    )
    from fatbin.format.view import View
    from fatbin.scanning.scanner import Options, scan_view

    (library,) = scan_view(View(data, "x"), Options()).libraries
    assert library.linkage is not None
    assert library.linkage.cuda_runtime == "static"


def test_an_archive_in_an_archive_is_read() -> None:
    inner = archive(("c.cubin", CUBIN))
    found = scan_bytes(archive(("a.cubin", CUBIN), ("b.a", inner)), "x.a")
    assert [library.location for library in found.libraries] == [
        "x.a::a.cubin",
        "x.a::b.a::c.cubin",
    ]
    assert found.all_issues == ()


def test_an_archive_that_a_thin_archive_names_is_told(tmp_path: Path) -> None:
    (tmp_path / "inner.a").write_bytes(archive(("c.cubin", CUBIN)))
    thin = tmp_path / "thin.a"
    head = f"{'inner.a/':<16}{0:<12}{0:<6}{0:<6}{'644':<8}{10:<10}`\n".encode()
    thin.write_bytes(b"!<thin>\n" + head)
    (issue,) = scan(thin).all_issues
    assert "its members were not read" in issue.message


def test_documents_that_are_too_large_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fatbin.cli import main

    saved = tmp_path / "inventory.json"
    saved.write_text(scan(FIXTURES / "lib_3arch.so").to_json())
    arguments = ["check", str(saved), "--gpu", "9.0", "--limits"]
    assert main([*arguments, "document_bytes=1MiB"]) == 0
    assert main([*arguments, "document_bytes=1000"]) == 2
    assert "(limit document_bytes)" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(saved.read_bytes())))
    assert main(["check", "-", "--gpu", "9.0", "--limits", "document_bytes=1000"]) == 2
    assert "(limit document_bytes)" in capsys.readouterr().err
    monkeypatch.setattr("fatbin.judge.baseline.DEFAULT_LIMITS", Limits(document_bytes=1000))
    with pytest.raises(LimitExceededError):
        fatbin.read_baseline(saved)


def test_an_image_without_memory_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from fatbin.format import codec

    def none(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(codec, "_inflate_cramjam", none)
    with pytest.raises(LimitExceededError, match="no memory for an image of 100 bytes") as caught:
        codec.decompress(b"x" * 50, fatbin.Compression.ZSTD, 100)
    assert caught.value.limit == "image_bytes"


def test_a_tally_counts_what_is_left() -> None:
    tally = Tally(Limits(entries=3, containers=1))
    assert tally.entries_left == 3
    assert tally.stop("x", 0) is None
    tally.entries, tally.containers = 5, 1
    assert tally.entries_left == 0
    error = tally.stop("x", 16)
    assert error is not None
    assert (error.limit, error.offset, error.location) == ("containers", 16, "x")
    assert tally.full


def test_names_are_all_fields_but_the_one_that_is_set() -> None:
    assert (*NAMES, "until") == Limits._fields
    assert set(NAMES) >= OFF


def test_names_and_a_tar_name_do_not_break_a_line() -> None:
    info = tarfile.TarInfo("a\nb\x1b[31m.so")
    info.size = 4096
    data = info.tobuf() + b"\x7fELF" + bytes(508)
    for issue in scan_bytes(data, "x.tar").all_issues:
        assert issue.message.isprintable()
        assert issue.field.isprintable()
    assert str(fatbin.FatbinError("a\nb")) == "a\\nb"
