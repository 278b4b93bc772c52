"""Real libraries: what is found is what is written down, and what a second reader finds."""

from __future__ import annotations

import os
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import corpus
import expected
import plain_walk
import pytest

import fatbin

if TYPE_CHECKING:
    from expected import Expected

pytestmark = pytest.mark.real


def _name(case: Expected) -> str:
    return f"{case.wheel.name}-{case.wheel.version}-{case.member.rsplit('/', 1)[-1]}"


every_library = pytest.mark.parametrize("case", expected.ALL, ids=_name)


def _path(case: Expected) -> Path:
    return corpus.library(case.wheel, case.member)


@cache
def _scan(case: tuple[corpus.Wheel, str]) -> fatbin.Library:
    inventory = fatbin.scan(corpus.library(*case))
    assert inventory.all_issues == ()
    (library,) = inventory.libraries
    return library


def _library(case: Expected) -> fatbin.Library:
    return _scan((case.wheel, case.member))


def _counted(library: fatbin.Library) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for entry in library.entries:
        counts.setdefault(f"{entry.place} {entry.kind}", Counter())[str(entry.arch)] += 1
    return {key: dict(count) for key, count in counts.items()}


@every_library
def test_entries_by_place_kind_and_architecture(case: Expected) -> None:
    library = _library(case)
    assert (library.format, library.machine) == (case.format, case.machine)
    assert _counted(library) == case.entries
    isa: dict[str, Counter[str]] = {}
    for entry in library.entries:
        if entry.kind == "ptx":
            isa.setdefault(str(entry.place), Counter())[entry.isa_version] += 1
    assert isa == case.isa


@every_library
def test_modules_and_wrappers(case: Expected) -> None:
    modules = _library(case).modules
    assert len(modules) == case.modules
    assert all(module.form == "container" and module.whole for module in modules)
    assert Counter(module.wrapper for module in modules) == case.wrappers
    assert Counter(module.section for module in modules) == case.sections
    offsets = [module.offset for module in modules]
    assert offsets == sorted(offsets)
    assert all(offset % case.alignment == 0 for offset in offsets)


@every_library
def test_linkage(case: Expected) -> None:
    linkage = _library(case).linkage
    assert linkage is not None
    assert linkage.soname == case.soname
    assert linkage.needed == case.needed
    assert linkage.cuda_runtime == case.cuda_runtime
    assert linkage.version == case.version


@every_library
def test_a_second_reader_finds_the_same(case: Expected) -> None:
    walked = plain_walk.walk(_path(case))
    assert walked.containers == case.modules
    assert walked.alignment % case.alignment == 0
    assert walked.entries == {
        (place_and_kind, arch): count
        for place_and_kind, counts in case.entries.items()
        for arch, count in counts.items()
    }
    assert walked.isa == {
        (place, version): count
        for place, counts in case.isa.items()
        for version, count in counts.items()
    }
    # A wrapper of version 0 is no wrapper.
    assert walked.wrappers == {version: n for version, n in case.wrappers.items() if version}


def test_the_cubins_of_nccl_2_26_open_where_cuobjdump_stops() -> None:
    loadable = []
    with fatbin.open(_path(expected.NCCL_2_26)) as opened:
        for container in opened.containers():
            for entry in container.entries:
                if entry.facts.place is fatbin.Place.LOADABLE:
                    loadable.append(entry.facts.arch)
                    image = entry.read()
                    assert image[:4] == b"\x7fELF"
                    assert len(image) == entry.facts.size
    assert len(loadable) == 6


def test_only_embedded_code_of_cublaslt_serves_100a_100f_and_103f() -> None:
    library = _library(expected.CUBLASLT)
    loadable = library.architectures("sass", place=fatbin.Place.LOADABLE)
    embedded = library.architectures("sass", place=fatbin.Place.EMBEDDED)
    assert {str(arch) for arch in embedded - loadable} == {"sm_100a", "sm_100f", "sm_103f"}


def test_every_payload_of_a_library_inflates() -> None:
    for case in (expected.FAISS, expected.BITSANDBYTES[-1], expected.CURAND_DLL):
        assert fatbin.scan(_path(case), verify=True).all_issues == ()


def test_a_pure_wheel_holds_no_device_code() -> None:
    read = 0
    with zipfile.ZipFile(corpus.wheel_path(corpus.GSPLAT)) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            read += 1
            try:
                inventory = fatbin.scan_bytes(archive.read(info), os.path.basename(info.filename))
            except fatbin.UnknownFormatError:
                continue
            assert [library.modules for library in inventory.libraries] == []
    assert read > 1000
