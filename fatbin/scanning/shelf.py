"""Documents in a folder, each of them whole or not there; whatever goes wrong, there is none.

A document begins with a digest of the rest, so that what is damaged or foreign is not taken for
one. It is written under another name and then renamed: many processes, also of several machines,
can use one folder. The folder must be the user's own, and nobody else's to write.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib

from fatbin import __version__

_SUFFIX = ".fatbin-scan"
_FORM = 3
"""Of the documents; raised when one of the same version of fatbin would be read otherwise."""
_BYTES = 256 << 20
_PRIVATE = 0o700
_LEVEL = 1
_INFLATED = 1 << 30
"""The longest document that is believed; the longest honest ones have a hundredth of that."""


class Shelf:
    """A folder of documents.

    Attributes:
        folder: where they are; made when the first one is written.
        most: bytes that all of them may take; those used longest ago go first.
    """

    def __init__(self, folder: str, most: int = _BYTES) -> None:
        """Use a folder."""
        self.folder = folder
        self.most = most

    def read(self, *key: object) -> bytes | None:
        """Return the document of a key; None when there is none that is good."""
        path = self._path(key)
        try:
            if not self._own():
                return None
            with open(path, "rb") as file:
                digest, _, data = file.read().partition(b"\n")
            if hashlib.sha256(data).hexdigest().encode() != digest:
                return None
            stream = zlib.decompressobj()
            body = stream.decompress(data, _INFLATED)
            if not stream.eof:
                return None
            os.utime(path)  # what is used stays
        except (OSError, ValueError, zlib.error):
            return None
        return body

    def write(self, body: bytes, *key: object) -> None:
        """Keep a document under a key, in place of the one that is there."""
        data = zlib.compress(body, _LEVEL)
        if len(data) > self.most:
            return
        temporary = ""
        try:
            os.makedirs(self.folder, _PRIVATE, exist_ok=True)
            if not self._own():
                return
            descriptor, temporary = tempfile.mkstemp(dir=self.folder, suffix=".new")
            with os.fdopen(descriptor, "wb") as file:
                file.write(hashlib.sha256(data).hexdigest().encode() + b"\n" + data)
            os.replace(temporary, self._path(key))
            temporary = ""
            self._shrink()
        except OSError:
            return
        finally:
            if temporary:
                _remove(temporary)

    def _path(self, key: tuple[object, ...]) -> str:
        text = repr((__version__, _FORM, *key)).encode(errors="replace")
        return os.path.join(self.folder, hashlib.sha256(text).hexdigest() + _SUFFIX)

    def _own(self) -> bool:
        """Tell whether nobody else can write into the folder."""
        if not hasattr(os, "getuid"):
            return True
        status = os.stat(self.folder)
        return status.st_uid == os.getuid() and not status.st_mode & 0o022

    def _shrink(self) -> None:
        found = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(_SUFFIX):
                    try:
                        status = entry.stat()
                    except FileNotFoundError:  # another process was quicker
                        continue
                    found.append((status.st_mtime_ns, status.st_size, entry.path))
        found.sort(reverse=True)
        total = 0
        for _, size, path in found:
            total += size
            if total > self.most:
                _remove(path)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
