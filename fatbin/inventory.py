"""What was found, as plain frozen data: libraries, modules, entries, issues.

An :class:`Inventory` holds no open file and names no GPU. It goes to JSON and back without loss,
so that it can be judged later and elsewhere. All offsets and sizes are in bytes; offsets count from
the start of the library (of an archive: of the member).
"""

from __future__ import annotations

from fatbin._record import Record, plain
from fatbin.arch import Architecture  # noqa: TC001 - the reader of documents resolves the types
from fatbin.errors import FormatError, InventoryError, LimitExceededError
from fatbin.kinds import Compression, Place, flag_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fatbin.errors import FatbinError

SCHEMA_VERSION = 1
"""Raised when a key changes its meaning or goes away; new keys do not raise it."""


class Issue(Record):
    """Something that could not be read, and where.

    Attributes:
        code: the class of error without ``Error``: ``Truncated``, ``SizeMismatch``, ...
        message: one line: what was expected and what was found.
        location: of the library.
        offset: in the library, or -1.
        field: name in the format reference, or empty.
        expected: what the format demands, or empty.
        found: what the bytes say, or empty.
    """

    code: str
    message: str
    location: str
    offset: int = -1
    field: str = ""
    expected: str = ""
    found: str = ""

    @classmethod
    def of(cls, error: FatbinError, location: str = "") -> Issue:
        """Make an issue of an error."""
        code = type(error).__name__.removesuffix("Error")
        where = error.location or location
        if isinstance(error, FormatError):
            return cls(
                code=code,
                message=error.message,
                location=where,
                offset=error.offset,
                field=error.field,
                expected=error.expected,
                found=error.found,
            )
        if isinstance(error, LimitExceededError):
            return cls(
                code=code,
                message=error.message,
                location=where,
                offset=error.offset,
                field=error.limit,
                expected=f"at most {error.allowed}",
                found=str(error.actual),
            )
        return cls(code=code, message=error.message, location=where)

    def __str__(self) -> str:
        """Return ``location+0xoffset: message``."""
        offset = f"+{self.offset:#x}" if self.offset >= 0 else ""
        return f"{self.location}{offset}: {self.message}"


class Entry(Record):
    """One piece of device code: a cubin, a PTX text, LTO-IR, or something yet unnamed.

    Attributes:
        place: where it was found.
        kind: ``sass``, ``ptx``, ``ltoir``, ``relocatable-ptx``, ``tileir``, ``index``,
            ``legacy-cubin``, ``group``, or ``unknown-N``.
        arch: what it was compiled for; None where the format names none (groups, LTO-IR files).
        isa_version: PTX ISA version such as ``8.8``; empty for other kinds.
        code_version: the header's major and minor as ``major.minor``; empty outside containers.
        toolkit: of a cubin, such as ``12.4``; of one in a container known only with ``verify``.
        compression: how the payload is stored.
        stored_size: bytes in the file; 0 for an image of a group, whose payload is the group's.
        size: bytes when inflated; of a plain payload with up to 7 bytes of padding.
        offset: of the entry's header; of the image itself outside containers.
        header_size: bytes from ``offset`` to the payload; 0 outside containers.
        kind_number: the raw kind, 0 outside containers.
        flags: raw flags, 0 outside containers; :attr:`flag_names` has them in words.
        identifier: usually the source file's name.
        options: command line for ptxas or options of LTO-IR; None when there is no record.
        compat: hexadecimal copy of the cubin's ``.nv.compat`` section, SM 100 and later.
        group: offset of the group that holds this image, or -1.
        image_offset: of an image of a group, in the group's inflated payload.
        relocatable: whether the image must be linked first; None when not known without ``verify``.
        fastpath_finalize: of a cubin, attribute 0x0B of its ``.nv.compat``: a mask of the compute
            capabilities that it may be finalized for; None where there is none (SM below 100,
            toolkits before 13.0).
        kernels: how many the image holds; None when it was not opened.
        image_arch: what the image itself says where that is another SM number than the entry's;
            None when they agree or the image was not opened (``verify``).
        unresolved: whether a relocatable image misses functions; None when it was not opened.
    """

    place: Place
    kind: str
    arch: Architecture | None = None
    isa_version: str = ""
    code_version: str = ""
    toolkit: str = ""
    compression: Compression = Compression.NONE
    stored_size: int = 0
    size: int = 0
    offset: int = 0
    header_size: int = 0
    kind_number: int = 0
    flags: int = 0
    identifier: str = ""
    options: str | None = None
    compat: str = ""
    group: int = -1
    image_offset: int = 0
    relocatable: bool | None = None
    fastpath_finalize: int | None = None
    kernels: int | None = None
    image_arch: Architecture | None = None
    unresolved: bool | None = None

    @property
    def flag_names(self) -> tuple[str, ...]:
        """The flags in words, lowest bit first; a bit without a name in hexadecimal."""
        return flag_names(self.flags)


class Module(Record):
    """What the driver chooses in: one container, or one bare image.

    Attributes:
        place: where it was found.
        form: ``container``, ``cubin``, ``ptx`` or ``ltoir``.
        section: name of the host section; empty in bare files.
        offset: of the header.
        size: bytes of header and entries.
        whole: False when the container is damaged; see the library's issues.
        wrapper: version of the wrapper that registers it: 1, 2 (device-linked), 0 when none is
            known to point here (objects, and code that the library loads by itself).
        entries: in file order; images of a group follow the group.
    """

    place: Place
    form: str
    section: str = ""
    offset: int = 0
    size: int = 0
    whole: bool = True
    wrapper: int = 0
    entries: tuple[Entry, ...] = ()


class Linkage(Record):
    """How a host library hangs together with others.

    Attributes:
        soname: of the library itself; empty when it has none.
        needed: libraries that the loader will look for, in order.
        runpath: directories of RUNPATH, in order.
        cuda_runtime: ``static``, a name such as ``libcudart.so.12``, or empty when none was seen.
        build_id: hexadecimal GNU build id, or empty.
        version: what the library says of itself, such as ``2.26.2+cuda12.2``; empty if nothing.
        rpath: directories of RPATH, in order; a loader passes over them where there is a RUNPATH.
    """

    soname: str = ""
    needed: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    cuda_runtime: str = ""
    build_id: str = ""
    version: str = ""
    rpath: tuple[str, ...] = ()


class Library(Record):
    """One file, or member of an archive or package.

    Attributes:
        location: path, with ``::member`` for members of archives and packages.
        format: ``elf``, ``pe``, ``coff``, ``fatbin``, ``cubin``, ``ptx`` or ``ltoir``.
        machine: of the host code, as ``uname -m`` prints it; empty for bare device code.
        size: of the file or member.
        modules: by offset.
        issues: what could not be read.
        linkage: None when it was not asked for, or for bare device code and objects.
        distribution: the package it belongs to, such as ``nvidia-nccl-cu12``; empty when no package
            manager tells.
        distribution_version: of that package, such as ``2.26.2``.
        aliases: other paths of the same file in a directory, hard and symbolic links, or in an
            image, hard links.
        layer: of a container image, that brought the file: its digest or path as the image names
            it, and its number from the lowest, such as ``sha256:1f3e... (3 of 12)``; else empty.
    """

    location: str
    format: str
    machine: str = ""
    size: int = 0
    modules: tuple[Module, ...] = ()
    issues: tuple[Issue, ...] = ()
    linkage: Linkage | None = None
    distribution: str = ""
    distribution_version: str = ""
    aliases: tuple[str, ...] = ()
    layer: str = ""

    @property
    def entries(self) -> Iterator[Entry]:
        """All entries, module by module."""
        for module in self.modules:
            yield from module.entries

    def architectures(self, *kinds: str, place: Place | None = None) -> frozenset[Architecture]:
        """Return what entries of these kinds were compiled for, at one place or at all."""
        return frozenset(
            entry.arch
            for entry in self.entries
            if entry.arch is not None
            and entry.kind in kinds
            and (place is None or entry.place is place)
        )

    @property
    def sass(self) -> frozenset[Architecture]:
        """Architectures with SASS that is not known to be relocatable."""
        return self._finished("sass")

    @property
    def ptx(self) -> frozenset[Architecture]:
        """Architectures with PTX that is not known to be relocatable."""
        return self._finished("ptx")

    def _finished(self, kind: str) -> frozenset[Architecture]:
        return frozenset(
            entry.arch
            for entry in self.entries
            if entry.arch is not None
            and entry.kind == kind
            and entry.place is not Place.RELOCATABLE
            and not entry.relocatable
        )


class Inventory(Record):
    """What one or several files hold.

    Attributes:
        libraries: files and archive members with what was found in them, in the order read.
        issues: what could not be read as a whole (members, archives).
        targets: what was asked for, as given.
    """

    libraries: tuple[Library, ...] = ()
    issues: tuple[Issue, ...] = ()
    targets: tuple[str, ...] = ()

    @property
    def entries(self) -> Iterator[Entry]:
        """All entries of all libraries."""
        for library in self.libraries:
            yield from library.entries

    @property
    def all_issues(self) -> tuple[Issue, ...]:
        """The issues of the inventory and of its libraries."""
        return self.issues + tuple(i for lib in self.libraries for i in lib.issues)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data; :meth:`from_dict` is the inverse."""
        return {
            "schema_version": SCHEMA_VERSION,
            "targets": list(self.targets),
            "libraries": [plain(library) for library in self.libraries],
            "issues": [plain(issue) for issue in self.issues],
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the inventory as a JSON document."""
        if indent is not None:
            from fatbin._inventory_writer import indented  # noqa: PLC0415 - only documents need it

            return indented(self, SCHEMA_VERSION, " " * indent)
        import json  # noqa: PLC0415 - only documents need it

        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Inventory:
        """Build an inventory from what :meth:`to_dict` gave; unknown keys are ignored.

        Raises:
            InventoryError: not an inventory, a later schema version, or a value of a wrong type.
        """
        from fatbin._inventory_reader import read_inventory  # noqa: PLC0415 - seldom needed

        return read_inventory(data)

    @classmethod
    def from_json(cls, text: str | bytes) -> Inventory:
        """Build an inventory from a JSON document.

        Raises:
            InventoryError: not JSON, or not an inventory.
        """
        import json  # noqa: PLC0415 - only documents need it

        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as exc:
            msg = f"expected a JSON document, found: {exc}"
            raise InventoryError(msg) from exc
        return cls.from_dict(data)
