"""Bare files that come together are one library."""

from __future__ import annotations

import pytest

from fatbin.inventory import Inventory, Library
from fatbin.judge.gathered import gather


def bare(location: str, layer: str = "", form: str = "cubin", owner: str = "") -> Library:
    return Library(location, form, "", 10, layer=layer, distribution=owner)


def names(*libraries: Library, target: str = "image.tar") -> list[tuple[str, int, str]]:
    found = gather(Inventory(libraries, targets=(target,))).libraries
    return [(library.location, library.size, library.layer) for library in found]


@pytest.mark.parametrize(
    ("layers", "layer"), [(("sha256:a", "sha256:a"), "sha256:a"), (("sha256:a", "sha256:b"), "")]
)
def test_the_layer_is_told_where_all_are_of_one(layers: tuple[str, str], layer: str) -> None:
    files = [bare(f"image.tar::k/{n}.cubin", at) for n, at in enumerate(layers)]
    assert names(*files) == [("image.tar::k/*", 20, layer)]


def test_one_file_stays_what_it_is() -> None:
    assert names(bare("image.tar::k/1.cubin", "sha256:a")) == [
        ("image.tar::k/1.cubin", 10, "sha256:a")
    ]


def test_the_form_is_that_of_most() -> None:
    files = [bare(f"w.whl::k/{n}", form=form) for n, form in enumerate(("ptx", "cubin", "cubin"))]
    (library,) = gather(Inventory(tuple(files), targets=("w.whl",))).libraries
    assert library.format == "cubin"
