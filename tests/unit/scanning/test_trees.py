"""Directories: each file once, in order, nothing but files opened, damage told."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from hosts import Section, elf
from packing import WHEEL, wheel, zipped
from support import FIXTURES

import fatbin
from fatbin.scanning import many, work
from fatbin.scanning.aids import Aids
from fatbin.scanning.scanner import Options

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
LIBRARY = (FIXTURES / "lib_3arch.so").read_bytes()


def put(root: Path, **files: bytes) -> None:
    for name, data in files.items():
        path = root / name.replace("__", "/").replace("_so", ".so")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def locations(inventory: fatbin.Inventory, root: Path) -> list[str]:
    return [os.path.relpath(library.location, root) for library in inventory.libraries]


def test_files_that_are_not_ours_are_absent(tmp_path: Path) -> None:
    host = elf(Section(".text", b"x", executable=True))
    put(tmp_path, b__a_so=LIBRARY, b__host_so=host, a=CUBIN, b__x=b"# text\n", empty=b"", z=LIBRARY)
    inventory = fatbin.scan(tmp_path)
    assert not inventory.all_issues
    assert locations(inventory, tmp_path) == ["a", "b/a.so", "z"]
    assert inventory.targets == (str(tmp_path),)
    single = fatbin.scan(tmp_path / "b" / "a.so").libraries
    assert inventory.libraries[1:2] == single


def test_a_directory_without_anything_is_unknown(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "sub"):
        path.mkdir(exist_ok=True)
        with pytest.raises(fatbin.UnknownFormatError, match="found none in it"):
            fatbin.scan(path)
        put(tmp_path, text=b"nothing")


def test_hosts_without_device_code_are_something(tmp_path: Path) -> None:
    put(tmp_path, host=elf(Section(".text", b"x", executable=True)))
    assert fatbin.scan(tmp_path).libraries == ()


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights")
def test_links_are_counted_once_and_noted(tmp_path: Path) -> None:
    put(tmp_path, lib__libx_so_2=b"", real__x=LIBRARY)
    (tmp_path / "lib" / "libx.so.2").unlink(missing_ok=True)
    for name in ("lib/0-link", "lib/libx.so.2"):
        (tmp_path / name).symlink_to("../real/x")
    os.link(tmp_path / "real" / "x", tmp_path / "real" / "y")
    (tmp_path / "lib" / "nowhere").symlink_to("missing")
    (tmp_path / "lib" / "loop").symlink_to("loop")
    (tmp_path / "real" / "cycle").symlink_to("..")
    inventory = fatbin.scan(tmp_path)
    assert not inventory.all_issues
    assert locations(inventory, tmp_path) == ["real/x"]
    assert [os.path.relpath(path, tmp_path) for path in inventory.libraries[0].aliases] == [
        "lib/0-link",
        "lib/libx.so.2",
        "real/y",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="no such files")
def test_pipes_and_sockets_are_not_opened(tmp_path: Path) -> None:
    put(tmp_path, a=CUBIN)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(os.path.relpath(tmp_path / "s"))
        assert locations(fatbin.scan(tmp_path), tmp_path) == ["a"]


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root reads all")
def test_what_may_not_be_read_is_told(tmp_path: Path) -> None:
    put(tmp_path, a=CUBIN, closed__b=CUBIN, c=CUBIN)
    (tmp_path / "closed").chmod(0)
    (tmp_path / "c").chmod(0)
    inventory = fatbin.scan(tmp_path)
    (tmp_path / "closed").chmod(0o700)
    assert locations(inventory, tmp_path) == ["a"]
    assert {os.path.basename(issue.location) for issue in inventory.issues} == {"closed", "c"}


def test_errors_of_the_system_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, a=CUBIN, closed__b=CUBIN, c=CUBIN)
    real_open, real_scandir = os.open, os.scandir

    def deny_open(path: str, *rest: int, **more: int) -> int:
        if str(path).endswith("c"):
            raise PermissionError(13, "Permission denied")
        return real_open(path, *rest, **more)

    def deny_scandir(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return real_scandir(path)

    monkeypatch.setattr(os, "open", deny_open)
    monkeypatch.setattr(os, "scandir", deny_scandir)
    inventory = fatbin.scan(tmp_path)
    assert locations(inventory, tmp_path) == ["a"]
    assert [(os.path.basename(i.location), i.code, i.message) for i in inventory.issues] == [
        ("closed", "Source", "Permission denied"),
        ("c", "Source", "Permission denied"),
    ]


def test_packages_are_told_by_their_names(tmp_path: Path) -> None:
    """A wheel is looked into; a checkpoint, a zip as well, is not."""
    (tmp_path / WHEEL).write_bytes(wheel(("a.so", LIBRARY)))
    (tmp_path / "model.pt").write_bytes(zipped(("a.so", LIBRARY)))
    inventory = fatbin.scan(tmp_path)
    assert locations(inventory, tmp_path) == [f"{WHEEL}::a.so"]
    assert inventory.libraries[0].distribution == "some-package"


def test_damage_in_one_file_leaves_the_others(tmp_path: Path) -> None:
    put(tmp_path, a=CUBIN, b=(FIXTURES / "truncated.fatbin").read_bytes(), c=CUBIN[:100], d=LIBRARY)
    inventory = fatbin.scan(tmp_path)
    assert locations(inventory, tmp_path) == ["a", "b", "c", "d"]
    assert [bool(library.issues) for library in inventory.libraries] == [False, True, True, False]


def test_a_deep_tree_is_walked(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(300):
        folder /= "d"
    folder.mkdir(parents=True)
    (folder / "a").write_bytes(CUBIN)
    assert len(fatbin.scan(tmp_path).libraries) == 1


# Many targets -------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for index in range(30):
        put(tmp_path, **{f"d{index % 3}__{index:02}": CUBIN if index % 2 else LIBRARY})
    return tmp_path


def test_targets_in_order_with_failures_as_issues(tree: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"text")
    targets = [str(tree / "d1" / "01"), "missing", str(text), str(tree / "d0")]
    inventory = fatbin.scan_many(targets)
    assert inventory.targets == tuple(targets)
    assert len(inventory.libraries) == 11
    assert [(i.code, i.location) for i in inventory.issues] == [
        ("Source", "missing"),
        ("UnknownFormat", str(text)),
    ]
    assert fatbin.scan_many([tree / "d0"]).libraries == fatbin.scan(tree / "d0").libraries


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor])
def test_any_executor_gives_the_same_in_order(
    tree: Path, executor: type[ThreadPoolExecutor] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = fatbin.scan(tree)
    monkeypatch.setattr(work, "_JOB_FILES", 4)
    calls: list[tuple[int, int, int, int]] = []
    pool = executor(3) if executor is not None else None
    inventory = fatbin.scan_many([tree], executor=pool, progress=lambda *done: calls.append(done))
    assert inventory == alone
    if pool is not None:
        pool.shutdown()
    assert len(calls) == 8
    assert calls == sorted(calls)
    assert calls[-1][0] == calls[-1][1] == sum(library.size for library in alone.libraries)
    assert calls[-1][2:] == (30, 30)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are only started there")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # pytest-xdist has a thread
def test_processes_by_default_for_large_trees(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = fatbin.scan(tree)
    monkeypatch.setattr(work, "_JOB_FILES", 4)
    monkeypatch.setattr(work, "_LARGE_FILES", 10)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    used = []
    real = work.pool_for

    def pool(*arguments: object) -> object:
        found = real(*arguments)  # type: ignore[arg-type]
        used.append(type(found).__name__)
        return found

    monkeypatch.setattr(many, "pool_for", pool)
    monkeypatch.setattr("threading.active_count", lambda: 1)
    assert fatbin.scan(tree) == alone
    assert used == ["ProcessPoolExecutor"]


def test_an_interrupt_leaves_nothing_running(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_JOB_FILES", 1)
    futures: list[Future[object]] = []

    class Slow(ThreadPoolExecutor):
        def submit(self, *arguments: object, **more: object) -> Future[object]:  # type: ignore[override]
            futures.append(super().submit(*arguments, **more))  # type: ignore[arg-type]
            return futures[-1]

    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with Slow(1) as pool, pytest.raises(KeyboardInterrupt):
        fatbin.scan_many([tree], executor=pool, progress=stop)
    assert len(futures) == 30
    assert all(future.done() for future in futures)


def test_a_lost_process_is_an_issue_of_its_files(tree: Path) -> None:
    from concurrent.futures import BrokenExecutor

    class Lost(ThreadPoolExecutor):
        def submit(self, *_: object, **__: object) -> Future[object]:  # type: ignore[override]
            future: Future[object] = Future()
            future.set_exception(BrokenExecutor())
            return future

    with Lost(1) as pool:
        inventory = fatbin.scan_many([tree], executor=pool)
    assert inventory.libraries == ()
    assert len(inventory.issues) == 30


# The cache ----------------------------------------------------------------------------------------


def age(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the files be old enough to be remembered."""
    monkeypatch.setattr("fatbin.scanning.cache._RECENT_NS", 0)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    read: list[str] = []
    real = work._scan_one

    def scan_one(path: str, options: Options, *, alone: bool, aids: Aids) -> work.FileResult:
        read.append(os.path.basename(path))
        return real(path, options, alone=alone, aids=aids)

    monkeypatch.setattr(work, "_scan_one", scan_one)
    return read


def test_what_has_not_changed_is_not_read_again(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(monkeypatch)
    read = counted(monkeypatch)
    cache = tmp_path / "cache"
    target = tree / "d0"
    (target / "damaged").write_bytes(CUBIN[:100])
    first = fatbin.scan_many([target], cache=cache)
    assert len(read) == 11
    read.clear()
    assert fatbin.scan_many([target], cache=cache) == first
    assert read == ["damaged"]  # never remembered
    (target / "00").write_bytes(CUBIN)
    (target / "03").unlink()
    read.clear()
    changed = fatbin.scan_many([target], cache=cache)
    assert sorted(read) == ["00", "damaged"]
    assert changed == fatbin.scan_many([target])
    read.clear()
    fatbin.scan_many([target], cache=cache, verify=True)
    assert len(read) == 10  # another question


def test_the_times_of_a_file_can_be_set_back_but_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(monkeypatch)
    path, cache = tmp_path / "t" / "a", tmp_path / "cache"
    put(tmp_path, t__a=(FIXTURES / "sm_100.fatbin").read_bytes())
    status = path.stat()
    before = fatbin.scan_many([path.parent], cache=cache)
    other = (FIXTURES / "sm_120.fatbin").read_bytes()[: status.st_size].ljust(status.st_size, b"\0")
    with path.open("r+b") as file:
        file.write(other)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    after = fatbin.scan_many([path.parent], cache=cache)
    assert after.libraries != before.libraries


def test_new_files_are_not_remembered(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = counted(monkeypatch)
    for _ in range(2):
        fatbin.scan_many([tree / "d0"], cache=tmp_path / "cache")
    assert len(read) == 20


def test_thin_archives_are_not_remembered_for_what_they_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(monkeypatch)
    for name in ("libthin.a", "host_1arch.o"):
        shutil.copy(FIXTURES / name, tmp_path / name)
    read = counted(monkeypatch)
    with_thin = fatbin.scan_many([tmp_path], cache=tmp_path.parent / "cache")
    assert any("libthin.a::" in library.location for library in with_thin.libraries)
    read.clear()
    assert fatbin.scan_many([tmp_path], cache=tmp_path.parent / "cache") == with_thin
    assert read == ["libthin.a"]


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "folder", "pickle"])
def test_a_damaged_document_is_written_again(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    age(monkeypatch)
    cache = tmp_path / "cache"
    first = fatbin.scan_many([tree / "d0"], cache=cache)
    (document,) = cache.iterdir()
    good = document.read_bytes()
    if damage == "folder":
        document.unlink()
        document.mkdir()
    else:
        at = len(good) // 2
        document.write_bytes(
            {
                "flip": good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :],
                "cut": good[:at],
                "empty": b"",
                "pickle": b"\x80\x04" + good,
            }[damage]
        )
    assert fatbin.scan_many([tree / "d0"], cache=cache) == first
    if damage != "folder":
        assert document.read_bytes() == good
    assert [path.suffix for path in cache.iterdir()] == [".fatbin-scan"]


def test_whole_but_senseless_documents_are_ignored(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import hashlib
    import zlib

    age(monkeypatch)
    cache = tmp_path / "cache"
    first = fatbin.scan_many([tree / "d0"], cache=cache)
    (document,) = cache.iterdir()
    for body in (
        b"[]",
        b"{}",
        b'{"x": 1}',
        b'{"x": [[1,2,3,4,5], [["a"]]]}',
        b"[" * 100_000,
        b"\xff",
    ):
        packed = zlib.compress(body)
        document.write_bytes(hashlib.sha256(packed).hexdigest().encode() + b"\n" + packed)
        assert fatbin.scan_many([tree / "d0"], cache=cache) == first


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no such rights")
def test_a_folder_that_others_may_write_is_not_believed(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(monkeypatch)
    read = counted(monkeypatch)
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    for _ in range(2):
        fatbin.scan_many([tree / "d0"], cache=cache)
    assert len(read) == 20
    assert list(cache.iterdir()) == []


def test_the_cache_has_an_end(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fatbin.scanning.cache import Cache
    from fatbin.scanning.many import plan, run

    age(monkeypatch)
    folder = tmp_path / "cache"
    sizes: list[int] = []
    for number in range(3):
        cache = Cache(str(folder))
        cache.shelf.most = sum(sizes) + 100 if sizes else 1 << 20
        run([plan(str(tree / f"d{number}"), Options())], Options(), cache=cache)
        sizes.append(max(path.stat().st_size for path in folder.iterdir()))
    assert len(list(folder.iterdir())) < 3
    tiny = Cache(str(tmp_path / "none"))
    tiny.shelf.most = 10
    run([plan(str(tree), Options())], Options(), cache=tiny)
    assert not (tmp_path / "none").exists()


def test_a_cache_that_cannot_be_written_is_no_matter(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    inventory = fatbin.scan_many([tree / "d0"], cache=tmp_path / "file" / "cache")
    assert len(inventory.libraries) == 10


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FATBIN_CACHE_DIR", str(tmp_path))
    assert fatbin.default_cache() == str(tmp_path)
    monkeypatch.delenv("FATBIN_CACHE_DIR")
    if sys.platform != "win32":
        monkeypatch.setenv("XDG_CACHE_HOME", "/x")
        assert fatbin.default_cache() == "/x/fatbin/scans"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", "/h")
        assert fatbin.default_cache() == "/h/.cache/fatbin/scans"


def test_an_inventory_goes_through_the_cache_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fixture, all fields."""
    age(monkeypatch)
    target = tmp_path / "fixtures"
    shutil.copytree(FIXTURES, target)
    first = fatbin.scan_many([target], cache=tmp_path / "cache", verify=True)
    read = counted(monkeypatch)
    second = fatbin.scan_many([target], cache=tmp_path / "cache", verify=True)
    assert second == first
    assert len(second.libraries) - len(read) > 80
