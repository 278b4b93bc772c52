"""``size``, ``kernels``, ``extract`` and ``diff`` of packages, folders, environments and images."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from images_made import docker_archive, file, tar
from packing import WHEEL, many_rows, patch_row, tarred, wheel, zipped
from support import FIXTURES, ROOT

from fatbin.cli import exits, main

DEMO = FIXTURES / "packages" / "demo_kernels-1.4.0-py3-none-any.whl"
LIBRARY = (FIXTURES / "lib_3arch.so").read_bytes()
OLDER = (FIXTURES / "lib_1arch.so").read_bytes()
IMAGE = FIXTURES / "images" / "demo.tar"
PLATFORMS = FIXTURES / "images" / "platforms.tar"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def table(out: str) -> list[str]:
    return [" ".join(line.split()) for line in out.splitlines()]


def written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.fixture
def environment(tmp_path: Path) -> str:
    site = tmp_path / "env" / "lib" / "python3.12" / "site-packages"
    written(site / "a.so", LIBRARY)
    written(site / "some_package-1.2.3.dist-info" / "METADATA", b"Name: some-package\nVersion: 1\n")
    written(site / "some_package-1.2.3.dist-info" / "RECORD", b"a.so,,\n")
    written(site / "other" / "b.so", OLDER)
    return f"env:{tmp_path / 'env'}"


def test_size_of_a_wheel(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "size", DEMO)
    assert (code, err) == (exits.PASS, "")
    lines = table(out)
    whole = DEMO.stat().st_size
    assert lines[0] == (
        f"{DEMO} (2 libraries with device code, 42,216 bytes inflated, in a file of {whole:,})"
    )
    assert "total 42,216 100.0 %" in lines
    assert "device code sm_90a 1 20,240 47.9 % 20,240 1.00" in lines
    assert lines[-4].endswith("inflated bytes ratio in package")
    assert lines[-3].startswith("demo_kernels/lib/libdemo.so demo-kernels 1.4.0 21,976 ")
    assert lines[-1] == "total 42,216 1,398 16,794 23,860 0 164 24,303 1.02 10,175"


def test_size_by_distribution(capsys: pytest.CaptureFixture[str], environment: str) -> None:
    code, out, _ = run(capsys, "size", "--by", "distribution", environment)
    assert code == exits.PASS
    rows = [line.split()[:3] for line in out.splitlines()[1:]]
    assert rows == [
        ["some-package", "1", f"{len(LIBRARY):,}"],
        ["-", f"{len(OLDER):,}", rows[1][2]],
        ["total", f"{len(LIBRARY) + len(OLDER):,}", rows[2][2]],
    ]


def test_size_top_cuts_the_libraries_too(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "size", "--top", "1", DEMO)
    lines = table(out)
    assert lines[-2].startswith("1 more 20,240 ")
    assert lines[-1].startswith("total 42,216 ")


@pytest.mark.parametrize("by", ["arch", "kind", "place", "library", "distribution"])
def test_csv_of_a_package_adds_up(capsys: pytest.CaptureFixture[str], by: str) -> None:
    _, out, _ = run(capsys, "size", "--format", "csv", "--by", by, DEMO, IMAGE)
    rows = list(csv.DictReader(io.StringIO(out)))
    sums: dict[str, int] = {}
    for row in rows:
        sums[row["file"]] = sums.get(row["file"], 0) + int(row["stored_bytes"])
    assert sums == {str(DEMO): 42_216, str(IMAGE): 21_992}
    assert {row["distribution"] for row in rows} == {"demo-kernels 1.4.0", "demo 1.4.0"}


def test_json_of_a_package(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    squeezed = written(tmp_path / "x-1.tar.gz", tarred(("a.so", LIBRARY), mode="w:gz"))
    _, out, _ = run(capsys, "size", "--format", "json", DEMO, squeezed, FIXTURES / "lib_rdc.so")
    wheel_, tar_, plain = json.loads(out)["files"]
    assert (wheel_["single"], tar_["single"], plain["single"]) == (False, False, True)
    assert wheel_["packed"] == sum(library["packed"] for library in wheel_["libraries"]) == 10_175
    assert wheel_["package"] == DEMO.stat().st_size
    assert tar_["packed"] is tar_["libraries"][0]["packed"] is None
    assert (plain["package"], plain["packed"]) == (0, plain["size"])
    assert {library["distribution"] for library in wheel_["libraries"]} == {"demo-kernels"}


def test_kernel_sizes_of_an_image(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "size", "--by", "kernel", IMAGE)
    assert code == exits.PASS
    assert table(out)[0].startswith(f"{IMAGE}::usr/lib/")
    assert "saxpy 3 1,280 0 0" in table(out)


def test_kernels_of_every_kind_of_target(
    capsys: pytest.CaptureFixture[str], environment: str
) -> None:
    for target, wanted in ((DEMO, 6), (IMAGE, 3), (environment, 4), (FIXTURES / "packages", 6)):
        code, out, err = run(capsys, "kernels", "--format", "csv", target)
        assert (code, err) == (exits.PASS, "")
        assert len(out.splitlines()) == wanted + 1
    code, out, _ = run(capsys, "kernels", "--missing", "sm_90", DEMO)
    assert code == exits.PASS
    assert "saxpy  (sm_80)" in out


def test_platforms(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for command, *options in (
        ("kernels",), ("size",), ("size", "--by", "kernel"), ("extract", "-o", tmp_path / "out"),
    ):  # fmt: skip
        code, out, err = run(capsys, command, *options, PLATFORMS)
        assert code == exits.ERROR
        assert "found: linux/arm64, linux/riscv64" in err
        code, out, err = run(capsys, command, *options, "--platform", "linux/arm64", PLATFORMS)
        assert (code, err) == (exits.PASS, "")
        assert "saxpy.fatbin" in out
    code, out, _ = run(capsys, "diff", "--platform", "linux/arm64", PLATFORMS, PLATFORMS)
    assert code == exits.PASS
    assert "no difference" in out
    assert run(capsys, "diff", PLATFORMS, PLATFORMS)[0] == exits.ERROR


def test_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def pipe() -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(IMAGE.read_bytes())))

    for command in (
        ["kernels"], ["size"], ["size", "--by", "kernel"], ["extract", "-o", str(tmp_path / "o")],
        ["diff", IMAGE], ["diff", "--kernels", IMAGE],
    ):  # fmt: skip
        pipe()
        code, out, err = run(capsys, *command, "-")
        assert (code, err) == (exits.PASS, ""), command
        assert out
    assert "no difference" in out


def test_extract_tells_libraries_apart_by_their_paths(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    package = written(
        tmp_path / "x.zip", zipped(("a/lib.so", OLDER), ("b/lib.so", OLDER), ("a-lib.so", OLDER))
    )
    out = tmp_path / "out"
    code, text, err = run(capsys, "extract", package, "-o", out, "--kind", "sass")
    assert (code, err) == (exits.PASS, "")
    names = sorted(path.name for path in out.iterdir())
    assert names == [
        "a-lib.so.1.1.sm_80.cubin",
        "a-lib.so.1.1.sm_80~2.cubin",
        "b-lib.so.1.1.sm_80.cubin",
    ]
    assert len({path.read_bytes() for path in out.iterdir()}) == 1
    assert all(name in text for name in names)
    code, _, err = run(capsys, "extract", package, "-o", out, "--kind", "sass")
    assert code == exits.ERROR
    assert err.count("exists already and was not overwritten") == 3


def test_extract_goes_on_behind_an_image_without_the_platform(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = run(capsys, "extract", PLATFORMS, DEMO, "-o", tmp_path / "out")
    assert code == exits.ERROR
    assert "found: linux/arm64, linux/riscv64" in err
    assert "demo_kernels-lib-libdemo.so.1.1.sm_80.cubin" in out


def test_extract_from_an_environment(
    capsys: pytest.CaptureFixture[str], environment: str, tmp_path: Path
) -> None:
    code, _, _ = run(capsys, "extract", environment, "--containers", "-o", tmp_path / "out")
    assert code == exits.PASS
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "lib-python3.12-site-packages-a.so.1.fatbin",
        "lib-python3.12-site-packages-other-b.so.1.fatbin",
    }
    found = run(capsys, "list", "--no-cache", tmp_path / "out")[1]
    assert "sm_120" in found
    assert "compute_80" in found


def test_diff_begins_with_a_summary(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    old = written(tmp_path / "a" / WHEEL, wheel(("x.so", OLDER), ("same.so", OLDER)))
    new = written(tmp_path / "b" / WHEEL, wheel(("x.so", LIBRARY), ("same.so", OLDER)))
    code, out, err = run(capsys, "diff", "--exit-code", old, new)
    assert (code, err) == (exits.FAIL, "")
    assert table(out)[:9] == [
        f"{old} -> {new}",
        "architectures or PTX versions differ; 1 library without a difference",
        "+ sass: sm_75, sm_90a, sm_120",
        "all libraries before after change",
        "libraries 2 2 -",
        "bytes of files 43,952 43,968 +16 (+0.0 %)",
        "bytes of device code 7,240 6,790 -450 (-6.2 %)",
        "bytes of it inflated 8,126 16,623 +8,497 (+104.6 %)",
        "images 4 5 +1 (+25.0 %)",
    ]
    assert table(out)[10:14] == [
        "x.so",
        "+ loadable sass: sm_75, sm_90a, sm_120",
        "- loadable sass: sm_80",
        "- loadable ptx: compute_80",
    ]
    assert run(capsys, "diff", "--exit-code", old, old)[0] == exits.PASS


def test_diff_of_images_as_markdown_and_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    images = [
        written(tmp_path / name, docker_archive(tar(file("usr/lib/x|y.so", data))))
        for name, data in (("a.tar", OLDER), ("b.tar", LIBRARY))
    ]
    _, out, _ = run(capsys, "diff", "--format", "markdown", *images)
    lines = out.splitlines()
    assert "- **gained** sass: sm\\_75, sm\\_90a, sm\\_120" in lines
    assert "- **changed** PTX versions: 9.0 -\\> none" in lines
    assert "| libraries | 1 | 1 | - |" in lines
    assert "### `usr/lib/x|y.so`" in lines
    _, out, _ = run(capsys, "diff", "--format", "json", *images)
    summary = json.loads(out)["summary"]
    assert summary["lost"] == [
        {"kind": "sass", "arch": "sm_80"},
        {"kind": "ptx", "arch": "compute_80"},
    ]
    assert summary["versions_before"] == ["9.0"]
    assert summary["sizes_after"]["file"] == len(LIBRARY)


BROKEN: dict[str, Callable[[], bytes]] = {
    "encrypted": lambda: patch_row(wheel(("a.so", LIBRARY)), 1, flags=1),
    "crc": lambda: patch_row(wheel(("a.so", LIBRARY), ("b.so", OLDER)), 1, crc=1),
    "overlap": lambda: patch_row(many_rows(5, LIBRARY), 2, offset=0),
    "cut": lambda: wheel(("a.so", LIBRARY))[:-30],
    "cut tar": lambda: tarred(("a.so", OLDER), ("b.so", LIBRARY))[:30_000],
    "cut gzip": lambda: tarred(("a.so", OLDER), ("b.so", LIBRARY), mode="w:gz")[:6_000],
    "cut image": lambda: docker_archive(tar(file("a.so", OLDER), file("b.so", LIBRARY))[:30_000]),
    "damaged library": lambda: zipped(("a.so", LIBRARY[:9_000]), ("b.so", OLDER)),
}


@pytest.mark.parametrize("case", BROKEN)
def test_damage_fails_every_command_and_hides_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, case: str
) -> None:
    path = written(tmp_path / "x", BROKEN[case]())
    for command in (
        ["size"], ["size", "--by", "kernel"], ["kernels"], ["extract", "-o", str(tmp_path / "o")],
        ["diff", str(DEMO)], ["diff", "--kernels", str(DEMO)],
    ):  # fmt: skip
        code, out, err = run(capsys, *command, path)
        assert code == exits.ERROR, command
        assert err.startswith("fatbin: "), command
        assert "Traceback" not in out + err
    told = [run(capsys, command, path)[2].splitlines() for command in ("list", "size")]
    if case == "cut image":  # told at the member when it is read, at the layer when passed over
        told = [[line.split("::")[0] for line in lines] for lines in told]
    assert told[0] == told[1]


def test_nothing_in_a_package(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path / WHEEL, wheel())
    for command in (["size"], ["kernels"], ["extract"]):
        assert run(capsys, *command, path)[0] == exits.NOTHING
    code, out, _ = run(capsys, "size", "--allow-empty", path)
    assert code == exits.PASS
    assert "(0 libraries with device code, 0 bytes inflated" in out
    assert run(capsys, "size", "--by", "library", "--allow-empty", path)[0] == exits.PASS
    assert run(capsys, "size", "--by", "distribution", "--allow-empty", path)[0] == exits.PASS
    assert run(capsys, "diff", path, path)[0] == exits.PASS


def test_a_missing_target(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("size", "kernels", "extract"):
        for target in ("no/such.whl", "env:no/such", str(ROOT / "docs")):
            assert run(capsys, command, target)[0] == exits.ERROR
