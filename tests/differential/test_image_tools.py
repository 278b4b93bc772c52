"""Images as buildah writes and skopeo converts them, against the tree that umoci unpacks of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support import FIXTURES, require

import fatbin

POLICY = '{"default": [{"type": "insecureAcceptAnything"}]}'
SITE = "usr/lib/python3/site-packages"


class Tools:
    """buildah, skopeo and umoci with all they keep in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.policy = folder / "policy.json"
        self.policy.write_text(POLICY)
        store, run = str(folder / "store"), str(folder / "run")
        self.storage = ("--storage-driver", "vfs", "--root", store, "--runroot", run)

    def call(self, *command: str) -> str:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.folder, timeout=300,
            env={**os.environ, "BUILDAH_ISOLATION": "chroot", "TMPDIR": str(self.folder)},
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout.strip()

    def buildah(self, *arguments: str) -> str:
        return self.call("buildah", *self.storage, *arguments)

    def build(self, base: str, name: str, change: Path | None, *removed: str) -> None:
        """Commit a layer: some files are removed, and those of a folder are put over the rest."""
        container = self.buildah("from", "--pull-never", base)
        root = Path(self.buildah("mount", container))
        for path in removed:
            if (root / path).is_dir():
                shutil.rmtree(root / path)
            else:
                (root / path).unlink()
        if change is not None:
            shutil.copytree(change, root, symlinks=True, dirs_exist_ok=True)
            os.link(root / "opt/hard.cubin", root / "opt/again.cubin")
        self.buildah("commit", "--quiet", "--signature-policy", str(self.policy), container, name)

    def copy(self, source: str, target: str, *options: str) -> None:
        skopeo = ("skopeo", "--policy", str(self.policy), "copy", "--quiet")
        self.call(*skopeo, *options, source, target)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One image of three layers as archives and layouts, and what umoci makes of it."""
    missing = [tool for tool in ("buildah", "skopeo", "umoci") if shutil.which(tool) is None]
    if missing:
        require("image-tools", f"{', '.join(missing)}: not installed")
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        require("image-tools", "buildah mounts images for root only")
    folder = tmp_path_factory.mktemp("images")
    tools = Tools(folder)
    first, second = folder / "first", folder / "second"
    for path, name in (
        (first / SITE / "kept.so", "lib_3arch.so"),
        (first / SITE / "gone.so", "lib_rdc.so"),
        (first / SITE / "changed.so", "lib_1arch.so"),
        (first / "opt/folder/old.cubin", "saxpy_80.cubin"),
        (first / "opt/hard.cubin", "saxpy_80.cubin"),
        (second / SITE / "changed.so", "lib_rdc.so"),
        (second / "opt/folder/new.fatbin", "multi.fatbin"),
        (second / "opt/hard.cubin", "devfunc_90.cubin"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(FIXTURES / name, path)
    (first / SITE / "link.so").symlink_to("kept.so")
    tools.build("scratch", "one", first)
    tools.build("one", "two", None, f"{SITE}/gone.so", "opt/folder", "opt/again.cubin")
    tools.build("two", "three", second)
    push = ("push", "--quiet", "--signature-policy", str(tools.policy), "three")
    tools.buildah(*push, f"docker-archive:{folder}/docker.tar:three:latest")
    tools.buildah(*push, f"oci-archive:{folder}/archive.tar:latest")
    source = f"docker-archive:{folder}/docker.tar"
    tools.copy(source, f"oci:{folder}/gzip:latest")
    for form in ("zstd", "zstd:chunked"):
        name = form.replace(":", "-")
        tools.copy(source, f"oci:{folder}/{name}:latest", "--dest-compress-format", form)
    tools.call("umoci", "raw", "unpack", "--image", "gzip:latest", str(folder / "unpacked"))
    return folder


def found(target: Path, beginning: str) -> dict[str, tuple[object, ...]]:
    """What is at each path, hard links at each of theirs; symbolic links only lead there."""
    inventory = fatbin.scan(target)
    assert inventory.all_issues == ()
    return {
        path.removeprefix(beginning): (library.size, library.format, library.sass, library.ptx)
        for library in inventory.libraries
        for path in (library.location, *library.aliases)
        if not path.endswith("link.so")
    }


@pytest.mark.parametrize("name", ["docker.tar", "archive.tar", "gzip", "zstd", "zstd-chunked"])
def test_an_image_holds_what_is_unpacked_of_it(images: Path, name: str) -> None:
    on_disk = found(images / "unpacked", f"{images}/unpacked/")
    assert sorted(on_disk) == [
        "opt/again.cubin",
        "opt/folder/new.fatbin",
        "opt/hard.cubin",
        f"{SITE}/changed.so",
        f"{SITE}/kept.so",
    ]
    assert found(images / name, f"{images / name}::") == on_disk
