"""Wheels, zips and tar archives: what is found, and what hostile ones cannot do."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

import pytest
from hosts import Section, archive, elf
from packing import (
    DIST_INFO,
    METADATA,
    WHEEL,
    conda,
    many_rows,
    patch_row,
    rows,
    tarred,
    wheel,
    zipped,
)
from support import FIXTURES, require

import fatbin
from fatbin.format.layouts import ZIP_END, ZIP_LOCAL

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
LIBRARY = (FIXTURES / "lib_3arch.so").read_bytes()
PTX = (FIXTURES / "saxpy_80.ptx").read_bytes()
GOOD = ("good.cubin", CUBIN)


def scan(data: bytes, name: str = "x.zip", **limits: int) -> fatbin.Inventory:
    return fatbin.scan_bytes(data, name, limits=fatbin.Limits()._replace(**limits))


def locations(inventory: fatbin.Inventory) -> list[str]:
    return [library.location for library in inventory.libraries]


# What is found ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_members_are_libraries_with_their_distribution(method: int) -> None:
    data = wheel(
        ("pkg/lib/a.so", LIBRARY), ("pkg/b.cubin", CUBIN), ("pkg/c.txt", b"x"), method=method
    )
    inventory = scan(data, WHEEL)
    assert not inventory.all_issues
    assert locations(inventory) == [f"{WHEEL}::pkg/lib/a.so", f"{WHEEL}::pkg/b.cubin"]
    assert {(i.distribution, i.distribution_version) for i in inventory.libraries} == {
        ("some-package", "1.2.3")
    }
    plain = fatbin.scan_bytes(LIBRARY).libraries[0]
    assert inventory.libraries[0].modules == plain.modules
    assert inventory.libraries[0].size == len(LIBRARY)


def test_packages_within_packages() -> None:
    inner = wheel(("lib.a", archive(("m.o", LIBRARY), ("x.cubin", CUBIN))))
    outer = zipped(
        ("dir/" + WHEEL, inner), ("src.tar.gz", tarred(("s/k.cubin", CUBIN), mode="w:gz"))
    )
    inventory = scan(outer)
    assert not inventory.all_issues
    assert locations(inventory) == [
        f"x.zip::dir/{WHEEL}::lib.a::m.o",
        f"x.zip::dir/{WHEEL}::lib.a::x.cubin",
        "x.zip::src.tar.gz::s/k.cubin",
    ]
    assert inventory.libraries[0].distribution == "some-package"
    assert inventory.libraries[2].distribution == ""


def test_a_member_without_device_code_is_left_out() -> None:
    host = elf(Section(".text", b"x", executable=True))
    assert scan(zipped(("a.so", host), ("b.py", b"x = 1\n"))) == fatbin.Inventory(
        targets=("x.zip",)
    )


def test_an_empty_zip_and_a_pure_one_hold_nothing() -> None:
    assert scan(zipped()) == fatbin.Inventory(targets=("x.zip",))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("nccl-2.26.2.1-h1234_0.conda", ("nccl", "2.26.2.1")),
        ("some-thing-1.0-py312_0.tar.bz2", ("some-thing", "1.0")),
        ("some_thing-1.0.tar.gz", ("some_thing", "1.0")),
        (
            "nvidia_nccl_cu12-2.26.2-py3-none-manylinux2014_x86_64.whl",
            ("nvidia-nccl-cu12", "2.26.2"),
        ),
        ("whatever.zip", ("", "")),
    ],
)
def test_names_of_packages_tell_the_distribution(name: str, wanted: tuple[str, str]) -> None:
    library = scan(zipped(GOOD), f"/some-where/x-1-2.conda/{name}").libraries[0]
    assert (library.distribution, library.distribution_version) == wanted


def test_ptx_behind_long_comments_is_found() -> None:
    data = b"// " + b"x" * 50000 + b"\n" + PTX
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        assert len(scan(zipped(("k.txt", data), method=method)).libraries) == 1


def test_duplicated_names_are_read_both() -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = zipped(GOOD, ("good.cubin", (FIXTURES / "saxpy_90a.cubin").read_bytes()))
    assert [sorted(map(str, i.sass)) for i in scan(data).libraries] == [["sm_80"], ["sm_90a"]]


@pytest.mark.parametrize(
    "name", ["../../x.cubin", "/etc/x.cubin", "C:\\x.cubin", "a\x1b[2Jb.cubin"]
)
def test_names_are_only_names(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for data in (zipped((name, CUBIN)), tarred((name, CUBIN)), tarred((name, CUBIN), mode="w:gz")):
        inventory = scan(data)
        assert not inventory.all_issues
        assert locations(inventory) == [f"x.zip::{name}"]
    assert list(tmp_path.iterdir()) == []


def test_thin_archives_in_packages_follow_nothing(tmp_path: Path) -> None:
    """A thin archive names files; inside a package these are not the disk's."""
    thin = (FIXTURES / "libthin.a").read_bytes()
    (tmp_path / "host_1arch.o").write_bytes((FIXTURES / "host_1arch.o").read_bytes())
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path = tmp_path / "x.zip"
        path.write_bytes(zipped(("libthin.a", thin + bytes(0)), method=method))
        inventory = fatbin.scan(path)
        assert inventory.libraries == ()
        assert inventory.issues
        assert {"names other files" in issue.message for issue in inventory.issues} == {True}


# Tar ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar_archives(mode: str, form: int) -> None:
    long = "d" * 90 + "/" + "n" * 80
    data = tarred(("a.so", LIBRARY), (long, CUBIN), ("e.txt", b""), mode=mode, form=form)
    inventory = scan(data, "x.tar")
    assert not inventory.all_issues
    assert locations(inventory) == ["x.tar::a.so", f"x.tar::{long}"]


def test_names_longer_than_a_header() -> None:
    long = "ü/" * 150 + "k.cubin"
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        assert locations(scan(tarred((long, CUBIN), form=form), "x")) == [f"x::{long}"]


def link(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


def test_links_and_devices_are_no_copies_and_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.cubin"
    secret.write_bytes(CUBIN)
    data = tarred(
        link("first", tarfile.SYMTYPE, str(secret)),
        link("second", tarfile.LNKTYPE, "/" + str(secret)),
        GOOD,
        link("third", tarfile.LNKTYPE, "good.cubin"),
        link("device", tarfile.BLKTYPE),
        link("null", tarfile.CHRTYPE),
        link("pipe", tarfile.FIFOTYPE),
        link("dir/", tarfile.DIRTYPE),
        ("dir/last.cubin", CUBIN),
    )
    inventory = scan(data, "x")
    assert not inventory.all_issues
    assert locations(inventory) == ["x::good.cubin", "x::dir/last.cubin"]


def test_a_damaged_header_is_not_the_end() -> None:
    data = tarred(("a.cubin", CUBIN), ("b.cubin", CUBIN), form=tarfile.USTAR_FORMAT)
    second = data.index(b"b.cubin")
    for at, byte in ((0, b"x"), (148, b"9"), (124, b"\x80")):
        broken = data[: second + at] + byte + data[second + at + 1 :]
        for blob in (broken, gzipped(broken)):
            inventory = scan(blob, "x")
            assert locations(inventory) == ["x::a.cubin"]
            assert [issue.field for issue in inventory.issues] == ["checksum"]
            assert inventory.issues[0].offset == second


def gzipped(data: bytes) -> bytes:
    import gzip

    return gzip.compress(data, 1, mtime=0)


@pytest.mark.parametrize("pack", [bytes, gzipped])
@pytest.mark.parametrize("keep", [512 + 100, 3584 + 512 + 200, -10240 + 5])
def test_archives_that_end_early(pack: type[bytes], keep: int) -> None:
    data = tarred(("a.cubin", CUBIN), ("b.cubin", CUBIN), form=tarfile.USTAR_FORMAT)
    end = data.rindex(CUBIN) + len(CUBIN) + 10240 - 5 + keep if keep < 0 else keep
    inventory = scan(pack(data[:end]), "x")
    assert inventory.all_issues
    whole = {"x::a.cubin", "x::b.cubin"}
    assert set(locations(inventory)) <= whole


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_compressed_streams_that_end_early_or_are_damaged(mode: str) -> None:
    noise = os.urandom(200_000)
    data = tarred(GOOD, ("noise", noise), ("last.cubin", CUBIN), mode=mode)
    cut = scan(data[: len(data) // 2], "x")
    assert cut.issues
    assert "x::last.cubin" not in locations(cut)
    middle = len(data) // 2
    bad = scan(data[:middle] + bytes(4000) + data[middle + 4000 :], "x")
    assert bad.issues


def test_zstd_ends_early() -> None:
    data = conda_or_skip(("noise", os.urandom(100_000)), GOOD)
    start = data.index(b"\x28\xb5\x2f\xfd")
    inner = data[start : data.index(b"PK\1\2")]
    assert locations(scan(inner, "x")) == ["x::good.cubin"]
    assert scan(inner[:-2000], "x").issues
    assert not scan(inner[:-2000], "x").libraries


def conda_or_skip(*members: tuple[str, bytes]) -> bytes:
    try:
        return conda(*members)
    except ModuleNotFoundError:
        require("zstandard", "not installed")


def test_conda_packages() -> None:
    data = conda_or_skip(("lib/liba.so", LIBRARY), ("lib/b.cubin", CUBIN))
    inventory = scan(data, "some-1.2.3-0.conda")
    assert not inventory.all_issues
    outer = "some-1.2.3-0.conda::pkg-some-1.2.3-0.tar.zst"
    assert locations(inventory) == [f"{outer}::lib/liba.so", f"{outer}::lib/b.cubin"]
    assert inventory.libraries[0].distribution == "some"


def test_zstd_without_its_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    data = conda_or_skip(GOOD)
    for name in ("compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    inventory = scan(data)
    assert [issue.code for issue in inventory.issues] == ["MissingDependency"]
    start = data.index(b"\x28\xb5\x2f\xfd")
    with pytest.raises(fatbin.MissingDependencyError, match="zstandard"):
        scan(data[start : data.index(b"PK\1\2")])


def test_a_header_may_not_be_a_bomb() -> None:
    """A name of a gigabyte is declared, and there: it is not read into memory."""
    header = bytearray(tarfile.TarInfo("x").tobuf(tarfile.GNU_FORMAT))
    header[156:157] = b"L"
    header[124:136] = b"%011o\0" % (1 << 30)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    stream = gzipped(bytes(header) + bytes(4 << 20))
    for data in (bytes(header) + bytes(1 << 20), stream):
        issues = scan(data, "x").issues
        assert [(issue.code, issue.field) for issue in issues] == [
            ("LimitExceeded", "header_bytes")
        ]


def test_endless_headers_about_headers() -> None:
    pax = tarfile.TarInfo("x")
    pax.type = b"x"
    block = pax.tobuf(tarfile.USTAR_FORMAT)
    started = time.process_time()
    issues = scan(gzipped(block * 20_000), "x", archive_bytes=8 << 20).issues
    assert [issue.field for issue in issues] == ["archive_bytes"]
    assert time.process_time() - started < 60


def test_a_map_of_holes_that_is_none_is_told() -> None:
    info = tarfile.TarInfo("s.cubin")
    info.type = tarfile.GNUTYPE_SPARSE
    made = tarred((info, CUBIN), ("g.cubin", CUBIN), form=tarfile.GNU_FORMAT)
    inventory = scan(made, "x")
    assert locations(inventory) == ["x::g.cubin"]
    assert [(issue.code, issue.location) for issue in inventory.issues] == [
        ("Format", "x::s.cubin")
    ]


def test_gzip_that_is_no_archive_is_unknown() -> None:
    with pytest.raises(fatbin.UnknownFormatError, match="tar archive in gzip data"):
        scan(gzipped(CUBIN))
    assert not scan(zipped(("a.tar.gz", gzipped(b"x" * 2000)))).all_issues


# Zip ----------------------------------------------------------------------------------------------


def test_encrypted_members_are_issues() -> None:
    data = patch_row(zipped(("a.cubin", CUBIN), GOOD), 0, flags=1)
    inventory = scan(data)
    assert locations(inventory) == ["x.zip::good.cubin"]
    assert [(i.code, i.location, i.message) for i in inventory.issues] == [
        ("Source", "x.zip::a.cubin", "the member is encrypted")
    ]


def test_unknown_methods_are_issues() -> None:
    data = patch_row(zipped(("a.cubin", CUBIN), GOOD), 0, method=99)
    inventory = scan(data)
    assert locations(inventory) == ["x.zip::good.cubin"]
    assert "found method 99" in inventory.issues[0].message


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_bad_crc_is_an_issue(method: int) -> None:
    data = patch_row(zipped(("a.cubin", CUBIN), GOOD, method=method), 0, crc=1)
    inventory = fatbin.scan_bytes(data, "x.zip", verify=True)
    assert locations(inventory) == ["x.zip::good.cubin"]
    assert "expected CRC 00000001, found " in inventory.issues[0].message
    unverified = fatbin.scan_bytes(data, "x.zip")
    assert bool(unverified.issues) == (method == zipfile.ZIP_DEFLATED)


@pytest.mark.parametrize(("change", "message"), [(-1, "inflates to"), (1, "inflates to")])
def test_a_wrong_size_is_an_issue(change: int, message: str) -> None:
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        data = zipped(("a.cubin", CUBIN), GOOD, method=method)
        inventory = scan(patch_row(data, 0, size=len(CUBIN) + change))
        assert locations(inventory) == ["x.zip::good.cubin"]
        assert message in inventory.issues[0].message


def test_a_stored_member_of_two_sizes_is_an_issue() -> None:
    data = zipped(("a.cubin", CUBIN), GOOD, method=zipfile.ZIP_STORED)
    inventory = scan(patch_row(data, 0, size=7))
    assert locations(inventory) == ["x.zip::good.cubin"]
    assert inventory.issues[0].code == "SizeMismatch"


def test_damaged_content_is_an_issue() -> None:
    data = zipped(("a.cubin", CUBIN), GOOD)
    start = ZIP_LOCAL.size + len("a.cubin")
    inventory = scan(data[:start] + b"\xff" * 50 + data[start + 50 :])
    assert locations(inventory) == ["x.zip::good.cubin"]
    assert "cannot be read" in inventory.issues[0].message


def test_a_damaged_local_header_is_an_issue() -> None:
    inventory = scan(b"PK\3\4" + zipped(("a.cubin", CUBIN), GOOD)[4:])
    assert len(inventory.libraries) == 2
    data = zipped(GOOD, ("a.cubin", CUBIN))
    at = data.rindex(b"PK\3\4")
    inventory = scan(data[:at] + b"PK\3\5" + data[at + 4 :])
    assert locations(inventory) == ["x.zip::good.cubin"]
    assert inventory.issues[0].field == "zip local magic"


def test_a_damaged_directory_is_an_issue() -> None:
    data = zipped(GOOD, ("b.cubin", CUBIN), ("c.cubin", CUBIN))
    second = rows(data)[1]
    inventory = scan(data[:second] + b"XX" + data[second + 2 :])
    assert locations(inventory) == ["x.zip::good.cubin"]
    assert inventory.issues[0].field == "zip member magic"


@pytest.mark.parametrize("cut", [1, 22, 30, 500])
def test_a_zip_that_is_cut_off_is_an_issue(cut: int) -> None:
    inventory = scan(zipped(GOOD, ("b.cubin", CUBIN))[:-cut])
    assert inventory.issues[0].code == "Truncated"


def test_more_rows_than_the_end_record_says() -> None:
    data = zipped(GOOD, ("b.cubin", CUBIN))
    end = ZIP_END.named(ZIP_END.unpack_from(data, len(data) - ZIP_END.size))
    end["count"] = end["disk_count"] = 1
    inventory = scan(data[: -ZIP_END.size] + ZIP_END.struct.pack(*end.values()))
    assert len(inventory.libraries) == 2
    assert inventory.issues[0].code == "SizeMismatch"


def test_a_comment_and_bytes_before_the_zip() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("good.cubin", CUBIN)
        file.comment = b"PK\5\6 a comment" * 100
    assert len(scan(out.getvalue()).libraries) == 1
    assert len(scan(b"PK\3\4 before" + zipped(GOOD)).libraries) == 1


def test_zip64() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in (("a.cubin", CUBIN), ("b.so", LIBRARY)):
            with file.open(name, "w", force_zip64=True) as member:
                member.write(data)
    assert len(scan(out.getvalue()).libraries) == 2


def test_zip64_values_in_the_directory() -> None:
    """All three values in the extra field, and the end records of zip64."""
    data = zipped(GOOD)
    position = rows(data)[0]
    end = ZIP_END.named(ZIP_END.unpack_from(data, len(data) - ZIP_END.size))
    name = b"good.cubin"
    stored = int.from_bytes(data[18:22], "little")
    extra = b"\x99\x99\2\0xx\1\0\x18\0" + b"".join(
        value.to_bytes(8, "little") for value in (len(CUBIN), stored, 0)
    )
    row = data[position : position + 46 + len(name)]
    row = row[:20] + b"\xff" * 8 + row[28:30] + len(extra).to_bytes(2, "little") + row[32:42]
    row += b"\xff" * 4 + name + extra
    body = data[:position] + row
    end64 = b"PK\6\6" + (44).to_bytes(8, "little") + bytes(12)
    for value in (1, 1, len(row), position):
        end64 += value.to_bytes(8, "little")
    locator = b"PK\6\7" + bytes(4) + len(body).to_bytes(8, "little") + (1).to_bytes(4, "little")
    end.update(
        count=0xFFFF, disk_count=0xFFFF, directory_size=0xFFFFFFFF, directory_offset=0xFFFFFFFF
    )
    whole = body + end64 + locator + ZIP_END.struct.pack(*end.values())
    with zipfile.ZipFile(io.BytesIO(whole)) as file:
        assert file.read("good.cubin") == CUBIN  # the standard library agrees
    inventory = scan(whole)
    assert not inventory.all_issues
    assert locations(inventory) == ["x.zip::good.cubin"]
    lost = body + b"PK\6\7" + bytes(8) + b"\xff" * 8 + whole[-ZIP_END.size :]
    assert scan(lost).issues


# Bombs --------------------------------------------------------------------------------------------


def test_overlapping_members_are_read_once() -> None:
    """The better zip bomb: many rows, one content."""
    data = zipped(GOOD, *((f"{i}.cubin", b"x") for i in range(50)))
    for index in range(1, 51):
        data = patch_row(
            data, index, offset=0, size=len(CUBIN), stored=int.from_bytes(data[18:22], "little")
        )
    inventory = scan(data)
    assert locations(inventory) == ["x.zip::good.cubin"]
    assert len(inventory.issues) == 50
    assert {issue.message for issue in inventory.issues} == {
        "the member overlaps another one; not read"
    }


def test_rows_in_any_order_are_read_by_offset() -> None:
    data = zipped(("a.cubin", CUBIN), ("b.cubin", CUBIN))
    first, second = rows(data)
    start = data.rindex(b"PK\5\6")
    swapped = data[:first] + data[second:start] + data[first:second] + data[start:]
    inventory = scan(swapped)
    assert not inventory.all_issues
    assert locations(inventory) == ["x.zip::a.cubin", "x.zip::b.cubin"]


def bomb(size: int) -> bytes:
    """Return a library that deflates a hundredfold, not more: the ratio is a limit of its own."""
    return CUBIN + b"".join(os.urandom(64) + bytes(16320) for _ in range(size >> 14))


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({"member_bytes": 1 << 20}, "member_bytes"),
        ({"member_ratio": 20}, "member_ratio"),
        ({"archive_bytes": 8 << 20}, "archive_bytes"),
        ({"archive_members": 1}, "archive_members"),
    ],
)
@pytest.mark.parametrize("mode", ["zip", "w:gz", "w:xz"])
def test_bombs_are_issues(
    limits: dict[str, int], field: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    members = (("a.cubin", CUBIN), ("bomb.so", bomb(20 << 20)))
    data = zipped(*members) if mode == "zip" else tarred(*members, mode=mode)
    inventory = scan(data, "x", **limits)
    assert field in [issue.field for issue in inventory.issues]
    assert locations(inventory)[:1] == ["x::a.cubin"]
    assert all(issue.location.startswith("x") for issue in inventory.issues)
    assert list(tmp_path.iterdir()) == []


def test_after_a_bomb_the_rest_is_read() -> None:
    for data in (
        zipped(("bomb", bomb(20 << 20)), GOOD),
        tarred(("bomb", bomb(20 << 20)), GOOD),
        tarred(("bomb", bomb(20 << 20)), GOOD, mode="w:gz"),
    ):
        inventory = scan(data, "x", member_bytes=1 << 20)
        # What is not inflated costs nothing: in a plain tar archive it is read in place.
        assert [issue.field for issue in inventory.issues] == ["member_bytes"] * (
            len(data) < 5 << 20
        )
        assert {issue.location for issue in inventory.issues} <= {"x::bomb"}
        assert "x::good.cubin" in locations(inventory)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_nesting_is_bounded(depth: int) -> None:
    data = zipped(GOOD)
    for _ in range(depth):
        data = zipped(("in.zip", data))
    assert len(scan(data, depth=depth + 1).libraries) == 1
    inventory = scan(data, depth=depth)
    assert inventory.libraries == ()
    assert [issue.field for issue in inventory.issues] == ["depth"]


def test_a_zip_that_holds_itself_ends() -> None:
    """Nesting without end is the worst case; each level has the same content."""
    data = zipped(GOOD)
    for _ in range(30):
        data = zipped(("in.zip", data), GOOD)
    inventory = scan(data)
    assert len(inventory.libraries) == fatbin.Limits().depth
    assert [issue.field for issue in inventory.issues] == ["depth"]


def test_a_hundred_thousand_members() -> None:
    data = many_rows(100_000, CUBIN)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.read("good.cubin") == CUBIN  # the standard library agrees
    inventory = scan(data)
    assert not inventory.all_issues
    assert locations(inventory) == ["x.zip::good.cubin"]
    few = scan(data, archive_members=1000)
    assert [issue.field for issue in few.issues] == ["archive_members"]


def test_metadata_is_read_as_text() -> None:
    from fatbin.scanning.packages import distribution_of_metadata

    assert distribution_of_metadata(METADATA) == ("some-package", "1.2.3")
    assert distribution_of_metadata(METADATA.replace(b"\n", b"\r\n")) is not None
    assert distribution_of_metadata(b"Name: x\n\nVersion: 1\n") is None
    assert distribution_of_metadata(b"\xff\xfe") is None
    broken = patch_row(wheel(GOOD), 2, method=99)
    inventory = scan(broken, WHEEL)
    assert inventory.libraries[0].distribution == "some-package"
    assert [issue.location for issue in inventory.issues] == [f"{WHEEL}::{DIST_INFO}"]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
@pytest.mark.parametrize("at", [0, 5, 40])
def test_metadata_that_does_not_inflate_is_an_issue_at_most(method: int, at: int) -> None:
    data = bytearray(zipped(GOOD, (DIST_INFO, METADATA * 9), method=method))
    row = ZIP_LOCAL.size + len(DIST_INFO)
    start = data.index(b"PK\3\4", data.index(b"good.cubin")) + row
    data[start + at : start + at + 4] = b"\xff\xfe\xfd\xfc"
    inventory = fatbin.scan_bytes(bytes(data), WHEEL)
    assert locations(inventory) == [f"{WHEEL}::good.cubin"]
    assert inventory.libraries[0].distribution == "some-package"


def tar_of(*headers: tuple[bytes, bytes, bytes], end: bytes = bytes(1024)) -> bytes:
    """Return a tar archive of members ``(name, type, data)``."""
    made = b""
    for name, flag, data in headers:
        info = tarfile.TarInfo(name.decode())
        info.size = len(data)
        block = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
        block[156:157] = flag
        block[148:156] = b" " * 8
        block[148:156] = b"%06o\0 " % sum(block)
        made += bytes(block) + data + bytes(-len(data) % 512)
    return made + end


@pytest.mark.parametrize(
    ("name", "flag"), [(b"x.cubin", b"0"), (b"x.cubin", b"P"), (b"x.cubin/", b"0")]
)
def test_what_other_readers_take_for_a_file_is_read(name: bytes, flag: bytes) -> None:
    inventory = fatbin.scan_bytes(tar_of((b"a.txt", b"0", b"text"), (name, flag, CUBIN)), "x.tar")
    assert [library.format for library in inventory.libraries] == ["cubin"]
    assert not inventory.all_issues


def test_members_behind_a_single_block_of_zeros_are_told() -> None:
    hidden = tar_of((b"x.cubin", b"0", CUBIN))
    data = tar_of((b"a.cubin", b"0", CUBIN), end=bytes(512)) + hidden
    inventory = fatbin.scan_bytes(data, "x.tar")
    assert len(inventory.libraries) == 1
    assert ["behind one" in issue.message for issue in inventory.all_issues] == [True]


def test_extended_headers_do_not_add_up() -> None:
    record = b"99999 comment=".ljust(99_998, b"x") + b"\n"
    flood = [(b"pax", b"x", record)] * 20
    inventory = fatbin.scan_bytes(tar_of(*flood, (b"a.cubin", b"0", CUBIN)), "x.tar")
    assert [issue.code for issue in inventory.all_issues] == ["LimitExceeded"]
