"""A file is the same by itself and in an image; damaged images give issues or errors, no crashes."""

from __future__ import annotations

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st
from images_made import docker_archive, file, folder, oci_layout, symlink, tar, tar_layout
from support import FIXTURES

import fatbin
from fatbin.inventory import Inventory

SMALL = sorted(
    path.name
    for path in FIXTURES.iterdir()
    if path.is_file() and path.stat().st_size < 50_000 and not path.name.startswith("libthin")
)
LAYERS = [
    tar(folder("lib"), file("lib/a.cubin", (FIXTURES / "saxpy_80.cubin").read_bytes())),
    tar(symlink("lib64", "lib"), file("b.fatbin", (FIXTURES / "sm_90.fatbin").read_bytes())),
]
IMAGES = [
    docker_archive(*LAYERS),
    tar_layout(oci_layout(*LAYERS)),
    tar_layout(oci_layout(*(gzip.compress(layer, mtime=0) for layer in LAYERS))),
]


def scanned(data: bytes) -> Inventory:
    with TemporaryDirectory() as path:
        image = Path(path, "image")
        image.write_bytes(data)
        return fatbin.scan(image)


@given(st.sampled_from(SMALL), st.sampled_from(["docker", "oci", "gzip"]))
def test_a_file_in_an_image(name: str, form: str) -> None:
    data = (FIXTURES / name).read_bytes()
    layer = tar(file(f"opt/{name}", data))
    if form == "docker":
        image = docker_archive(layer)
    else:
        image = tar_layout(oci_layout(gzip.compress(layer) if form == "gzip" else layer))
    inside = scanned(image)
    try:
        alone = scanned(data)
    except fatbin.UnknownFormatError:
        assert inside.libraries == ()
        return
    bare = [library for library in alone.libraries if library.modules or library.issues]
    assert [library.modules for library in inside.libraries] == [lib.modules for lib in bare]
    assert [len(library.issues) for library in inside.libraries] == [len(b.issues) for b in bare]
    assert len(inside.issues) == len(alone.issues)


@given(st.sampled_from(IMAGES), st.data())
def test_a_damaged_image_is_survived(image: bytes, data: st.DataObject) -> None:
    damaged = bytearray(image)
    for _ in range(data.draw(st.integers(1, 4))):
        where = data.draw(st.integers(0, len(image) - 1))
        patch = data.draw(st.binary(min_size=1, max_size=12))
        damaged[where : where + len(patch)] = patch
    if data.draw(st.booleans()):
        del damaged[data.draw(st.integers(0, len(image))) :]
    try:
        inventory = scanned(bytes(damaged))
    except fatbin.FatbinError as exc:
        assert str(exc)
    else:
        assert Inventory.from_json(inventory.to_json()) == inventory
