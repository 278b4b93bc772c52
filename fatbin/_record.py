"""Frozen plain data at a start-up cost that a command of a tenth of a second can pay.

``dataclasses`` imports ``inspect`` and compiles several functions a class: with the fifteen records
of this package some 50 ms, a third of what ``fatbin list`` takes for a 400 MB library
(``benchmarks/startup.py`` measures it). ``typing.NamedTuple`` is what type checkers see; at run
time the same declaration becomes a :func:`collections.namedtuple` without importing ``typing``.
"""

from __future__ import annotations

from collections import namedtuple
from enum import Enum

__all__ = ["Record", "Value", "Word", "plain"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from typing import NamedTuple as Record
else:

    class _Declaration(type):
        """Turns the body of a class into a named tuple with its methods and properties."""

        def __new__(mcs, name, bases, body):
            if not bases:
                return super().__new__(mcs, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = [body[field] for field in fields if field in body]
            record = namedtuple(  # noqa: PYI024 - typing is what this avoids
                name, fields, defaults=defaults, module=body["__module__"]
            )
            for key, value in body.items():
                if key not in fields and key not in _OWN:
                    setattr(record, key, value)
            record.__annotations__ = body.get("__annotations__", {})
            return record

    _OWN = frozenset(("__module__", "__qualname__", "__annotations__", "__classcell__"))

    class Record(metaclass=_Declaration):
        """Base of a declaration: annotated fields in order, defaults last."""


class Value:
    """Base of small immutable values that compare, order and hash by a key of their own type.

    Subclasses name their attributes in ``__slots__``, set them in ``__init__`` through
    ``object.__setattr__`` and give ``_key``.
    """

    __slots__ = ()

    def _key(self) -> tuple[int, ...]:
        raise NotImplementedError  # every subclass gives its own; abc would cost start-up

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: values do not change."""
        msg = f"{type(self).__name__} is immutable"
        raise AttributeError(msg)

    def __delattr__(self, name: str) -> None:
        """Refuse: values do not change."""
        msg = f"{type(self).__name__} is immutable"
        raise AttributeError(msg)

    def __eq__(self, other: object) -> bool:
        """Compare with values of the same type."""
        return self._key() == other._key() if type(other) is type(self) else NotImplemented

    def __lt__(self, other: object) -> bool:
        """Order among values of the same type."""
        return self._key() < other._key() if type(other) is type(self) else NotImplemented

    def __le__(self, other: object) -> bool:
        """Order among values of the same type."""
        return self._key() <= other._key() if type(other) is type(self) else NotImplemented

    def __gt__(self, other: object) -> bool:
        """Order among values of the same type."""
        return self._key() > other._key() if type(other) is type(self) else NotImplemented

    def __ge__(self, other: object) -> bool:
        """Order among values of the same type."""
        return self._key() >= other._key() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        """Hash by the key."""
        return hash(self._key())

    def __repr__(self) -> str:
        """Return ``Type('text')``."""
        return f"{type(self).__name__}({str(self)!r})"


class Word(str, Enum):
    """Base of enumerations whose members are the words of texts and documents."""

    def __str__(self) -> str:
        """Return the word."""
        return str(self.value)


def plain(value: object) -> Any:
    """Return JSON-ready data: records as objects, values and words as their text.

    Fractions, which are seconds and shares of cores, are given to three places.
    """
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Value):
        return str(value)
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        if fields is None:
            return [plain(item) for item in value]
        return {name: plain(item) for name, item in zip(fields, value, strict=True)}
    msg = f"expected a record, a value or what JSON has, found {type(value).__name__}"
    raise TypeError(msg)


_AS_THEY_ARE = frozenset((str, int, bool, type(None), dict, list))  # documents are plain already
