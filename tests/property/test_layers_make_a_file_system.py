"""What survives a stack of layers is what a real file system has after the same operations."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from fatbin.errors import FormatError
from fatbin.scanning.images.tree import Tree

NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
KINDS = ("file", "dir", "symlink", "hard link")


class Step(NamedTuple):
    """One member of a layer."""

    kind: str
    path: str
    target: str = ""


WHITEOUTS = st.builds(Step, st.sampled_from(["whiteout", "opaque"]), PATHS)
PLAIN = st.builds(Step, st.sampled_from(["file", "dir"]), PATHS)
ANY = st.builds(Step, st.sampled_from(KINDS), PATHS, PATHS)
ORDERED = st.tuples(st.lists(WHITEOUTS, max_size=3), st.lists(ANY, max_size=6)).map(
    lambda pair: pair[0] + pair[1]
)
UNORDERED = st.lists(st.one_of(WHITEOUTS, PLAIN), max_size=8)


def in_tree(layers: list[list[Step]]) -> dict[str, str]:
    tree: Tree[str] = Tree(1000)
    for number, layer in enumerate(layers):
        for index, step in enumerate(layer):
            try:
                _put(tree, step, number, f"{number}.{index}")
            except FormatError:
                continue
    return {path: file.content for path, file in tree.files()}


def _put(tree: Tree[str], step: Step, number: int, content: str) -> None:
    if step.kind == "file":
        tree.put(step.path, number, content)
    elif step.kind == "dir":
        tree.put_directory(f"./{step.path}/", number)
    elif step.kind == "symlink":
        tree.put_symbolic_link(step.path, number, step.target)
    elif step.kind == "hard link":
        tree.put_hard_link(step.path, number, step.target)
    else:
        parent, slash, last = step.path.rpartition("/")
        name = (
            f"{step.path}/.wh..wh..opq" if step.kind == "opaque" else f"{parent}{slash}.wh.{last}"
        )
        assert tree.white_out(name, number)


def on_disk(layers: list[list[Step]]) -> dict[str, str]:
    with TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        for number, layer in enumerate(layers):
            # Whiteouts are about lower layers only, wherever they stand.
            steps = sorted(enumerate(layer), key=lambda pair: pair[1].kind in KINDS)
            made: set[Path] = set()
            for index, step in steps:
                _do(root, step, f"{number}.{index}", made)
        return {
            Path(parent, name).relative_to(root).as_posix(): Path(parent, name).read_text()
            for parent, _, names in os.walk(root)
            for name in names
            if not Path(parent, name).is_symlink()
        }


def _real_parent(root: Path, path: Path, made: set[Path] | None) -> Path | None:
    """Return where the directory of a path really is; None when no way leads there.

    Files that this layer has not made give way, unless ``made`` is None.
    """
    try:
        os.stat(path.parent)
    except OSError as exc:
        if exc.errno == errno.ENOTDIR and made is not None:
            for folder in [*path.relative_to(root).parents][::-1]:
                real = Path(os.path.realpath(root / folder))
                if real.is_file():
                    if real in made:
                        return None
                    real.unlink()
                    return _real_parent(root, path, made)
        if exc.errno != errno.ENOENT:
            return None
    real = Path(os.path.realpath(path.parent))
    if real.is_file():
        if made is None or real in made:
            return None
        real.unlink()
    return real


def _do(  # noqa: C901, PLR0911, PLR0912 - a case a line
    root: Path, step: Step, content: str, made: set[Path]
) -> None:
    path = root / step.path
    if step.kind == "opaque":
        if path.is_dir():
            for inner in path.iterdir():
                _remove(inner)
        return
    target = root / step.target
    if step.kind == "hard link" and (not os.path.lexists(target) or _is_folder(target)):
        return
    parent = _real_parent(root, path, None if step.kind == "whiteout" else made)
    if parent is None:
        return
    path = parent / path.name
    if step.kind == "whiteout":
        _remove(path)
        return
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if step.kind == "dir" and _is_folder(path):
        return
    made.add(path)
    if step.kind == "hard link":
        if (
            os.path.lexists(path)
            and not _is_folder(path)
            and os.path.samestat(path.lstat(), target.lstat())
        ):
            return
        spare = root.parent / "spare"
        os.link(target, spare, follow_symlinks=False)
        _remove(path)
        spare.rename(path)
        return
    _remove(path)
    if step.kind == "dir":
        path.mkdir()
    elif step.kind == "file":
        path.write_text(content)
    else:
        path.symlink_to(step.target)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _remove(path: Path) -> None:
    if _is_folder(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


@given(st.lists(ORDERED, max_size=4))
def test_links_lead_where_they_lead_on_a_disk(layers: list[list[Step]]) -> None:
    assert in_tree(layers) == on_disk(layers)


@given(st.lists(UNORDERED, max_size=4))
def test_whiteouts_hide_lower_layers_wherever_they_stand(layers: list[list[Step]]) -> None:
    assert in_tree(layers) == on_disk(layers)
