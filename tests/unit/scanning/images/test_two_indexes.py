"""Archives with an OCI index and a docker manifest: they say the same, or somebody hides something."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from images_made import Blobs, file, tar_layout
from images_made import tar as layer_of
from support import FIXTURES

import fatbin

if TYPE_CHECKING:
    from pathlib import Path

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
LAYER = layer_of(file("a.cubin", CUBIN))
OTHER = layer_of(file("b.cubin", CUBIN))


def row(blobs: Blobs, descriptor: dict[str, Any]) -> dict[str, Any]:
    """Return what docker writes beside the index for one of its images."""
    manifest = json.loads(blobs.files["blobs/" + descriptor["digest"].replace(":", "/")])
    config, *layers = (
        "blobs/" + blob["digest"].replace(":", "/")
        for blob in (manifest["config"], *manifest["layers"])
    )
    return {"Config": config, "RepoTags": ["made:latest"], "Layers": layers}


def scan(path: Path, files: dict[str, bytes], rows: object, platform: str = "") -> fatbin.Inventory:
    image = path / "x"
    image.write_bytes(tar_layout({**files, "manifest.json": json.dumps(rows).encode()}))
    return fatbin.scan(image, platform=platform)


def test_both_of_one_image_are_no_issue(tmp_path: Path) -> None:
    blobs = Blobs()
    image = blobs.image([LAYER, OTHER])
    inventory = scan(tmp_path, blobs.layout(image), [row(blobs, image)])
    assert inventory.all_issues == ()
    assert len(inventory.libraries) == 2


def test_both_of_several_platforms_where_docker_names_one(tmp_path: Path) -> None:
    blobs = Blobs()
    images = [
        blobs.image([layer], platform=f"linux/{name}")
        for name, layer in (("amd64", LAYER), ("arm64", OTHER))
    ]
    for platform in ("", "linux/arm64"):
        inventory = scan(tmp_path, blobs.layout(*images), [row(blobs, images[0])], platform)
        assert inventory.all_issues == ()
        assert len(inventory.libraries) == 1


def test_a_platform_that_is_not_there_is_no_matter(tmp_path: Path) -> None:
    blobs = Blobs()
    images = [
        blobs.image([layer], platform=f"linux/{name}")
        for name, layer in (("amd64", LAYER), ("arm64", OTHER))
    ]
    files = blobs.layout(*images)
    del files["blobs/" + images[1]["digest"].replace(":", "/")]
    assert scan(tmp_path, files, [row(blobs, images[0])]).all_issues == ()


@pytest.mark.parametrize("hidden", ["in the manifest", "beside the same", "in the index"])
def test_another_image_in_one_of_them_is_told(hidden: str, tmp_path: Path) -> None:
    blobs = Blobs()
    good, other = blobs.image([LAYER]), blobs.image([LAYER, OTHER])
    rows = {
        "in the manifest": [row(blobs, other)],
        "beside the same": [row(blobs, good), row(blobs, other)],
        "in the index": [row(blobs, good)],
    }
    shown = other if hidden == "in the index" else good
    inventory = scan(tmp_path, blobs.layout(shown), rows[hidden])
    assert {library.location.rpartition("::")[2] for library in inventory.libraries} >= {"a.cubin"}
    assert inventory.issues
    for issue in inventory.issues:
        assert issue.location == f"{tmp_path / 'x'}::manifest.json"
        assert "expected the images of index.json" in issue.message


def test_layers_in_another_order_are_another_image(tmp_path: Path) -> None:
    blobs = Blobs()
    image = blobs.image([LAYER, OTHER])
    swapped = row(blobs, image)
    swapped["Layers"].reverse()
    assert scan(tmp_path, blobs.layout(image), [swapped]).issues


def test_a_broken_manifest_beside_an_index_is_told(tmp_path: Path) -> None:
    blobs = Blobs()
    files = blobs.layout(blobs.image([LAYER]))
    inventory = scan(tmp_path, files, [{"Config": "missing", "Layers": []}])
    assert len(inventory.libraries) == 1
    assert [issue.code for issue in inventory.issues] == ["Source"]
