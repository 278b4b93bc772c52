"""Container images made in the test: layers, docker archives, OCI layouts."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"


class Member(NamedTuple):
    """One member of a layer; data for a file, else a type of tarfile and perhaps a link."""

    name: str
    data: bytes | None = None
    kind: bytes = tarfile.REGTYPE
    link: str = ""


def file(name: str, data: bytes) -> Member:
    """Return a file."""
    return Member(name, data)


def folder(name: str) -> Member:
    """Return a directory."""
    return Member(name, None, tarfile.DIRTYPE)


def symlink(name: str, target: str) -> Member:
    """Return a symbolic link."""
    return Member(name, None, tarfile.SYMTYPE, target)


def hardlink(name: str, target: str) -> Member:
    """Return a hard link."""
    return Member(name, None, tarfile.LNKTYPE, target)


def whiteout(name: str) -> Member:
    """Return what removes a name of lower layers."""
    parent, slash, last = name.rpartition("/")
    return Member(f"{parent}{slash}.wh.{last}", b"")


def opaque(name: str) -> Member:
    """Return what removes all that lower layers have in a directory."""
    return Member(f"{name}/.wh..wh..opq", b"")


def tar(*members: Member, form: int = tarfile.PAX_FORMAT) -> bytes:
    """Return a tar archive, written by the standard library."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for member in members:
            info = tarfile.TarInfo(member.name)
            info.type = member.kind
            info.linkname = member.link
            info.size = len(member.data or b"")
            archive.addfile(info, io.BytesIO(member.data) if member.data is not None else None)
    return out.getvalue()


def digest(data: bytes) -> str:
    """Return the digest that images use."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def config_of(layers: Sequence[bytes], platform: str = "linux/amd64") -> bytes:
    """Return a configuration; the layers are uncompressed."""
    system, machine, *variant = platform.split("/")
    config: dict[str, Any] = {
        "os": system,
        "architecture": machine,
        "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
    }
    if variant:
        config["variant"] = variant[0]
    return json.dumps(config).encode()


def docker_archive(*layers: bytes, tag: str = "made:latest", shared: bool = False) -> bytes:
    """Return what ``docker save`` of versions before 25 writes: one folder a layer.

    With ``shared`` the first layer is written again as a symbolic link, as for equal layers.
    """
    config = config_of(layers)
    members = []
    paths = []
    for number, layer in enumerate(layers):
        path = f"{number:064x}/layer.tar"
        members += [folder(f"{number:064x}"), file(f"{number:064x}/VERSION", b"1.0")]
        members.append(file(path, layer))
        paths.append(path)
    if shared:
        paths.append("f00/layer.tar")
        members.append(symlink("f00/layer.tar", f"../{paths[0]}"))
        config = config_of([*layers, layers[0]])
    members.append(file("c0ffee.json", config))
    rows = [{"Config": "c0ffee.json", "RepoTags": [tag], "Layers": paths}]
    members.append(file("manifest.json", json.dumps(rows).encode()))
    return tar(*members)


class Blobs:
    """The blobs of a layout, and descriptors of them."""

    def __init__(self) -> None:
        """Begin empty."""
        self.files: dict[str, bytes] = {}

    def add(self, data: bytes, media_type: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        """Keep a blob and return its descriptor."""
        name = digest(data)
        self.files["blobs/" + name.replace(":", "/")] = data
        return {"mediaType": media_type, "digest": name, "size": len(data), **more}

    def document(self, data: object, media_type: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        """Keep a document and return its descriptor."""
        return self.add(json.dumps(data).encode(), media_type, **more)

    def image(
        self,
        stored: Sequence[bytes],
        *,
        platform: str = "linux/amd64",
        told: bool = True,
        annotations: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Keep an image of these layers as stored; ``told`` puts the platform into the descriptor."""
        config = self.add(config_of(stored, platform), CONFIG_TYPE)
        layers = [self.add(layer, LAYER_TYPE) for layer in stored]
        manifest = {"schemaVersion": 2, "config": config, "layers": layers}
        more: dict[str, Any] = {}
        if told:
            system, machine, *variant = platform.split("/")
            more["platform"] = {"os": system, "architecture": machine}
            if variant:
                more["platform"]["variant"] = variant[0]
        if annotations:
            more["annotations"] = dict(annotations)
        return self.document(manifest, MANIFEST_TYPE, **more)

    def layout(self, *descriptors: Mapping[str, Any]) -> dict[str, bytes]:
        """Return the files of a layout whose index has these descriptors."""
        index = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": list(descriptors)}
        return {
            "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
            "index.json": json.dumps(index).encode(),
            **self.files,
        }


def oci_layout(*layers: bytes) -> dict[str, bytes]:
    """Return the files of a layout with one image."""
    blobs = Blobs()
    return blobs.layout(blobs.image(layers))


def write_layout(files: Mapping[str, bytes], path: Path) -> Path:
    """Write a layout as a folder."""
    for name, data in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return path


def tar_layout(files: Mapping[str, bytes]) -> bytes:
    """Return a layout as a tar archive."""
    return tar(*(file(name, data) for name, data in files.items()))


def squeezed(layers: Iterable[bytes]) -> list[bytes]:
    """Return the layers compressed with gzip."""
    return [gzip.compress(layer, 1, mtime=0) for layer in layers]
