"""Container images on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from images_made import Blobs, docker_archive, file, tar, whiteout, write_layout
from support import FIXTURES, ROOT

import fatbin
from fatbin.cli import exits, main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()


def test_list_and_inspect_read_images(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    image = tmp_path / "image.tar"
    image.write_bytes(
        docker_archive(
            tar(file("opt/a.cubin", CUBIN), file("b.cubin", CUBIN)), tar(whiteout("b.cubin"))
        )
    )
    assert main(["list", str(image)]) == exits.PASS
    assert capsys.readouterr().out.splitlines() == [
        f"{image}::opt/a.cubin  (cubin, 3,240 B, 1 cubin)",
        "  place  kind  arch   count   stored  inflated",
        "  bare   sass  sm_80      1  3,240 B   3,240 B",
    ]
    assert main(["inspect", "--format", "json", str(image)]) == exits.PASS
    document = json.loads(capsys.readouterr().out)
    assert fatbin.Inventory.from_dict(document).targets == (str(image),)
    assert document["libraries"][0]["layer"].endswith(" (1 of 2)")


def test_an_image_without_device_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    image = tmp_path / "image.tar"
    image.write_bytes(docker_archive(tar(file("etc/passwd", b"root"))))
    assert main(["list", str(image)]) == exits.NOTHING
    assert capsys.readouterr().err == f"fatbin: no device code in {image}\n"


def test_a_platform_is_chosen(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    blobs = Blobs()
    rows = [
        blobs.image([tar(file(f"{name}.cubin", CUBIN))], platform=f"linux/{name}")
        for name in ("arm64", "riscv64")
    ]
    layout = write_layout(blobs.layout(*rows), tmp_path / "x")
    assert main(["list", str(layout)]) == exits.ERROR
    assert capsys.readouterr().err.splitlines() == [
        f"fatbin: {layout}: expected one image or one for linux/amd64, found: linux/arm64, linux/riscv64",
        "fatbin: choose one: --platform, or platform= of scan",
    ]
    assert main(["list", "--platform", "linux/arm64", str(layout)]) == exits.PASS
    assert f"{layout}::arm64.cubin" in capsys.readouterr().out


def test_damage_in_an_image_is_no_clean_listing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    image = tmp_path / "image.tar"
    image.write_bytes(docker_archive(tar(file("a.cubin", CUBIN), file("../b", CUBIN))))
    assert main(["list", str(image)]) == exits.ERROR
    assert "a path with .." in capsys.readouterr().err


def test_an_image_comes_through_a_pipe(tmp_path: Path) -> None:
    data = docker_archive(tar(file("a.cubin", CUBIN)))
    command = [sys.executable, str(ROOT / "cli.py"), "list", "-"]
    done = subprocess.run(command, input=data, cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (exits.PASS, b"")
    assert done.stdout.startswith(b"-::a.cubin  (cubin, ")
    empty = subprocess.run(command, input=b"", cwd=tmp_path, capture_output=True, check=False)
    assert (empty.returncode, empty.stdout) == (exits.ERROR, b"")
    assert empty.stderr == b"fatbin: -: expected a file with device code, found no bytes\n"


def test_check_judges_an_image_from_a_pipe(tmp_path: Path) -> None:
    data = docker_archive(tar(file("a.cubin", CUBIN)))
    command = [sys.executable, str(ROOT / "cli.py"), "check", "--no-policy", "--gpu"]
    for gpu, code in (("8.0", exits.PASS), ("9.0", exits.FAIL)):
        done = subprocess.run(
            [*command, gpu, "-"], input=data, cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == code, done.stderr
    wrong = subprocess.run(
        [*command, "8.0", "--platform", "linux/arm64", "-"],
        input=data,
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert wrong.returncode == exits.ERROR
    assert b"expected an image for linux/arm64, found: linux/amd64" in wrong.stderr
