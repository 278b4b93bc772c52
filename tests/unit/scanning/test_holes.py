"""Files with holes in tar archives: as GNU tar writes them, and as nobody should."""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from images_made import docker_archive, oci_layout, squeezed, write_layout
from packing import FORMS_OF_HOLES, tarred, with_holes
from support import FIXTURES, require

import fatbin
from fatbin.errors import FormatError
from fatbin.scanning.holes import UNREADABLE, Filled, Holes, filled, number_of
from fatbin.scanning.tape import read_entries

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
CONTAINER = (FIXTURES / "sm_90.fatbin").read_bytes()
HOLE = bytes(256 << 10)
TWO = CONTAINER + bytes(-len(CONTAINER) % 4096) + HOLE + CONTAINER
"""Two containers with zeros between, which a ``.fatbin`` may have."""
FORMS = {
    "gnu": ("--format=gnu",),
    "0.0": ("--format=pax", "--sparse-version=0.0"),
    "0.1": ("--format=pax", "--sparse-version=0.1"),
    "1.0": ("--format=pax", "--sparse-version=1.0"),
}


def write_with_holes(path: Path, data: bytes) -> None:
    """Write a file whose blocks of zeros take no room."""
    with path.open("wb") as file:
        for at in range(0, len(data), 4096):
            block = data[at : at + 4096]
            if block.strip(b"\0"):
                file.seek(at)
                file.write(block)
        file.truncate(len(data))


def archive_of(folder: Path, form: str, files: dict[str, bytes]) -> bytes:
    """Return what GNU tar makes of files with holes."""
    program = shutil.which("tar")
    said = subprocess.run([program or "false", "--version"], capture_output=True, check=False)
    if b"GNU tar" not in said.stdout:
        require("tar", "GNU tar is not installed")
    for name, data in files.items():
        write_with_holes(folder / name, data)
    out = folder / "out.tar"
    command = [str(program), "-S", "--hole-detection=raw", *FORMS[form], "-cf", str(out), *files]
    subprocess.run(command, cwd=folder, check=True)
    return out.read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_holes_are_filled(form: str, tmp_path: Path) -> None:
    many = b"".join(CUBIN[:4096].ljust(4096, b"\1") + bytes(4096) for _ in range(60))
    files = {"two.fatbin": TWO, "zeros": HOLE, "many": many, "end": CUBIN + HOLE, "x.cubin": CUBIN}
    data = archive_of(tmp_path, form, files)
    assert len(data) < sum(map(len, files.values()))
    source = io.BytesIO(data)
    found = {}
    for entry in read_entries(Forward(source), "x"):
        stored = io.BytesIO(source.read(entry.size))
        holes = entry.holes or Holes(entry.size, ((0, entry.size),))
        stream = filled(stored, holes, entry.size, "x")
        found[entry.name] = whole(stream, 1000)
    with tarfile.open(fileobj=io.BytesIO(data)) as oracle:
        wanted = {m.name: getattr(oracle.extractfile(m), "read", bytes)() for m in oracle}
    assert found == wanted == files


def whole(stream: Filled, step: int) -> bytes:
    return b"".join(iter(lambda: stream.read(step), b""))


class Forward:
    """A file as the reader of headers wants it."""

    def __init__(self, file: io.BytesIO) -> None:
        self._file = file
        self.read = file.read

    @property
    def position(self) -> int:
        return self._file.tell()

    def skip(self, size: int, /) -> None:
        self._file.seek(size, 1)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packed", ["tar", "gzip"])
def test_packages_with_holes(form: str, packed: str, tmp_path: Path) -> None:
    data = archive_of(tmp_path, form, {"two.fatbin": TWO, "zeros": HOLE, "x.cubin": CUBIN})
    if packed == "gzip":
        data = gzip.compress(data)
    inventory = fatbin.scan_bytes(data, name="p.tar", verify=True)
    assert inventory.all_issues == ()
    libraries = {lib.location.rpartition("::")[2]: lib for lib in inventory.libraries}
    assert set(libraries) == {"two.fatbin", "x.cubin"}
    assert libraries["two.fatbin"].size == len(TWO)
    assert [m.offset for m in libraries["two.fatbin"].modules] == [0, len(TWO) - len(CONTAINER)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["docker", "oci"])
def test_layers_with_holes(form: str, kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    layer = archive_of(folder, form, {"two.fatbin": TWO, "zeros": HOLE, "x.cubin": CUBIN})
    path = tmp_path / "image"
    if kind == "docker":
        path.write_bytes(docker_archive(layer))
    else:
        write_layout(oci_layout(*squeezed([layer])), path)
    inventory = fatbin.scan(path)
    assert inventory.all_issues == ()
    found = {lib.location.rpartition("::")[2]: len(lib.modules) for lib in inventory.libraries}
    assert found == {"two.fatbin": 2, "x.cubin": 1}


@pytest.mark.parametrize("form", FORMS_OF_HOLES)
def test_made_archives_are_read_as_those_of_tar(form: str) -> None:
    pieces = b"".join(CUBIN[:512] + bytes(512) for _ in range(60))
    files = {"two.fatbin": TWO, "zeros": HOLE, "many": pieces, "end": CUBIN + HOLE, "x": CUBIN}
    data = b"".join(with_holes(name, content, form) for name, content in files.items())
    with tarfile.open(fileobj=io.BytesIO(data + bytes(1024))) as oracle:
        assert {m.name: getattr(oracle.extractfile(m), "read", bytes)() for m in oracle} == files
    inventory = fatbin.scan_bytes(data + bytes(1024), name="p.tar")
    found = {lib.location.rpartition("::")[2]: lib.size for lib in inventory.libraries}
    assert found == {name: len(files[name]) for name in ("two.fatbin", "many", "end", "x")}


# What is wrong -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("holes", "stored"),
    [
        (UNREADABLE, 0),
        (Holes(-1, ((0, 4),)), 4),
        (Holes(8, ((0, 4),)), 5),
        (Holes(8, ((0, 4), (2, 4))), 8),
        (Holes(8, ((6, 4),)), 4),
        (Holes(8, ((-1, 4),)), 4),
        (Holes(8, ((0, -1), (0, 1))), 0),
    ],
)
def test_maps_that_are_none(holes: Holes, stored: int) -> None:
    with pytest.raises(FormatError, match="map of a file with holes"):
        filled(io.BytesIO(bytes(stored)), holes, stored, "x")


def pax(records: dict[str, str], data: bytes) -> bytes:
    info = tarfile.TarInfo("x.cubin")
    info.pax_headers = {f"GNU.sparse.{key}": value for key, value in records.items()}
    return tarred((info, data), ("last.cubin", CUBIN))


NUMBERS = b"1\n0\n%d\n" % len(CUBIN)


@pytest.mark.parametrize(
    ("records", "data", "field"),
    [
        ({"map": f"0,{len(CUBIN)}", "size": str(1 << 40)}, CUBIN, "member_ratio"),
        ({"map": f"0,{len(CUBIN)}", "size": str(10**19)}, CUBIN, "map of holes"),
        ({"map": f"0,{len(CUBIN)},", "size": "9999"}, CUBIN, "map of holes"),
        ({"map": "0,x", "size": "9999"}, CUBIN, "map of holes"),
        ({"offset": "0", "size": "9999"}, CUBIN, "map of holes"),
        ({"offset": "0", "numbytes": f"0,{len(CUBIN)}", "size": "9999"}, CUBIN, "map of holes"),
        ({"map": f"0,{len(CUBIN)}"}, CUBIN, "map of holes"),
        ({"major": "2", "minor": "0", "realsize": "9999"}, CUBIN, "map of holes"),
        ({"major": "1", "minor": "0", "realsize": "9999"}, CUBIN, "map of holes"),
        ({"major": "1", "minor": "0", "realsize": "9999"}, b"", "map of holes"),
        ({"major": "1", "minor": "0", "realsize": "9"}, b"9" * 4096, "map of holes"),
        ({"major": "1", "minor": "0", "realsize": "9"}, b"99999\n" * 9999, "map of holes"),
        ({"major": "1", "minor": "0", "realsize": "9"}, NUMBERS.ljust(512) + CUBIN, "map of holes"),
    ],
)
def test_what_is_wrong_with_a_map_stays_with_its_member(
    records: dict[str, str], data: bytes, field: str
) -> None:
    inventory = fatbin.scan_bytes(pax(records, data), name="p.tar")
    assert [lib.location for lib in inventory.libraries] == ["p.tar::last.cubin"]
    (issue,) = inventory.all_issues
    assert (issue.field, issue.location) == (field, "p.tar::x.cubin")


def test_a_map_before_the_data() -> None:
    records = {"major": "1", "minor": "0", "realsize": "9999", "name": "named.cubin"}
    inventory = fatbin.scan_bytes(pax(records, NUMBERS.ljust(512) + CUBIN), name="p.tar")
    assert inventory.all_issues == ()
    assert [(lib.location, lib.size) for lib in inventory.libraries] == [
        ("p.tar::named.cubin", 9999),
        ("p.tar::last.cubin", len(CUBIN)),
    ]


def test_a_map_in_many_blocks_is_bounded() -> None:
    info = tarfile.TarInfo("x")
    info.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[482] = 1
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    more = (b"%011o\0" % 0 * 42).ljust(504) + b"\1" + bytes(7)
    last = tarfile.TarInfo("last.cubin")
    last.size = len(CUBIN)
    rest = bytes(512) + last.tobuf(tarfile.GNU_FORMAT) + CUBIN + bytes(-len(CUBIN) % 512 + 1024)
    inventory = fatbin.scan_bytes(bytes(block) + more * 5000 + rest, name="p.tar")
    assert [lib.location for lib in inventory.libraries] == ["p.tar::last.cubin"]
    assert [issue.field for issue in inventory.all_issues] == ["map of holes"]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=8),
    st.integers(0, 50),
    st.integers(1, 200),
)
def test_what_is_stored_stands_where_the_map_says(
    steps: list[tuple[int, int]], tail: int, step: int
) -> None:
    data, pieces, wanted = b"", [], b""
    for gap, size in steps:
        piece = bytes(1 + (len(data) + n) % 255 for n in range(size))
        wanted += bytes(gap)
        pieces.append((len(wanted), size))
        wanted += piece
        data += piece
    wanted += bytes(tail)
    stream = filled(io.BytesIO(data), Holes(len(wanted), tuple(pieces)), len(data), "x")
    assert whole(stream, step) == wanted


@pytest.mark.parametrize(
    ("field", "number"),
    [
        (b"00000000017\0", 15),
        (b"        17 \0", 15),
        (b"\0" * 12, 0),
        (b"\x80" + bytes(10) + b"\7", 7),
        (b"\xff" * 12, -1),
        (b"0000000008\0\0", -1),
        (b"-0000000001\0", -1),
        (b"0_1".ljust(12, b"\0"), -1),
    ],
)
def test_numbers(field: bytes, number: int) -> None:
    assert number_of(field) == number
