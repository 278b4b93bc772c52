"""Commands take what people ship: wheels, directories, environments."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from pathlib import Path

import pytest
from packing import DIST_INFO, METADATA, WHEEL, conda, patch_row, wheel, zipped
from support import FIXTURES, require

from fatbin.cli import exits, main
from fatbin.inventory import Inventory

LIBRARY = (FIXTURES / "lib_rdc.so").read_bytes()
DEMO = FIXTURES / "packages" / "demo_kernels-1.4.0-py3-none-any.whl"


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    site = tmp_path / "venv" / "lib" / "python3.12" / "site-packages"
    (site / "pkg").mkdir(parents=True)
    (site / "pkg" / "a.so").write_bytes(LIBRARY)
    (site / "some_package-1.2.3.dist-info").mkdir()
    (site / DIST_INFO).write_bytes(METADATA)
    (site / DIST_INFO.replace("METADATA", "RECORD")).write_text("pkg/a.so,,\n")
    return tmp_path / "venv"


def test_list_and_inspect_of_a_wheel(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "list", DEMO)
    assert (code, err) == (exits.PASS, "")
    assert [line.split("::")[1].split()[0] for line in out.splitlines() if "::" in line] == [
        "demo_kernels/lib/libdemo.so",
        "demo_kernels/kernels/scale_90a.cubin",
    ]
    code, out, err = run(capsys, "inspect", DEMO)
    assert (code, err) == (exits.PASS, "")
    assert out.count("  package   demo-kernels 1.4.0\n") == 2
    assert "needed    libstdc++.so.6" in out


def test_targets_of_all_kinds_at_once(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    code, out, _ = run(capsys, "list", "--format", "json", DEMO, tree, f"env:{tree}", "no/such")
    assert code == exits.ERROR
    inventory = Inventory.from_json(out)
    assert inventory.targets == (str(DEMO), str(tree), f"env:{tree}", "no/such")
    assert [(lib.distribution, lib.distribution_version) for lib in inventory.libraries] == [
        ("demo-kernels", "1.4.0"),
        ("demo-kernels", "1.4.0"),
        ("", ""),
        ("some-package", "1.2.3"),
    ]


def test_what_cannot_be_read_fails_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / WHEEL
    path.write_bytes(patch_row(wheel(("a.so", LIBRARY)), 0, flags=1))
    code, out, err = run(capsys, "list", path)
    assert code == exits.ERROR
    assert "::a.so" in out
    assert err == f"fatbin: {path}::pkg/__init__.py: the member is encrypted\n"
    code, out, _ = run(capsys, "inspect", path)
    assert code == exits.ERROR
    assert out.endswith("the member is encrypted\n")


def test_nothing_in_a_wheel(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / WHEEL
    path.write_bytes(wheel())
    assert run(capsys, "list", path)[0] == exits.NOTHING
    assert run(capsys, "list", "--allow-empty", path)[0] == exits.PASS


def test_names_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(zipped(("\x1b[2J.so", LIBRARY)))
    code, out, _ = run(capsys, "list", path)
    assert code == exits.PASS
    assert "\x1b" not in out


def test_directories_are_remembered_unless_told_not_to(
    capsys: pytest.CaptureFixture[str],
    tree: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("FATBIN_CACHE_DIR", str(cache))
    for path in tree.rglob("*.so"):  # not new
        monkeypatch.setattr("fatbin.scanning.cache._RECENT_NS", 0)
        os.utime(path, (1, 1))
    for target in (tree, f"env:{tree}"):
        first = run(capsys, "list", "--no-cache", target)
        assert not cache.exists()
        assert run(capsys, "list", target) == first
        (document,) = cache.iterdir()
        body = zlib.decompress(document.read_bytes().partition(b"\n")[2])
        assert [os.path.basename(name) for name in json.loads(body)] == ["a.so"]
        assert run(capsys, "list", target) == first
        document.unlink()
        cache.rmdir()


def test_a_plain_file_is_never_remembered(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATBIN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("fatbin.scanning.cache._RECENT_NS", 0)
    for command in (["list"], ["inspect"], ["check", "--no-policy", "--gpu", "8.0"]):
        assert run(capsys, *command, FIXTURES / "lib_rdc.so")[0] == exits.PASS
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("target", [DEMO, FIXTURES / "images" / "demo.tar", FIXTURES / "packages"])
@pytest.mark.parametrize(
    "command", [["list"], ["inspect"], ["check", "--no-policy", "--gpu", "9.0"]]
)
def test_packages_images_and_directories_are_remembered_by_all_commands(
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    target: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("FATBIN_CACHE_DIR", str(cache))
    monkeypatch.setattr("fatbin.scanning.cache._RECENT_NS", 0)
    copy = tmp_path / target.name
    if target.is_dir():
        shutil.copytree(target, copy)
    else:
        shutil.copy(target, copy)
    first = run(capsys, *command, "--no-cache", copy)
    assert not cache.exists()
    assert run(capsys, *command, copy) == first
    (document,) = cache.iterdir()
    assert run(capsys, *command, copy) == first

    def read(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("fatbin.scanning.work.scan_view", read)
    monkeypatch.setattr("fatbin.scanning.many.scan_file", read)
    assert run(capsys, *command, copy) == first
    with pytest.raises(AssertionError):
        run(capsys, *command, "--no-cache", copy)
    document.write_bytes(b"")
    with pytest.raises(AssertionError):
        run(capsys, *command, copy)


def test_diff_of_two_wheels(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for folder, name in (("a", "lib_1arch.so"), ("b", "lib_3arch.so")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / WHEEL).write_bytes(wheel(("x.so", (FIXTURES / name).read_bytes())))
    code, out, err = run(
        capsys, "diff", "--exit-code", "--kernels", tmp_path / "a" / WHEEL, tmp_path / "b" / WHEEL
    )
    assert (code, err) == (exits.FAIL, "")
    assert "sm_120" in out


def test_check_judges_a_wheel_and_a_directory(
    capsys: pytest.CaptureFixture[str], tree: Path
) -> None:
    for target, gpu, wanted in (
        (DEMO, "8.0", exits.FAIL),  # one of its libraries has nothing for it
        (tree, "8.0", exits.PASS),
        (f"env:{tree}", "7.5", exits.FAIL),
    ):
        assert run(capsys, "check", "--gpu", gpu, target)[0] == wanted


def test_a_conda_package_without_zstandard_fails_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    path = tmp_path / "some-1.2.3-0.conda"
    try:
        path.write_bytes(conda(("lib/a.so", LIBRARY)))
    except ModuleNotFoundError:
        require("zstandard", "not installed")
    assert run(capsys, "list", path)[0] == exits.PASS
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    code, _, err = run(capsys, "list", path)
    assert code == exits.ERROR
    assert "without zstandard" in err
