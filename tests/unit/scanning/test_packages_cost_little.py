"""Hostile packages in a child with little memory: an answer, and nothing left behind."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from packing import many_rows, patch_row, tarred, zipped
from support import FIXTURES, ROOT

import fatbin

resource = pytest.importorskip("resource", reason="limits on memory are those of Unix")

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
LIMIT = 256 << 20
"""Of address space, with interpreter and libraries; maps of files count too."""
CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
import fatbin, tracemalloc
inventory = fatbin.scan(sys.argv[1], linkage=False, limits=fatbin.Limits(**{limits}))
print(len(inventory.libraries))
for issue in inventory.all_issues:
    print(issue.code, issue.field)
"""


def zeros(size: int) -> bytes:
    return CUBIN + bytes(size)


def stored_name(size: int) -> bytes:
    header = bytearray(tarfile.TarInfo("x").tobuf(tarfile.GNU_FORMAT))
    header[156:157] = b"L"
    header[124:136] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def gzip_of_zeros(first: bytes, size: int) -> bytes:
    stream = zlib.compressobj(9, zlib.DEFLATED, 31)
    out = stream.compress(first)
    for _ in range(size >> 20):
        out += stream.compress(bytes(1 << 20))
    return out + stream.flush()


SURVEYS = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
import fatbin
from fatbin.survey.diff import compare
from fatbin.survey.extract import Extraction
from fatbin.survey.folder import Folder
from fatbin.survey.kernels import kernels
from fatbin.survey.kernel_sizes import library_kernels
from fatbin.survey.sizes import account
path, limits, errors = sys.argv[1], fatbin.Limits(**{limits}), []
found = []
sizes = account(path, limits=limits, each=lambda part: found.append(library_kernels(part, limits)))
rows = {{row.location for row in kernels(path, limits=limits, report=errors.append)}}
extraction = Extraction(Folder(sys.argv[2]), limits=limits)
files = {{file.library for file in extraction.run(path)}}
diff = compare(path, path, kernels=True, limits=limits)
print(len(sizes.libraries), len(list(filter(None, found))), len(rows), len(files), diff.unchanged)
for issues in (sizes.all_issues, map(fatbin.Issue.of, errors), extraction.issues, diff.issues):
    print(*dict.fromkeys(issue.field for issue in issues))
"""


CASES: dict[str, tuple[Callable[[], bytes], dict[str, int], int, str]] = {
    "deflate bomb": (lambda: zipped(("b.so", zeros(300 << 20)), ("g.cubin", CUBIN)), {}, 1, "member_ratio"),
    "deflate bomb by size": (
        lambda: zipped(("b.so", zeros(300 << 20)), ("g.cubin", CUBIN)),
        {"member_ratio": 10**6, "member_bytes": 100 << 20},
        1,
        "member_bytes",
    ),
    "gzip bomb": (
        lambda: gzip_of_zeros(stored_name(100) + bytes(512) + b"\0" * 512, 300 << 20),
        {},
        0,
        "member_ratio",
    ),
    "name of a gigabyte": (lambda: gzip_of_zeros(stored_name(1 << 30), 300 << 20), {}, 0, "header_bytes"),
    "many rows": (lambda: many_rows(100_000, CUBIN, 200), {}, 1, ""),
    "overlapping rows": (
        lambda: patch_row(patch_row(many_rows(500, CUBIN), 7, offset=0), 9, offset=0),
        {},
        1,
        "offset",
    ),
    "xz bomb": (lambda: tarred(("b.so", zeros(300 << 20)), mode="w:xz"), {}, 0, "member_ratio"),
    "bzip2 bomb": (lambda: tarred(("b.so", zeros(300 << 20)), mode="w:bz2"), {}, 0, "member_ratio"),
    "gzip in gzip": (lambda: tarred(("a.tar.gz", gzip.compress(gzip.compress(bytes(64 << 20)))), mode="w:gz"), {}, 0, ""),
}  # fmt: skip


def lines_of(tmp_path: Path, script: str, *arguments: Path) -> list[str]:
    """Run a script that must neither complain nor leave a temporary file, and return its lines."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert list(temporary.iterdir()) == []
    return done.stdout.splitlines()


@pytest.mark.parametrize("case", sorted(CASES))
def test_memory_is_bounded(case: str, tmp_path: Path) -> None:
    make, limits, libraries, field = CASES[case]
    path = tmp_path / "in" / "x.zip"
    path.parent.mkdir()
    path.write_bytes(make())
    first, *issues = lines_of(tmp_path, CHILD.format(limit=LIMIT, limits=limits), path)
    assert int(first) == libraries
    assert [line.split(" ")[-1] for line in issues][-1:] == ([field] if field else [])
    assert [p.name for p in path.parent.iterdir()] == ["x.zip"]


def test_a_large_member_takes_no_memory(tmp_path: Path) -> None:
    """Of 64 MB that hardly deflate nothing stays in memory but a piece at a time."""
    block = os.urandom(1 << 20)
    path = tmp_path / "x.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open("a.cubin", "w") as member,
    ):
        member.write(CUBIN)
        for _ in range(64):
            member.write(block)
    script = (
        "import sys, tracemalloc, fatbin; tracemalloc.start();"
        "i = fatbin.scan(sys.argv[1], linkage=False);"
        "print(len(i.libraries), len(i.all_issues), tracemalloc.get_traced_memory()[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    libraries, issues, peak = map(int, done.stdout.split())
    assert (libraries, issues) == (1, 0)
    assert peak < 16 << 20
    assert fatbin.Limits().member_bytes > 64 << 20


@pytest.mark.parametrize("case", sorted(CASES))
def test_memory_of_surveys_is_bounded(case: str, tmp_path: Path) -> None:
    """Accounts, kernels, extraction and comparison of what scanning survives."""
    make, limits, libraries, field = CASES[case]
    path = tmp_path / "x.zip"
    path.write_bytes(make())
    script = SURVEYS.format(limit=LIMIT, limits=limits)
    counts, *fields = lines_of(tmp_path, script, path, tmp_path / "out")
    assert counts.split() == [str(libraries)] * 5
    assert [line.split(" ")[-1] for line in fields] == [field] * 4
