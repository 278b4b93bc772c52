"""An inventory as indented JSON, byte for byte as the standard library writes it, but sooner.

The encoder of :mod:`json` that is written in C does not indent, and the other one takes longer for
tens of thousands of libraries than reading them does.
"""

from __future__ import annotations

from json.encoder import encode_basestring_ascii as quoted

from fatbin.arch import Architecture
from fatbin.kinds import Compression, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.inventory import Inventory


def indented(inventory: Inventory, version: int, step: str) -> str:
    """Return the document.

    Args:
        inventory: to write.
        version: of the schema.
        step: one level of indentation.
    """
    writer = _Writer(step)
    pad = "\n" + step
    parts = (
        f'"schema_version": {version}',
        f'"targets": {writer.value(inventory.targets, pad)}',
        f'"libraries": {writer.value(inventory.libraries, pad)}',
        f'"issues": {writer.value(inventory.issues, pad)}',
    )
    return "{" + pad + ("," + pad).join(parts) + "\n}"


_WORDS = frozenset((type(None), bool, Architecture, Place, Compression))


def _word(value: object) -> str:
    if isinstance(value, (Place, Compression)):
        return quoted(value.value)
    if isinstance(value, Architecture):
        return quoted(str(value))
    return {None: "null", True: "true", False: "false"}[value]  # type: ignore[index]


class _Writer:
    def __init__(self, step: str) -> None:
        self._step = step
        self._keys: dict[tuple[type, str], list[str]] = {}
        self._words: dict[tuple[type, object], str] = {}

    def value(self, value: object, pad: str) -> str:
        """Return one value; ``pad`` begins the line that it ends on."""
        kind = type(value)
        if kind is int:
            return str(value)
        if kind in _WORDS:
            word = self._words.get((kind, value))
            if word is None:
                word = self._words[kind, value] = _word(value)
            return word
        if isinstance(value, str):
            return quoted(value)
        if kind is tuple:
            return self._list(value, pad)  # type: ignore[arg-type]
        return self._record(kind, value, pad)  # type: ignore[arg-type]

    def _list(self, items: tuple[object, ...], pad: str) -> str:
        if not items:
            return "[]"
        inner = pad + self._step
        parts = [self.value(item, inner) for item in items]
        return "[" + inner + ("," + inner).join(parts) + pad + "]"

    def _record(self, kind: type, items: tuple[object, ...], pad: str) -> str:
        keys = self._keys.get((kind, pad))
        inner = pad + self._step
        if keys is None:
            names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
            keys = self._keys[kind, pad] = [f"{inner}{quoted(name)}: " for name in names]
        value = self.value
        parts = [
            key + quoted(item) if type(item) is str else key + value(item, inner)
            for key, item in zip(keys, items, strict=True)
        ]
        return "{" + ",".join(parts) + pad + "}"
