from __future__ import annotations

from pathlib import Path

import pytest
from patching import patched
from support import FIXTURES

import fatbin
from fatbin.format.attributes import attributes
from fatbin.format.build import EntrySpec
from fatbin.format.cubin import read_compat, read_cubin_head
from fatbin.format.layouts import ELF64_HEADER, ELF64_SECTION, ELF_IDENT
from fatbin.format.ptx import read_ptx_head
from fatbin.format.view import View

LIMITS = fatbin.Limits()
CUBINS = {  # from the commands of the manifest: architecture, toolkit, relocatable
    "ptxas11.8_sm35": ("sm_35", "11.8", False),
    "ptxas11.8_sm90": ("sm_90", "11.8", False),
    "ptxas12.0_sm80": ("sm_80", "12.0", False),
    "ptxas12.1_sm90": ("sm_90", "12.1", False),
    "ptxas12.4_sm90a": ("sm_90a", "12.4", False),
    "ptxas12.9_sm100a": ("sm_100a", "12.9", False),
    "ptxas12.9_sm100f": ("sm_100f", "12.9", False),
    "ptxas12.9_sm90": ("sm_90", "12.9", False),
    "saxpy_75": ("sm_75", "13.0", False),
    "saxpy_90a": ("sm_90a", "13.0", False),
    "saxpy_100": ("sm_100", "13.0", False),
    "saxpy_100a": ("sm_100a", "13.0", False),
    "saxpy_100f": ("sm_100f", "13.0", False),
    "rdc_80": ("sm_80", "13.0", True),
    "devfunc_90": ("sm_90", "13.0", True),
    "debug_80": ("sm_80", "13.0", False),
}


def load(name: str) -> bytes:
    return (FIXTURES / f"{name}.cubin").read_bytes()


@pytest.mark.parametrize("name", CUBINS)
def test_cubin_heads(name: str) -> None:
    data = load(name)
    head = read_cubin_head(View(data, name), LIMITS)
    assert (str(head.arch), head.toolkit, head.relocatable) == CUBINS[name]
    assert head.size == len(data)


def test_the_size_of_a_cubin_follows_from_its_tables() -> None:
    for path in sorted(FIXTURES.glob("*.cubin")):
        data = path.read_bytes()
        assert read_cubin_head(View(data + bytes(1000)), LIMITS).size == len(data), path.name


def test_without_its_note_a_cubin_for_sm_100_is_of_unknown_variant() -> None:
    data = (
        load("saxpy_100")
        .replace(b"-arch sm_100", b"-arch xx_100")
        .replace(b"-arch=sm_100", b"-arch=xx_100")
    )
    head = read_cubin_head(View(data), LIMITS)
    assert str(head.arch) == "sm_100?"


@pytest.mark.parametrize("name", ["saxpy_80", "saxpy_100a"])
def test_damaged_heads(name: str) -> None:
    data = load(name)
    for broken, error in (
        (patched(data, ELF_IDENT, 0, machine=62), fatbin.FormatError),
        (patched(data, ELF_IDENT, 0, magic=0), fatbin.BadMagicError),
        (patched(data, ELF_IDENT, 0, data=2), fatbin.UnsupportedVersionError),
        (patched(data, ELF64_HEADER, ELF_IDENT.size, shoff=1 << 62), fatbin.TruncatedError),
        (patched(data, ELF64_HEADER, ELF_IDENT.size, shentsize=8), fatbin.SizeMismatchError),
        (data[:40], fatbin.TruncatedError),
    ):
        with pytest.raises(error):
            read_cubin_head(View(broken, name), LIMITS)


def test_a_names_section_that_lies() -> None:
    data = load("saxpy_80")
    header = ELF64_HEADER.named(ELF64_HEADER.unpack_from(data, ELF_IDENT.size))
    at = header["shoff"] + header["shstrndx"] * ELF64_SECTION.size
    with pytest.raises(fatbin.TruncatedError, match="section name table"):
        read_cubin_head(View(patched(data, ELF64_SECTION, at, size=1 << 40)), LIMITS)


def test_compat_copy_of_the_entry_equals_the_section() -> None:
    """A fatbin entry for SM 100 and later carries the section's bytes: nvcc's file is the oracle."""
    data = (FIXTURES / "sm_100a.fatbin").read_bytes()
    compat = read_compat(View(load("saxpy_100a")), LIMITS)
    assert compat
    assert compat in data[: len(data) - len(load("saxpy_100a"))]
    assert (2, 9, 1, b"") in list(attributes(compat))


def test_attributes_end_at_damage() -> None:
    assert list(attributes(b"\x04\x2f\x08\x00abcdefgh\x01\x02\x00")) == [(4, 0x2F, 8, b"abcdefgh")]
    assert list(attributes(b"\x63\xff\x01\x00")) == [(0x63, 0xFF, 1, b"")]


@pytest.mark.parametrize(
    ("path", "arch", "options"),
    [
        ("saxpy_80.ptx", "compute_80", ()),
        ("saxpy_90a.ptx", "compute_90a", ()),
        ("debug_80.ptx", "compute_80", ("debug",)),
    ],
)
def test_ptx_heads(path: str, arch: str, options: tuple[str, ...]) -> None:
    head = read_ptx_head((FIXTURES / path).read_bytes())
    assert head is not None
    assert (head.isa_version, str(head.arch), head.options) == ("9.0", arch, options)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"hello", b".version", b".version 8.0", b".version 8.0\n.target", b".target sm_80",
        b".version 8.0\n.address_size 64\n.target sm_80", b"int main() {}\n.version 8.0\n.target sm_80",
        b"/* open .version 8.0\n.target sm_80", b".version 8.x\n.target sm_80",
    ],
)  # fmt: skip
def test_what_is_no_ptx(text: bytes) -> None:
    assert read_ptx_head(text) is None


def test_comments_and_marks_before_ptx() -> None:
    text = b"\xef\xbb\xbf\n// one\n/* two\n * */ \n.version 7.8 // three\n\t.target sm_90a , debug , texmode_independent // x\n"
    head = read_ptx_head(text)
    assert head is not None
    assert (head.isa_version, str(head.arch), head.options) == (
        "7.8", "compute_90a", ("debug", "texmode_independent"),
    )  # fmt: skip


def test_a_long_line_costs_no_more_than_its_length() -> None:
    assert read_ptx_head(b" " * 1_000_000 + b"x") is None
    assert read_ptx_head(b"/*" + b"*" * 1_000_000) is None


def test_builder_takes_architecture_and_version_from_the_image() -> None:
    spec = EntrySpec.cubin(load("ptxas12.4_sm90a"))
    assert (spec.arch, spec.flags & 0x100000, (spec.major, spec.minor)) == (90, 0x100000, (1, 7))
    text = (FIXTURES / "saxpy_90a.ptx").read_text()
    ptx = EntrySpec.ptx(text, options="-v")
    assert (ptx.arch, ptx.flags & 0x100000, ptx.major, ptx.options) == (90, 0x100000, 9, "-v")
    assert ptx.payload.endswith(b"\0")


@pytest.mark.parametrize("name", ["75", "80", "90a", "100", "100a", "100f", "120"])
def test_builder_writes_what_nvcc_writes(name: str) -> None:
    """The nvcc of the fixtures wraps the same cubin into the same bytes."""
    built = fatbin.build([EntrySpec.cubin(load(f"saxpy_{name}"))])
    assert built == (FIXTURES / f"sm_{name}.fatbin").read_bytes()


def real_fatbins() -> list[Path]:
    damaged = ("hostile", "truncated", "padded")
    return [p for p in sorted(FIXTURES.glob("*.fatbin")) if not p.name.startswith(damaged)]


@pytest.mark.parametrize("path", real_fatbins(), ids=lambda path: path.name)
def test_real_fatbins_are_rebuilt_byte_for_byte(path: Path) -> None:
    from fatbin.format.build import build, read_specs

    data = path.read_bytes()
    assert b"".join(build(specs) for specs in read_specs(data)) == data


def test_builder_refuses() -> None:
    with pytest.raises(fatbin.FormatError, match="expected PTX"):
        EntrySpec.ptx("hello")
    with pytest.raises(fatbin.ArchitectureError, match="a virtual architecture"):
        EntrySpec.ptx((FIXTURES / "saxpy_80.ptx").read_bytes(), arch="sm_80")
    with pytest.raises(fatbin.ArchitectureError, match="a real one"):
        EntrySpec.cubin(load("saxpy_80"), arch="compute_80")
    with pytest.raises(fatbin.FormatError, match="does not fit"):
        fatbin.build([EntrySpec(kind=1 << 16, payload=b"")])
    packed = EntrySpec(kind=2, payload=b"x").compressed("zstd")
    with pytest.raises(fatbin.FormatError, match="compressed one"):
        packed.compressed("lz4")
    with pytest.raises(fatbin.FormatError, match="plain images"):
        EntrySpec.group([packed])


def test_notes_tell_what_made_an_image() -> None:
    (note,) = fatbin.Cubin(load("saxpy_100f")).tools
    assert note.tool == "ptxas"
    assert "release 13.0, V13.0.88" in note.version
    assert note.command_line.split() == ["-arch", "sm_100f", "-m", "64"]
    assert fatbin.Cubin(load("ptxas12.4_sm90")).tools == ()
    with fatbin.open(FIXTURES / "lib_rdc.so") as file:
        linked = [
            entry.image()
            for container in file.containers()
            for entry in container.entries
            if container.facts.wrapper == 2
        ]
    for image in linked:
        assert isinstance(image, fatbin.Cubin)
        assert image.tools[0].tool == "nvlink"
        assert {note.tool for note in image.tools} == {"nvlink", "ptxas"}
