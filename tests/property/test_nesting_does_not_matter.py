"""The same device code is found bare, in ELF of both classes, PE, COFF and archives."""

from __future__ import annotations

from collections import Counter

from hosts import Section, archive, elf, pe
from hypothesis import given
from hypothesis import strategies as st
from strategies import containers

import fatbin
from fatbin.format.build import EntrySpec, build
from fatbin.inventory import Entry, Inventory

LIMITS = fatbin.Limits(ratio=10**6)
FILLER = st.binary(max_size=100).filter(lambda data: b"\x50\xed" not in data and b".ta" not in data)


def facts(inventory: Inventory) -> list[Counter[Entry]]:
    """Return each module's entries without what depends on where they are."""
    return [
        Counter(
            # Kernels are counted where code is loaded, not in __nv_relfatbin.
            entry._replace(
                place=fatbin.Place.BARE, offset=0, group=-1, relocatable=None, kernels=None
            )
            for entry in module.entries
        )
        for library in inventory.libraries
        for module in library.modules
    ]


@given(
    wanted=containers,
    filler=FILLER,
    bits=st.sampled_from([32, 64]),
    align=st.sampled_from([1, 4, 8, 256]),
    kind=st.sampled_from([1, 2, 3]),
)
def test_hosts(
    wanted: list[list[EntrySpec]], filler: bytes, bits: int, align: int, kind: int
) -> None:
    blob = b"".join(build(entries) for entries in wanted) or build([])
    bare = facts(fatbin.scan_bytes(blob, limits=LIMITS))
    text = Section(".text", filler, executable=True)
    for name in (".nv_fatbin", "__nv_relfatbin"):
        host = elf(text, Section(name, blob, align=align), bits=bits, kind=kind)
        scanned = fatbin.scan_bytes(host, limits=LIMITS)
        assert not scanned.all_issues
        assert facts(scanned) == bare
        assert facts(fatbin.scan_bytes(archive(("a.o", host)), limits=LIMITS)) == bare
    windows = pe(text, Section(".nv_fatb", blob))
    assert facts(fatbin.scan_bytes(windows, limits=LIMITS)) == bare
    members = archive(("x.fatbin", blob), ("a long member name.o", windows))
    assert facts(fatbin.scan_bytes(members, limits=LIMITS)) == bare + bare


@given(containers, FILLER, st.integers(0, 7))
def test_embedded(wanted: list[list[EntrySpec]], filler: bytes, shift: int) -> None:
    """Containers as plain data, at any alignment; their order and content are kept."""
    blob = b"".join(build(entries) for entries in wanted) or build([])
    bare = facts(fatbin.scan_bytes(blob, limits=LIMITS))
    data = bytes(shift) + filler + blob
    for host in (
        elf(Section(".rodata", data)),
        pe(Section(".rdata", data)),
        elf(Section("x", data), table=False),
    ):
        found = fatbin.scan_bytes(host, limits=LIMITS)
        assert facts(found) == bare
        assert {entry.place for entry in found.entries} <= {fatbin.Place.EMBEDDED}
