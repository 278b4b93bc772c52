"""What a verdict of before excuses: a check against it fails on what got worse, and on no more.

A finding is told again by its code, its library and its GPU. The words of its message do not count,
so that it stays known when a version or a number in it changes. One finding of the baseline excuses
one finding. Notes fail nothing and need no excuse.
"""

from __future__ import annotations

import os

from fatbin._record import Record
from fatbin.errors import BaselineError, SourceError
from fatbin.judge.verdict import SCHEMA_VERSION, Finding, Severity, Verdict
from fatbin.limits import DEFAULT_LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    Key = tuple[str, str, str]

__all__ = ["Baseline", "Excuses", "read_baseline"]

_RANKS = {Severity.WARN: 1, Severity.FAIL: 2}
_BOM = b"\xef\xbb\xbf"
_HINT = "fatbin check --format json -o FILE writes a verdict"


class Baseline(Record):
    """The findings that a later check need not count again.

    Attributes:
        findings: that fail or warn; those too that were known to a baseline before.
        names: location and name (soname or file name) of each library that was judged.
    """

    findings: tuple[Finding, ...] = ()
    names: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, verdict: Verdict) -> Baseline:
        """Make a baseline of a verdict; what a policy ignored there is not in it."""
        found = (*verdict.findings, *verdict.known)
        return cls(
            tuple(finding for finding in found if finding.severity in _RANKS),
            tuple((library.location, library.name) for library in verdict.libraries),
        )


class Excuses:
    """A baseline while one check uses it up."""

    def __init__(self, baseline: Baseline, libraries: Iterable[tuple[str, str]]) -> None:
        """Find out which library is which.

        Args:
            baseline: of before.
            libraries: location and name of each library of the check.
        """
        self._now = _Names(libraries)
        self._before = _Names(baseline.names)
        # How many there are of each rank: one key can have any number of them.
        self._left: dict[Key, dict[int, int]] = {}
        for finding in baseline.findings:
            place = _tidy(finding.location)
            key = (finding.code, place, _device(finding.gpu))
            ranks = self._left.setdefault(key, dict.fromkeys(sorted(_RANKS.values()), 0))
            ranks[_RANKS[finding.severity]] += 1

    def covers(self, finding: Finding) -> bool:
        """Tell whether the baseline has a finding, as bad or worse, and use that one up."""
        rank = _RANKS.get(finding.severity)
        if rank is None:
            return False
        key = (finding.code, self._place_before(finding.location), _device(finding.gpu))
        left = self._left.get(key, {})
        for fitting, count in left.items():  # the least bad that will do
            if fitting >= rank and count:
                left[fitting] -= 1
                return True
        return False

    def gone(self, gpus: Iterable[str]) -> int:
        """Return how many findings nobody used, without those of GPUs that were not asked for."""
        asked = {"", *map(_device, gpus)}
        return sum(sum(left.values()) for (_, _, gpu), left in self._left.items() if gpu in asked)

    def _place_before(self, location: str) -> str:
        """Return where the library of a finding was: at its location, or where its name was."""
        place = _tidy(location)
        if place in self._before.places:
            return place
        name = self._now.name_of(place)
        return self._before.place_of(name) or place if name else place


class _Names:
    """Libraries by location and, where only one has it, by name."""

    def __init__(self, libraries: Iterable[tuple[str, str]]) -> None:
        self._names = {_tidy(location): name for location, name in libraries}
        self._places: dict[str, list[str]] = {}
        for place, name in self._names.items():
            self._places.setdefault(name, []).append(place)

    @property
    def places(self) -> Collection[str]:
        return self._names.keys()

    def name_of(self, place: str) -> str:
        """Return the name of a library; empty when it has none or shares it."""
        name = self._names.get(place, "")
        return name if self.place_of(name) else ""

    def place_of(self, name: str) -> str:
        """Return where the one library of this name is; empty when there is none, or several."""
        places = self._places.get(name, [])
        return places[0] if len(places) == 1 else ""


def _tidy(location: str) -> str:
    return location.replace("\\", "/").removeprefix("./")


def _device(gpu: str) -> str:
    """Return the compute capability of a GPU: a check for ``9.0`` and one for an H100 agree."""
    return gpu.rpartition("(")[2].removesuffix(")")


# Reading ------------------------------------------------------------------------------------------


def read_baseline(path: str | os.PathLike[str]) -> Baseline:
    """Read a verdict that ``fatbin check --format json`` wrote.

    Raises:
        SourceError: the file cannot be read.
        LimitExceededError: it is larger than any verdict.
        BaselineError: it is no verdict, or one of a later schema version; names what is wrong.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read(DEFAULT_LIMITS.document_bytes + 1)
    except OSError as exc:
        reason = exc.strerror or str(exc)
        msg = f"the baseline cannot be read: {reason}"
        raise SourceError(msg, location=name or repr(name), hint=_HINT) from exc
    except ValueError as exc:  # a NUL in the path
        raise SourceError(f"the baseline cannot be read: {exc}", location=name) from exc
    DEFAULT_LIMITS.check_document(len(data), name)
    try:
        return _baseline(_parsed(data))
    except BaselineError as exc:
        exc.location = name
        raise


def _parsed(data: bytes) -> Any:  # noqa: ANN401 - JSON
    import json  # noqa: PLC0415 - only documents need it

    try:
        return json.loads(data.removeprefix(_BOM))
    except (ValueError, RecursionError) as exc:
        text = " ".join(str(exc).split())
        msg = f"expected a verdict as JSON, found: {text}"
        raise BaselineError(msg, hint=_HINT) from exc


def _baseline(data: Any) -> Baseline:  # noqa: ANN401 - JSON
    if not isinstance(data, dict) or "libraries" not in data:
        msg = "expected a verdict, found another document"
        raise BaselineError(msg, hint=_HINT)
    if "outcome" not in data or "findings" not in data:
        what = "an inventory" if "targets" in data else "another document"
        raise BaselineError(f"expected a verdict, found {what}", hint=_HINT)
    version = data.get("schema_version")
    if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
        msg = f"expected a verdict of schema_version 1 to {SCHEMA_VERSION}, found {version!r}"
        raise BaselineError(msg, hint="a newer fatbin may read it")
    found = [_finding(*item) for item in _items(data, "findings")]
    found += [_finding(*item) for item in _items(data, "known")]
    names = [
        (_text(item, "location", path), _text(item, "name", path))
        for item, path in _items(data, "libraries")
    ]
    return Baseline(tuple(f for f in found if f.severity in _RANKS), tuple(names))


def _items(data: Mapping[str, Any], key: str) -> Iterable[tuple[Mapping[str, Any], str]]:
    """Yield the objects of a list with the path of each; earlier versions lack some lists."""
    items = data.get(key, [])
    if not isinstance(items, list):
        raise _wrong(key, "a list", items)
    for number, item in enumerate(items):
        path = f"{key}[{number}]"
        if not isinstance(item, dict):
            raise _wrong(path, "an object", item)
        yield item, path


def _finding(item: Mapping[str, Any], path: str) -> Finding:
    severity = _text(item, "severity", path)
    if severity not in {member.value for member in Severity}:
        raise _wrong(f"{path}.severity", "note, warn or fail", severity)
    return Finding(
        code=_text(item, "code", path),
        severity=Severity(severity),
        message=_text(item, "message", path),
        location=_text(item, "location", path),
        gpu=_text(item, "gpu", path),
    )


def _text(item: Mapping[str, Any], key: str, path: str) -> str:
    value = item.get(key)
    if not isinstance(value, str):
        raise _wrong(f"{path}.{key}", "text", value)
    return value


def _wrong(path: str, expected: str, found: object) -> BaselineError:
    from fatbin.judge.policy import shown  # noqa: PLC0415 - only mistakes need it

    return BaselineError(f"{path}: expected {expected}, found {shown(found)}", hint=_HINT)
