"""A fixed layout of integers, cheap enough for the hot walk."""

from __future__ import annotations

from struct import Struct

from fatbin.errors import TruncatedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fatbin.format.view import View


class Layout:
    """Field names and a :class:`struct.Struct` for one structure of the format.

    Attributes:
        name: the structure's name, for messages.
        fields: field names in order.
        size: bytes.
        unpack_from: ``Struct.unpack_from`` of the layout, for loops that check bounds themselves.
    """

    __slots__ = ("fields", "name", "size", "struct", "unpack_from")

    def __init__(self, name: str, code: str, fields: str) -> None:
        """Compile a struct code such as ``<IHHQ`` with its blank-separated field names."""
        self.name: str = name
        self.struct: Struct = Struct(code)
        self.fields: tuple[str, ...] = tuple(fields.split())
        self.size: int = self.struct.size
        self.unpack_from: Callable[..., tuple[Any, ...]] = self.struct.unpack_from

    def read(self, view: View, offset: int) -> tuple[int, ...]:
        """Return the fields at an offset of the view, in order.

        Raises:
            TruncatedError: the structure runs past the end of the view.
        """
        if offset < 0 or offset + self.size > view.size:
            raise TruncatedError(
                f"{self.name} of {self.size} bytes runs past the end at {view.size:#x}",
                offset=view.report_offset(offset),
                field=self.name,
                expected=f"{self.size} bytes",
                found=f"{max(0, view.size - offset)} bytes",
                location=view.name,
            )
        return self.unpack_from(view.buffer, view.start + offset)

    def named(self, values: tuple[int, ...]) -> dict[str, int]:
        """Return the fields as a dictionary."""
        return dict(zip(self.fields, values, strict=True))
