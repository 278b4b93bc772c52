from __future__ import annotations

import pytest
from support import FIXTURES, ROOT

import fatbin
from fatbin.format.attributes import COMPAT_NAMES, INFO_NAMES, NAMELESS
from fatbin.format.images import Cubin, Ltoir, Ptx, open_image

CUBIN = (FIXTURES / "saxpy_80.cubin").read_bytes()
TEXT = (FIXTURES / "saxpy_80.ptx").read_bytes()


# Cubins -------------------------------------------------------------------------------------------


def test_a_cubin_says_what_it_is() -> None:
    cubin = Cubin((FIXTURES / "ptxas12.4_sm90a.cubin").read_bytes())
    assert (str(cubin.arch), cubin.toolkit, cubin.relocatable) == ("sm_90a", "12.4", False)
    assert (cubin.head.abi, cubin.head.virtual_sm) == (7, 90)
    assert Cubin((FIXTURES / "ptxas12.0_sm90.cubin").read_bytes()).head.virtual_sm == 52
    assert Cubin((FIXTURES / "rdc_80.cubin").read_bytes()).relocatable
    assert repr(cubin) == f"<Cubin sm_90a of {cubin.size} bytes>"


def test_what_stands_behind_a_cubin_is_not_part_of_it() -> None:
    cubin = Cubin(CUBIN + b"more")
    assert cubin.size == len(CUBIN)
    assert cubin.functions == Cubin(CUBIN).functions


def test_sections_by_name() -> None:
    cubin = Cubin(CUBIN)
    assert len(cubin.section_bytes(".text.saxpy")) == cubin.functions[0].code_size
    assert cubin.section_bytes(".nv.shared.saxpy") == b""
    assert cubin.section_bytes("none") == b""


def test_attributes_of_every_fixture_have_names() -> None:
    """But those that cuobjdump 13.5 shows as unknown."""
    seen: set[int] = set()
    measured = (ROOT / "tests/hardware/images").glob("cubin_*.cubin")
    for path in (*FIXTURES.glob("*.cubin"), *measured):
        cubin = Cubin(path.read_bytes())
        for section in cubin.sections:
            if section.name.startswith(".nv.info"):
                seen |= {ident for _, ident, _, _ in cubin.attributes(section.name)}
        assert {ident for _, ident, _, _ in cubin.attributes(".nv.compat")} <= set(COMPAT_NAMES)
    assert len(seen) > 15
    assert seen - set(INFO_NAMES) == NAMELESS


def test_an_image_of_a_link_without_kernels_is_empty() -> None:
    with fatbin.open(FIXTURES / "host_emptycu.o") as file:
        (image,) = (entry.image() for library in file.containers() for entry in library.entries)
        assert isinstance(image, Cubin)
        assert image.is_empty
        assert image.functions == ()
    assert not Cubin(CUBIN).is_empty


def test_damage_is_raised_or_reported() -> None:
    data = bytearray(CUBIN)
    cubin = Cubin(CUBIN)
    (section,) = (s for s in cubin.sections if s.name == ".text.saxpy")
    at = data.index(section.offset.to_bytes(8, "little") + section.size.to_bytes(8, "little"))
    data[at : at + 8] = b"\xff" * 8
    with pytest.raises(fatbin.TruncatedError):
        Cubin(data).section_bytes(".text.saxpy")
    errors: list[fatbin.FatbinError] = []
    assert Cubin(data, report=errors.append).section_bytes(".text.saxpy") == b""
    assert [type(error) for error in errors] == [fatbin.TruncatedError]


def test_limits_hold() -> None:
    with pytest.raises(fatbin.LimitExceededError):
        Cubin(CUBIN, limits=fatbin.Limits(header_bytes=100))
    small = fatbin.Limits(header_bytes=len(CUBIN) // 2, image_bytes=10)
    with pytest.raises(fatbin.LimitExceededError):
        Cubin(CUBIN, limits=small).section_bytes(".text.saxpy")


# PTX ----------------------------------------------------------------------------------------------


def test_a_text_says_what_it_is() -> None:
    ptx = Ptx(TEXT + bytes(5))
    assert (ptx.isa_version, str(ptx.arch), ptx.target_options) == ("9.0", "compute_80", ())
    assert (ptx.address_size, ptx.entries, ptx.unresolved) == (64, ("saxpy",), ())
    assert ptx.text == TEXT
    assert repr(ptx) == "<Ptx compute_80, version 9.0>"
    assert Ptx((FIXTURES / "debug_80.ptx").read_bytes()).target_options == ("debug",)


def test_a_text_without_directives() -> None:
    ptx = Ptx(b".entry k() {}")
    assert (ptx.isa_version, ptx.arch, ptx.address_size) == ("", None, 0)
    assert ptx.entries == ("k",)
    assert repr(ptx) == "<Ptx None, version unknown>"


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        (b".visible .entry a(\n.weak .entry b\n(.entry\n\tc_$1.x(", ("a", "b", "c_$1.x")),
        (b".entry a() .entry a()", ("a",)),
        (b"// .entry a\n.entry b // .entry c\n", ("b",)),
        (b"/* .entry a */ .entry b /* .entry c", ("b",)),
        (b"// see /* here\n.entry a() // and */ here\n", ("a",)),
        (b"/* // */ .entry a", ("a",)),
        (b'.file 1 "/home/*/x.cu"\n.entry a\n.file 2 "*/"', ("a",)),
        (b"/**/.entry a/***/ .entry b/* * / **/.entry c", ("a", "b", "c")),
        (b"// one line .entry a .entry b", ()),
        (b".entry a // .entry b .entry c", ("a",)),
        (b"a.entry", ()),
    ],
)
def test_names_of_kernels(text: bytes, entries: tuple[str, ...]) -> None:
    assert Ptx(text).entries == entries


@pytest.mark.parametrize(
    ("text", "unresolved"),
    [
        (b".extern .func f\n;", ("f",)),
        (b".extern .func (.param .b32 r) f\n(\n.param .b32 p\n)\n;", ("f",)),
        (b".extern .func f;\n.visible .func f() {}", ()),
        (b".extern .func (.param .b32 r) vprintf\n;", ()),
        (b"// .extern .func f\n.func g() {}", ()),
    ],
)
def test_functions_from_elsewhere(text: bytes, unresolved: tuple[str, ...]) -> None:
    assert Ptx(text).unresolved == unresolved


def test_relocatable_ptx_of_a_fixture() -> None:
    with fatbin.open(FIXTURES / "lib_rdc.so") as file:
        found = [
            (image.entries, image.unresolved)
            for container in file.containers()
            for entry in container.entries
            if isinstance(image := entry.image(), Ptx)
        ]
    assert found == [(("_Z2k1Pf",), ("_Z6helperf",)), (("_Z2k2Pf",), ())]


@pytest.mark.parametrize(
    "unit",
    [b"x", b" ", b".", b"/", b"*", b"/*", b"//", b'"', b"(", b".func(", b".entry ", b".func ",
     b"*/", b".extern .func (", b"\t.entry\t"],
)  # fmt: skip
def test_a_hundred_megabytes_without_a_newline(unit: bytes) -> None:
    """Each pattern goes over a text once, whatever it is made of."""
    size = 100_000_000 if unit in (b"x", b" ") else 4_000_000
    head = b".version 8.0\n.target sm_80\n"
    ptx = Ptx(head + unit * (size // len(unit)))
    assert set(ptx.entries) <= {".entry"}
    assert set(ptx.unresolved) <= {".func", ".extern"}
    assert str(ptx.arch) == "compute_80"


def test_many_kernels_on_one_line() -> None:
    text = b"".join(b".entry k%d " % i for i in range(200_000))
    assert len(Ptx(text).entries) == 200_000
    assert Ptx(b"// " + text).entries == ()


# LTO-IR and the rest ------------------------------------------------------------------------------


def test_ltoir() -> None:
    data = (FIXTURES / "saxpy.ltoir").read_bytes()
    image = Ltoir(data)
    assert image.plain
    assert image.version == f"{data[4]}.{data[5]}"
    assert repr(image) == f"<Ltoir of {len(data)} bytes>"
    other = Ltoir(b"\xed\x43\x4e\x7f")
    assert (other.plain, other.version) == (True, "")
    assert (Ltoir(b"").plain, Ltoir(data[1:]).plain) == (False, False)


def test_images_by_kind() -> None:
    assert isinstance(open_image("sass", CUBIN), Cubin)
    assert isinstance(open_image("ptx", TEXT), Ptx)
    assert isinstance(open_image("relocatable-ptx", TEXT), Ptx)
    assert isinstance(open_image("ltoir", b""), Ltoir)
    assert open_image("unknown-512", b"abc") == b"abc"
    with pytest.raises(fatbin.BadMagicError):
        open_image("sass", TEXT)
    with pytest.raises(fatbin.FormatError, match=r"expected PTX with a \.target directive"):
        open_image("ptx", CUBIN)
