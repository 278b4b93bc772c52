"""Real wheels by the commands that open what is in them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import corpus
import pytest
from support import ROOT

import fatbin
from fatbin.survey.diff import compare
from fatbin.survey.extract import Extraction, Form
from fatbin.survey.folder import Folder
from fatbin.survey.kernels import kernels
from fatbin.survey.selection import select
from fatbin.survey.sizes import LibrarySize, account

pytestmark = pytest.mark.real

_PRIVATE = 200_000_000


def _bare(library: LibrarySize) -> LibrarySize:
    return library._replace(location="", packed=-1, distribution="", distribution_version="")


def test_two_wheels_of_nccl() -> None:
    old, new = corpus.wheel_path(corpus.NCCL_2_26), corpus.wheel_path(corpus.NCCL_2_29)
    diff = compare(old, new)
    assert diff.issues == ()
    assert diff.differs
    summary = diff.summary
    sass = [
        [str(code.arch) for code in codes if code.kind == "sass"]
        for codes in (summary.gained, summary.lost)
    ]
    assert sass == [["sm_100", "sm_100f", "sm_120"], ["sm_50"]]
    assert [str(code.arch) for code in summary.gained if code.kind == "ptx"] == ["compute_120"]
    assert (summary.versions_before, summary.versions_after) == ((), ("8.8",))
    assert summary.sizes_after.file - summary.sizes_before.file == 127_455_984
    (library,) = diff.libraries
    assert library.before == library.after == "nvidia/nccl/lib/libnccl.so.2"
    assert library.facts[0] == ("package", "nvidia-nccl-cu12 2.26.2", "nvidia-nccl-cu12 2.29.7")
    assert compare(new, old) == diff.mirrored()


def test_libraries_of_two_toolkits_belong_together() -> None:
    """From CUDA 12 to 13 the folders change."""
    old, new = corpus.wheel_path(corpus.CUSPARSE), corpus.wheel_path(corpus.CUSPARSE_13)
    (library,) = compare(old, new).libraries
    assert (library.before, library.after) == (
        "nvidia/cusparse/lib/libcusparse.so.12",
        "nvidia/cu13/lib/libcusparse.so.12",
    )


def test_the_size_of_faiss() -> None:
    path = corpus.wheel_path(corpus.FAISS)
    found = account(path)
    assert found.all_issues == ()
    (library,) = found.libraries
    assert library.location == f"{path}::faiss_gpu_cu12.libs/libfaiss-aa62252d.so"
    assert (found.size, found.archive, found.packed) == (63_571_433, 0, 36_019_033)
    assert found.package == path.stat().st_size
    assert library.parts == {
        "host_code": 7_159_021,
        "host_data": 5_781_620,
        "device": 50_603_271,
        "leftovers": 0,
        "overhead": 27_521,
    }
    assert (library.distribution, library.distribution_version) == ("faiss-gpu-cu12", "1.13.2")


@pytest.mark.parametrize(
    "name", ["FAISS", "CTRANSLATE2", "BITSANDBYTES_ARM", "AUTOAWQ_WINDOWS", "NVJPEG_WINDOWS_ARM"]
)
def test_an_account_is_that_of_the_unpacked_libraries(name: str) -> None:
    wheel = vars(corpus)[name]
    path = corpus.wheel_path(wheel)
    found = account(path)
    assert found.all_issues == ()
    assert found.libraries
    for library in found.libraries:
        member = library.location.removeprefix(f"{path}::")
        (alone,) = account(corpus.library(wheel, member)).libraries
        assert _bare(library) == _bare(alone)


def test_kernels_and_images_are_those_of_the_unpacked_library(tmp_path: Path) -> None:
    path = corpus.wheel_path(corpus.FAISS)
    library = corpus.library(corpus.FAISS, "faiss_gpu_cu12.libs/libfaiss-aa62252d.so")
    selection = select(architectures="sm_80")

    def wanted(entry: fatbin.Entry) -> bool:
        return str(entry.arch) == "sm_80"

    inside, alone = (
        [row._replace(location="") for row in kernels(target, wanted=wanted)]
        for target in (path, library)
    )
    assert inside == alone
    assert len(inside) > 100
    written = []
    for target in (path, library):
        extraction = Extraction(Folder(str(tmp_path)), selection, Form(write=False))
        written.append([file.sha256 for file in extraction.run(str(target))])
        assert extraction.issues == []
    assert written[0] == written[1]
    assert len(written[0]) == 182


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_kernels_of_a_wheel_take_little_private_memory(tmp_path: Path) -> None:
    """The largest image of NCCL inflates to 10 MB; the library of 273 MB lies in a file."""
    path = corpus.wheel_path(corpus.NCCL_2_26)
    script = (
        "import sys; from fatbin.survey.diff import compare;"
        "compare(sys.argv[1], sys.argv[1]);"
        "from fatbin.survey.sizes import account; account(sys.argv[1]);"
        "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss);"
        "print(next(x for x in open('/proc/self/status') if x.startswith('RssAnon')).split()[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout.split()[1]) * 1024 < _PRIVATE
    assert os.listdir(tmp_path) == []
