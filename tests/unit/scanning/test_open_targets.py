"""Whatever can be scanned can be opened, and holds the same: one library at a time."""

from __future__ import annotations

import gzip
import io
import os
import sys
from pathlib import Path

import pytest
from hosts import archive
from images_made import (
    Blobs,
    docker_archive,
    file,
    hardlink,
    oci_layout,
    squeezed,
    symlink,
    tar,
    tar_layout,
    whiteout,
    write_layout,
)
from packing import WHEEL, patch_row, tarred, wheel, zipped
from support import FIXTURES

import fatbin
from fatbin.errors import raise_error
from fatbin.inventory import Module
from fatbin.scanning.targets import open_parts

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
LIBRARY = (FIXTURES / "lib_3arch.so").read_bytes()
OTHER = (FIXTURES / "lib_1arch.so").read_bytes()
FATBIN = (FIXTURES / "multi.fatbin").read_bytes()
MEMBERS = [("lib/a.so", LIBRARY), ("text", b"import os\n"), ("k/b.fatbin", FATBIN)]
STATIC = archive(("x.fatbin", FATBIN), ("y.txt", b"no code"), ("z.cubin", CUBIN))
LAYERS = [
    tar(file("usr/lib/a.so", OTHER), file("usr/lib/gone.so", LIBRARY), symlink("lib", "usr/lib")),
    tar(
        whiteout("usr/lib/gone.so"),
        file("lib/a.so", LIBRARY),
        hardlink("opt/same.so", "usr/lib/a.so"),
        file("opt/x.a", STATIC),
        file("w/" + WHEEL, wheel(*MEMBERS)),
    ),
]

Found = list[tuple[str, tuple[Module, ...], str, str]]


def made(folder: Path) -> dict[str, str]:
    """Write one target of each kind; return what each is called."""
    targets: dict[str, bytes] = {
        "a.so": LIBRARY,
        "b.a": STATIC,
        WHEEL: wheel(*MEMBERS),
        "nested.zip": zipped(("in/" + WHEEL, wheel(*MEMBERS)), ("x.a", STATIC)),
        "plain.tar": tarred(*MEMBERS),
        "some-1.0.tar.gz": tarred(*MEMBERS, ("x.a", STATIC), mode="w:gz"),
        "docker.tar": docker_archive(*LAYERS),
        "oci.tar": tar_layout(oci_layout(*squeezed(LAYERS))),
        "docker.tar.gz": gzip.compress(docker_archive(*LAYERS)),
    }
    for name, data in targets.items():
        (folder / name).write_bytes(data)
    named = {name: str(folder / name) for name in targets}
    named["layout"] = str(write_layout(oci_layout(*squeezed(LAYERS)), folder / "layout"))
    site = folder / "env" / "lib" / "python3.12" / "site-packages"
    info = site / "some_package-1.2.3.dist-info"
    info.mkdir(parents=True)
    (site / "a.so").write_bytes(LIBRARY)
    (site / "b.so").write_bytes(b"\x7fELF" + bytes(60))
    (site / "b.fatbin").write_bytes(FATBIN)
    (info / "METADATA").write_text("Name: some-package\nVersion: 1.2.3\n")
    (info / "RECORD").write_text("a.so,,\n")
    (folder / "env" / WHEEL).write_bytes(wheel(*MEMBERS))
    named["folder"] = str(folder / "env")
    named["environment"] = f"env:{folder / 'env'}"
    return named


KINDS = (
    "a.so", "b.a", WHEEL, "nested.zip", "plain.tar", "some-1.0.tar.gz", "docker.tar", "oci.tar",
    "docker.tar.gz", "layout", "folder", "environment",
)  # fmt: skip


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    named = made(tmp_path_factory.mktemp("targets"))
    assert named.keys() == set(KINDS)
    return named


def opened(target: str, **options: str) -> tuple[Found, list[fatbin.Issue]]:
    """Open each library, read every payload of it, and return what it holds."""
    found = []
    with fatbin.open(target, **options) as file:  # type: ignore[arg-type]
        for library in file.libraries():
            for container in library.containers:
                for entry in container.entries:
                    if entry.facts.compression.value != "none":
                        assert len(entry.read()) == entry.facts.size
            modules = tuple(container.facts for container in library.containers)
            place = library.distribution, library.distribution_version
            found.append((library.location, modules, *place))
        return sorted(found, key=lambda row: row[0]), sorted(file.issues)


def scanned(target: str, **options: str) -> tuple[Found, list[fatbin.Issue]]:
    inventory = fatbin.scan(target, linkage=False, kernels=False, **options)  # type: ignore[arg-type]
    found = [
        (lib.location, lib.modules, lib.distribution, lib.distribution_version)
        for lib in inventory.libraries
        if lib.modules
    ]
    return sorted(found, key=lambda row: row[0]), sorted(inventory.all_issues)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_opened_is_what_is_scanned(targets: dict[str, str], kind: str) -> None:
    found, issues = opened(targets[kind])
    assert len(found) >= 1
    assert (found, issues) == scanned(targets[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_says_whether_it_is_one_file(targets: dict[str, str], kind: str) -> None:
    errors: list[fatbin.FatbinError] = []
    with open_parts(targets[kind], report=errors.append) as parts:
        single = kind in ("a.so", "b.a")
        assert parts.single is single
        is_file = os.path.isfile(targets[kind])
        assert parts.size == (os.path.getsize(targets[kind]) if is_file else 0)
        assert {part.holder.member for part in parts} == {not single}


def test_bytes_in_the_package(targets: dict[str, str]) -> None:
    def packed(kind: str) -> dict[str, int]:
        with open_parts(targets[kind], report=raise_error) as parts:
            return {part.view.name.rpartition("::")[2]: part.packed for part in parts}

    import zipfile

    with zipfile.ZipFile(targets[WHEEL]) as members:
        sizes = {info.filename: info.compress_size for info in members.infolist()}
    assert packed(WHEEL) == {name: sizes[name] for name in ("lib/a.so", "k/b.fatbin")}
    assert packed("plain.tar") == {"lib/a.so": len(LIBRARY), "k/b.fatbin": len(FATBIN)}
    assert set(packed("some-1.0.tar.gz").values()) == {-1}
    assert packed("b.a") == {"x.fatbin": len(FATBIN), "z.cubin": len(CUBIN)}
    assert packed("docker.tar")["opt/same.so"] == len(LIBRARY)
    assert packed("oci.tar")["opt/same.so"] == -1


def test_files_of_lower_layers_are_not_opened(targets: dict[str, str]) -> None:
    for kind in ("docker.tar", "oci.tar", "layout"):
        (location, modules, _, _), *_ = (
            row for row in opened(targets[kind])[0] if "opt/same.so" in row[0]
        )
        assert len(modules[0].entries) == 3, kind  # not the one of the first layer
        assert not any("gone" in row[0] for row in opened(targets[kind])[0])
        assert location


def test_platforms(tmp_path: Path) -> None:
    blobs = Blobs()
    images = [
        blobs.image([tar(file("x.so", data))], platform=platform)
        for platform, data in (("linux/amd64", LIBRARY), ("linux/arm64", OTHER))
    ]
    target = str(write_layout(blobs.layout(*images), tmp_path / "image"))
    assert len(opened(target)[0][0][1][0].entries) == 3
    assert len(opened(target, platform="linux/arm64")[0][0][1][0].entries) == 2
    with pytest.raises(fatbin.SourceError, match="for linux/s390x"):
        opened(target, platform="linux/s390x")


def test_standard_input(targets: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("a.so", WHEEL, "oci.tar"):
        data = io.BytesIO(Path(targets[kind]).read_bytes())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
        found, _ = opened("-")
        assert [row[1] for row in found] == [row[1] for row in opened(targets[kind])[0]]


@pytest.mark.parametrize("cut", [100, 700, 5_000, 20_000, 45_000])
@pytest.mark.parametrize("form", ["docker", "oci", "gzip"])
def test_damage_of_a_layer_is_told_once_and_as_in_a_scan(
    tmp_path: Path, form: str, cut: int
) -> None:
    layers = [LAYERS[0][:cut], tar(file("other/x.so", LIBRARY))]
    if form == "docker":
        data = docker_archive(*layers)
    else:
        data = tar_layout(oci_layout(*(squeezed(layers) if form == "gzip" else layers)))
    path = tmp_path / "image.tar"
    path.write_bytes(data)
    found, issues = opened(str(path))
    wanted, told = scanned(str(path))
    assert found == wanted
    assert f"{path}::other/x.so" in [row[0] for row in found]
    assert [issue.code for issue in issues] == [issue.code for issue in told]
    assert len(issues) == 1


def test_a_member_that_cannot_be_read_does_not_stop_the_rest(tmp_path: Path) -> None:
    path = tmp_path / WHEEL
    path.write_bytes(patch_row(wheel(*MEMBERS), 1, crc=1))
    found, issues = opened(str(path))
    assert [row[0] for row in found] == [f"{path}::k/b.fatbin"]
    assert [issue.code for issue in issues] == ["Source"]
    assert (found, issues) == scanned(str(path))


def test_limits_hold_for_files_of_an_image(tmp_path: Path) -> None:
    path = tmp_path / "image.tar"
    path.write_bytes(
        tar_layout(oci_layout(*squeezed([tar(file("a.so", LIBRARY), file("b", CUBIN))])))
    )
    limits = fatbin.Limits(member_bytes=10_000)
    with fatbin.open(path, limits=limits) as file_:
        assert [library.location for library in file_.libraries()] == [f"{path}::b"]
        assert [issue.field for issue in file_.issues] == ["member_bytes"]


def test_what_is_left_early_is_closed(targets: dict[str, str], tmp_path: Path) -> None:
    big = tmp_path / "big.whl"
    big.write_bytes(wheel(("a.cubin", CUBIN + bytes(3 << 20)), ("b.cubin", CUBIN)))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for target in (str(big), *targets.values()):
        with fatbin.open(target) as file_:
            next(file_.libraries())
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def test_what_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("nothing")
    with pytest.raises(fatbin.UnknownFormatError):
        fatbin.open(tmp_path)
    with pytest.raises(fatbin.SourceError):
        fatbin.open(tmp_path / "missing")
    with pytest.raises(fatbin.UnknownFormatError):
        fatbin.open(tmp_path / "text")
    (tmp_path / "empty.whl").write_bytes(wheel())
    with fatbin.open(tmp_path / "empty.whl") as file_:
        assert list(file_.libraries()) == []
