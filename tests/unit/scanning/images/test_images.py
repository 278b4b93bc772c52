"""Images as a user meets them: what of their layers is left, and who brought it."""

from __future__ import annotations

import gzip
import io
import json
from typing import TYPE_CHECKING

import pytest
from images_made import (
    INDEX_TYPE,
    LAYER_TYPE,
    MANIFEST_TYPE,
    Blobs,
    config_of,
    digest,
    docker_archive,
    file,
    folder,
    hardlink,
    oci_layout,
    opaque,
    squeezed,
    symlink,
    tar,
    tar_layout,
    whiteout,
    write_layout,
)
from support import FIXTURES

import fatbin
from fatbin.scanning.spool import FIRST_BYTES, HEAD_BYTES, worth_reading

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
OTHER = (FIXTURES / "saxpy_90a.cubin").read_bytes()
LIBRARY = (FIXTURES / "lib_3arch.so").read_bytes()
BASE = tar(
    folder("usr"),
    folder("usr/lib"),
    symlink("lib", "usr/lib"),
    file("etc/passwd", b"root:x:0:0"),
    file("usr/lib/a.so", LIBRARY),
    file("usr/lib/b.cubin", CUBIN),
)


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def found(inventory: fatbin.Inventory) -> dict[str, str]:
    """Return the number of the layer of each library, by its path in the image."""
    return {
        library.location.split("::", 1)[1]: library.layer.rpartition("(")[2].split(" ")[0]
        for library in inventory.libraries
    }


def of_layers(path: Path, *layers: bytes) -> dict[str, str]:
    inventory = fatbin.scan(write(path / "image.tar", docker_archive(*layers)))
    assert inventory.all_issues == ()
    return found(inventory)


# Forms ---------------------------------------------------------------------------------------------


def as_docker(path: Path, layers: list[bytes]) -> Path:
    return write(path / "x", docker_archive(*layers))


def as_docker_in_gzip(path: Path, layers: list[bytes]) -> Path:
    return write(path / "x", gzip.compress(docker_archive(*layers), 1))


def as_folder(path: Path, layers: list[bytes]) -> Path:
    return write_layout(oci_layout(*squeezed(layers)), path / "x")


def as_tar(path: Path, layers: list[bytes]) -> Path:
    return write(path / "x", tar_layout(oci_layout(*squeezed(layers))))


def as_plain_tar(path: Path, layers: list[bytes]) -> Path:
    return write(path / "x", tar_layout(oci_layout(*layers)))


def as_docker_of_version_25(path: Path, layers: list[bytes]) -> Path:
    files = oci_layout(*layers)
    paths = [f"blobs/sha256/{digest(layer).removeprefix('sha256:')}" for layer in layers]
    config = f"blobs/sha256/{digest(config_of(layers)).removeprefix('sha256:')}"
    rows = [{"Config": config, "RepoTags": ["made:latest"], "Layers": paths}]
    return write(path / "x", tar_layout({**files, "manifest.json": json.dumps(rows).encode()}))


def as_zstd(path: Path, layers: list[bytes]) -> Path:
    zstandard = pytest.importorskip("zstandard")
    packed = [zstandard.compress(layer) for layer in layers]
    return write(path / "x", tar_layout(oci_layout(*packed)))


FORMS = [
    as_docker,
    as_docker_in_gzip,
    as_docker_of_version_25,
    as_folder,
    as_tar,
    as_plain_tar,
    as_zstd,
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_form_holds_the_same(
    form: Callable[[Path, list[bytes]], Path], tmp_path: Path
) -> None:
    upper = tar(whiteout("usr/lib/b.cubin"), file("opt/c.cubin", OTHER))
    image = form(tmp_path, [BASE, upper])
    inventory = fatbin.scan(image, verify=True)
    assert inventory.all_issues == ()
    assert inventory.targets == (str(image),)
    assert found(inventory) == {"opt/c.cubin": "2", "usr/lib/a.so": "1"}
    bare = {
        "opt/c.cubin": fatbin.scan(FIXTURES / "saxpy_90a.cubin", verify=True),
        "usr/lib/a.so": fatbin.scan(FIXTURES / "lib_3arch.so", verify=True),
    }
    for library in inventory.libraries:
        assert library.location.startswith(f"{image}::")
        (alone,) = bare[library.location.split("::")[1]].libraries
        assert library._replace(location="", layer="") == alone._replace(location="")


def test_layers_are_named_as_the_image_names_them(tmp_path: Path) -> None:
    (layer,) = squeezed([tar(file("a.cubin", CUBIN))])
    plain = tar(file("a.cubin", CUBIN))
    (library,) = fatbin.scan(write_layout(oci_layout(layer), tmp_path / "oci")).libraries
    assert library.layer == f"{digest(layer)} (1 of 1)"
    (library,) = fatbin.scan(write(tmp_path / "docker.tar", docker_archive(plain))).libraries
    assert library.layer == f"{digest(plain)} (1 of 1)"


def test_a_layer_written_as_a_link_to_an_equal_one(tmp_path: Path) -> None:
    data = docker_archive(tar(file("a.cubin", CUBIN)), tar(whiteout("a.cubin")), shared=True)
    assert found(fatbin.scan(write(tmp_path / "x", data))) == {"a.cubin": "3"}


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(docker_archive(BASE))

    monkeypatch.setattr("sys.stdin", Input)
    inventory = fatbin.scan("-")
    assert [library.location for library in inventory.libraries] == [
        "-::usr/lib/a.so",
        "-::usr/lib/b.cubin",
    ]
    assert list(tmp_path.iterdir()) == []


# What survives -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("upper", "left"),
    [
        ([whiteout("usr/lib/b.cubin")], {"usr/lib/a.so": "1"}),
        ([whiteout("usr/lib")], {}),
        ([whiteout("lib/b.cubin")], {"usr/lib/a.so": "1"}),
        ([opaque("usr"), file("usr/lib/c.cubin", CUBIN)], {"usr/lib/c.cubin": "2"}),
        ([file("usr/lib/c.cubin", CUBIN), opaque("usr/lib")], {"usr/lib/c.cubin": "2"}),
        ([file("usr", b"now a file")], {}),
        ([symlink("usr/lib/b.cubin", "a.so")], {"usr/lib/a.so": "1"}),
        ([folder("usr/lib/b.cubin")], {"usr/lib/a.so": "1"}),
        ([file("usr/lib/b.cubin", b"text")], {"usr/lib/a.so": "1"}),
        ([file("lib/b.cubin", OTHER)], {"usr/lib/a.so": "1", "usr/lib/b.cubin": "2"}),
        ([file("./usr//lib/b.cubin", OTHER)], {"usr/lib/a.so": "1", "usr/lib/b.cubin": "2"}),
        ([file("/usr/lib/b.cubin", OTHER)], {"usr/lib/a.so": "1", "usr/lib/b.cubin": "2"}),
        (
            [folder("lib"), file("lib/b.cubin", OTHER)],
            {"lib/b.cubin": "2", "usr/lib/a.so": "1", "usr/lib/b.cubin": "1"},
        ),
        (
            [hardlink("usr/lib/z", "usr/lib/b.cubin"), whiteout("usr/lib/b.cubin")],
            {"usr/lib/a.so": "1", "usr/lib/z": "1"},
        ),
    ],
)  # fmt: skip
def test_an_upper_layer_changes_what_is_below(
    upper: list[tuple[str, ...]], left: dict[str, str], tmp_path: Path
) -> None:
    assert of_layers(tmp_path, BASE, tar(*upper)) == left  # type: ignore[arg-type]


def test_a_hard_link_outlives_the_name_that_brought_it(tmp_path: Path) -> None:
    layers = [BASE, tar(hardlink("opt/d", "usr/lib/b.cubin")), tar(whiteout("usr/lib/b.cubin"))]
    assert of_layers(tmp_path, *layers) == {"opt/d": "1", "usr/lib/a.so": "1"}


def test_hard_links_are_other_names_of_one_file(tmp_path: Path) -> None:
    layer = tar(file("b", CUBIN), hardlink("a", "b"), hardlink("lib/c", "/a"))
    image = write(tmp_path / "x", docker_archive(layer))
    (library,) = fatbin.scan(image).libraries
    assert library.location == f"{image}::a"
    assert library.aliases == (f"{image}::b", f"{image}::lib/c")


def test_the_same_name_twice_in_a_layer_is_the_later_one(tmp_path: Path) -> None:
    image = write(tmp_path / "x", docker_archive(tar(file("a", CUBIN), file("a", OTHER))))
    (library,) = fatbin.scan(image).libraries
    assert sorted(map(str, library.sass)) == ["sm_90a"]


def test_members_of_archives_inside_are_libraries_of_their_own(tmp_path: Path) -> None:
    data = (FIXTURES / "libmixed.a").read_bytes()
    image = write(tmp_path / "x", docker_archive(tar(file("lib/libmixed.a", data))))
    assert list(found(fatbin.scan(image))) == [
        "lib/libmixed.a::host_1arch.o",
        "lib/libmixed.a::multi.fatbin",
        "lib/libmixed.a::saxpy_80.cubin",
    ]


def test_a_thin_archive_in_an_image_opens_no_file_outside(tmp_path: Path) -> None:
    thin = (FIXTURES / "libthin.a").read_bytes()
    image = write(tmp_path / "x", docker_archive(tar(file("libthin.a", thin))))
    for name in ("host_1arch.o", "host_3arch.o"):
        (tmp_path / name).write_bytes((FIXTURES / name).read_bytes())
    inventory = fatbin.scan(image)
    assert inventory.libraries == ()
    assert {issue.message for issue in inventory.issues} == {
        "a thin archive that is no file of its own names other files; they are not opened"
    }


def test_links_out_of_the_image_stay_inside(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside.cubin", CUBIN)
    layer = tar(
        symlink("a", str(outside)),
        symlink("up", "../../../.."),
        file("up/etc/b.cubin", CUBIN),
        symlink("c", "a"),
    )
    assert of_layers(tmp_path, layer) == {"etc/b.cubin": "1"}


def test_names_that_are_no_text_are_written_out(tmp_path: Path) -> None:
    name = b"lib\xff.cubin".decode("utf-8", "surrogateescape")
    image = write(tmp_path / "x", docker_archive(tar(file(name, CUBIN))))
    inventory = fatbin.scan(image)
    assert list(found(inventory)) == ["lib\\xff.cubin"]
    assert fatbin.Inventory.from_json(inventory.to_json()) == inventory


def test_installed_distributions_are_named(tmp_path: Path) -> None:
    site = "usr/lib/python3.12/site-packages"
    layer = tar(
        file(f"{site}/pkg/a.cubin", CUBIN),
        file(f"{site}/other.cubin", CUBIN),
        file("usr/share/b.cubin", CUBIN),
        file(
            f"{site}/pkg-1.2.dist-info/METADATA",
            b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.2\n",
        ),
        file(
            f"{site}/pkg-1.2.dist-info/RECORD",
            b"pkg/a.cubin,sha256=x,1\n../../../share/b.cubin,,\n",
        ),
    )
    image = write(tmp_path / "x", docker_archive(layer))
    owners = {
        library.location.rpartition("/")[2]: (library.distribution, library.distribution_version)
        for library in fatbin.scan(image).libraries
    }
    assert owners == {"a.cubin": ("pkg", "1.2"), "other.cubin": ("", ""), "b.cubin": ("pkg", "1.2")}
    gone = tar(whiteout(f"{site}/pkg-1.2.dist-info"))
    image.write_bytes(docker_archive(layer, gone))
    assert {library.distribution for library in fatbin.scan(image).libraries} == {""}


def test_a_file_worth_reading_begins_with_one_of_these_bytes() -> None:
    for path in FIXTURES.iterdir():
        if path.is_file() and worth_reading(head := path.read_bytes()[:HEAD_BYTES]):
            assert head[0] in FIRST_BYTES, path.name


# Platforms -----------------------------------------------------------------------------------------


def two(*platforms: str, told: bool = True) -> dict[str, bytes]:
    blobs = Blobs()
    images = [
        blobs.image(
            [tar(file(f"{platform.replace('/', '-')}.cubin", CUBIN))], platform=platform, told=told
        )
        for platform in platforms
    ]
    noise = blobs.image([tar(file("no.cubin", CUBIN))], platform="unknown/unknown")
    note = blobs.image(
        [tar(file("note.cubin", CUBIN))],
        told=False,
        annotations={"vnd.docker.reference.type": "attestation-manifest"},
    )
    return blobs.layout(*images, noise, note)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(
    ("platforms", "wanted", "chosen"),
    [
        (["linux/arm64"], "", "linux-arm64"),
        (["linux/arm64", "linux/amd64"], "", "linux-amd64"),
        (["linux/arm64", "linux/amd64"], "linux/arm64", "linux-arm64"),
        (["linux/arm64/v8", "linux/amd64"], "linux/arm64", "linux-arm64-v8"),
        (["linux/arm64", "linux/amd64"], "linux/arm64/v8", "linux-arm64"),
        (["linux/arm/v6", "linux/arm/v7"], "linux/arm/v7", "linux-arm-v7"),
        (["linux/amd64"], "linux/amd64", "linux-amd64"),
    ],
)
def test_one_platform_is_chosen(
    platforms: list[str],
    wanted: str,
    chosen: str,
    told: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
) -> None:
    layout = write_layout(two(*platforms, told=told), tmp_path / "x")
    assert list(found(fatbin.scan(layout, platform=wanted))) == [f"{chosen}.cubin"]


@pytest.mark.parametrize(
    ("platforms", "wanted", "message"),
    [
        (["linux/arm64", "linux/riscv64"], "", "expected one image or one for linux/amd64, found: linux/arm64, linux/riscv64"),
        (["linux/arm64"], "linux/amd64", "expected an image for linux/amd64, found: linux/arm64"),
        (["linux/arm/v6"], "linux/arm/v7", "expected an image for linux/arm/v7, found: linux/arm/v6"),
        (["linux/arm64"], "amd64", "expected a platform such as linux/amd64, found 'amd64'"),
    ],
)  # fmt: skip
def test_a_platform_that_is_not_there_is_told(
    platforms: list[str], wanted: str, message: str, tmp_path: Path
) -> None:
    layout = write_layout(two(*platforms), tmp_path / "x")
    with pytest.raises(fatbin.SourceError) as caught:
        fatbin.scan(layout, platform=wanted)
    assert caught.value.message == message


def test_a_docker_archive_has_the_platform_of_its_configuration(tmp_path: Path) -> None:
    image = write(tmp_path / "x", docker_archive(tar(file("a.cubin", CUBIN))))
    assert list(found(fatbin.scan(image, platform="linux/amd64"))) == ["a.cubin"]
    with pytest.raises(fatbin.SourceError, match="expected an image for linux/arm64"):
        fatbin.scan(image, platform="linux/arm64")


@pytest.mark.parametrize(
    "media_type", [INDEX_TYPE, "application/vnd.docker.distribution.manifest.list.v2+json"]
)
def test_an_index_in_an_index(media_type: str, tmp_path: Path) -> None:
    blobs = Blobs()
    manifests = [
        blobs.image([tar(file(f"{name}.cubin", CUBIN))], platform=f"linux/{name}")
        for name in ("arm64", "amd64")
    ]
    inner = blobs.document({"schemaVersion": 2, "manifests": manifests}, media_type)
    layout = write_layout(blobs.layout(inner), tmp_path / "x")
    assert list(found(fatbin.scan(layout))) == ["amd64.cubin"]
    assert list(found(fatbin.scan(layout, platform="linux/arm64"))) == ["arm64.cubin"]


def test_several_images_are_told_apart_by_name(tmp_path: Path) -> None:
    blobs = Blobs()
    rows = [
        blobs.image(
            [tar(file("a.cubin", data))], annotations={"org.opencontainers.image.ref.name": name}
        )
        for name, data in (("one", CUBIN), ("two", OTHER))
    ]
    layout = write_layout(blobs.layout(*rows), tmp_path / "x")
    assert list(found(fatbin.scan(layout))) == ["one::a.cubin", "two::a.cubin"]


@pytest.mark.parametrize("told", [True, False])
def test_images_without_a_name_beside_each_other_are_all_read(
    told: bool,  # noqa: FBT001 - of parametrize
    tmp_path: Path,
) -> None:
    blobs = Blobs()
    one = blobs.image([tar(file("a.cubin", CUBIN))], told=told)
    two = blobs.image([tar(file("b.cubin", CUBIN))], told=told)
    layout = write_layout(blobs.layout(one, two), tmp_path / "x")
    found = [library.location for library in fatbin.scan(layout).libraries]
    assert found == [f"{layout}::linux/amd64::a.cubin", f"{layout}::{two['digest']}::b.cubin"]


def test_media_types_are_not_believed(tmp_path: Path) -> None:
    layer = tar(file("a.cubin", CUBIN))
    blobs = Blobs()
    config = blobs.add(config_of([layer]), "text/plain")
    stored = blobs.add(gzip.compress(layer), LAYER_TYPE + "+zstd")
    image = blobs.document({"config": config, "layers": [stored]}, MANIFEST_TYPE)
    assert found(fatbin.scan(write_layout(blobs.layout(image), tmp_path / "x"))) == {"a.cubin": "1"}
