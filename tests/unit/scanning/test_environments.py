"""Environments of every layout, files tied to distributions, and which copy the loader takes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from packing import METADATA
from support import FIXTURES

import fatbin
from fatbin.inventory import Inventory, Library, Linkage
from fatbin.scanning.environments import find_environment

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
LIBRARY = (FIXTURES / "lib_3arch.so").read_bytes()


def install(site: Path, record: str = "pkg/lib/a.so,sha256=x,1\n") -> None:
    (site / "pkg" / "lib").mkdir(parents=True, exist_ok=True)
    (site / "pkg" / "lib" / "a.so").write_bytes(LIBRARY)
    (site / "loose.cubin").write_bytes(CUBIN)
    info = site / "some_package-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_bytes(METADATA)
    (info / "RECORD").write_text(record)


def owners(target: str) -> dict[str, str]:
    inventory = fatbin.scan(target)
    assert not inventory.all_issues
    return {
        os.path.basename(library.location): f"{library.distribution} {library.distribution_version}"
        for library in inventory.libraries
    }


@pytest.mark.parametrize(
    "site",
    [
        "lib/python3.12/site-packages",
        "lib64/python3.9/site-packages",
        "lib/python3.13t/site-packages",
        "lib/python3/dist-packages",
        "local/lib/python3.10/dist-packages",
        "Lib/site-packages",
        "lib/pypy3.10/site-packages",
    ],
)
def test_layouts(tmp_path: Path, site: str) -> None:
    install(tmp_path / site)
    wanted = {"a.so": "some-package 1.2.3", "loose.cubin": " "}
    assert owners(f"env:{tmp_path}") == wanted
    program = tmp_path / ("Scripts/python.exe" if site.startswith("Lib") else "bin/python3.12")
    program.parent.mkdir()
    program.write_bytes(b"")
    assert owners(f"env:{program}") == wanted


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights")
def test_the_program_of_a_virtual_environment_is_a_link_out_of_it(tmp_path: Path) -> None:
    install(tmp_path / "venv" / "lib" / "python3.12" / "site-packages")
    (tmp_path / "venv" / "lib64").symlink_to("lib")
    (tmp_path / "venv" / "bin").mkdir()
    (tmp_path / "venv" / "bin" / "python").symlink_to(sys.executable)
    target = f"env:{tmp_path / 'venv' / 'bin' / 'python'}"
    assert find_environment(target).packages == (
        str(tmp_path / "venv" / "lib" / "python3.12" / "site-packages"),
    )
    assert owners(target)["a.so"] == "some-package 1.2.3"


def test_system_packages_count_where_the_environment_has_them(tmp_path: Path) -> None:
    venv, home = tmp_path / "venv", tmp_path / "home"
    (venv / "lib" / "python3.12" / "site-packages").mkdir(parents=True)
    install(home / "lib" / "python3.12" / "site-packages")
    for word, count in (("true", 2), ("false", 0)):
        (venv / "pyvenv.cfg").write_text(
            f"home = {home / 'bin'}\ninclude-system-site-packages = {word}\n"
        )
        assert len(fatbin.scan(f"env:{venv}").libraries) == count


def test_a_package_that_is_a_link_to_a_folder_is_read(tmp_path: Path) -> None:
    site = tmp_path / "env/lib/python3.12/site-packages"
    site.mkdir(parents=True)
    elsewhere = tmp_path / "store/pkg"
    elsewhere.mkdir(parents=True)
    (elsewhere / "k.cubin").write_bytes((FIXTURES / "saxpy_80.cubin").read_bytes())
    (site / "pkg").symlink_to(elsewhere)
    (site / "again").symlink_to("pkg")
    info = site / "pkg-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: pkg\nVersion: 1.0\n\n")
    (info / "RECORD").write_text("pkg/k.cubin,,\n")
    (site / "more").symlink_to(".")
    (library,) = fatbin.scan(f"env:{tmp_path / 'env'}").libraries
    assert library.location.endswith("k.cubin")


def test_conda_environments(tmp_path: Path) -> None:
    install(tmp_path / "lib" / "python3.12" / "site-packages")
    (tmp_path / "lib" / "libx.so.1").write_bytes(LIBRARY + b"other")
    meta = tmp_path / "conda-meta"
    meta.mkdir()
    (meta / "nccl-2.26.2-h0_0.json").write_text(
        json.dumps({"name": "nccl", "version": "2.26.2", "files": ["lib/libx.so.1"]})
    )
    (meta / "broken.json").write_text('{"name": 1')
    (meta / "other.json").write_text('{"name": "x", "files": 7}')
    (meta / "history").write_text("")
    assert owners(f"env:{tmp_path}") == {
        "a.so": "some-package 1.2.3",
        "loose.cubin": " ",
        "libx.so.1": "nccl 2.26.2",
    }


@pytest.mark.parametrize(
    "record",
    [
        '"pkg/lib/a.so",,\n',
        "pkg/lib/../lib/a.so,,\n",
        "../site-packages/pkg/lib/a.so,sha256=x,5\r\n",
        'pkg/lib/a.so,,\n"odd, name",,\n',
    ],
)
def test_rows_of_a_record(tmp_path: Path, record: str) -> None:
    install(tmp_path / "lib" / "python3.12" / "site-packages", record)
    assert owners(f"env:{tmp_path}")["a.so"] == "some-package 1.2.3"


def test_old_distributions_and_such_without_lists(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.12" / "site-packages"
    install(site, "\xff,\n")
    egg = site / "old-2.0.egg-info"
    egg.mkdir()
    (egg / "installed-files.txt").write_text("../pkg/lib/a.so\n")
    (site / "none-1.dist-info").mkdir()
    assert owners(f"env:{tmp_path}")["a.so"] == "old 2.0"


def test_this_environment_is_found_without_a_path() -> None:
    import sysconfig

    found = find_environment("env:")
    assert found.prefix == sys.prefix
    assert os.path.realpath(sysconfig.get_paths()["purelib"]) in map(
        os.path.realpath, found.packages
    )


@pytest.mark.parametrize("name", ["missing", "text", "empty"])
def test_what_is_no_environment(tmp_path: Path, name: str) -> None:
    (tmp_path / "text").write_text("x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(fatbin.SourceError, match="expected"):
        fatbin.scan(f"env:{tmp_path / name}")


# The loader ---------------------------------------------------------------------------------------

SONAME = "libnccl.so.2"


def copy(location: str, *aliases: str, soname: str = SONAME) -> Library:
    return Library(location, "elf", linkage=Linkage(soname=soname), aliases=aliases)


def needing(location: str, *runpath: str, rpath: tuple[str, ...] = ()) -> Library:
    links = Linkage(needed=(SONAME,), runpath=runpath, rpath=rpath)
    return Library(location, "elf", linkage=links)


SYSTEM = copy(
    "/usr/lib/x86_64-linux-gnu/libnccl.so.2.20.3", "/usr/lib/x86_64-linux-gnu/libnccl.so.2"
)
PIP = copy("/v/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2")
CONDA = copy("/conda/lib/libnccl.so.2.26.2", "/conda/lib/libnccl.so.2")
HIDDEN = copy("/opt/nccl/libnccl.so.2.18.1")
OTHER = copy("/usr/lib/libother.so", soname="libother.so")
TORCH = needing(
    "/v/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so", "$ORIGIN/../../nvidia/nccl/lib"
)
OLD_TORCH = needing(TORCH.location, rpath=("$ORIGIN/../../nvidia/nccl/lib",))
BOTH = needing(TORCH.location, "$ORIGIN/../../nvidia/nccl/lib", rpath=("/conda/lib",))
BARE = Library("/x/k.cubin", "cubin")


@pytest.mark.parametrize(
    ("libraries", "path", "wanted"),
    [
        ((SYSTEM, PIP, CONDA, HIDDEN, OTHER, BARE), "", (SYSTEM, PIP, CONDA, HIDDEN)),
        ((SYSTEM, PIP, CONDA, TORCH), "", (PIP, SYSTEM, CONDA)),
        ((SYSTEM, PIP, CONDA, TORCH), "/conda/lib", (CONDA, PIP, SYSTEM)),
        ((SYSTEM, PIP, CONDA, OLD_TORCH), "/conda/lib", (PIP, CONDA, SYSTEM)),
        ((SYSTEM, CONDA, PIP, BOTH), "", (PIP, SYSTEM, CONDA)),
        ((SYSTEM, PIP, CONDA), "::/conda/lib:/v", (CONDA, SYSTEM, PIP)),
        ((SYSTEM, HIDDEN), "/opt/nccl", (SYSTEM, HIDDEN)),
        ((PIP, CONDA, needing("/conda/bin/x", "/none:${ORIGIN}/../lib")), "", (CONDA, PIP)),
        ((OTHER, BARE), "", ()),
    ],
)
def test_the_loader_takes(
    libraries: tuple[Library, ...], path: str, wanted: tuple[Library, ...]
) -> None:
    environ = {"LD_LIBRARY_PATH": path} if path else {}
    assert fatbin.loader_order(Inventory(libraries), SONAME, environ) == wanted


def test_a_configuration_that_makes_no_sense_adds_nothing(tmp_path: Path) -> None:
    install(tmp_path / "lib" / "python3.12" / "site-packages")
    (tmp_path / "pyvenv.cfg").write_bytes(
        b"home = \0/usr/bin\ninclude-system-site-packages = true\n"
    )
    assert owners(f"env:{tmp_path}") == {"a.so": "some-package 1.2.3", "loose.cubin": " "}
