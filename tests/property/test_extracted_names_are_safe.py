"""Whatever identifiers and members are called, each image gets a harmless name of its own."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from pathlib import Path

from hosts import archive
from hypothesis import example, given
from hypothesis import strategies as st
from images_made import docker_archive, file, tar
from packing import zipped

from fatbin.format.build import EntrySpec, build
from fatbin.survey.extract import Extraction
from fatbin.survey.file_names import Names, image_stem, path_stem
from fatbin.survey.folder import Folder

RESERVED = {"con", "prn", "aux", "nul", *(f"{w}{n}" for w in ("com", "lpt") for n in range(10))}
NASTY = st.sampled_from(
    ["..", "../../etc/passwd", "/etc/passwd", "C:\\Windows\\x", "con", "NUL.txt", "com1", "a" * 5000,
     "é" * 300, ".hidden", "-rf", "a\nb", "\x1b[2J", "x:y", "CON", " ", ".", "trailing.", "~", "\udce9"]
)  # fmt: skip
WORDS = NASTY | st.text(max_size=60)
ARCHS = st.sampled_from(["sm_90a", "compute_120", "sm_100?", "sm_4294967295?", ""])


def check(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._+=~-]+", name)
    assert len(name) <= 255
    assert name[0] not in ".-"
    assert name[-1] != "."
    assert name.split(".", maxsplit=1)[0].lower() not in RESERVED


@given(st.lists(st.tuples(WORDS, WORDS, ARCHS), max_size=20))
@example([("con::", "nul", ""), ("x/con", "nul", ""), ("CON", "NUL", "")])
@example([("a" * 5000, "b" * 5000, "compute_4294967295?")])
def test_names(images: list[tuple[str, str, str]]) -> None:
    names = Names()
    given_names = []
    for library, identifier, arch in images:
        stem = image_stem(library, (200_000, 200_000), (identifier, arch))
        given_names.append(names.give(stem, ".unknown-65535.bin.lz4-frame-obfuscated"))
        path = image_stem(path_stem(library), (200_000, 200_000), (identifier, arch))
        given_names.append(names.give(path, ".unknown-65535.bin.lz4-frame-obfuscated"))
    for name in given_names:
        check(name)
    assert len({name.lower() for name in given_names}) == len(given_names)


def test_many_equal_names_are_told_apart() -> None:
    names = Names()
    assert names.give("x~2", ".y") == "x~2.y"
    found = {names.give("x", ".y") for _ in range(20_000)}
    assert len(found) == 20_000
    assert "x~2.y" not in found


@given(
    st.lists(st.tuples(st.text(st.characters(exclude_characters="\0\n/", codec="utf-8"), min_size=1, max_size=30), WORDS), min_size=1, max_size=4)
)  # fmt: skip
def test_files_lie_inside_the_folder(members: list[tuple[str, str]]) -> None:
    """End to end: hostile member names and identifiers, and nothing outside the folder."""
    files = []
    for member, identifier in members:
        text = identifier.encode("utf-8", "ignore").decode().replace("\0", "")
        spec = EntrySpec(kind=512, payload=b"x" * 8, arch=80, identifier=text)
        name = member.encode("utf-8", "ignore")[:15].decode("utf-8", "ignore").strip() or "m"
        files.append((name if name.isascii() else "../m", build([spec, spec])))
    with tempfile.TemporaryDirectory() as top:
        inner = Path(top) / "a" / "b"
        inner.mkdir(parents=True)
        source = Path(top) / "lib.a"
        source.write_bytes(archive(*files))
        extraction = Extraction(Folder(str(inner)))
        written = list(extraction.run(str(source)))
        assert len(written) == 2 * len(members)
        assert extraction.issues == []
        everything = {
            os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names
        }
        assert everything == {str(source), *(file.path for file in written)}
        for file in written:
            assert Path(file.path).parent == inner
            check(os.path.basename(file.path))


PATHS = st.lists(
    NASTY | st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=30),
    min_size=1,
    max_size=4,
).map(lambda parts: "/".join(part.encode("utf-8", "ignore").decode() for part in parts)[:200])


@given(st.lists(st.tuples(PATHS, WORDS), min_size=1, max_size=4), st.sampled_from(["zip", "image"]))
def test_files_of_packages_lie_inside_the_folder(members: list[tuple[str, str]], form: str) -> None:
    """Members of any name, also several of one, of packages and images."""
    files = []
    for path, identifier in members:
        text = identifier.encode("utf-8", "ignore").decode().replace("\0", "")
        spec = EntrySpec(kind=512, payload=b"x" * 8, arch=80, identifier=text)
        files.append((path.rstrip("/") or "m", build([spec, spec])))
    with tempfile.TemporaryDirectory() as top:
        inner = Path(top) / "a" / "b"
        inner.mkdir(parents=True)
        source = Path(top) / "package"
        if form == "zip":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # several members of one name
                source.write_bytes(zipped(*files))
        else:
            source.write_bytes(docker_archive(tar(*(file(*member) for member in files))))
        extraction = Extraction(Folder(str(inner)))
        written = list(extraction.run(str(source)))
        everything = {
            os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names
        }
        assert everything == {str(source), *(found.path for found in written)}
        assert len({found.path for found in written}) == len(written) == extraction.selected
        if form == "zip":
            assert len(written) == 2 * len(members)
        for found in written:
            assert Path(found.path).parent == inner
            check(os.path.basename(found.path))
