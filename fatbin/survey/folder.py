"""A folder that files are written into: whole or not at all, nothing overwritten unasked."""

from __future__ import annotations

import os

from fatbin.errors import SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_NEW = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL  # never through a link that somebody else has put there
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_MODE = 0o666  # less the umask


class TakenError(SourceError):
    """A file that is there already and was not overwritten."""

    def __init__(self, path: str) -> None:
        """Name the file."""
        super().__init__("exists already and was not overwritten", location=path)


class UnwritableError(SourceError):
    """A folder or file that cannot be written."""


class Folder:
    """Takes files by name.

    A file is written under a temporary name in the folder and gets its own when it is whole. The
    name is made by linking, which fails where it is taken, or by renaming when that is asked for,
    which replaces a link and never follows it.

    Attributes:
        path: of the folder; made with the first file.
    """

    def __init__(self, path: str, *, force: bool = False) -> None:
        """Write into this folder; ``force`` replaces files that are there."""
        self.path = path
        self._force = force
        self._made = False

    def path_of(self, name: str) -> str:
        """Return where a file of this name lies."""
        return os.path.join(self.path, name)

    def require_free(self, name: str) -> None:
        """Check that a name can be taken.

        Raises:
            TakenError: something has it.
        """
        if not self._force and os.path.lexists(self.path_of(name)):
            raise TakenError(self.path_of(name))

    def write(self, name: str, chunks: Iterable[bytes | bytearray | memoryview]) -> None:
        """Write a file.

        Raises:
            TakenError: the name is taken, and the folder was not told to replace.
            UnwritableError: the file cannot be written.
        """
        path = self.path_of(name)
        try:
            if not self._made:
                os.makedirs(self.path, exist_ok=True)
                self._made = True
            temporary = self.path_of(f".{os.urandom(8).hex()}.part")
            descriptor = os.open(temporary, _NEW, _MODE)
            try:
                with open(descriptor, "wb") as file:
                    file.writelines(chunks)
                self._name(temporary, path)
            finally:
                _remove(temporary)
        except SourceError:
            raise
        except OSError as exc:
            reason = f"cannot be written: {exc.strerror or exc}"
            raise UnwritableError(reason, location=path) from exc

    def _name(self, temporary: str, path: str) -> None:
        if self._force:
            os.replace(temporary, path)
            return
        try:
            try:
                os.link(temporary, path)
            except FileExistsError:
                raise
            except (OSError, NotImplementedError):
                # No links on this file system, or (Python says NotImplementedError) on this
                # platform: take the name with an empty file, replace that.
                os.close(os.open(path, _NEW, _MODE))
                try:
                    os.replace(temporary, path)
                except OSError:
                    _remove(path)
                    raise
        except FileExistsError as exc:
            raise TakenError(path) from exc


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # renamed, or out of reach
