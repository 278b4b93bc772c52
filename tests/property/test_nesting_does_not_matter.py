"""The same device code is found bare, in hosts of every format, archives, packages, directories."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

from hosts import Section, archive, elf, pe
from hypothesis import given
from hypothesis import strategies as st
from images_made import docker_archive, file, oci_layout, squeezed, tar, tar_layout
from packing import WHEEL, conda, tarred, wheel, zipped
from strategies import containers

import fatbin
from fatbin.format.build import EntrySpec, build
from fatbin.inventory import Entry, Inventory
from fatbin.survey.diff import compare
from fatbin.survey.kernel_sizes import LibraryKernels, kernel_sizes
from fatbin.survey.sizes import LibrarySize, account

LIMITS = fatbin.Limits(ratio=10**6)
FILLER = st.binary(max_size=100).filter(
    lambda data: not re.search(rb"\x50\xed|\.ta|^\x7fELF", data)
)


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


try:
    import zstandard
except ModuleNotFoundError:
    zstandard = None  # type: ignore[assignment]


@given(containers, FILLER, st.sampled_from(["a.so", "pkg/lib/b.fatbin", "ü/../c"]), st.booleans())
def test_packages(wanted: list[list[EntrySpec]], filler: bytes, name: str, host: bool) -> None:  # noqa: FBT001
    """Raw = wheel, stored or deflated = wheel in a zip = tar archive = conda package = directory."""
    blob = b"".join(build(entries) for entries in wanted) or build([])
    if host:
        text = Section(".text", filler, executable=True)
        blob = elf(text, Section(".nv_fatbin", blob))
    bare = facts(fatbin.scan_bytes(blob, limits=LIMITS))
    member = (name, blob)
    stored = wheel(member, method=zipfile.ZIP_STORED)
    packed = {
        WHEEL: wheel(member),
        "stored.whl": stored,
        "in stored.zip": zipped((WHEEL, stored), method=zipfile.ZIP_STORED),
        "in deflated.zip": zipped(("dir/" + WHEEL, stored)),
        "plain.tar": tarred(("text", filler), member),
        "some-1.0.tar.gz": tarred(("text", filler), member, mode="w:gz"),
        "some-1.0-0.tar.bz2": tarred(member, mode="w:bz2"),
        "x.tar.xz": tarred(("some.whl", wheel(member)), mode="w:xz"),
    }
    if zstandard is not None:
        packed["some-1.0-0.conda"] = conda(member)
    for package, data in packed.items():
        inventory = fatbin.scan_bytes(data, package, limits=LIMITS)
        assert not inventory.all_issues, package
        assert facts(inventory) == bare, package
        assert {library.location.split("::")[0] for library in inventory.libraries} <= {package}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sub").mkdir()
        (Path(folder) / "sub" / "file").write_bytes(blob)
        assert facts(fatbin.scan(folder, limits=LIMITS)) == bare
        for package, data in packed.items():
            (Path(folder) / package).write_bytes(data)
        everything = facts(fatbin.scan(folder, limits=LIMITS))
        assert everything == bare * (1 + len(packed))


def unplaced(issues: tuple[fatbin.Issue, ...]) -> tuple[fatbin.Issue, ...]:
    return tuple(issue._replace(location="") for issue in issues)


def sizes(path: Path) -> tuple[list[LibrarySize], int]:
    """Return the account of a target without what depends on where its libraries are."""
    found = account(path, limits=LIMITS)
    assert found.size == found.archive + sum(library.size for library in found.libraries)
    assert found.archive >= 0
    assert not found.issues
    return [
        library._replace(
            location="",
            packed=-1,
            distribution="",
            distribution_version="",
            issues=unplaced(library.issues),
        )
        for library in found.libraries
    ], found.archive


def code(path: Path) -> list[LibraryKernels]:
    """Return the kernels of a target, of libraries with any."""
    found = [
        library._replace(location="", issues=unplaced(library.issues))
        for library in kernel_sizes(path, LIMITS)
    ]
    return [library for library in found if library.images or library.issues]


@given(containers, st.booleans(), st.sampled_from(["raw", "elf", "archive"]))
def test_accounts(wanted: list[list[EntrySpec]], twice: bool, form: str) -> None:  # noqa: FBT001
    """Raw = in a wheel = in a wheel in a zip = in a tar archive = in a folder = in an image."""
    blob = b"".join(build(entries) for entries in wanted) or build([])
    if form == "elf":
        blob = elf(Section(".nv_fatbin", blob), Section(".text", b"code", executable=True))
    elif form == "archive":
        blob = archive(("x.o", elf(Section(".nv_fatbin", blob), kind=1)), ("y", b"text"))
    members = [("lib/a", blob), ("lib/b", blob)][: 1 + twice]
    layer = tar(*(file(*member) for member in members))
    packed = {
        WHEEL: wheel(*members),
        "in.zip": zipped((WHEEL, wheel(*members, method=zipfile.ZIP_STORED))),
        "some-1.0.tar.gz": tarred(*members, mode="w:gz"),
        "image.tar": docker_archive(tar(file("lib/a", b"\x7fELF gone")), layer),
        "oci.tar": tar_layout(oci_layout(*squeezed([layer]))),
        "imaged.tar": docker_archive(tar(file(WHEEL, wheel(*members)))),
    }
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare"
        bare.write_bytes(blob)
        one, rest = sizes(bare)
        kernels = code(bare)
        if not any(lib.modules for lib in fatbin.scan(bare, limits=LIMITS).libraries):
            return  # one of many that holds nothing is no library
        inner = Path(folder) / "folder" / "lib"
        inner.mkdir(parents=True)
        for name, data in members:
            (inner.parent / name).write_bytes(data)
        targets = [inner.parent]
        for package, data in packed.items():
            targets.append(Path(folder) / package)
            targets[-1].write_bytes(data)
        for target in targets:
            assert sizes(target) == (one * len(members), rest * len(members)), target.name
            assert code(target) == kernels * len(members), target.name
        diff = compare(targets[0], targets[4], kernels=True, limits=LIMITS)
        assert not diff.differs
        assert diff.libraries == ()
