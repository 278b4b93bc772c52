"""Every layout of the schema reads and writes any bytes without loss, and equals the hot table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fatbin.format import layouts, schema
from fatbin.format.layout import Layout


@pytest.mark.parametrize("name", schema.LAYOUTS)
@given(data=st.data())
def test_construct_and_struct_read_the_same_and_write_it_back(
    name: str, data: st.DataObject
) -> None:
    declared = schema.LAYOUTS[name]
    hot: Layout = getattr(layouts, name)
    raw = data.draw(st.binary(min_size=hot.size, max_size=hot.size))
    assert declared.sizeof() == hot.size
    parsed = declared.parse(raw)
    assert tuple(parsed[field] for field in hot.fields) == hot.unpack_from(raw)
    assert declared.build({field: parsed[field] for field in hot.fields}) == raw
    assert hot.struct.pack(*hot.unpack_from(raw)) == raw
    assert hot.named(hot.unpack_from(raw)) == {field: parsed[field] for field in hot.fields}


def test_the_checked_in_table_is_what_the_schema_gives() -> None:
    with open(layouts.__file__, encoding="utf-8") as file:
        assert file.read() == schema.render_layouts(), (
            "run: python -m fatbin.format.schema > fatbin/format/layouts.py"
        )


def test_each_declaration_has_a_layout() -> None:
    hot = {name for name, value in vars(layouts).items() if isinstance(value, Layout)}
    assert hot == set(schema.LAYOUTS)
