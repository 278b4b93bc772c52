"""The builder against libnvfatbin: options, compressions and groups; what it writes is read."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import from_index
import pytest
from differences import VERSIONS, expected, unused
from nvfatbin import (
    IDENTIFIER,
    NvFatbin,
    NvFatbinError,
    fixture_cubins,
    recorded,
    written,
)
from support import FIXTURES, require

import fatbin
from fatbin import EntryFlags, EntrySpec
from fatbin.format.build import read_specs
from fatbin.format.codec import decompress
from fatbin.kinds import COMPRESSION_MASK, compression_of

pytestmark = pytest.mark.real

_CUBINS = fixture_cubins()
_TEXTS = {path.name: path.read_bytes() for path in sorted(FIXTURES.glob("*.ptx"))}
_INPUTS = {
    **_CUBINS,
    **{name: (text, name.split("_")[1].split(".")[0]) for name, text in _TEXTS.items()},
}
_RECORDED = json.loads((FIXTURES.parent / "tests/differential/nvfatbin.json").read_text())
_FLAGS = {
    (): (0, 0),
    ("-host=windows",): (EntryFlags.HOST_LINUX, EntryFlags.HOST_WINDOWS),
    ("-host=mac",): (EntryFlags.HOST_LINUX, EntryFlags.HOST_MAC),
    ("-g",): (0, EntryFlags.DEBUG),
    ("-opencl",): (0, EntryFlags.PRODUCER_OPENCL),
}
"""Options, and the flags that they take away and set."""
_MODES = ("speed", "size", "balance", "default")


every_version = pytest.mark.parametrize("version", VERSIONS["nvFatbin"])
every_input = pytest.mark.parametrize("name", _INPUTS)


@cache
def _library(version: str) -> Path:
    try:
        return from_index.nvfatbin(version)
    except from_index.NotOnIndexError as exc:
        require("real", str(exc))


def _spec(image: bytes, arch: str) -> EntrySpec:
    if image[:4] == b"\x7fELF":
        return EntrySpec.cubin(image, arch=f"sm_{arch}", identifier=IDENTIFIER)
    return EntrySpec.ptx(image, arch=f"compute_{arch}", identifier=IDENTIFIER)


def _differs(version: str, name: str, options: tuple[str, ...]) -> set[str]:
    image, arch = _INPUTS[name]
    try:
        theirs = written(_library(version), image, arch, options)
    except NvFatbinError:
        return {"refused"}
    away, here = _FLAGS[options]

    def ours(data: bytes) -> bytes:
        spec = _spec(data, arch)
        return fatbin.build([spec._replace(flags=spec.flags & ~int(away) | int(here))])

    if theirs == ours(image):
        return set()
    stored = read_specs(theirs)[0][0].payload
    if image[:4] != b"\x7fELF" and theirs == ours(stored.rstrip(b"\0")):
        return {"text"}
    return {"bytes"}


def test_every_pattern_of_the_table_names_a_file() -> None:
    assert unused("nvFatbin", set(_INPUTS)) == []


@every_version
def test_what_is_recorded_is_what_it_writes(version: str) -> None:
    assert recorded(_library(version), _CUBINS) == _RECORDED[version]


@every_version
@every_input
def test_plain_entries_are_the_same_bytes(version: str, name: str) -> None:
    for options in _FLAGS:
        assert _differs(version, name, options) == expected("nvFatbin", version, name), options


@pytest.mark.parametrize("version", VERSIONS["nvFatbin"][1:])
@every_input
def test_compressed_entries_have_the_same_headers_and_inflate_to_the_same(
    version: str, name: str
) -> None:
    image, arch = _INPUTS[name]
    for mode in _MODES:
        out = NvFatbin(_library(version), [f"-compress-mode={mode}", "-compress-all"])
        (out.cubin if name in _CUBINS else out.ptx)(image, arch, IDENTIFIER)
        ((theirs,),) = read_specs(out.get())
        compression = compression_of(theirs.flags)
        assert theirs.flags & COMPRESSION_MASK
        inflated = bytes(decompress(theirs.payload, compression, theirs.uncompressed_size))
        ours = _spec(image if name in _CUBINS else inflated, arch).compressed(compression)
        assert theirs._replace(payload=b"") == ours._replace(payload=b"")
        if name in _CUBINS:
            assert inflated == image


def test_groups_have_the_same_headers() -> None:
    version = VERSIONS["nvFatbin"][-1]
    names = ["saxpy_75.cubin", "saxpy_80.cubin", "saxpy_90a.cubin"]
    out = NvFatbin(_library(version), ["-concat"])
    for name in names:
        out.cubin(*_CUBINS[name], IDENTIFIER)
    ((theirs,),) = read_specs(out.get())
    ours = EntrySpec.group([_spec(*_CUBINS[name]) for name in names])
    ((again,),) = read_specs(fatbin.build([ours]))
    assert theirs._replace(payload=b"") == again._replace(payload=b"")


@every_version
def test_what_it_writes_is_read_whole(version: str) -> None:
    out = NvFatbin(_library(version))
    written_images = []
    for name, (image, arch) in _INPUTS.items():
        if "refused" in expected("nvFatbin", version, name):
            continue
        (out.cubin if name in _CUBINS else out.ptx)(image, arch, name)
        written_images.append((name, arch))
    out.ltoir((FIXTURES / "saxpy.ltoir").read_bytes(), "80", "lto", "-ftz=0")
    inventory = fatbin.scan_bytes(out.get(), verify=True)
    assert inventory.all_issues == ()
    found = [(entry.identifier, str(entry.arch).partition("_")[2]) for entry in inventory.entries]
    assert found == [*written_images, ("lto", "80")]
    assert [entry.options for entry in inventory.entries][-1] == "-ftz=0"
