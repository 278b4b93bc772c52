"""The file system that a stack of layers makes, lowest layer first.

The rules are those of the OCI image specification ("Image Layer Filesystem Changeset"): a name of
an upper layer replaces the same name below, unless both are directories; ``.wh.name`` removes a
name of lower layers, ``.wh..wh..opq`` everything that lower layers put into its directory. As
runtimes do, a path leads through the symbolic links that stand at the time, and never out of the
image.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from fatbin.errors import FormatError, LimitExceededError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias, TypeGuard

    Node: TypeAlias = "Directory | SymbolicLink | File[Any] | int"


Content = TypeVar("Content")
WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"
_AUFS = ".wh..wh."  # notes of one storage driver to itself
PATH_BYTES = 4096
"""The longest path that Linux takes."""
_STEPS = 4096  # names and links on the way to one file
_LINKS = 40  # of these, links; Linux stops there too


class Directory(dict[str, "Node"]):
    """Names and what they stand for; a number is a file, device, ... of that layer, and no more.

    Attributes:
        layer: the last one that has the directory itself.
        cleared: the last one for which all of lower layers was removed.
    """

    __slots__ = ("cleared", "layer")

    def __init__(self, layer: int) -> None:
        """Make an empty one."""
        super().__init__()
        self.layer: int = layer
        self.cleared: int = -1


class SymbolicLink:
    """A name that stands for another."""

    __slots__ = ("layer", "target")

    def __init__(self, layer: int, target: str) -> None:
        """Keep what it says."""
        self.layer: int = layer
        self.target: str = target


class File(Generic[Content]):
    """A name of a file whose content somebody wants.

    Attributes:
        layer: that has this name; a hard link's content may come from a lower one.
        content: whatever was given.
    """

    __slots__ = ("content", "layer")

    def __init__(self, layer: int, content: Content) -> None:
        """Keep both."""
        self.layer: int = layer
        self.content: Content = content


class Tree(Generic[Content]):
    """What stands after the layers so far.

    Attributes:
        root: the directory of everything.
    """

    def __init__(self, most: int) -> None:
        """Begin empty; more than ``most`` names are refused."""
        self.root: Directory = Directory(-1)
        self._most = most
        self._count = 0
        self._last: tuple[str, Directory] | None = None

    def put_directory(self, name: str, layer: int) -> None:
        """Make a directory; one that is there stays with what is in it."""
        path, last = split(name)
        if not last:
            return
        parent = self._parent(path, layer)
        node = parent.get(last)
        if isinstance(node, Directory):
            node.layer = layer
        else:
            self._put(parent, last, Directory(layer))

    def put(self, name: str, layer: int, content: Content | None = None) -> None:
        """Put a file, device or whatever is no directory in place of what has its name."""
        path, last = _named(name)
        node = layer if content is None else File(layer, content)
        self._put(self._parent(path, layer), last, node)

    def put_symbolic_link(self, name: str, layer: int, target: str) -> None:
        """Put a link in place of what has its name."""
        if len(target) > PATH_BYTES:
            raise _refused(name, f"a link to a path of more than {PATH_BYTES} bytes")
        path, last = _named(name)
        self._put(self._parent(path, layer), last, SymbolicLink(layer, target))

    def put_hard_link(self, name: str, layer: int, target: str) -> None:
        """Give what another name stands for a second one."""
        path, last = _named(name)
        there, other = _named(target)
        found = self._find(there)
        node = found.get(other) if found is not None else None
        if node is None:
            raise _refused(name, f"a hard link to {target}, which is not there")
        if isinstance(node, Directory):
            raise _refused(name, f"a hard link to the directory {target}")
        parent = self._parent(path, layer)
        if isinstance(node, File):
            self._put(parent, last, File(layer, node.content))
        elif isinstance(node, SymbolicLink):
            self._put(parent, last, SymbolicLink(layer, node.target))
        else:
            self._put(parent, last, layer)

    def white_out(self, name: str, layer: int) -> bool:
        """Do what a name that begins with ``.wh.`` asks for; False when it does not."""
        path, last = split(name)
        if not last.startswith(WHITEOUT):
            return False
        if last == OPAQUE:
            directory = self._find(path)
            if directory is not None:
                _keep_only(directory, layer)
        elif not last.startswith(_AUFS):
            directory = self._find(path)
            if directory is not None:
                _remove(directory, last.removeprefix(WHITEOUT), layer)
        self._last = None
        return True

    def files(self) -> Iterator[tuple[str, File[Content]]]:
        """Yield what was put with a content and still stands, by path."""
        pending: list[tuple[str, Directory]] = [("", self.root)]
        found: list[tuple[str, File[Content]]] = []
        while pending:
            prefix, directory = pending.pop()
            for name, node in directory.items():
                if isinstance(node, Directory):
                    pending.append((f"{prefix}{name}/", node))
                elif isinstance(node, File):
                    found.append((prefix + name, node))
        found.sort(key=lambda pair: pair[0].split("/"))
        yield from found

    def _put(self, parent: Directory, last: str, node: Node) -> None:
        if last not in parent:
            self._counted()
        elif self._last is not None and isinstance(parent[last], (Directory, SymbolicLink)):
            self._last = None
        if isinstance(node, SymbolicLink):
            self._last = None
        parent[last] = node

    def _counted(self) -> None:
        self._count += 1
        if self._count > self._most:
            raise LimitExceededError(
                f"more than {self._most} files and directories; the rest was not read",
                limit="archive_members",
                allowed=self._most,
                actual=self._count,
                hint="raise the limit archive_members if the image is trusted",
            )

    def _parent(self, path: str, layer: int) -> Directory:
        """Return a directory, made where it is missing."""
        if self._last is not None and self._last[0] == path:
            return self._last[1]
        found = self._walk(path, layer)
        if found is None:
            raise _refused(path, "a path through a file")
        self._last = (path, found)
        return found

    def _find(self, path: str) -> Directory | None:
        return self._walk(path, -1)

    def _walk(self, path: str, layer: int) -> Directory | None:  # noqa: C901 - a case a line
        """Follow a path; missing directories are made for a layer, unless that is negative."""
        pending = path.split("/")[::-1] if path else []
        way = [self.root]
        links = 0
        for _ in range(_STEPS):
            if not pending:
                return way[-1]
            name = pending.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if len(way) > 1:
                    way.pop()
                continue
            node = way[-1].get(name)
            if layer >= 0 and (node is None or (_is_file(node) and _layer_of(node) != layer)):
                # A file of a lower layer gives way, as it does where layers are mounted.
                self._counted()
                node = way[-1][name] = Directory(layer)
            if isinstance(node, Directory):
                way.append(node)
            elif isinstance(node, SymbolicLink):
                links += 1
                if links > _LINKS:
                    break
                if node.target.startswith("/"):
                    del way[1:]
                pending += node.target.split("/")[::-1]
            else:
                return None
        raise _refused(path, "a path through too many symbolic links")


def split(name: str) -> tuple[str, str]:
    """Return the directory and the last part of a member's name, both empty for the root.

    Raises:
        FormatError: the name leads out of the image, or is none.
    """
    if len(name) > PATH_BYTES:
        raise _refused(name[:80] + "...", f"a path of more than {PATH_BYTES} bytes")
    if "//" in name or "./" in name or name.endswith((".", "/")) or name.startswith("/"):
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise _refused(name, "a path with ..")
        name = "/".join(parts)
    path, _, last = name.rpartition("/")
    return path, last


def _named(name: str) -> tuple[str, str]:
    path, last = split(name)
    if not last:
        raise _refused(name, "something else in place of the root")
    return path, last


def _refused(name: str, what: str) -> FormatError:
    said = f"expected a path inside the image, found {what}: {name}"
    # Bytes of names that are no UTF-8 are written out, as in locations.
    said = said.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return FormatError(said, field="name")


def _remove(parent: Directory, name: str, layer: int) -> None:
    node = parent.get(name)
    if isinstance(node, Directory):
        _keep_only(node, layer)
        if node or node.layer == layer:
            return
    elif node is None or _layer_of(node) == layer:
        return
    del parent[name]


def _keep_only(directory: Directory, layer: int) -> None:
    """Remove everything that is not of one layer, the one that is applied.

    What was gone through once for it holds nothing of others any more, however often it is asked.
    """
    order: list[tuple[Directory, str, Directory]] = []
    pending = [directory]
    while pending:
        current = pending.pop()
        if current.cleared == layer:
            continue
        current.cleared = layer
        for name, node in list(current.items()):
            if isinstance(node, Directory):
                order.append((current, name, node))
                pending.append(node)
            elif _layer_of(node) != layer:
                del current[name]
    for parent, name, node in reversed(order):
        if not node and node.layer != layer:
            del parent[name]


def _is_file(node: Node) -> TypeGuard[File[Any] | int]:
    return isinstance(node, (File, int))


def _layer_of(node: SymbolicLink | File[Any] | int) -> int:
    return node if isinstance(node, int) else node.layer
