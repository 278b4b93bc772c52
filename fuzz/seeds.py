"""Whole inputs to begin with: fixtures, and what the helpers of the tests build."""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from typing import Any, TypeVar

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fatbin import check, scan_bytes
from fatbin.format.build import build
from fatbin.format.codec import compress
from fatbin.format.view import View
from fatbin.judge.policy import KEYS
from fatbin.kinds import Compression
from fatbin.scanning.scanner import Options, scan_view
from fuzz.target import FIXTURES, ROOT

if str(ROOT / "tests") not in sys.path:
    sys.path.append(str(ROOT / "tests"))

import hosts
import images_made
import made_logs
import packing
import strategies

_T = TypeVar("_T")
_SMALL = 24_000


def fixtures(*patterns: str, most: int = _SMALL) -> list[bytes]:
    """Return the fixtures of some names that are small enough to be changed often."""
    paths = sorted({path for pattern in patterns for path in FIXTURES.glob(pattern)})
    return [path.read_bytes() for path in paths if path.is_file() and path.stat().st_size <= most]


def drawn(strategy: st.SearchStrategy[_T], count: int) -> list[_T]:
    """Return examples of a strategy, the same each time."""
    found: list[_T] = []

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None, phases=[Phase.generate]
    )
    @given(strategy)
    def collect(value: _T) -> None:
        found.append(value)

    collect()
    return found


@lru_cache(maxsize=1)
def containers() -> list[bytes]:
    """Return containers: fixtures, and drawn ones."""
    made = drawn(strategies.containers, 40)
    return fixtures("*.fatbin") + [b"".join(map(build, wanted)) for wanted in made if wanted]


def codecs() -> list[bytes]:
    """Return what the codec target reads: every compression of a few texts."""
    texts = [b"", b"a" * 300, bytes(range(256)) * 4, (FIXTURES / "saxpy_80.ptx").read_bytes()]
    return [
        bytes((index,)) + len(text).to_bytes(4, "little") + compress(text, compression)
        for index, compression in enumerate(Compression)
        for text in texts
    ]


def cubins() -> list[bytes]:
    """Return the cubins of all toolkits."""
    return fixtures("*.cubin")


def texts() -> list[bytes]:
    """Return PTX texts."""
    long = b".version 8.8\n.target sm_90a, debug\n.address_size 64\n// .entry no\n/* .entry no */"
    return [
        *fixtures("*.ptx", most=40_000),
        long
        + b'\n.extern .func (.param .b32 r) f;\n.visible .entry k(.param .u64 p) { ret; }\n"x"',
    ]


@lru_cache(maxsize=1)
def host_files() -> list[bytes]:
    """Return host files of each format."""
    blob = (FIXTURES / "saxpy_80.cubin").read_bytes()
    fat = build([])
    section = hosts.Section
    made = [
        hosts.elf(section(".nv_fatbin", fat), section(".data", blob), bits=bits, kind=kind)
        for bits in (32, 64)
        for kind in (1, 3)
    ]
    made.append(hosts.pe(section(".nv_fatb", fat), section(".rdata", blob)))
    made.append(hosts.elf(section(".data", fat + blob), table=False))
    return fixtures("*.so", "*.o", "*.obj", "lib_rdc.debug") + made


def archives() -> list[bytes]:
    """Return static archives: GNU, thin, Windows, and one made here."""
    members = [("x.cubin", cubins()[0]), ("a name longer than fifteen.fatbin", containers()[0])]
    return [*fixtures("*.a", "*.lib", most=60_000), hosts.archive(*members)]


@lru_cache(maxsize=1)
def packages() -> list[bytes]:
    """Return packages of each kind, some within each other."""
    one = (FIXTURES / "saxpy_80.cubin").read_bytes()
    ptx = (FIXTURES / "saxpy_80.ptx").read_bytes()
    members = (("pkg/k.cubin", one), ("pkg/k.ptx", ptx))
    inner = packing.wheel(*members)
    return [
        inner,
        packing.zipped(*members, method=0),
        packing.zipped(("a.whl", inner), ("b.tar.gz", packing.tarred(*members, mode="w:gz"))),
        *(packing.tarred(*members, mode=mode) for mode in ("w", "w:gz", "w:bz2", "w:xz")),
        packing.tarred(("a.whl", inner), form=1),
        packing.conda(*members),
        *(_with_holes(form) + bytes(1024) for form in packing.FORMS_OF_HOLES),
        *fixtures("packages/*", most=60_000),
    ]


@lru_cache(maxsize=1)
def images() -> list[bytes]:
    """Return container images: docker archives and OCI layouts, layers plain and compressed."""
    one = (FIXTURES / "saxpy_80.cubin").read_bytes()
    made = images_made
    first = made.tar(made.folder("usr"), made.file("usr/a.cubin", one), made.symlink("l", "usr"))
    second = made.tar(made.whiteout("usr/a.cubin"), made.file("b.cubin", one), made.hardlink("c", "b.cubin"))  # fmt: skip
    third = made.tar(made.opaque("usr"), made.file("usr/x.txt", b"text"))
    layers = [first, second, third]
    blobs = made.Blobs()
    holes = b"".join(map(_with_holes, packing.FORMS_OF_HOLES)) + bytes(1024)
    several = blobs.layout(
        blobs.image(layers), blobs.image(made.squeezed(layers), platform="linux/arm64")
    )
    return [
        made.docker_archive(*layers),
        made.docker_archive(*layers, shared=True),
        made.tar_layout(made.oci_layout(*made.squeezed(layers))),
        made.tar_layout(several),
        made.docker_archive(holes),
        made.tar_layout(made.oci_layout(*made.squeezed([holes]))),
    ]


def _with_holes(form: str) -> bytes:
    container = containers()[0]
    return packing.with_holes(f"{form}.fatbin", container + bytes(8 << 10) + container, form)


@lru_cache(maxsize=1)
def inventories() -> list[bytes]:
    """Return inventories as JSON, of fixtures."""
    names = (
        "lib_3arch.so",
        "lib_rdc.so",
        "libmixed.a",
        "truncated.fatbin",
        "compress_all_speed.fatbin",
    )
    files = [View((FIXTURES / name).read_bytes(), name) for name in names]
    return [scan_view(file, Options()).to_json().encode() for file in files]


def verdicts() -> list[bytes]:
    """Return verdicts as JSON."""
    found = [scan_bytes(data, "x") for data in fixtures("sm_9*.fatbin", "ptx_only*.fatbin")[:4]]
    return [
        json.dumps(check(one, gpus="8.0, 9.0, 12.0", driver=driver).to_dict()).encode()
        for one in found
        for driver in ("535", "580")
    ]


def policies() -> list[bytes]:
    """Return policies with each key, alone and together, and as part of a project."""
    values: dict[str, Any] = {
        "bool": "true", "str": '"580"', "int": "3", "list": '["9.0", "12.0"]',
    }  # fmt: skip
    lines = [f"{key} = {value}" for key in KEYS for value in values.values()]
    ignore = '[[ignore]]\ncode = "FB101"\nlibrary = "lib*.so"\nreason = "not used"\nexpires = 2030-01-01\n'
    whole = 'gpus = ["H100", "9.0"]\ndriver = "580"\n' + ignore
    project = '[project]\nname = "x"\n[tool.fatbin]\ngpus = ["A100"]\n'
    return [text.encode() for text in (*lines, whole, project, ignore * 3)]


def logs() -> list[bytes]:
    """Return logs: one a symptom, logs of healthy runs, and all of them one behind the other."""
    found = [text.encode() for text in (*made_logs.SYMPTOMS.values(), *made_logs.HEALTHY.values())]
    shown = [path.read_bytes() for path in sorted((ROOT / "docs/examples").glob("*.log"))]
    return [
        *found,
        *shown,
        b"".join(found)[:30_000],
        made_logs.START.encode() + b"\n\f\n" + found[0],
    ]
