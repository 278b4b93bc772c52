from __future__ import annotations

import re
from typing import Any

import pytest
from patching import patched
from res_usage import columns
from support import FIXTURES, manifest

import fatbin
from fatbin.format import attributes as attr
from fatbin.format.attributes import attributes
from fatbin.format.images import Cubin
from fatbin.format.layouts import ELF64_HEADER, ELF64_SECTION, ELF64_SYMBOL, ELF_IDENT
from fatbin.kernel import Kernel, Parameter

ROWS = {
    row["file"].removesuffix(".cubin"): row["cuobjdump"]["res_usage"]
    for row in manifest()
    if row["file"].endswith(".cubin")
}

REG_0 = {
    "devfunc_90": {"__cuda_sm20_sqrt_rn_f32_slowpath": 24, "_Z4devff": 38},
}
"""cuobjdump prints REG:0 for device functions on SM 90 and later; the registers in truth.

For SM 80 it prints them for the same source (devfunc_80), and so does ``.nv.info`` for SM 90.
"""

REFUSED = {
    "ptxas12.0_sm90": "ptxas12.4_sm90",
    "ptxas12.1_sm90": "ptxas12.4_sm90",
    "ptxas11.8_sm35": None,
}
"""What cuobjdump refuses, and a cubin of the same source and architecture that it reads.

Toolkits 12.0 to 12.2 write a wrong sh_link ("does not contain device code"); support for SM below
50 has been removed from it.
"""


def load(name: str) -> bytes:
    return (FIXTURES / f"{name}.cubin").read_bytes()


def functions(name: str) -> tuple[Kernel, ...]:
    return Cubin(load(name), name=name).functions


def usage(name: str) -> dict[str, dict[str, int]]:
    """Return the columns of each function as cuobjdump printed them."""
    found: dict[str, dict[str, int]] = {}
    function = ""
    for line in ROWS[name]["stdout"]:
        if match := re.fullmatch(r" Function (.+):", line):
            function = match[1]
        elif function:
            found[function] = {key: int(value) for key, value in re.findall(r"(\S+):(\d+)", line)}
    return found


@pytest.mark.parametrize("name", sorted(set(ROWS) - set(REFUSED)))
def test_resources_are_those_of_cuobjdump(name: str) -> None:
    expected = usage(name)
    for function, registers in REG_0.get(name, {}).items():
        assert expected[function]["REG"] == 0
        expected[function]["REG"] = registers
    assert {kernel.name: columns(kernel) for kernel in functions(name)} == expected
    assert expected


def test_device_functions_differ_only_by_the_fault() -> None:
    shown = {name: row["REG"] for name, row in usage("devfunc_80").items()}
    ours = {kernel.name: kernel.registers for kernel in functions("devfunc_90")}
    assert ours == shown == REG_0["devfunc_90"] | {"_Z2kkPf": 24}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_resources_where_cuobjdump_refuses(name: str) -> None:
    assert ROWS[name]["rc"] != 0
    (kernel,) = functions(name)
    twin = REFUSED[name]
    if twin is not None:
        assert {kernel.name: columns(kernel)} == usage(twin)
    else:
        assert kernel == Kernel(
            name="k", entry=True, arch=fatbin.Architecture(35), registers=5, stack=64, frame=64,
            shared=1024, constant=((0, 328),), max_threads=(128, 1, 1), parameters=(Parameter(0, 0, 8),),
            parameter_bytes=8, code_size=128,
        )  # fmt: skip


def test_every_cubin_has_a_row() -> None:
    assert {path.stem for path in FIXTURES.glob("*.cubin")} == set(ROWS)


@pytest.mark.parametrize(
    ("name", "kernels", "others"),
    [
        ("devfunc_90", ["_Z2kkPf"], ["__cuda_sm20_sqrt_rn_f32_slowpath", "_Z4devff"]),
        ("rdc_80", ["_Z2k1Pf"], []),
        ("res_80", ["kreg", "kdyn", "krec", "klocal", "kshared"], []),
    ],
)
def test_kernels_and_device_functions(name: str, kernels: list[str], others: list[str]) -> None:
    cubin = Cubin(load(name))
    assert [kernel.name for kernel in cubin.kernels] == kernels == list(cubin.kernel_names)
    assert [kernel.name for kernel in cubin.functions if not kernel.entry] == others
    assert not cubin.is_empty


@pytest.mark.parametrize("name", ["res_80", "res_90a"])
def test_what_the_source_asks_for(name: str) -> None:
    """fixtures/src/res.cu: launch bounds, a register limit, barriers, parameters."""
    found = {kernel.name: kernel for kernel in functions(name)}
    assert {n: k.max_threads for n, k in found.items()} == {
        "kreg": (), "kdyn": (), "krec": (), "klocal": (), "kshared": (128, 1, 1),
    }  # fmt: skip
    assert {n: k.max_registers for n, k in found.items() if k.max_registers} == {"kreg": 24}
    assert {n: k.barriers for n, k in found.items()} == {
        "kreg": 0, "kdyn": 1, "krec": 0, "klocal": 0, "kshared": 1,
    }  # fmt: skip
    for kernel in found.values():
        two = kernel.name in ("krec", "klocal")
        assert kernel.parameters == (Parameter(0, 0, 8), *([Parameter(1, 8, 4)] if two else ()))
        assert kernel.parameter_bytes == (12 if two else 8)
        assert kernel.arch == fatbin.Architecture.parse(name.replace("res_", "sm_"))
        assert kernel.required_threads == ()
    assert found["klocal"].frame == 256


def test_parameters_of_different_sizes() -> None:
    (kernel,) = functions("saxpy_80")
    assert kernel.parameters == (
        Parameter(0, 0, 4), Parameter(1, 8, 8), Parameter(2, 16, 8), Parameter(3, 24, 4),
    )  # fmt: skip
    assert kernel.parameter_bytes == 28


def test_required_threads() -> None:
    """No fixture has .reqntid: the record of .maxntid is given its id."""
    data = load("ptxas12.9_sm80")
    record = bytes((4, attr.MAX_THREADS, 12, 0))
    assert data.count(record) == 1
    (kernel,) = Cubin(data.replace(record, bytes((4, attr.REQNTID, 12, 0)))).functions
    assert (kernel.max_threads, kernel.required_threads) == ((), (128, 1, 1))


# Damage -------------------------------------------------------------------------------------------


def sections(data: bytes) -> dict[str, tuple[int, dict[str, Any]]]:
    """Return where the header of each section stands and what it says, by name."""
    header = ELF64_HEADER.named(ELF64_HEADER.unpack_from(data, ELF_IDENT.size))
    found = {}
    for index, section in enumerate(Cubin(data).sections):
        at = header["shoff"] + index * ELF64_SECTION.size
        found[section.name] = (at, ELF64_SECTION.named(ELF64_SECTION.unpack_from(data, at)))
    return found


def damaged(name: str, section: str, **fields: int) -> bytes:
    data = load(name)
    return patched(data, ELF64_SECTION, sections(data)[section][0], **fields)


def read(data: bytes) -> tuple[tuple[Kernel, ...], list[fatbin.FatbinError]]:
    errors: list[fatbin.FatbinError] = []
    return Cubin(data, name="x", report=errors.append).functions, errors


@pytest.mark.parametrize(
    ("section", "fields"),
    [
        (".nv.info.kshared", {"offset": 1 << 62}),
        (".nv.info.kshared", {"size": (1 << 64) - 1}),
        (".nv.info", {"offset": 1 << 40, "size": 1 << 40}),
    ],
)
def test_a_section_out_of_range_costs_only_what_it_says(
    section: str, fields: dict[str, int]
) -> None:
    data = damaged("res_80", section, **fields)
    found, errors = read(data)
    (error,) = errors
    assert isinstance(error, fatbin.TruncatedError)
    assert error.field == section
    whole = {kernel.name: kernel for kernel in functions("res_80")}
    assert [kernel.name for kernel in found] == list(whole)
    for kernel in found:
        if section == ".nv.info":
            assert (kernel.registers, kernel.stack, kernel.frame) == (0, 0, 0)
            expected = whole[kernel.name]._replace(registers=0, stack=0, frame=0)
            assert kernel == expected
        elif kernel.name != "kshared":
            assert kernel == whole[kernel.name]
        else:
            assert (kernel.registers, kernel.shared, kernel.barriers) == (10, 1200, 0)
    with pytest.raises(fatbin.TruncatedError):
        _ = Cubin(data).functions


@pytest.mark.parametrize("section", [".symtab", ".strtab"])
@pytest.mark.parametrize("fields", [{"offset": 1 << 62}, {"size": 1 << 62}])
def test_tables_out_of_range(section: str, fields: dict[str, int]) -> None:
    data = damaged("res_80", section, **fields)
    found, errors = read(data)
    assert found == ()
    assert [type(error) for error in errors] == [fatbin.TruncatedError]
    with pytest.raises(fatbin.TruncatedError):
        _ = Cubin(data).kernel_names


def test_a_symbol_table_without_strings() -> None:
    for link in (10_000, (1 << 32) - 1):
        found, errors = read(damaged("res_80", ".symtab", link=link))
        assert (found, errors) == ((), [])


def test_symbol_counts_that_lie() -> None:
    """The table is as large as its header says, in whole symbols, and inside the image."""
    size = sections(load("res_80"))[".symtab"][1]["size"]
    names = [kernel.name for kernel in functions("res_80")]
    found, errors = read(damaged("res_80", ".symtab", size=size - 1))
    assert ([kernel.name for kernel in found], errors) == (names[:-1], [])
    found, errors = read(damaged("res_80", ".symtab", size=size + 240))
    assert ([kernel.name for kernel in found], errors) == (names, [])
    found, errors = read(damaged("res_80", ".symtab", size=0))
    assert (found, errors) == ((), [])


def test_a_string_table_without_end() -> None:
    """The name of the last symbol runs to the end of the table and is no name of a section."""
    size = sections(load("saxpy_80"))[".strtab"][1]["size"]
    whole = load("saxpy_80")
    at = sections(whole)[".strtab"][1]["offset"]
    data = whole[:at] + whole[at : at + size].replace(b"\0", b"x") + whole[at + size :]
    assert read(data) == ((), [])


def test_tables_without_bytes_in_the_file() -> None:
    assert read(damaged("res_80", ".strtab", type=8)) == ((), [])


def enlarged(names: bytes, symbols: int) -> bytes:
    """Return saxpy_80 with the symbol of its kernel repeated, and its string table replaced."""
    data = load("saxpy_80")
    at, table = sections(data)[".symtab"]
    rows = data[table["offset"] : table["offset"] + table["size"]]
    (row,) = (
        rows[i : i + ELF64_SYMBOL.size]
        for i in range(0, len(rows), ELF64_SYMBOL.size)
        if ELF64_SYMBOL.named(ELF64_SYMBOL.unpack_from(rows, i))["other"] & 0x10
    )
    blob = b"".join(patched(row, ELF64_SYMBOL, 0, name=i % len(names)) for i in range(symbols))
    strings_at = sections(data)[".strtab"][0]
    data = patched(data, ELF64_SECTION, at, offset=len(data), size=len(blob))
    data = patched(data, ELF64_SECTION, strings_at, offset=len(data) + len(blob), size=len(names))
    return data + blob + names


def test_names_that_overlap_without_end() -> None:
    found, errors = read(enlarged(b"x" * 200_000, 200_000))
    assert found == ()
    assert [type(error) for error in errors] == [fatbin.LimitExceededError]
    with pytest.raises(fatbin.LimitExceededError, match="overlap without end"):
        _ = Cubin(enlarged(b"x" * 200_000, 200_000)).functions


def test_a_section_has_one_owner_however_many_symbols_say_so() -> None:
    found, errors = read(enlarged(b"saxpy\0", 60_000))
    assert [kernel.name for kernel in found] == ["saxpy"]
    assert errors == []


def test_sections_that_overlap_are_not_read_without_end() -> None:
    """Each kernel's attributes may claim the whole image; together they may not."""
    data = load("res_80")
    for name, (at, _) in sections(data).items():
        if name.startswith(".nv.info."):
            data = patched(data, ELF64_SECTION, at, offset=0, size=len(data))
    found, errors = read(data)
    assert len(found) == 5
    assert {type(error) for error in errors} == {fatbin.SizeMismatchError}
    assert len(errors) >= 4


@pytest.mark.parametrize("bank", ["²", "٣", "9" * 5000, "", "x", "-1", "100"])
def test_constant_banks_that_are_none(bank: str) -> None:
    from fatbin.format.elf import ElfSection
    from fatbin.format.functions import _constant_banks

    sections = {
        f".nv.constant{number}.k": ElfSection(f".nv.constant{number}.k", 1, 0, 0, 0, 8, 0, 0)
        for number in (bank, "2", "17")
    }
    assert _constant_banks(sections) == {"k": ((2, 8), (17, 8))}


def test_attributes_that_lie_about_their_size() -> None:
    """The last record claims more than the section holds; what is there is no whole fact."""
    assert list(attributes(b"\x04\x2f\xff\xff\0\0\0\0")) == [(4, 0x2F, 0xFFFF, bytes(4))]
    assert list(attributes(b"\x04\x2f\x08")) == []
    data = load("saxpy_80")
    record = bytes((4, attr.REGCOUNT, 8, 0))
    assert data.count(record) == 1
    (kernel,) = Cubin(data.replace(record, bytes((4, attr.REGCOUNT, 0xFF, 0xFF)))).functions
    assert kernel.registers == 0


def test_numbers_of_other_symbols_are_not_kept() -> None:
    from fatbin.format.functions import _per_symbol

    data = b"".join(
        bytes((4, attr.REGCOUNT, 8, 0)) + index.to_bytes(4, "little") + b"\x10\0\0\0"
        for index in range(1000)
    )
    assert _per_symbol(data, {7, 2000}) == ({7: 16}, {}, {})
