"""A container image of real wheels: ``fatbin list`` of it, beside inflating its layers alone.

Usage: python benchmarks/images.py WHEEL...

Each wheel becomes a layer, as ``pip install`` would leave it, over a layer of many small files.
The image is made once, in a temporary folder, as an OCI layout with gzip or zstd layers and as the
plain archive that ``docker save`` writes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS = 3
_CHUNK = 256 << 10
_PIECE = 1 << 20
_SITE = "usr/lib/python3/dist-packages"
_SMALL_FILES = 20_000


class Layer(NamedTuple):
    """A layer on disk: plain, and how to compress it."""

    plain: Path

    def stored(self, folder: Path, form: str) -> Path:
        """Return the layer compressed, made when it is missing."""
        path = folder / f"{self.plain.name}.{form}"
        if form == "plain":
            return self.plain
        with self.plain.open("rb") as source, path.open("wb") as target:
            if form == "gzip":
                with gzip.GzipFile(fileobj=target, mode="wb", compresslevel=1, mtime=0) as packed:
                    shutil.copyfileobj(source, packed, _PIECE)
            else:
                import zstandard  # noqa: PLC0415 - only for these layers

                zstandard.ZstdCompressor(level=3).copy_stream(source, target)
        return path


def layers_of(wheels: list[Path], folder: Path) -> Iterator[Layer]:
    """Write the layers, lowest first."""
    base = folder / "0"
    with tarfile.open(base, "w") as archive:
        for number in range(_SMALL_FILES):
            info = tarfile.TarInfo(f"usr/share/doc/package{number // 100}/file{number}")
            info.size = 1000
            text = hashlib.sha512(str(number).encode()).hexdigest() * 8
            archive.addfile(info, io.BytesIO(text[:1000].encode()))
    yield Layer(base)
    for number, wheel in enumerate(wheels, 1):
        path = folder / str(number)
        with tarfile.open(path, "w") as archive, zipfile.ZipFile(wheel) as members:
            for member in members.infolist():
                info = tarfile.TarInfo(f"{_SITE}/{member.filename}")
                info.size = member.file_size
                with members.open(member) as source:
                    archive.addfile(info, source)
        yield Layer(path)


def write_layout(folder: Path, layers: list[Path]) -> Path:
    """Write an OCI layout of stored layers, which are linked into it."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def add(data: bytes) -> dict[str, object]:
        name = hashlib.sha256(data).hexdigest()
        (blobs / name).write_bytes(data)
        return {"digest": f"sha256:{name}", "size": len(data)}

    rows = []
    for layer in layers:
        with layer.open("rb") as file:
            state = hashlib.sha256()
            while data := file.read(_PIECE):
                state.update(data)
        (blobs / state.hexdigest()).hardlink_to(layer)
        rows.append({"digest": f"sha256:{state.hexdigest()}", "size": layer.stat().st_size})
    config = add(b'{"os": "linux", "architecture": "amd64"}')
    manifest = add(json.dumps({"config": config, "layers": rows}).encode())
    (folder / "index.json").write_text(json.dumps({"manifests": [manifest]}))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return folder


def write_archive(path: Path, layers: list[Path]) -> Path:
    """Write what ``docker save`` does."""
    names = [f"{layer.name}/layer.tar" for layer in layers]
    rows = [{"Config": "config.json", "RepoTags": None, "Layers": names}]
    documents = {
        "config.json": b'{"os": "linux", "architecture": "amd64"}',
        "manifest.json": json.dumps(rows).encode(),
    }
    with tarfile.open(path, "w") as archive:
        for layer, name in zip(layers, names, strict=True):
            archive.add(layer, name)
        for name, data in documents.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def inflate_gzip(path: Path) -> None:
    """Inflate a layer and do nothing with it."""
    stream = zlib.decompressobj(wbits=31)
    with path.open("rb", buffering=0) as file:
        while data := file.read(_CHUNK):
            while data:
                stream.decompress(data, _PIECE)
                data = stream.unconsumed_tail


def inflate_zstd(path: Path) -> None:
    """Inflate a layer and do nothing with it."""
    import zstandard  # noqa: PLC0415 - only for these layers

    with path.open("rb", buffering=0) as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file)
        while reader.read(_PIECE):
            pass


def read(path: Path) -> None:
    """Read a layer and do nothing with it."""
    with path.open("rb", buffering=0) as file:
        while file.read(_PIECE):
            pass


def timed(action: Callable[[Path], None], paths: list[Path]) -> float:
    """Return the seconds that an action takes for all layers."""
    begin = time.perf_counter()
    for path in paths:
        action(path)
    return time.perf_counter() - begin


def second_audits(image: Path, path: Path, stored: list[Path], form: str) -> tuple[str, ...]:
    """Return how long an audit takes with an empty cache, again, and of an image like it.

    The other image has the same layers and one of its own.
    """
    extra = path.with_suffix(".layer")
    with tarfile.open(extra, "w") as archive:
        archive.addfile(tarfile.TarInfo("etc/other"))
    layers = [*stored, extra]
    other = write_archive(path, layers) if form == "plain" else write_layout(path, layers)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["FATBIN_CACHE_DIR"] = cache
        time.sleep(3)  # what was written just now is not remembered
        seconds = []
        for target in (image, image, other):
            begin = time.perf_counter()
            measure.process(sys.executable, "-m", "fatbin", "list", str(target))()
            seconds.append(time.perf_counter() - begin)
    return tuple(measure.ms(each) for each in seconds)


def main(wheels: list[str]) -> None:
    """Print a row for each form of the image."""
    measure.say_where(ROUNDS)
    bare = measure.bare_python()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        layers = list(layers_of([Path(wheel) for wheel in wheels], folder))
        size = sum(layer.plain.stat().st_size for layer in layers)
        for form, action in (("gzip", inflate_gzip), ("zstd", inflate_zstd), ("plain", read)):
            stored = [layer.stored(folder, form) for layer in layers]
            if form == "plain":
                image = write_archive(folder / "image.tar", stored)
            else:
                image = write_layout(folder / f"image-{form}", stored)
            again = second_audits(image, folder / f"other-{form}", stored, form)
            command = [sys.executable, "-m", "fatbin", "list", "--no-cache", str(image)]
            pair = measure.pairs(
                lambda action=action, stored=stored: timed(action, stored),  # type: ignore[misc]
                measure.process(*command),
                ROUNDS,
            )
            used = measure.memory(command)
            rows.append(
                (
                    form,
                    f"{len(layers)}, {size / 1e6:,.0f} MB",
                    f"{sum(path.stat().st_size for path in stored) / 1e6:,.0f} MB",
                    measure.ms(pair.first),
                    measure.ms(pair.second),
                    measure.spread(pair),
                    measure.mb(used.private - bare.private),
                    *again,
                )
            )
    head = (
        "layers", "inflated", "stored", "alone", "fatbin list", "ratio", "private memory",
        "with an empty cache", "the same again", "another of the same layers",
    )  # fmt: skip
    measure.table(head, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
