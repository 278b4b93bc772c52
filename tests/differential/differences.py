"""Where another tool says something else about a file than fatbin: all that is known, in one table.

The tests compare each tool with fatbin on each file and ask for exactly these differences: one that
is not here fails, and so does one that no longer occurs. The page of the documentation is made from
the rows. It is longer than a module of code should be, because it is one table.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple


class Case(NamedTuple):
    """Files on which a difference shows, and how.

    Attributes:
        files: patterns of names: of fixtures, or ``wheel-version/member`` of real libraries.
        respects: words for how it shows, as the comparison with the tool has them.
        since: the first minor version of the tool that shows it; empty for the oldest tried.
        until: the last one; empty when the newest still shows it.
    """

    files: tuple[str, ...]
    respects: tuple[str, ...]
    since: str = ""
    until: str = ""

    def holds(self, version: str) -> bool:
        """Tell whether a version of the tool shows it."""
        minor = _numbers(version)
        first, last = _numbers(self.since or "0"), _numbers(self.until or "9999")
        return first <= minor <= last


class Difference(NamedTuple):
    """One cause of differences.

    Attributes:
        tool: whose answers differ from ours.
        what: the difference.
        right: ``fatbin``, the tool, ``both`` where each answers a question of its own, or
            ``neither``.
        why: the cause.
        evidence: how that is known.
        cases: where it shows.
    """

    tool: str
    what: str
    right: str
    why: str
    evidence: str
    cases: tuple[Case, ...]


VERSIONS = {
    "cuobjdump": ("12.4.99", "12.8.55", "13.2.51", "13.3.73", "13.4.92", "13.5.37"),
    "nvFatbin": ("12.4.127", "12.9.82", "13.0.85", "13.5.37"),
    "cubloaty": ("0.2.0b1",),
    "pyelftools": ("0.33",),
    "LIEF": ("1.0.0",),
    "pefile": ("2024.8.26",),
}
"""The versions of each tool that the table was tried with, oldest first."""

_ALL_LELF = ("-lelf", "-all -lelf")
_NO_ELF = (*_ALL_LELF, "-xelf", "exit")
_NO_PTX = ("-lptx", "-xptx")

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "cuobjdump",
        "`-lelf` shows `sm_100f` as `sm_100`",
        "fatbin",
        "it takes the suffix of a cubin from the image itself, which does not mark `f`; the entry "
        "around it does",
        "its own listing of headers prints `arch = sm_100f` for the same entries",
        (
            Case(
                (
                    "sm_*f.fatbin",
                    "multi.fatbin",
                    "two_containers.fatbin",
                    "saxpy_100f.cubin",
                    "ptxas12.9_sm100f.cubin",
                    "host_rdc.o",
                    "host_rdc2.o",
                    "dlink.o",
                    "lib_rdc.so",
                    "lib_relonly.so",
                    "stripped.so",
                    "libstatic.a",
                    "nvidia-nccl-cu12-2.29.7/*",
                    "nvidia-nccl-cu12-2.31.2/*",
                    "nvidia-nccl-cu13-2.32.3/*",
                    "nvidia-cublas-cu12-*/libcublasLt.*",
                ),
                ("suffix",),
            ),
            Case(("concat*.fatbin",), ("suffix",), since="13.2"),
        ),
    ),
    Difference(
        "cuobjdump",
        "`-lelf` shows `sm_90a` as `sm_90`, `-lptx` shows no `f`",
        "fatbin",
        "these versions print no suffix of cubins, and know `a` alone of PTX",
        "version 13.2 and later print it, for the same bytes",
        (
            Case(
                (
                    "sm_*a.fatbin",
                    "ptx_only_120f.fatbin",
                    "lto_100f.fatbin",
                    "debug_G.fatbin",
                    "ident.fatbin",
                    "saxpy_90a.cubin",
                    "saxpy_100a.cubin",
                    "res_90a.cubin",
                    "host_3arch.o",
                    "lib_3arch.so",
                ),
                ("suffix",),
                until="12.8",
            ),
        ),
    ),
    Difference(
        "cuobjdump",
        "no option lists LTO-IR, Tile IR and kinds without a name",
        "both",
        "`-lelf` and `-lptx` list what they name; fatbin lists all entries",
        "its listing of headers has these entries",
        (
            Case(
                ("lto*.fatbin", "host_dlto.o", "host_lto_*.o", "unknown_kind.fatbin", "*.ltoir"),
                ("kind",),
            ),
            Case(("nvidia-cufft-*/libcufft.*", "nvidia-cusparse-cu12-*"), ("kind",)),
        ),
    ),
    Difference(
        "cuobjdump",
        "says that PTX texts and files of LTO-IR hold no device code",
        "fatbin",
        "it looks for containers and cubins",
        "the files are what nvcc wrote with `-ptx` and `-ltoir`",
        (
            Case(("*.ptx",), ("exit", "-xptx")),
            Case(("*.ltoir",), ("exit",)),
        ),
    ),
    Difference(
        "cuobjdump",
        "stops with `Invalid ELF` at the first cubin of toolkits 12.0 to 12.2 and shows no later one",
        "fatbin",
        "ptxas and nvlink of these toolkits wrote a wrong `sh_link` into relocation sections; "
        "nothing needs that field",
        "versions 12.4 and 12.8 list the same files as fatbin does; a driver loads such cubins",
        (
            Case(("ptxas12.[01]_sm90.cubin",), _NO_ELF, since="13.2"),
            Case(
                (
                    "invalid_elf_midway.fatbin",
                    "nvidia-nccl-cu12-2.26.2/*",
                    "bitsandbytes-*/*_cuda12[0-2].so",
                ),
                (*_NO_ELF, "headers"),
                since="13.2",
            ),
            Case(
                ("nvidia-nccl-cu12-2.26.2/*", "bitsandbytes-*/*_cuda12[0-2].so"),
                ("-xptx",),
                since="13.2",
            ),
        ),
    ),
    Difference(
        "cuobjdump",
        "stops at the first image below SM 50 and shows no later one",
        "fatbin",
        "support for these architectures was removed from it",
        "its own message; versions 12.4 and 12.8 list the same files as fatbin does",
        (
            Case(("ptxas11.8_sm35.cubin",), _NO_ELF, since="13.2"),
            Case(("sm35_*.fatbin",), (*_NO_ELF, "headers"), since="13.2"),
        ),
    ),
    Difference(
        "cuobjdump",
        "does not see containers outside its sections, unless a wrapper points at them",
        "fatbin",
        "it reads `.nv_fatbin` and `__nv_relfatbin`, and what `.nvFatBinSegment` registers; "
        "libraries also keep code in data sections and load it themselves",
        "the containers are whole, and `fatbin extract` takes images out of them that cuobjdump "
        "reads",
        (
            Case(
                ("noshdr.so", "truncated.so", "embedded_rodata.o"),
                ("place", "exit", "-xelf", "-xptx"),
            ),
            Case(
                (
                    "nvidia-cufft-*/libcufft.*",
                    "nvidia-cublas-cu12-*/libcublasLt.*",
                    "nvidia-cusparse-cu12-*",
                ),
                ("place", "-xelf"),
            ),
            Case(("nvidia-cufft-*/libcufft.*", "nvidia-cusparse-cu12-*"), ("-xptx",)),
        ),
    ),
    Difference(
        "cuobjdump",
        "says that PE and COFF files hold no device code",
        "fatbin",
        "on Linux it reads ELF alone",
        "the fixtures hold the sections of ELF objects, which it lists",
        (
            Case(("host_1arch.obj",), (*_NO_ELF, "headers")),
            Case(("host_rdc.obj",), (*_NO_ELF, *_NO_PTX, "headers")),
            Case(("coff.lib",), ("exit", "-xelf", "-xptx")),
            Case(("*.dll",), (*_NO_ELF, *_NO_PTX, "headers")),
            Case(("autoawq-kernels-*.pyd",), (*_NO_ELF, "headers")),
        ),
    ),
    Difference(
        "cuobjdump",
        "names members of archives that hold no device code",
        "both",
        "an inventory has device code; a listing of an archive has members",
        "the members",
        (Case(("libnocuda.a", "libmixed.a"), (*_ALL_LELF, "-lptx", "headers")),),
    ),
    Difference(
        "cuobjdump",
        "passes over members of archives that are fat binaries or cubins",
        "fatbin",
        "it reads the members that are objects",
        "it lists the same files when they stand alone",
        (Case(("libmixed.a",), (*_ALL_LELF, *_NO_PTX, "-xelf", "headers")),),
    ),
    Difference(
        "cuobjdump",
        "finds the members of a thin archive only when called from its folder",
        "fatbin",
        "the names in a thin archive are relative to it; ar and linkers look there",
        "called from the archive's folder it extracts the same bytes",
        (Case(("libthin.a",), ("-xelf",)),),
    ),
    Difference(
        "cuobjdump",
        "does not know entries of kind 256, several images in one payload",
        "fatbin",
        "CUDA 13.5's tools write them; these versions are older",
        "version 13.2 and later list the images inside",
        (
            Case(("concat.fatbin",), (*_NO_ELF, "headers"), until="12.8"),
            Case(("concat_ident.fatbin",), (*_NO_ELF, *_NO_PTX, "headers"), until="12.8"),
        ),
    ),
    Difference(
        "cuobjdump",
        "heads a group of images `contatenated entry`",
        "fatbin",
        "a slip of the pen, mended in version 13.4",
        "version 13.4 and later print `concatenated entry`",
        (Case(("concat*.fatbin",), ("headers",), since="13.2", until="13.3"),),
    ),
    Difference(
        "cuobjdump",
        "`-xelf` writes images of the same name over each other",
        "fatbin",
        "file names are made of identifier and SM number, without the suffix `f`",
        "it lists six images and leaves five files, all among ours",
        (Case(("concat_ident.fatbin",), ("-xelf",), since="13.2"),),
    ),
    Difference(
        "cuobjdump",
        "does not list relocatable PTX (kind 64)",
        "fatbin",
        "this version does not know the kind",
        "version 12.8 and later list it as PTX",
        (Case(("reloc_ptx.fatbin",), ("-lptx", "-xptx", "headers"), until="12.4"),),
    ),
    Difference(
        "cuobjdump",
        "prints no line of options for PTX of CUDA 11",
        "both",
        "CUDA 11 wrote an options record without data; fatbin shows empty options",
        "the record is two zeros",
        (Case(("cuda11_ptxhdr72.fatbin",), ("headers",)),),
    ),
    Difference(
        "cuobjdump",
        "calls a debug file, whose device code was left out, damaged",
        "fatbin",
        "the sections are NOBITS: their bytes are in the library it was split from",
        "`readelf -S` on the file",
        (Case(("lib_rdc.debug",), ("exit",)),),
    ),
    Difference(
        "cuobjdump",
        "gives up on a damaged file, where fatbin keeps what is whole and reports the rest",
        "both",
        "fatbin ends with exit code 2 as well, and says where the damage is",
        "each file was damaged in one known place",
        (
            Case(("hostile_*.fatbin", "truncated.fatbin"), ("exit",)),
            Case(("truncated.fatbin", "hostile_container_huge.fatbin"), (*_NO_ELF, "headers")),
            Case(("hostile_csz_gt_psz.fatbin", "hostile_name_oob.fatbin"), _ALL_LELF),
            Case(("hostile_csz_gt_psz.fatbin", "hostile_name_oob.fatbin"), ("headers",), "12.8"),
            Case(("hostile_name_oob.fatbin",), ("-xelf",)),
            Case(("hostile_hs0.fatbin", "hostile_concat_nested.fatbin"), ("headers",)),
            Case(("hostile_hs0_psz0.fatbin",), ("headers",), until="12.8"),
            Case(("hostile_psz_huge.fatbin",), ("headers",), until="12.4"),
            Case(
                ("hostile_psz_wrap.fatbin", "hostile_concat_count.fatbin"), ("headers",), "", "13.3"
            ),
            Case(("hostile_concat_count.fatbin",), (*_ALL_LELF, "-xelf"), until="12.8"),
        ),
    ),
    Difference(
        "cuobjdump",
        "inflates images to list them, and gives up where that fails",
        "both",
        "fatbin lists headers, and inflates with `--verify` alone",
        "with `--verify` fatbin reports these files too",
        (
            Case(
                ("hostile_usz_huge.fatbin", "hostile_usz_small.fatbin", "hostile_bomb64m.fatbin"),
                _ALL_LELF,
            ),
        ),
    ),
    Difference(
        "nvFatbin",
        "stores PTX without its comments and the blanks that no statement needs",
        "both",
        "`fatbin.build` stores the text that it is given; fatbinary strips it as nvFatbin does",
        "an entry built from the text as nvFatbin stored it is the same, byte for byte",
        (Case(("*.ptx",), ("text",)),),
    ),
    Difference(
        "nvFatbin",
        "writes cubins for SM 100 without the options record and without flag 0x1000000",
        "fatbin",
        "CUDA 12.4 is older than these architectures and knows neither",
        "versions 12.9 and later write both, as fatbin does, byte for byte",
        (
            Case(
                ("saxpy_100.cubin", "saxpy_100a.cubin", "saxpy_120.cubin"), ("bytes",), "", "12.4"
            ),
            Case(("ptxas12.9_sm100a.cubin",), ("bytes",), "", "12.4"),
        ),
    ),
    Difference(
        "nvFatbin",
        "refuses `100f`: invalid architecture",
        "fatbin",
        "CUDA 12.4 does not know family targets",
        "versions 12.9 and later take it",
        (Case(("saxpy_100f.cubin", "ptxas12.9_sm100f.cubin"), ("refused",), "", "12.4"),),
    ),
    Difference(
        "cubloaty",
        "calls the architecture of LTO-IR `lto_80`",
        "both",
        "a name of nvcc's for what `compute_80` names as well; fatbin has one word for virtual "
        "architectures",
        "`nvcc -arch=lto_80` and the entries it writes",
        (
            Case(("lto*.fatbin", "host_dlto.o", "host_lto_*.o"), ("words",)),
            Case(("nvidia-cufft-*/libcufft.*", "nvidia-cusparse-cu12-*"), ("words",)),
        ),
    ),
    Difference(
        "cubloaty",
        "has no words for kinds other than machine code, PTX and LTO-IR, and shows their number",
        "fatbin",
        "kind 16 is listed by cuobjdump as ELF, kind 64 as PTX",
        "cuobjdump's listings",
        (Case(("unknown_kind.fatbin", "kind16.fatbin", "reloc_ptx.fatbin"), ("words",)),),
    ),
    Difference(
        "cubloaty",
        "does not tell `sm_90a` from `sm_90` in cubins of 12.9 and older, nor `sm_100f` in any",
        "fatbin",
        "the suffix stands in three places, by the age of the cubin; it reads the newest of them",
        "each was compiled for the suffix; cuobjdump shows the `a`",
        (
            Case(
                ("saxpy_100f.cubin", "ptxas12.9_sm100[af].cubin", "ptxas12.4_sm90a.cubin"),
                ("words",),
            ),
        ),
    ),
    Difference(
        "cubloaty",
        "does not look into groups of images (kind 256)",
        "fatbin",
        "the kind is CUDA 13.5's",
        "cuobjdump lists the images inside",
        (
            Case(("concat*.fatbin", "hostile_concat_count.fatbin"), ("images",)),
            Case(("hostile_concat_nested.fatbin",), ("words",)),
        ),
    ),
    Difference(
        "cubloaty",
        "passes over members of archives that are no objects, and thin archives",
        "fatbin",
        "it reads ELF members",
        "the members, read alone",
        (Case(("libmixed.a",), ("images",)), Case(("libthin.a",), ("fails",))),
    ),
    Difference(
        "cubloaty",
        "reads no PTX texts, no files of LTO-IR, no PE and no COFF",
        "fatbin",
        "it says so: `expected ELF, fatbin or .a`",
        "its message",
        (Case(("*.ptx", "*.ltoir", "*.obj", "coff.lib", "*.dll", "*.pyd"), ("fails",)),),
    ),
    Difference(
        "cubloaty",
        "finds nothing in ELF files without a section table, and fails where it is damaged",
        "fatbin",
        "it goes by sections alone",
        "`fatbin list` finds the containers, whole",
        (Case(("noshdr.so", "truncated.so"), ("fails",)),),
    ),
    Difference(
        "cubloaty",
        "leaves a damaged container out altogether",
        "both",
        "fatbin keeps the entries that are whole and reports the damage",
        "each file was damaged in one known place",
        (
            Case(
                (
                    "truncated.fatbin",
                    "hostile_csz_gt_psz.fatbin",
                    "hostile_container_*.fatbin",
                ),
                ("fails",),
            ),
        ),
    ),
    Difference(
        "pyelftools",
        "reads program headers at offset 0",
        "fatbin",
        "an offset of 0 says that there are none, whatever the count",
        "the ELF specification, `e_phoff`",
        (Case(("made: program headers at 0",), ("segments",)),),
    ),
    Difference(
        "pyelftools",
        "reads names of sections where there is no name table",
        "fatbin",
        "index 0 says that sections have no names, and NOBITS has no bytes",
        "the ELF specification, `e_shstrndx` and `SHT_NOBITS`",
        (Case(("made: no name table", "made: name table without bytes"), ("names",)),),
    ),
    Difference(
        "pyelftools",
        "refuses a file in which the contents of a section are damaged",
        "both",
        "fatbin reads the tables alone, and of the sections what it needs",
        "the message: `Expected section size to be a multiple of entry size`",
        (Case(("made: odd symbol table",), ("refused",)),),
    ),
    Difference(
        "LIEF",
        "gives NVIDIA's section types in cubins as 0",
        "fatbin",
        "it knows types of processors that it has names for",
        "`readelf -S` and pyelftools show the numbers",
        (Case(("*.cubin",), ("types",)),),
    ),
)
"""One row a cause; by tool, then by how often it matters."""


def expected(tool: str, version: str, file: str) -> set[str]:
    """Return the respects in which a version of a tool differs on a file."""
    found: set[str] = set()
    for case in _cases(tool):
        if case.holds(version) and any(fnmatchcase(file, pattern) for pattern in case.files):
            found.update(case.respects)
    return found


def unused(tool: str, files: set[str]) -> list[str]:
    """Return the patterns of a tool's rows that name none of these files."""
    patterns = [pattern for case in _cases(tool) for pattern in case.files]
    return [p for p in patterns if not any(fnmatchcase(file, p) for file in files)]


def _cases(tool: str) -> list[Case]:
    return [case for row in DIFFERENCES if row.tool == tool for case in row.cases]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
