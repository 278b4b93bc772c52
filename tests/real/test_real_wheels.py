"""Real wheels: what is found in them is what their unpacked members hold."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import corpus
import pytest
from support import ROOT, require

import fatbin
from fatbin.inventory import Library

pytestmark = pytest.mark.real

WHEELS = {
    name: value for name, value in sorted(vars(corpus).items()) if isinstance(value, corpus.Wheel)
}
_CUBINS = 15_970
_MOST_PRIVATE = 150_000_000
_MOST_UNPACKED = 200_000_000  # members whose unpacked bytes are held for the comparison


def _bare(library: Library, location: str) -> Library:
    return library._replace(location=location, distribution="", distribution_version="")


@pytest.mark.parametrize("name", WHEELS)
def test_a_wheel_is_its_members(name: str, tmp_path: Path) -> None:
    """Each member by itself, from the disk, as a user would unpack it."""
    wheel = WHEELS[name]
    path = corpus.wheel_path(wheel)
    inventory = fatbin.scan(path, kernels=False)
    assert inventory.issues == ()
    found = {library.location.split("::", 1)[1]: library for library in inventory.libraries}
    assert len(found) == len(inventory.libraries)
    members: dict[str, Library] = {}
    unpacked = tmp_path / "member"
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.is_dir() or not info.file_size:
                continue
            if info.file_size > _MOST_UNPACKED:
                source = corpus.library(wheel, info.filename)
            else:
                unpacked.write_bytes(archive.read(info))
                source = unpacked
            try:
                alone = fatbin.scan(source, kernels=False)
            except fatbin.UnknownFormatError:
                continue
            for library in alone.libraries:
                if library.modules or library.issues:
                    inside = info.filename + library.location.removeprefix(str(source))
                    members[inside] = library
    assert found.keys() == members.keys()
    for inside, library in members.items():
        here = found[inside]
        issues = tuple(i._replace(location="") for i in here.issues)
        wanted = tuple(i._replace(location="") for i in library.issues)
        assert issues == wanted
        assert _bare(here, "")._replace(issues=()) == library._replace(location="", issues=())
    assert {lib.distribution for lib in found.values()} <= {
        wheel.name,
        wheel.name.replace("-", "_"),
    }
    assert {lib.distribution_version for lib in found.values()} <= {wheel.version}


def test_every_cubin_of_a_tree(tmp_path: Path) -> None:
    path = corpus.wheel_path(corpus.FLASHINFER_CUBIN)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "tree")
    inventory = fatbin.scan_many([tmp_path / "tree"], kernels=False, linkage=False)
    assert inventory.all_issues == ()
    assert len(inventory.libraries) == _CUBINS
    assert list(inventory.libraries) == sorted(
        inventory.libraries, key=lambda library: library.location.split(os.sep)
    )


def test_cublas_streams_in_little_private_memory(tmp_path: Path) -> None:
    """A member of 749 MB in a wheel of 581 MB, read at random out of a file without a name."""
    if not Path("/proc/self/status").is_file():
        require("proc", "no /proc to read the memory of a process from")
    path = corpus.wheel_path(corpus.CUBLAS)
    child = subprocess.Popen(
        [sys.executable, "-m", "fatbin", "inspect", "--no-cache", "--format", "json", str(path)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    status = Path(f"/proc/{child.pid}/status")
    peak = 0
    names: set[str] = set()
    while child.poll() is None:
        try:
            lines = status.read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            break
        peak = max([peak, *(int(x.split()[1]) for x in lines if x.startswith("RssAnon:"))])
        names.update(os.listdir(tmp_path))
        time.sleep(0.001)
    assert child.wait() == 0
    assert 0 < peak * 1024 < _MOST_PRIVATE
    # Python tries whether it may write there, with a file that is gone at once.
    assert [name for name in names if not re.fullmatch(r"[a-z0-9_]{8}", name)] == []


def test_the_copies_of_nccl_in_an_environment(tmp_path: Path) -> None:
    """pip's and conda's copy; the loader takes the one whose folder is named."""
    site = tmp_path / "lib" / "python3.12" / "site-packages"
    for wheel, folder, name in (
        (corpus.NCCL_2_26, site / "nvidia" / "nccl" / "lib", "libnccl.so.2"),
        (corpus.NCCL_2_29, tmp_path / "lib", "libnccl.so.2.29.7"),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(corpus.library(wheel, "nvidia/nccl/lib/libnccl.so.2"))
    (tmp_path / "lib" / "libnccl.so.2").symlink_to("libnccl.so.2.29.7")
    (tmp_path / "conda-meta").mkdir()
    info = site / "nvidia_nccl_cu12-2.26.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: nvidia-nccl-cu12\nVersion: 2.26.2\n")
    (info / "RECORD").write_text("nvidia/nccl/lib/libnccl.so.2,,\n")
    inventory = fatbin.scan(f"env:{tmp_path}")
    assert inventory.all_issues == ()
    found = {(lib.distribution, lib.linkage.version) for lib in inventory.libraries if lib.linkage}
    assert {(name, version.split("+")[0]) for name, version in found} == {
        ("nvidia-nccl-cu12", "2.26.2"),
        ("", "2.29.7"),
    }
    for folder, version in (
        (tmp_path / "lib", "2.29.7"),
        (info.parent / "nvidia/nccl/lib", "2.26.2"),
    ):
        order = fatbin.loader_order(inventory, "libnccl.so.2", {"LD_LIBRARY_PATH": str(folder)})
        assert order[0].linkage is not None
        assert order[0].linkage.version.split("+")[0] == version
        assert len(order) == 2
