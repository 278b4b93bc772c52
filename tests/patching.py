"""Corrupt inputs are made from whole ones by changing one named field."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fatbin.format.layout import Layout


def patched(data: bytes, layout: Layout, offset: int, /, **fields: int) -> bytes:
    """Return the bytes with some fields of the structure at an offset changed."""
    named = layout.named(layout.unpack_from(data, offset))
    assert set(fields) <= set(named), "no such field"
    named.update(fields)
    raw = layout.struct.pack(*(named[field] for field in layout.fields))
    return data[:offset] + raw + data[offset + layout.size :]
