"""Whatever stands in a cubin: a result or a FatbinError, from everything that can be asked of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import FIXTURES

import fatbin
from fatbin.format.images import Cubin, Ltoir, Ptx, open_image

CUBINS = sorted(FIXTURES.glob("*.cubin"))
TABLES = {  # where damage is likelier to be met than in code
    path.name: sorted(
        {0, *range(64)}
        | {
            at
            for section in Cubin(path.read_bytes()).sections
            if section.name.startswith((".nv.info", ".nv.compat", ".symtab", ".strtab", ".note"))
            for at in range(section.offset, section.offset + min(section.file_size, 400))
        }
        | set(range(path.stat().st_size - 64 * 40, path.stat().st_size))
    )
    for path in CUBINS
}
VALUES = st.sampled_from([0, 1, 4, 0x7F, 0x80, 0xFF, 0xFFFF, 0xFFFFFFFF, 1 << 31, 1 << 63])


def touch(data: bytes | bytearray) -> None:
    """Ask for everything, strictly and with a report."""
    errors: list[fatbin.FatbinError] = []
    for report in (None, errors.append):
        try:
            cubin = Cubin(data, name="x", report=report)
            assert cubin.size <= len(data)
            assert isinstance(str(cubin.arch) + cubin.toolkit + repr(cubin), str)
            names = cubin.kernel_names
            found = cubin.functions
            assert tuple(kernel.name for kernel in cubin.kernels) == names
            assert cubin.is_empty is not bool(names)
            assert all(kernel.registers >= 0 and kernel.code_size >= 0 for kernel in found)
            for section in (".nv.info", ".nv.compat", *(f".nv.info.{k.name}" for k in found)):
                for form, ident, value, sized in cubin.attributes(section):
                    assert (form | ident) <= 0xFF
                    assert len(sized) <= value <= 0xFFFF
        except fatbin.FatbinError as exc:
            errors.append(exc)
    for error in errors:
        assert "\n" not in str(error)


@settings(max_examples=max(10, settings().max_examples // 2))
@pytest.mark.parametrize("path", CUBINS, ids=lambda path: path.name)
@given(data=st.data())
def test_damaged_cubins(path: Path, data: st.DataObject) -> None:
    blob = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.sampled_from(TABLES[path.name]) | st.integers(0, len(blob) - 1))
        size = data.draw(st.sampled_from([1, 2, 4, 8]))
        value = data.draw(VALUES | st.integers(0, 1 << 64))
        blob[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")
    if data.draw(st.integers(0, 4)) == 0:
        del blob[data.draw(st.integers(0, len(blob))) :]
    touch(blob)


@given(st.sampled_from(["ptx", "relocatable-ptx", "ltoir", "sass"]), st.binary(max_size=300))
def test_garbage_images(kind: str, data: bytes) -> None:
    try:
        image = open_image(kind, data)
    except fatbin.FatbinError:
        return
    assert isinstance(image, (Cubin, Ptx, Ltoir))
    assert repr(image)


@given(
    st.lists(
        st.sampled_from(
            [b".entry ", b".func ", b".extern ", b"(", b")", b"//", b"/*", b"*/", b"\n", b'"', b"k1",
             b"$x.y", b" ", b".target sm_90a", b".version 8.0", b".address_size ", b"64", b"\0", b"\xff"]
        ),
        max_size=60,
    )
)  # fmt: skip
def test_garbage_texts(words: list[bytes]) -> None:
    ptx = Ptx(b"".join(words))
    assert len(set(ptx.entries)) == len(ptx.entries)
    assert ptx.address_size >= 0
    assert isinstance(ptx.unresolved, tuple)
    assert not ptx.text.startswith(b"\0")
