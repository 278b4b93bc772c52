"""Readers of device code and of the files that hold it."""

from __future__ import annotations

import json
import mmap
import tempfile
from typing import TYPE_CHECKING

from fatbin import FatbinError, Limits
from fatbin.format.build import build, read_specs
from fatbin.format.codec import compress, decompress
from fatbin.format.container import walk
from fatbin.format.entry import read_payload, read_tail, unfold
from fatbin.format.images import Cubin, Ptx, open_image
from fatbin.format.ptx import read_ptx_head
from fatbin.format.view import View
from fatbin.inventory import Inventory
from fatbin.kinds import Compression, EntryKind
from fatbin.scanning.scanner import Options, scan_view
from fuzz.target import LIMITS

if TYPE_CHECKING:
    from fatbin.errors import Report

COMPRESSIONS = tuple(Compression)
_LOOSE = LIMITS._replace(ratio=1 << 20)


def scanned(data: bytes, name: str, *, limits: Limits = LIMITS, verify: bool = True) -> Inventory:
    """Scan bytes as everything at once, and hold the result to the laws of inventories."""
    options = Options(limits, linkage=True, kernels=True, verify=verify)
    inventory = scan_view(View(data, name), options)
    assert scan_view(View(data, name), options) == inventory, "two scans differ"
    text = inventory.to_json()
    assert Inventory.from_json(text) == inventory, "JSON does not round-trip"
    assert json.loads(text) == inventory.to_dict(), "the two writers differ"
    for issue in inventory.all_issues:
        assert "\n" not in issue.message, "more than one line"
    for library in inventory.libraries:
        for module in library.modules:
            assert 0 <= module.offset <= library.size, "a module outside its file"
            assert module.offset + module.size <= library.size, "a module longer than its file"
            for entry in module.entries:
                assert module.offset <= entry.offset, "an entry before its module"
                assert entry.offset <= module.offset + module.size, "an entry behind its module"
    return inventory


def container(data: bytes) -> None:
    """Walk, read tails, groups and payloads, and build again."""
    view = View(data, "x")
    errors: list[FatbinError] = []
    found = list(walk(view, limits=LIMITS, report=errors.append))
    assert [str(e) for e in errors] == [str(e) for e in _again(data)], "two walks differ"
    reached = 0
    for one in found:
        assert reached <= one.offset, "containers overlap"
        reached = one.offset + one.size
        assert reached <= len(data), "a container longer than the file"
        headers = one.headers
        for header in headers:
            assert header.payload_offset + header.padded_size <= reached, "an entry sticks out"
            _entry(view, header, errors.append)
    _rebuilt(data)


def _again(data: bytes) -> list[FatbinError]:
    errors: list[FatbinError] = []
    for _ in walk(View(data, "x"), limits=LIMITS, report=errors.append):
        pass
    return errors


def _entry(view: View, header: object, report: Report) -> None:
    read_tail(view, header, report)  # type: ignore[arg-type]
    try:
        payload = read_payload(view, header, LIMITS)  # type: ignore[arg-type]
    except FatbinError as exc:
        report(exc)
        payload = b""
    assert len(payload) <= LIMITS.image_bytes, "more than the limit"
    if header.kind == EntryKind.GROUP:  # type: ignore[attr-defined]
        for member in unfold(view, header, report):  # type: ignore[arg-type]
            assert member.image_offset + member.padded_size <= member.group.size, "sticks out"  # type: ignore[union-attr]
            read_tail(view, member, report)


def _rebuilt(data: bytes) -> None:
    """What was read builds a container that reads the same; built once more it is the same bytes."""
    first = [build(specs) for specs in read_specs(data)]
    for blob in first:
        (specs,) = read_specs(blob)
        second = build(specs)
        (again,) = read_specs(second)
        assert [s.kind for s in specs] == [s.kind for s in again], "kinds changed"
        assert build(again) == second, "building is not stable"


def codec(data: bytes) -> None:
    """Inflate: the first byte says how, the next four how large it should be."""
    if len(data) < 5:
        return
    compression = COMPRESSIONS[data[0] % len(COMPRESSIONS)]
    size = int.from_bytes(data[1:5], "little") & 0x1FFFFF
    result = decompress(data[5:], compression, size, limits=_LOOSE)
    assert len(result) == size, "not the declared size"
    stored = compress(bytes(result), compression)
    assert decompress(stored, compression, size, limits=_LOOSE) == result, "not the same again"


def cubin(data: bytes) -> None:
    """Ask a cubin for everything, with a report and without."""
    errors: list[FatbinError] = []
    told = None
    for report in (errors.append, None):
        try:
            _everything(Cubin(data, name="x", limits=LIMITS, report=report))
        except FatbinError as exc:
            told = exc
    if told is not None:
        raise told


def _everything(image: Cubin) -> None:
    assert image.size <= len(image._view.buffer), "longer than its bytes"  # noqa: SLF001
    assert repr(image)
    assert isinstance(image.toolkit, str)
    names = image.kernel_names
    functions = image.functions
    kernels = image.kernels
    assert tuple(kernel.name for kernel in kernels) == names, "kernels differ"
    assert image.is_empty is not bool(names)
    assert all(kernel.registers >= 0 and kernel.code_size >= 0 for kernel in functions)
    assert isinstance(image.unresolved, tuple)
    assert isinstance(image.tools, tuple)
    for _, _, code in image.code():
        assert len(code) <= LIMITS.image_bytes
    for section in (".nv.info", ".nv.compat", *(f".nv.info.{k.name}" for k in functions)):
        for form, ident, value, sized in image.attributes(section):
            assert (form | ident) <= 0xFF
            assert len(sized) <= value <= 0xFFFF


def ptx(data: bytes) -> None:
    """Read a PTX text."""
    image = Ptx(data)
    head = read_ptx_head(image.text)
    assert image.isa_version == (head.isa_version if head else "")
    assert len(set(image.entries)) == len(image.entries), "a kernel twice"
    assert image.entries == Ptx(image.text).entries, "the text differs from itself"
    assert image.address_size >= 0
    assert isinstance(image.unresolved, tuple)
    assert repr(image)
    open_image("ptx", data, name="x", limits=LIMITS)


def host(data: bytes) -> None:
    """Scan an ELF, PE or COFF file, its linkage too; as a file it holds what it holds as bytes."""
    found = scanned(data, "libx.so")
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        with mmap.mmap(file.fileno(), len(data), access=mmap.ACCESS_READ) as mapped:
            view = View(mapped, "libx.so", descriptor=file.fileno())
            options = Options(LIMITS, linkage=True, kernels=True, verify=True)
            assert scan_view(view, options) == found, "another result through a file"


def archive(data: bytes) -> None:
    """Scan a static archive."""
    scanned(data, "libx.a")
