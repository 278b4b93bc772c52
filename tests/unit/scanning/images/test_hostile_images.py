"""Images made to harm: an issue or an error that says where, bounded work, nothing written."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from images_made import (
    LAYER_TYPE,
    MANIFEST_TYPE,
    Blobs,
    Member,
    config_of,
    digest,
    docker_archive,
    file,
    folder,
    hardlink,
    oci_layout,
    symlink,
    tar,
    write_layout,
)
from support import FIXTURES

import fatbin
from fatbin.errors import FatbinError
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.images.documents import DOCUMENT_BYTES

if TYPE_CHECKING:
    from pathlib import Path

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
LAYER = tar(file("a.cubin", CUBIN))
SPOOLED = 3 << 20  # more than is kept in memory


def scan_layers(
    path: Path, *layers: bytes, limits: fatbin.Limits = DEFAULT_LIMITS
) -> fatbin.Inventory:
    layout = write_layout(oci_layout(*layers), path / "x")
    before = set(os.listdir(path))
    try:
        return fatbin.scan(layout, limits=limits)
    finally:
        assert set(os.listdir(path)) == before


def names(inventory: fatbin.Inventory) -> list[str]:
    return [library.location.rpartition("::")[2] for library in inventory.libraries]


def raw(
    name: bytes, size: bytes, flag: bytes = b"0", data: bytes = b"", fields: bytes = b""
) -> bytes:
    """Return one member whose header says what it likes."""
    header = bytearray(512)
    header[: len(name)] = name
    header[124 : 124 + len(size)] = size
    header[148:156] = b" " * 8
    header[156:157] = flag
    header[257:265] = b"ustar  \0"
    header[386 : 386 + len(fields)] = fields
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + data + bytes(-len(data) % 512)


END = bytes(1024)


# Layers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "code", "message"),
    [
        (LAYER[:512], "Truncated", "runs past the end"),
        (LAYER[: 512 + 3240], "Truncated", "runs past the end"),
        (LAYER[: 512 + 3584], "Truncated", "expected another header or a block of zeros"),
        (LAYER[: 512 + 3584] + b"x" * 512, "BadMagic", "expected a tar header with its checksum"),
        (gzip.compress(LAYER, mtime=0)[:-600], "Truncated", "the compressed stream ends early"),
        (gzip.compress(LAYER, mtime=0)[:40] + b"\xff" * 40, "Decompression", "does not inflate"),
        (b"neither this nor that" * 40, "UnknownFormat", "expected a tar archive, plain or compressed"),
        (raw(b"big", b"\x80" + bytes(3) + b"\x7f" * 8), "Truncated", "runs past the end"),
        (raw(b"negative", b"\xff" * 12), "Format", "expected a size of no less than 0"),
        (raw(b"words", b"many words!!"), "Format", "expected a size of no less than 0"),
        (raw(b"pax", b"77777777777", b"x"), "LimitExceeded", "an extended header of 8589934591 bytes"),
        (raw(b"long", b"77777777777", b"L"), "LimitExceeded", "an extended header of 8589934591 bytes"),
        (raw(b"pax", b"1000", b"x"), "Truncated", "an extended header of 512 bytes runs past"),
        (raw(b"pax", b"12", b"x", b"99 path=abc") + END, "Format", "expected records of an extended header"),
        (raw(b"pax", b"14", b"x", b"12 size=-100\n") + raw(b"a", b"0") + END, "Format", "expected records|decimal digits"),
        (raw(b"pax", b"15", b"x", b"13 size=-100\n") + raw(b"a", b"0") + END, "Format", "decimal digits"),
    ],
)  # fmt: skip
def test_a_damaged_layer_is_told_and_the_others_are_read(
    layer: bytes, code: str, message: str, tmp_path: Path
) -> None:
    below, above = tar(file("below.cubin", CUBIN)), tar(file("above.cubin", CUBIN))
    inventory = scan_layers(tmp_path, below, layer, above)
    assert {"below.cubin", "above.cubin"} <= set(names(inventory))
    issues = [issue for issue in inventory.all_issues if issue.code == code]
    assert issues, inventory.all_issues
    assert any(part in issue.message for issue in issues for part in message.split("|")), issues
    assert all("::" in issue.location for issue in inventory.all_issues)


def test_a_missing_layer_is_told(tmp_path: Path) -> None:
    files = oci_layout(LAYER, tar(file("b.cubin", CUBIN)))
    del files["blobs/" + digest(LAYER).replace(":", "/")]
    inventory = fatbin.scan(write_layout(files, tmp_path / "x"))
    assert names(inventory) == ["b.cubin"]
    (issue,) = inventory.issues
    assert issue.code == "Source"
    assert issue.location.endswith("::blobs/" + digest(LAYER).replace(":", "/"))


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (file("../evil.cubin", CUBIN), "found a path with .."),
        (file("a/../../evil.cubin", CUBIN), "found a path with .."),
        (file("/../evil.cubin", CUBIN), "found a path with .."),
        (file("a" * 5000, CUBIN), "found a path of more than 4096 bytes"),
        (file("loop/x/a.cubin", CUBIN), "found a path through too many symbolic links"),
        (file("kept.cubin/x", CUBIN), "found a path through a file"),
        (hardlink("x", "nothing"), "found a hard link to nothing, which is not there"),
        (hardlink("x", "dir"), "found a hard link to the directory dir"),
        (hardlink("x", "../../etc/passwd"), "found a path with .."),
        (symlink("x", "y" * 5000), "found a link to a path of more than 4096 bytes"),
        (file(".", CUBIN), "found something else in place of the root"),
    ],
)  # fmt: skip
def test_a_refused_member_is_told_and_the_rest_is_read(
    member: Member, message: str, tmp_path: Path
) -> None:
    layer = tar(
        symlink("loop", "loop2"),
        symlink("loop2", "loop"),
        folder("dir"),
        file("kept.cubin", CUBIN),
        member,
        file("last.cubin", CUBIN),
    )
    inventory = scan_layers(tmp_path, layer)
    assert names(inventory) == ["kept.cubin", "last.cubin"]
    (issue,) = inventory.issues
    assert message in issue.message
    assert issue.location.endswith(f"::{digest(layer)}")


def test_devices_and_pipes_are_passed_over(tmp_path: Path) -> None:
    kinds = (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)
    members = [Member(f"dev/{number}", None, kind) for number, kind in enumerate(kinds)]
    inventory = scan_layers(tmp_path, tar(file("dev/1", CUBIN)), tar(*members))
    assert (inventory.libraries, inventory.all_issues) == ((), ())


@pytest.mark.parametrize(
    "member",
    [
        raw(b"sparse", b"6250", b"S", CUBIN[:3240], b"00000000000\x0000000006250\0"),
        raw(b"p", b"31", b"x", b"25 GNU.sparse.realsize=9\n") + raw(b"sparse", b"10", data=b"12345678"),
    ],
)  # fmt: skip
def test_a_map_of_holes_that_is_none_is_told(member: bytes, tmp_path: Path) -> None:
    layer = member + raw(b"a.cubin", b"%o" % len(CUBIN), data=CUBIN) + END
    inventory = scan_layers(tmp_path, layer)
    assert names(inventory) == ["a.cubin"]
    (issue,) = inventory.issues
    assert issue.message.startswith("expected a map of a file with holes of which")
    assert issue.location.endswith("::sparse")


def test_what_is_wrong_with_a_file_goes_with_it(tmp_path: Path) -> None:
    damaged = (FIXTURES / "truncated.fatbin").read_bytes()
    layer = tar(file("lib/t.fatbin", damaged))
    assert scan_layers(tmp_path / "", layer).all_issues
    (tmp_path / "second").mkdir()
    gone = scan_layers(tmp_path / "second", layer, tar(Member("lib/.wh.t.fatbin", b"")))
    assert (gone.libraries, gone.all_issues) == ((), ())


# Limits --------------------------------------------------------------------------------------------


def test_a_bomb_is_not_inflated_to_its_end(tmp_path: Path) -> None:
    layer = gzip.compress(tar(file("zeros", bytes(64 << 20))))
    inventory = scan_layers(tmp_path, layer)
    (issue,) = inventory.issues
    assert (issue.code, issue.field) == ("LimitExceeded", "member_ratio")


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        (fatbin.Limits(archive_bytes=SPOOLED), "archive_bytes"),
        (fatbin.Limits(member_bytes=SPOOLED), "member_bytes"),
        (fatbin.Limits(archive_members=2), "archive_members"),
    ],
)
def test_limits_of_a_whole_image(limits: fatbin.Limits, field: str, tmp_path: Path) -> None:
    big = CUBIN[:64] + os.urandom(SPOOLED)
    layer = gzip.compress(tar(file("big.cubin", big), file("b", b"x"), file("c", b"x")), 1)
    inventory = scan_layers(tmp_path, layer, limits=limits)
    assert field in {issue.field for issue in inventory.all_issues}
    assert "big.cubin" not in names(inventory) or field == "archive_members"


def test_a_directory_for_each_part_of_a_path_counts(tmp_path: Path) -> None:
    layer = tar(file("a/" * 1000 + "x", b"x"), file("b/" * 1000 + "x", b"x"))
    inventory = scan_layers(tmp_path, layer, limits=fatbin.Limits(archive_members=1500))
    (issue,) = inventory.issues
    assert (issue.code, issue.field) == ("LimitExceeded", "archive_members")


def test_memory_does_not_grow_with_a_file(tmp_path: Path) -> None:
    layer = gzip.compress(tar(file("big.cubin", CUBIN + os.urandom(64 << 20))), 1)
    layout = write_layout(oci_layout(layer), tmp_path / "x")
    fatbin.scan(layout)  # what is imported is there
    tracemalloc.start()
    try:
        fatbin.scan(layout)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 28 << 20  # 16 MiB of it were read ahead


# Documents -----------------------------------------------------------------------------------------


def broken(change: str) -> dict[str, bytes]:  # noqa: C901, PLR0912 - a case a line
    """Return a layout with one thing wrong."""
    blobs = Blobs()
    image = blobs.image([LAYER])
    path = "blobs/" + image["digest"].replace(":", "/")
    files = blobs.layout(image)
    manifest = json.loads(files[path])
    if change == "manifest points nowhere":
        manifest["layers"][0]["digest"] = "sha256:" + "0" * 64
        files[path] = json.dumps(manifest).encode()
    elif change == "no manifest":
        del files[path]
    elif change == "index is no JSON":
        files["index.json"] = b"{"
    elif change == "index is nested":
        files["index.json"] = b"[" * 100_000
    elif change == "index is a list":
        files["index.json"] = b"[]"
    elif change == "index is huge":
        files["index.json"] = b" " * (DOCUMENT_BYTES + 1)
    elif change == "digest leads out":
        image["digest"] = "sha256:../../../../etc/passwd"
        files = blobs.layout(image)
    elif change == "digest of an unknown kind":
        image["digest"] = "md5:" + "0" * 32
        files = blobs.layout(image)
    elif change == "manifest of another size":
        files[path] += b" "
    elif change == "manifests are words":
        files["index.json"] = b'{"manifests": ["one", "two"]}'
    elif change == "layers are words":
        manifest["layers"] = ["one"]
        files = blobs.layout(blobs.document(manifest, MANIFEST_TYPE))
    elif change == "layers are missing":
        del manifest["layers"]
        files = blobs.layout(blobs.document(manifest, MANIFEST_TYPE))
    elif change == "a number with too many digits":
        files["index.json"] = b'{"manifests": ' + b"9" * 100_000 + b"}"
    else:
        raise AssertionError(change)
    return files


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ("no manifest", fatbin.SourceError, ""),
        ("index is no JSON", fatbin.FormatError, "expected a JSON document"),
        ("index is nested", fatbin.FormatError, "expected a JSON document"),
        ("a number with too many digits", fatbin.FormatError, "expected a JSON document|a list"),
        ("index is a list", fatbin.FormatError, "expected a list under 'manifests'"),
        ("index is huge", fatbin.LimitExceededError, "is larger than 4194304 bytes"),
        ("digest leads out", fatbin.FormatError, "expected a digest such as sha256:..."),
        ("digest of an unknown kind", fatbin.FormatError, "expected a digest such as sha256:..."),
        ("manifest of another size", fatbin.SizeMismatchError, "declared are"),
        ("manifests are words", fatbin.FormatError, "expected a list of objects"),
        ("layers are words", fatbin.FormatError, "expected a list of objects"),
        ("layers are missing", fatbin.FormatError, "expected a list under 'layers'"),
    ],
)  # fmt: skip
def test_a_broken_document_is_told(
    change: str, error: type[FatbinError], message: str, tmp_path: Path
) -> None:
    layout = write_layout(broken(change), tmp_path / "x")
    with pytest.raises(error) as caught:
        fatbin.scan(layout)
    assert any(part in caught.value.message for part in message.split("|"))
    assert caught.value.location.startswith(f"{layout}::")


def test_one_broken_image_does_not_hide_the_others(tmp_path: Path) -> None:
    blobs = Blobs()
    name = "org.opencontainers.image.ref.name"
    rows = [
        blobs.image([tar(file("a.cubin", CUBIN))], annotations={name: "good"}),
        blobs.document({"layers": 1}, MANIFEST_TYPE, annotations={name: "bad"}),
    ]
    inventory = fatbin.scan(write_layout(blobs.layout(*rows), tmp_path / "x"))
    assert names(inventory) == ["a.cubin"]
    (issue,) = inventory.issues
    assert "expected a list under 'layers'" in issue.message


def test_digests_are_compared_when_asked_for(tmp_path: Path) -> None:
    blobs = Blobs()
    config = blobs.add(config_of([LAYER]), "x")
    layer = blobs.add(LAYER, LAYER_TYPE)
    image = blobs.document({"config": config, "layers": [layer]}, MANIFEST_TYPE)
    files = blobs.layout(image)
    other = LAYER.replace(CUBIN[-100:], CUBIN[-100:-1] + b"\x55")
    assert len(other) == len(LAYER)
    files["blobs/" + digest(LAYER).replace(":", "/")] = other
    layout = write_layout(files, tmp_path / "x")
    assert fatbin.scan(layout).issues == ()
    (issue,) = fatbin.scan(layout, verify=True).issues
    assert issue.field == "digest"
    assert issue.expected == digest(LAYER).removeprefix("sha256:")
    assert issue.found == digest(other).removeprefix("sha256:")


def test_a_layer_of_another_size_is_told(tmp_path: Path) -> None:
    files = oci_layout(LAYER)
    files["blobs/" + digest(LAYER).replace(":", "/")] += bytes(512)
    (issue,) = fatbin.scan(write_layout(files, tmp_path / "x")).issues
    assert issue.code == "SizeMismatch"


@pytest.mark.parametrize(
    "rows",
    [b"{}", b"[1]", b'[{"Layers": ["x"]}]', b'[{"Config": "none", "Layers": []}]', b"[[", b"nul"],
)
def test_a_broken_manifest_of_docker_is_told(rows: bytes, tmp_path: Path) -> None:
    image = tmp_path / "x"
    image.write_bytes(tar(file("manifest.json", rows)))
    with pytest.raises(FatbinError) as caught:
        fatbin.scan(image)
    assert caught.value.location.startswith(f"{image}::")


def test_layers_of_docker_cannot_lead_out(tmp_path: Path) -> None:
    (tmp_path / "layer.tar").write_bytes(LAYER)
    rows = [{"Config": "c.json", "Layers": ["../layer.tar", str(tmp_path / "layer.tar"), "loop"]}]
    image = tmp_path / "x"
    image.write_bytes(
        tar(
            file("c.json", config_of([])),
            symlink("loop", "loop"),
            file("manifest.json", json.dumps(rows).encode()),
        )
    )
    inventory = fatbin.scan(image)
    assert inventory.libraries == ()
    assert [issue.code for issue in inventory.issues] == ["Source"] * 3


def test_a_tar_archive_that_is_cut_is_no_clean_listing(tmp_path: Path) -> None:
    image = tmp_path / "x"
    image.write_bytes(docker_archive(LAYER)[:-16384])
    assert fatbin.scan(image).all_issues


@pytest.mark.parametrize("text", [rb"\ud800", b"\xed\xa0\x80", rb"\udc80"])
def test_half_a_character_in_a_document_is_told(text: bytes, tmp_path: Path) -> None:
    rows = b'[{"Config": "c.json", "RepoTags": ["%s"], "Layers": ["l.tar"]}]' % text
    archive = tmp_path / "x.tar"
    members = (file("c.json", config_of([LAYER])), file("l.tar", LAYER))
    archive.write_bytes(tar(*members, file("manifest.json", rows)))
    with pytest.raises(fatbin.FormatError, match="expected a JSON document"):
        fatbin.scan(archive)


def test_whole_characters_are_text(tmp_path: Path) -> None:
    rows = rb'[{"Config": "c.json", "RepoTags": ["\ud83d\ude00"], "Layers": ["l.tar"]}]'
    archive = tmp_path / "x.tar"
    members = (file("c.json", config_of([LAYER])), file("l.tar", LAYER))
    archive.write_bytes(tar(*members, file("manifest.json", rows)))
    assert names(fatbin.scan(archive)) == ["a.cubin"]


def test_device_code_under_the_name_of_a_list_is_read(tmp_path: Path) -> None:
    layer = tar(file("p.dist-info/RECORD", CUBIN), file("p.dist-info/METADATA", CUBIN))
    assert names(scan_layers(tmp_path, layer)) == ["p.dist-info/METADATA", "p.dist-info/RECORD"]


@pytest.mark.parametrize(
    "more",
    [
        {"annotations": {"vnd.docker.reference.type": "attestation-manifest"}},
        {"platform": {"os": "unknown", "architecture": "unknown"}},
        None,
    ],
)
def test_an_index_without_an_image_is_no_clean_listing(
    more: dict[str, object] | None, tmp_path: Path
) -> None:
    blobs = Blobs()
    descriptor = blobs.image([LAYER])
    files = blobs.layout(*([] if more is None else [{**descriptor, **more}]))
    with pytest.raises(fatbin.SourceError, match="names none"):
        fatbin.scan(write_layout(files, tmp_path / "x"))


def test_a_folder_is_not_left(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "l.tar").write_bytes(LAYER)
    (outside / "c.json").write_bytes(config_of([LAYER]))
    for lead in ("../outside", str(outside)):
        rows = [{"Config": f"{lead}/c.json", "RepoTags": [], "Layers": [f"{lead}/l.tar"]}]
        files = {**Blobs().layout(), "manifest.json": json.dumps(rows).encode()}
        with pytest.raises(fatbin.SourceError):
            fatbin.scan(write_layout(files, tmp_path / "x"))


def test_the_same_whiteout_again_and_again_costs_little(tmp_path: Path) -> None:
    files = [file(f"d/e/f{number}", b"") for number in range(20_000)]
    again = [file(name, b"") for _ in range(2000) for name in ("d/.wh..wh..opq", "d/.wh.e")]
    lower = tar(file("d/old.cubin", CUBIN), file("d/e/old.cubin", CUBIN))
    upper = tar(file("d/e/new.cubin", CUBIN), *files, *again, file("d/last.cubin", CUBIN))
    began = time.process_time()
    assert names(scan_layers(tmp_path, lower, upper)) == ["d/e/new.cubin", "d/last.cubin"]
    assert time.process_time() - began < 10  # a second; each time anew took a minute
