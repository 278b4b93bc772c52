"""The table of limits: the fields of ``Limits`` with what was seen and what happens."""

from __future__ import annotations

from typing import NamedTuple

from judge_blocks import table

from fatbin.limits import NAMES, Limits


class Row(NamedTuple):
    """What is known of one limit beside its default.

    Attributes:
        seen: the largest value in a real file; 0 where none was seen.
        where: that file.
        over: what happens to what is over the limit.
        why: the default is what it is.
    """

    seen: float
    where: str
    over: str
    why: str


_IMAGE = "the image is not inflated; an issue at its entry"
_REST = "the rest of the file is not read; an issue at the place"
_TABLE = "the table is not read (of a host file its segments stand in); an issue"
_MEMBER = "the member is not read on; an issue with its name"
_TARGET = "the rest of the target is not read; an issue"
_FLASHINFER = "flashinfer-cubin 0.6.13"
_CUFFT = "libcufft.so.12 of nvidia-cufft 12.4.0.43"
_CUBLAS = "libcublasLt.so.12 of nvidia-cublas-cu12 12.9.3.13"

ROWS = {
    "image_bytes": Row(159_484_120, "libnccl.so.2 of nvidia-nccl-cu13 2.32.3", _IMAGE,
                       "the largest image, and what a process may well hold once"),
    "ratio": Row(134.2, "libcublasLt.so.13 of nvidia-cublas 13.1.0.3", _IMAGE,
                 "images of mostly zeros pack well; zeros alone reach 32,768 in zstd"),
    "containers": Row(17_860, _CUFFT, _REST,
                      "one a kernel in the library that has most; also bounds places that only "
                      "look like a container, a cubin or PTX"),
    "entries": Row(17_887, _CUFFT, "the rest of the file is not read, of a group the rest of its "
                   "images; an issue at the place",
                   "one takes about 1 kB of memory once read: 200 MB in all"),
    "issues": Row(0, "", "the issues are counted, and one says how many", "more helps nobody"),
    "members": Row(0, "", "the rest of the archive is not read; an issue at the place",
                   "one takes 60 bytes of the file; archives of toolkits have some thousands"),
    "sections": Row(2_621, "an image of NCCL 2.26.2", _TABLE,
                    "C++ objects with a section a function have some ten thousands"),
    "text_bytes": Row(4_000_000, "a text kept as data, rounded", "an issue; the text stays an entry",
                      "texts outside containers are not compressed"),
    "header_bytes": Row(0, "", _TABLE, "200,000 section headers are 12.8 MB, their names as much"),
    "member_bytes": Row(749_169_616, _CUBLAS, _MEMBER,
                        "it goes to a temporary file, which the disk must hold"),
    "member_ratio": Row(44.3, f"a header in {_FLASHINFER}", _MEMBER,
                        "deflate reaches 1032 on zeros; below 8 MiB no ratio is held"),
    "archive_bytes": Row(1_912_029_530, _FLASHINFER, _TARGET,
                         "images are larger than any wheel: some ten gigabytes, rarely a hundred"),
    "archive_members": Row(16_017, _FLASHINFER, _TARGET,
                           "images hold some hundred thousands of files"),
    "depth": Row(3, "a layer of an image in a zip", "the archive is not read; an issue with its name",
                 "each level reads what the one before has read"),
    "streams": Row(0, "", "the rest of the file is not read; an issue",
                   "beside one for each KiB that they take or inflate to; parallel compressors "
                   "begin one for 64 KiB or more, an empty one takes 14 bytes"),
    "document_bytes": Row(42_522_421, "33 libraries of wheels, `inspect --format json`",
                          "an error; the document is not read",
                          "Python takes up to 25 bytes for each byte of hostile JSON"),
    "seconds": Row(0, "", _TARGET, "how long is too long only the caller knows"),
}  # fmt: skip


def limits(_: str) -> str:
    """Return the table; a field without a row, or a row without a field, is an error."""
    if set(ROWS) != set(NAMES):
        msg = f"rows and fields of Limits differ: {sorted(set(ROWS) ^ set(NAMES))}"
        raise ValueError(msg)
    defaults = Limits()
    rows = []
    for name in NAMES:
        row, default = ROWS[name], int(getattr(defaults, name))
        seen = f"{row.seen:,}, {row.where}" if row.seen else "not counted"
        margin = f"{default / row.seen:,.1f}" if row.seen else ""
        shown = _size(default) if name.endswith("_bytes") else f"{default:,}" if default else "none"
        rows.append((f"`{name}`", shown, seen, margin, row.over, row.why))
    columns = ["limit", "default", "largest seen", "margin", "what is over it", "why so much"]
    return table(columns, rows)


def _size(value: int) -> str:
    for shift, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB")):
        if value >= 1 << shift and not value % (1 << shift):
            return f"{value >> shift} {unit}"
    return f"{value:,}"
