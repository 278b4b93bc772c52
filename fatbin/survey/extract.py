"""Images taken out of a target, one in memory at a time."""

from __future__ import annotations

from contextlib import contextmanager

from fatbin._record import Record
from fatbin.errors import FatbinError, FormatError, LimitExceededError, SourceError
from fatbin.format.cubin import read_cubin_head
from fatbin.format.images import Cubin, Ptx
from fatbin.format.view import View
from fatbin.kinds import Compression, EntryFlags, EntryKind, Place
from fatbin.limits import DEFAULT_LIMITS
from fatbin.scanning.collector import Collector
from fatbin.scanning.parts import part_modules, read_host
from fatbin.scanning.payloads import Payloads
from fatbin.scanning.targets import open_parts
from fatbin.survey.file_names import Names, image_stem, path_stem
from fatbin.survey.folder import TakenError
from fatbin.survey.inside import paths_in
from fatbin.survey.selection import Selection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fatbin.arch import Architecture
    from fatbin.inventory import Entry, Issue, Module
    from fatbin.limits import Limits
    from fatbin.scanning.parts import Part
    from fatbin.survey.folder import Folder

    Payload = bytes | bytearray

_PTX_KINDS = ("ptx", "relocatable-ptx")
_EXTENSIONS = {"sass": ".cubin", "ptx": ".ptx", "relocatable-ptx": ".ptx", "ltoir": ".ltoir"}
_CHUNK = 1 << 20
_WITH_KERNELS = ("sass", *_PTX_KINDS)


class Extracted(Record):
    """One file that was written, or would be.

    Attributes:
        path: of the file.
        library: location of the library that the image lies in.
        place: where it was found.
        module: number of the container or bare image in the library, by offset, from 1.
        entry: number of the entry in the container, from 1, as ``list --entries`` orders them; 0
            for a whole container.
        offset: of the entry's header in the library; of the image itself outside containers.
        kind: word for what it is; ``container`` for a whole one.
        arch: what it was compiled for.
        identifier: of the entry, as it stands there.
        size: bytes of the file.
        sha256: of the file, hexadecimal.
    """

    path: str
    library: str
    place: Place
    module: int
    entry: int
    offset: int
    kind: str
    arch: Architecture | None
    identifier: str
    size: int
    sha256: str


class Form(Record):
    """What is written of each image.

    Attributes:
        raw: the bytes as they are stored, instead of inflated ones; of a group its one payload.
        containers: whole containers of which an image is selected, instead of images.
        write: False for everything but the writing.
    """

    raw: bool = False
    containers: bool = False
    write: bool = True


EVERYTHING = Selection()
INFLATED = Form()


class _Item(Record):
    """An entry with its numbers."""

    module: int
    number: int
    entry: Entry


class Extraction:
    """One run over one or more targets into one folder.

    Attributes:
        selected: how many images (or containers) were meant, written or not.
        issues: what could not be read or written so far.
    """

    def __init__(
        self,
        folder: Folder,
        selection: Selection = EVERYTHING,
        form: Form = INFLATED,
        *,
        limits: Limits = DEFAULT_LIMITS,
        platform: str = "",
    ) -> None:
        """Extract what is selected into a folder; ``platform`` chooses among those of an image."""
        self.selected: int = 0
        self.issues: list[Issue] = []
        self._folder = folder
        self._selection = selection
        self._form = form
        self._given = limits
        self._limits = limits
        self._platform = platform
        self._names = Names()
        self._stem = ""

    def run(self, target: str) -> Iterator[Extracted]:
        """Yield each file as it is written; what cannot be is an issue and does not stop the rest.

        Args:
            target: a file, package, image, folder or environment, as for :func:`fatbin.scan`.

        Raises:
            SourceError: the target cannot be read, or the folder cannot be written to.
            UnknownFormatError: the target is none of the known formats.
        """
        self._limits = self._given.started()
        with (
            self._collecting(target) as outer,
            open_parts(target, limits=self._limits, report=outer, platform=self._platform) as parts,
        ):
            path = str if parts.single else paths_in(target)
            for part in parts:
                location = part.view.name
                self._stem = location if parts.single else path_stem(path(location))
                with self._collecting(location) as report:
                    yield from self._library(part, report)

    @contextmanager
    def _collecting(self, location: str) -> Iterator[Collector]:
        collector = Collector(location, self._limits)
        try:
            yield collector
        finally:
            self.issues += collector.issues

    def _library(self, part: Part, report: Collector) -> Iterator[Extracted]:
        try:
            host = read_host(part, self._limits, report)
            modules = list(part_modules(part, host, self._limits, report))
        except (FormatError, LimitExceededError) as exc:
            report(exc)
            return
        reader = _Reader(part.view, self._limits)
        modules.sort(key=lambda module: module.offset)
        for number, module in enumerate(modules, 1):
            for item in self._items(number, module, reader, report):
                self.selected += 1
                try:
                    if self._form.containers:
                        yield self._container(part.view, number, module)
                        break
                    yield self._image(part.view, item, reader, report)
                except TakenError as exc:
                    report(exc)
                except SourceError:
                    raise  # what could not be written now will not be later
                except FatbinError as exc:
                    report(exc)

    def _items(
        self, number: int, module: Module, reader: _Reader, report: Collector
    ) -> Iterator[_Item]:
        """Yield the entries that are meant; of a group its images, or itself when it stays whole.

        Images of a group follow the group and do not overlap, so that what is written is bounded by
        what was inflated.
        """
        if self._form.containers and module.form != "container":
            return
        group: _Item | None = None
        room = 0
        for index, entry in enumerate(module.entries, 1):
            if entry.kind_number == EntryKind.GROUP:
                group, room = _Item(number, index, entry), entry.size
                continue
            if entry.group >= 0:
                room -= entry.size
                if room < 0:
                    report(_overlap(entry, reader.location))
                    continue
            if not self._meant(entry, reader, report):
                continue
            if entry.group < 0 or not self._form.raw:
                yield _Item(number, index, entry)
            elif group is not None:
                yield group
                group = None  # once for all its images

    def _meant(self, entry: Entry, reader: _Reader, report: Collector) -> bool:
        if not self._selection.takes(entry):
            return False
        if not self._selection.kernels:
            return True
        if entry.kind not in _WITH_KERNELS:
            return False
        try:
            data = reader.read(entry)
            if entry.kind == "sass":
                name = reader.name_of(entry)
                names = Cubin(data, name=name, limits=self._limits, report=report).kernel_names
            else:
                names = Ptx(data).entries
        except FatbinError as exc:
            report(exc)
            return False
        return self._selection.takes_kernels(names)

    def _image(self, view: View, item: _Item, reader: _Reader, report: Collector) -> Extracted:
        entry = item.entry
        arch = str(entry.arch) if entry.arch else ""
        stem = image_stem(self._stem, (item.module, item.number), (entry.identifier, arch))
        extension = _EXTENSIONS.get(entry.kind, f".{entry.kind}.bin")
        if self._form.raw:
            extension += _stored_as(entry)
        name = self._names.give(stem, extension)
        if self._form.write:
            self._folder.require_free(name)  # before it is inflated for nothing
        data: Payload | memoryview
        if self._form.raw:
            data = reader.stored(entry)
        else:
            data, error = _exact(entry, reader.read(entry), reader.name_of(entry), self._limits)
            if error is not None:
                report(error)
                name = self._names.give(stem, f".damaged{extension}.bin")
        facts = Extracted(
            "", view.name, entry.place, item.module, item.number, entry.offset, entry.kind,
            entry.arch, entry.identifier, 0, "",
        )  # fmt: skip
        return self._put(name, [data], facts)

    def _container(self, view: View, number: int, module: Module) -> Extracted:
        name = self._names.give(image_stem(self._stem, (number,), ()), ".fatbin")
        start = view.origin + module.offset
        stop = start + module.size
        chunks = (view.buffer[at : min(at + _CHUNK, stop)] for at in range(start, stop, _CHUNK))
        facts = Extracted(
            "", view.name, module.place, number, 0, module.offset, "container", None, "", 0, ""
        )
        return self._put(name, chunks, facts)

    def _put(
        self, name: str, chunks: Iterable[Payload | memoryview], facts: Extracted
    ) -> Extracted:
        """Write a file, or only add up what it would be."""
        from hashlib import sha256  # noqa: PLC0415 - nothing else needs it

        digest, size = sha256(), 0

        def watched() -> Iterator[Payload | memoryview]:
            nonlocal size
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                yield chunk

        if self._form.write:
            self._folder.write(name, watched())
        else:
            for _ in watched():
                pass
        path = self._folder.path_of(name)
        return facts._replace(path=path, size=size, sha256=digest.hexdigest())


class _Reader(Payloads):
    """Reads payloads of a library that has a name for messages."""

    def __init__(self, view: View, limits: Limits) -> None:
        super().__init__(view, limits)
        self.location = view.name

    def name_of(self, entry: Entry) -> str:
        return f"{self.location}+{entry.offset:#x}"


def _exact(
    entry: Entry, data: Payload, name: str, limits: Limits
) -> tuple[Payload | memoryview, FatbinError | None]:
    """Return an image without padding, and what is wrong with one that has no readable tables.

    Only zeros are taken for padding: a size that lies loses no byte.
    """
    if entry.kind in _PTX_KINDS:
        return data.strip(b"\0"), None
    if entry.kind != "sass":
        return data, None  # up to 7 bytes of padding, whose number is stored nowhere
    try:
        size = read_cubin_head(View(data, name), limits).size
    except FatbinError as exc:
        return data, exc
    padding = memoryview(data)[size:]
    if not bytes(padding).strip(b"\0"):
        return memoryview(data)[:size], None
    return data, None


def _stored_as(entry: Entry) -> str:
    """Return the extension that says how stored bytes are to be read; empty for plain ones."""
    if entry.compression is Compression.NONE:
        return ""
    obfuscated = "-obfuscated" if entry.flags & EntryFlags.OBFUSCATED else ""
    return f".{entry.compression.value}{obfuscated}"


def _overlap(entry: Entry, location: str) -> FormatError:
    return FormatError(
        "images of a group are together larger than the group; this one is passed over",
        offset=entry.offset,
        field="image_size",
        expected="no more than the group holds",
        found=str(entry.size),
        location=location,
    )
