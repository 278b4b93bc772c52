"""Layers that were read before: known by their bytes, in any image, and nothing is lost by it."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from images_made import (
    Blobs,
    digest,
    docker_archive,
    file,
    folder,
    hardlink,
    oci_layout,
    opaque,
    symlink,
    tar,
    tar_layout,
    whiteout,
    write_layout,
)
from packing import METADATA, WHEEL, wheel
from support import FIXTURES

import fatbin
from fatbin.errors import raise_error
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.aids import Aids
from fatbin.scanning.images import choose, kept, layers, streams
from fatbin.scanning.images.store import Folder
from fatbin.scanning.scanner import Options
from fatbin.scanning.shelf import Shelf
from fatbin.scanning.spool import Budget

if TYPE_CHECKING:
    from pathlib import Path

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
LIBRARY = (FIXTURES / "lib_3arch.so").read_bytes()
INFO = "usr/lib/some_package-1.2.3.dist-info"
LOWER = tar(
    folder("usr/lib"),
    file("usr/lib/a.so", LIBRARY),
    file("usr/lib/b.cubin", CUBIN),
    file("usr/lib/\udce9.cubin", CUBIN),
    file(f"{INFO}/METADATA", METADATA),
    file(f"{INFO}/RECORD", b"a.so,,\n"),
    file(f"opt/{WHEEL}", wheel(("x.so", LIBRARY))),
)
HIDES = tar(whiteout("usr/lib/b.cubin"), opaque("opt"), file("opt/new.cubin", CUBIN))
LINKS = tar(symlink("lib", "usr/lib"), hardlink("copy.cubin", "usr/lib/b.cubin"))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "LEAST_BYTES", 0)
    monkeypatch.setattr("fatbin.scanning.cache._RECENT_NS", 0)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what grows by each layer that is read."""
    found: list[str] = []
    real = streams.open_tar

    def open_tar(view: object, budget: object) -> object:
        found.append(getattr(view, "name", ""))
        return real(view, budget)  # type: ignore[arg-type]

    monkeypatch.setattr(layers, "open_tar", open_tar)
    return found


def image(path: Path, *stack: bytes) -> Path:
    path.write_bytes(docker_archive(*stack))
    return path


def test_another_image_with_the_same_layers_reads_none(tmp_path: Path, opened: list[str]) -> None:
    cache = tmp_path / "cache"
    stacks = [(LOWER, LINKS, HIDES), (HIDES, LOWER), (HIDES, LOWER, LINKS), (LOWER,)]
    plain = [
        fatbin.scan(image(tmp_path / f"{number}.tar", *stack))
        for number, stack in enumerate(stacks)
    ]
    assert len({str(inventory.libraries) for inventory in plain}) == len(stacks)
    assert not any(inventory.all_issues for inventory in plain)
    opened.clear()
    for number, wanted in enumerate(plain):
        for _ in range(2):
            assert fatbin.scan_many([tmp_path / f"{number}.tar"], cache=cache) == wanted
    assert len(opened) == 3


def test_layers_are_the_same_in_any_form_of_image(tmp_path: Path, opened: list[str]) -> None:
    cache = tmp_path / "cache"
    packed = gzip.compress(LOWER, mtime=0)
    files = oci_layout(packed)
    (tmp_path / "x.tar").write_bytes(tar_layout(files))
    for path in (write_layout(files, tmp_path / "folder"), tmp_path / "x.tar"):
        assert fatbin.scan_many([path], cache=cache) == fatbin.scan(path)
    assert len(opened) == 1 + 1 + 1  # once with a cache, twice without


def test_what_an_image_says_of_a_layer_is_not_believed(tmp_path: Path) -> None:
    """A layer under the digest of another one leaves nothing that the other one meets."""
    cache = tmp_path / "cache"
    files = oci_layout(LOWER)
    bad = {**files, f"blobs/{digest(LOWER).replace(':', '/')}": tar(file("a.cubin", CUBIN))}
    for name, each in (("bad", bad), ("good", files), ("bad", bad)):
        layout = tmp_path / name
        if not layout.exists():
            write_layout(each, layout)
        assert fatbin.scan_many([layout], cache=cache) == fatbin.scan(layout)
    assert fatbin.scan(tmp_path / "bad").libraries != fatbin.scan(tmp_path / "good").libraries


def test_a_blob_that_was_changed_is_read_again(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    layout = write_layout(oci_layout(LOWER), tmp_path / "x")
    before = fatbin.scan_many([layout], cache=cache)
    blob = layout / "blobs" / digest(LOWER).replace(":", "/")
    blob.write_bytes(tar(file("a.cubin", CUBIN)).ljust(len(LOWER), b"\0"))
    after = fatbin.scan_many([layout], cache=cache)
    assert after == fatbin.scan(layout)
    assert after.libraries != before.libraries


def test_a_layout_with_a_linked_folder_is_never_remembered(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    layout = write_layout(oci_layout(LOWER), tmp_path / "x")
    (layout / "blobs").rename(tmp_path / "blobs")
    (layout / "blobs").symlink_to(tmp_path / "blobs")
    before = fatbin.scan_many([layout], cache=cache)
    (tmp_path / "blobs" / digest(LOWER).replace(":", "/")).write_bytes(
        tar().ljust(len(LOWER), b"\0")
    )
    assert fatbin.scan_many([layout], cache=cache) == fatbin.scan(layout)
    assert fatbin.scan(layout) != before


@pytest.mark.parametrize(
    "layer",
    [
        LOWER[: len(LOWER) // 2],
        tar(file("a.cubin", CUBIN[:100])),
        tar(file("../b", CUBIN), file("a.cubin", CUBIN)),
        tar(hardlink("a.cubin", "missing")),
    ],
    ids=["cut", "damaged file", "refused name", "link to nothing"],
)
def test_a_layer_with_an_issue_is_not_kept(layer: bytes, tmp_path: Path, opened: list[str]) -> None:
    path = image(tmp_path / "x.tar", layer)
    first = fatbin.scan_many([path], cache=tmp_path / "cache")
    assert first.all_issues
    for number in (2, 3):
        assert fatbin.scan_many([path], cache=tmp_path / "cache") == first
        assert len(opened) == number
    assert not (tmp_path / "cache").exists()


def test_a_link_to_what_another_image_lacks_is_told(tmp_path: Path, opened: list[str]) -> None:
    """A layer that was whole in one image can be at fault in another."""
    cache = tmp_path / "cache"
    whole = image(tmp_path / "whole.tar", LOWER, LINKS)
    assert fatbin.scan_many([whole], cache=cache).all_issues == ()
    alone = image(tmp_path / "alone.tar", LINKS)
    opened.clear()
    found = fatbin.scan_many([alone], cache=cache)
    assert opened == []
    assert found == fatbin.scan(alone)
    assert "which is not there" in found.issues[0].message


@pytest.mark.parametrize("field", ["archive_members", "archive_bytes", "member_bytes"])
def test_limits_hold_for_known_layers_too(field: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    packed = [gzip.compress(layer, mtime=0) for layer in (LOWER, HIDES)]
    layout = write_layout(oci_layout(*packed), tmp_path / "x")
    most = {"archive_members": 12, "archive_bytes": len(LOWER) + 1000, "member_bytes": 4000}
    limits = DEFAULT_LIMITS._replace(**{field: most[field]})
    wanted = fatbin.scan(layout, limits=limits)
    assert wanted.all_issues
    lower = write_layout(oci_layout(packed[0]), tmp_path / "lower")
    for path in (lower, layout, layout):
        found = fatbin.scan_many([path], cache=cache, limits=limits)
    assert found == wanted


def test_notes_that_had_no_room_keep_a_layer_from_being_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[str]
) -> None:
    cache = tmp_path / "cache"
    path = image(tmp_path / "x.tar", LOWER)
    monkeypatch.setattr(layers, "ALL_BYTES", 1)
    assert {lib.distribution for lib in fatbin.scan_many([path], cache=cache).libraries} == {
        "",
        "some-package",
    }
    monkeypatch.undo()
    monkeypatch.setattr(kept, "LEAST_BYTES", 0)
    other = image(tmp_path / "y.tar", LOWER, HIDES)
    assert fatbin.scan_many([other], cache=cache) == fatbin.scan(other)
    assert opened


def test_options_are_other_questions(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    path = image(tmp_path / "x.tar", LOWER)
    for verify in (False, True):
        for linkage in (False, True):
            wanted = fatbin.scan(path, verify=verify, linkage=linkage)
            found = fatbin.scan_many([path], cache=cache, verify=verify, linkage=linkage)
            assert found == wanted


def test_one_platform_of_several_shares_layers(tmp_path: Path, opened: list[str]) -> None:
    blobs = Blobs()
    rows = [
        blobs.image([LOWER, top], platform=f"linux/{name}")
        for name, top in (("amd64", HIDES), ("arm64", LINKS))
    ]
    layout = write_layout(blobs.layout(*rows), tmp_path / "x")
    for platform in ("linux/amd64", "linux/arm64"):
        assert fatbin.scan_many([layout], cache=tmp_path / "c", platform=platform).libraries
    assert len(opened) == 3


def test_damaged_documents_of_layers_are_read_anew(tmp_path: Path, opened: list[str]) -> None:
    cache = tmp_path / "cache"
    first = image(tmp_path / "x.tar", LOWER)
    wanted = fatbin.scan_many([first], cache=cache)
    assert [path.write_bytes(path.read_bytes()[:-1]) for path in cache.iterdir()]
    assert fatbin.scan_many([first], cache=cache) == wanted
    assert len(opened) == 2


def test_names_alone_are_read_without_what_is_known(tmp_path: Path, opened: list[str]) -> None:
    """They need places, which what is known does not tell; nor does it learn anything of them."""
    cache = tmp_path / "cache"
    path = write_layout(oci_layout(LOWER, HIDES), tmp_path / "x")
    store, options = Folder(str(path)), Options()
    (chosen,) = choose.find_images(store, "", raise_error, verify=False)

    def places() -> list[tuple[int, int]]:
        aids = Aids(layers=kept.Layers(str(cache), options))
        budget = Budget(DEFAULT_LIMITS)
        reader = layers.Reader(store, "x", None, budget, raise_error, aids)
        return [survivor.place for survivor in reader.names(chosen, verify=False)]

    first = places()
    assert not cache.exists()
    assert fatbin.scan_many([path], cache=cache).libraries
    opened.clear()
    assert places() == first
    assert sorted(first) == [(0, 1), (0, 3), (1, 2)]
    assert len(opened) == 2


@pytest.mark.parametrize(
    "body",
    [b"[]", b"{}", b'[1, 2, [["a", "b"]]]', b"[1, 2, [[0, 1]]]", b'[1, 2, [[0, "a", 7]]]',
     b'[1, 2, [[9, "a"]]]', b'[1, 2, [[0, "a", "", [1, 2]]]]', b'["x", 2, []]', b"\xff"],
)  # fmt: skip
def test_whole_but_senseless_documents_of_layers_are_read_anew(body: bytes, tmp_path: Path) -> None:
    options = Options()
    name = digest(LOWER).removeprefix("sha256:")
    Shelf(str(tmp_path / "cache")).write(body, "layer", name, tuple(options))
    assert kept.Layers(str(tmp_path / "cache"), options).load(name, "x") is None
    path = image(tmp_path / "x.tar", LOWER)
    assert fatbin.scan_many([path], cache=tmp_path / "cache") == fatbin.scan(path)
