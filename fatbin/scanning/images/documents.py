"""The JSON documents of images, read with suspicion."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from fatbin._record import Record
from fatbin.errors import FormatError, LimitExceededError, SizeMismatchError
from fatbin.scanning.images.streams import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.format.view import View
    from fatbin.scanning.images.store import Store

DOCUMENT_BYTES = 4 << 20
"""The longest document that is read; registries need not take longer ones either."""
_DIGEST = re.compile(r"([a-z0-9]+(?:[.+_-][a-z0-9]+)*):([0-9a-fA-F]{32,256})")
_ALGORITHMS = {"sha256": 64, "sha512": 128}
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SHOWN = 100
_T = TypeVar("_T")


class Descriptor(Record):
    """How one document of an image points to another blob.

    Attributes:
        digest: as ``sha256:...``.
        size: that the blob should have, or -1.
        media_type: what it is said to be.
        platform: ``os/architecture[/variant]``, or empty.
        name: the image's name by an annotation, or empty.
        attestation: whether it says something about another image and is none.
    """

    digest: str
    size: int
    media_type: str
    platform: str
    name: str
    attestation: bool

    @property
    def path(self) -> str:
        """Where the blob lies in the layout."""
        return "blobs/" + self.digest.replace(":", "/", 1)


def load(store: Store, path: str, descriptor: Descriptor | None = None, *, verify: bool) -> Any:  # noqa: ANN401 - JSON
    """Return a document.

    Raises:
        SourceError: there is none.
        FormatError: it is no JSON, or not what its descriptor says.
        LimitExceededError: it is larger than any honest one.
    """
    import json  # noqa: PLC0415 - only images need it

    with store.open(path) as view:
        if descriptor is not None:
            check(view, descriptor, verify=verify)
        if view.size > DOCUMENT_BYTES:
            raise LimitExceededError(
                f"a document of {view.size} bytes is larger than {DOCUMENT_BYTES} bytes",
                limit="header_bytes",
                allowed=DOCUMENT_BYTES,
                actual=view.size,
                location=view.name,
            )
        try:
            text = str(view.peek(0, view.size), "utf-8")
            data = json.loads(text)
            if _SURROGATE.search(text):  # half a pair is no text, and nothing can print it
                json.dumps(data, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as exc:
            reason = " ".join(str(exc).split())[:_SHOWN]
            raise FormatError(
                f"expected a JSON document, found: {reason}", location=view.name
            ) from exc
        return data


def check(view: View, descriptor: Descriptor, *, verify: bool) -> None:
    """Compare a blob with what points to it; the digest only where that is asked for.

    Raises:
        SizeMismatchError: another size.
        FormatError: another digest.
    """
    if 0 <= descriptor.size != view.size:
        raise SizeMismatchError(
            f"the blob has {view.size} bytes, declared are {descriptor.size}",
            field="size",
            expected=f"{descriptor.size} bytes",
            found=f"{view.size} bytes",
            location=view.name,
        )
    if verify:
        algorithm, _, expected = descriptor.digest.partition(":")
        found = digest_of(view, algorithm)
        if found != expected.lower():
            raise FormatError(
                f"expected a blob with the digest {algorithm}:{expected}, found {found}",
                field="digest",
                expected=expected,
                found=found,
                location=view.name,
            )


def descriptor_of(data: object, location: str) -> Descriptor:
    """Read a descriptor.

    Raises:
        FormatError: it is none, or its digest cannot be a path.
    """
    digest = get(data, "digest", str, location)
    match = _DIGEST.fullmatch(digest)
    if match is None or len(match[2]) != _ALGORITHMS.get(match[1]):
        raise FormatError(
            f"expected a digest such as sha256:..., found {digest[:_SHOWN]!r}",
            field="digest",
            location=location,
        )
    platform = get(data, "platform", dict, location, {})
    notes = get(data, "annotations", dict, location, {})
    system = platform_of(platform)
    return Descriptor(
        digest=digest,
        size=get(data, "size", int, location, -1),
        media_type=get(data, "mediaType", str, location, ""),
        platform=system,
        name=str(
            notes.get("io.containerd.image.name")
            or notes.get("org.opencontainers.image.ref.name")
            or ""
        ),
        attestation=(
            notes.get("vnd.docker.reference.type") == "attestation-manifest"
            or system == "unknown/unknown"
        ),
    )


def platform_of(data: dict[str, Any]) -> str:
    """Return ``os/architecture[/variant]`` of a descriptor's platform or of a configuration."""
    parts = [data.get("os"), data.get("architecture"), data.get("variant")]
    return "/".join(part for part in parts if part and isinstance(part, str))


def get(data: object, key: str, kind: type[_T], location: str, default: _T | None = None) -> _T:
    """Return the value of a key.

    Raises:
        FormatError: no object, no such key and no default, or a value of another kind.
    """
    value = data.get(key, default) if isinstance(data, dict) else None
    if value is None and default is not None:
        value = default  # Go writes null for an empty list
    if not isinstance(data, dict) or not isinstance(value, kind):
        words = {str: "a string", int: "a number", dict: "an object", list: "a list"}
        found = "nothing" if value is None else type(value).__name__
        raise FormatError(
            f"expected {words[kind]} under {key!r}, found {found}",
            field=key,
            location=location,
        )
    return value


def objects(data: object, location: str) -> list[dict[str, Any]]:
    """Return a list of objects.

    Raises:
        FormatError: it is something else.
    """
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        msg = "expected a list of objects, found something else"
        raise FormatError(msg, location=location)
    return data
