"""Which images a layout holds, and which of them are asked for."""

from __future__ import annotations

from fatbin._record import Record
from fatbin.errors import FatbinError, FormatError, LimitExceededError, SourceError
from fatbin.scanning.images.documents import (
    Descriptor,
    descriptor_of,
    get,
    load,
    objects,
    platform_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fatbin.errors import Report
    from fatbin.scanning.images.store import Store

INDEX, LAYOUT, MANIFEST = "index.json", "oci-layout", "manifest.json"
DEFAULT_PLATFORM = "linux/amd64"
_DEPTH = 8
_MANIFESTS = 1000
_PARTS = (2, 3)  # os/architecture[/variant]


class Layer(Record):
    """One layer as its image names it.

    Attributes:
        path: of the blob in the layout.
        name: digest, diff id, or the path where there is neither.
        descriptor: what the blob should be, where somebody says so.
    """

    path: str
    name: str
    descriptor: Descriptor | None


class Image(Record):
    """One image for one platform.

    Attributes:
        name: such as ``repository:tag``; empty where it has none.
        platform: ``os/architecture[/variant]``, or empty when nothing says.
        layers: lowest first.
    """

    name: str
    platform: str
    layers: tuple[Layer, ...]


def is_layout(store: Store) -> bool:
    """Tell whether a folder or archive holds images."""
    return (store.has(LAYOUT) and store.has(INDEX)) or store.has(MANIFEST)


def find_images(store: Store, platform: str, report: Report, *, verify: bool) -> list[Image]:
    """Return the images asked for: one for each name.

    Args:
        store: where the blobs are.
        platform: ``os/architecture[/variant]``, or empty for the only one or ``linux/amd64``.
        report: takes what is wrong with one of several images.
        verify: compare digests.

    Raises:
        SourceError: nothing there for the platform, or several and none is asked for.
        FormatError: a document that is none.
    """
    if platform and len(platform.split("/")) not in _PARTS:
        msg = f"expected a platform such as {DEFAULT_PLATFORM}, found {platform!r}"
        raise SourceError(msg, location=store.location)
    if store.has(LAYOUT) and store.has(INDEX):
        leaves = _Leaves(store, verify=verify)
        leaves.collect(load(store, INDEX, verify=False), f"{store.location}::{INDEX}", "", 0)
        if not leaves.by_name and not store.has(MANIFEST):
            msg = "expected an image, found an index that names none"
            raise SourceError(msg, location=f"{store.location}::{INDEX}")
        images = list(_indexed(store, leaves, platform, report, verify=verify))
        if not store.has(MANIFEST):
            return images
        if images:
            _compare(store, leaves, images, report)
            return images
    saved = _saved(store)
    wanted = [image for image in saved if matches(image.platform, platform)]
    if not wanted:
        raise _not_there(platform, [image.platform for image in saved], store)
    return wanted


def _compare(store: Store, leaves: _Leaves, images: list[Image], report: Report) -> None:
    """Report where ``manifest.json`` would load another image than the index: engines differ."""
    try:
        saved = _saved(store)
        there = [[layer.path for layer in image.layers] for image in images]
        for image in saved:
            paths = [layer.path for layer in image.layers]
            if paths not in there and paths not in leaves.layers():
                report(_other(store, f"an image {image.name or 'without a name'} of other layers"))
    except (FormatError, SourceError, LimitExceededError) as exc:
        report(exc)
        return
    for image in images:
        same = [each.layers for each in saved if matches(each.platform, image.platform)]
        paths = [layer.path for layer in image.layers]
        if same and all(paths != [layer.path for layer in layers] for layers in same):
            report(_other(store, f"other layers for {image.name or image.platform or 'the image'}"))


def _other(store: Store, found: str) -> FormatError:
    return FormatError(
        f"expected the images of {INDEX}, found {found}: what is loaded depends on who loads it",
        field="Layers",
        location=f"{store.location}::{MANIFEST}",
    )


def _saved(store: Store) -> list[Image]:
    """Read the ``manifest.json`` that ``docker save`` writes."""
    where = f"{store.location}::{MANIFEST}"
    images = []
    for row in objects(load(store, MANIFEST, verify=False), where):
        paths = [str(path) for path in get(row, "Layers", list, where, [])]
        tags = get(row, "RepoTags", list, where, [])
        config_path = get(row, "Config", str, where)
        config = load(store, config_path, verify=False)
        found = platform_of(config) if isinstance(config, dict) else ""
        names = _diff_ids(config, f"{store.location}::{config_path}")
        if len(names) != len(paths):
            names = paths
        layers = tuple(Layer(path, name, None) for path, name in zip(paths, names, strict=True))
        images.append(Image(str(tags[0]) if tags else "", found, layers))
    return images


def _diff_ids(config: object, location: str) -> list[str]:
    roots = get(config, "rootfs", dict, location, {})
    return [str(name) for name in get(roots, "diff_ids", list, location, [])]


def _indexed(
    store: Store, leaves: _Leaves, platform: str, report: Report, *, verify: bool
) -> Iterator[Image]:
    for name, manifests in leaves.by_name.items():
        try:
            yield from _chosen(store, name, manifests, platform, verify=verify)
        except (FormatError, SourceError, LimitExceededError) as exc:
            if len(leaves.by_name) == 1:
                raise
            report(exc)


class _Leaf(Record):
    """An image manifest, and whether it stands in the outermost index."""

    descriptor: Descriptor
    outermost: bool


class _Leaves:
    """The image manifests under an index, by the name of their image."""

    def __init__(self, store: Store, *, verify: bool) -> None:
        self._store = store
        self._verify = verify
        self._seen: set[tuple[str, str]] = set()
        self._count = 0
        self.by_name: dict[str, list[_Leaf]] = {}

    def collect(self, index: object, where: str, name: str, depth: int) -> None:
        if depth > _DEPTH:
            raise FormatError(f"indexes are nested more than {_DEPTH} deep", location=where)
        for row in objects(get(index, "manifests", list, where, []), where):
            descriptor = descriptor_of(row, where)
            named = descriptor.name or name
            if descriptor.attestation or (descriptor.digest, named) in self._seen:
                continue
            self._seen.add((descriptor.digest, named))
            self._count += 1
            if self._count > _MANIFESTS:
                raise FormatError(f"more than {_MANIFESTS} manifests", location=where)
            if _is_index(descriptor.media_type):
                inner = load(self._store, descriptor.path, descriptor, verify=self._verify)
                place = f"{self._store.location}::{descriptor.path}"
                self.collect(inner, place, named, depth + 1)
            else:
                leaf = _Leaf(descriptor, outermost=not depth)
                self.by_name.setdefault(named, []).append(leaf)

    def layers(self) -> list[list[str]]:
        """Return the layers of every manifest that can be read; a broken one is told elsewhere."""
        found = []
        for leaf in (each for several in self.by_name.values() for each in several):
            try:
                image = _image(self._store, "", "", leaf.descriptor, verify=False)
            except FatbinError:  # of a platform that is not there, or told when it is chosen
                continue
            found.append([layer.path for layer in image.layers])
        return found


def _is_index(media_type: str) -> bool:
    return media_type.endswith(("image.index.v1+json", "manifest.list.v2+json"))


def _chosen(
    store: Store, name: str, manifests: list[_Leaf], platform: str, *, verify: bool
) -> Iterator[Image]:
    """Yield the one manifest of an image that is asked for, and images beside it without a name."""
    found = [(_platform(store, leaf.descriptor, verify=verify), leaf) for leaf in manifests]
    wanted = platform or ("" if len(found) == 1 else DEFAULT_PLATFORM)
    fitting = [(system, leaf) for system, leaf in found if matches(system, wanted)]
    if not fitting:
        raise _not_there(platform, [system for system, _ in found], store, name)
    # "The first matching entry should be used", says the specification of several in one index; but
    # tools put images that have nothing to do with each other into the outermost one.
    (first, leaf), *others = fitting
    yield _image(store, name, first, leaf.descriptor, verify=verify)
    for system, other in others:
        if leaf.outermost and other.outermost and system == first:
            more = f"{name}@{other.descriptor.digest}" if name else other.descriptor.digest
            yield _image(store, more, system, other.descriptor, verify=verify)


def _platform(store: Store, manifest: Descriptor, *, verify: bool) -> str:
    """Return the platform of a manifest: of its descriptor, else of its configuration."""
    if manifest.platform:
        return manifest.platform
    try:
        document = load(store, manifest.path, manifest, verify=verify)
        where = f"{store.location}::{manifest.path}"
        config = descriptor_of(get(document, "config", dict, where), where)
        data = load(store, config.path, config, verify=verify)
    except FatbinError:  # told when it is chosen; a platform nobody knows matches none
        return ""
    return platform_of(data) if isinstance(data, dict) else ""


def _image(store: Store, name: str, platform: str, manifest: Descriptor, *, verify: bool) -> Image:
    where = f"{store.location}::{manifest.path}"
    document = load(store, manifest.path, manifest, verify=verify)
    if isinstance(document, dict) and "manifests" in document:
        msg = "expected an image manifest, found an index"
        raise FormatError(msg, location=where)
    layers = [
        descriptor_of(row, where) for row in objects(get(document, "layers", list, where), where)
    ]
    return Image(name, platform, tuple(Layer(layer.path, layer.digest, layer) for layer in layers))


def matches(found: str, wanted: str) -> bool:
    """Tell whether a platform is the one asked for; a variant counts only when it is asked for."""
    if not wanted:
        return True
    have, want = found.split("/"), wanted.split("/")
    if have[:2] == ["linux", "arm64"] == want[:2]:
        have, want = (parts if len(parts) > 2 else [*parts, "v8"] for parts in (have, want))  # noqa: PLR2004
    return have[: len(want)] == want


def _not_there(platform: str, there: list[str], store: Store, name: str = "") -> SourceError:
    words = ", ".join(sorted({system or "an unnamed one" for system in there})) or "none"
    where = f"{store.location}::{name}" if name else store.location
    if platform:
        return SourceError(
            f"expected an image for {platform}, found: {words}",
            location=where,
            hint="choose one of these platforms",
        )
    return SourceError(
        f"expected one image or one for {DEFAULT_PLATFORM}, found: {words}",
        location=where,
        hint="choose one: --platform, or platform= of scan",
    )
