"""String tables of ELF files, within a budget.

Names overlap in honest tables (one can be the tail of another), but all of them together are not
much longer than the table. In a hostile one every name can run to the table's end.
"""

from __future__ import annotations

from fatbin.errors import LimitExceededError

_LEAST_BUDGET = 1 << 20


class StringTable:
    """NUL-terminated names by their offset.

    Attributes:
        data: the bytes of the table.
    """

    __slots__ = ("_left", "_location", "_names", "data")

    def __init__(self, data: bytes, location: str = "") -> None:
        """Read names from these bytes; all together at most twice as long as the table."""
        self.data: bytes = data
        self._names: dict[int, str] = {}
        self._left = max(_LEAST_BUDGET, 2 * len(data))
        self._location = location

    def at(self, offset: int) -> str:
        """Return the name at an offset; empty outside the table, to its end without a NUL.

        Raises:
            LimitExceededError: the names so far are longer than an honest table's.
        """
        name = self._names.get(offset)
        if name is None:
            end = self.data.find(b"\0", offset)
            raw = self.data[offset : end if end >= 0 else None]
            self._left -= len(raw)
            if self._left < 0:
                raise LimitExceededError(
                    f"names of a string table of {len(self.data)} bytes overlap without end",
                    limit="header_bytes",
                    allowed=2 * len(self.data),
                    actual=2 * len(self.data) - self._left,
                    location=self._location,
                )
            name = self._names[offset] = raw.decode("utf-8", "backslashreplace")
        return name
