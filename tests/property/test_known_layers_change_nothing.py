"""An image of layers that are known is the image of the same layers read, whatever they hold."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from images_made import (
    Member,
    docker_archive,
    file,
    folder,
    hardlink,
    opaque,
    symlink,
    tar,
    whiteout,
)
from support import FIXTURES

import fatbin

CUBINS = [(FIXTURES / f"saxpy_{name}.cubin").read_bytes() for name in ("80", "90a")]
PATHS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map("/".join)
MEMBERS: st.SearchStrategy[Member] = st.one_of(
    st.builds(file, PATHS, st.sampled_from([*CUBINS, CUBINS[0][:200], b"text"])),
    st.builds(folder, PATHS),
    st.builds(symlink, PATHS, PATHS),
    st.builds(hardlink, PATHS, PATHS),
    st.builds(whiteout, PATHS),
    st.builds(opaque, PATHS),
)
LAYERS = st.lists(st.lists(MEMBERS, max_size=6), min_size=1, max_size=3)
ORDERS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=4)


@given(LAYERS, ORDERS)
def test_known_layers_change_nothing(layers: list[list[Member]], orders: list[list[int]]) -> None:
    made = [tar(*members) for members in layers]
    with (
        TemporaryDirectory() as name,
        patch("fatbin.scanning.images.kept.LEAST_BYTES", 0),
        patch("fatbin.scanning.cache._RECENT_NS", 0),
    ):
        for number, order in enumerate(orders):
            path = Path(name, f"{number}.tar")
            path.write_bytes(docker_archive(*(made[index % len(made)] for index in order)))
            wanted = fatbin.scan(path)
            for _ in range(2):
                assert fatbin.scan_many([path], cache=Path(name, "cache")) == wanted
