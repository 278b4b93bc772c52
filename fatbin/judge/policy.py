"""What a user asks of a check, as plain data, and the reading of its values.

A value comes from a file or from the command line; both are read by the same functions, so that
both take the same spellings and refuse the same things. Nothing here opens a file:
:mod:`fatbin.judge.policy_file` does.
"""

from __future__ import annotations

import re

from fatbin._record import Record
from fatbin.arch import Architecture
from fatbin.errors import ArchitectureError, FatbinError, PolicyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any

    Reader = Callable[[object, str], Any]
    """Takes a value and the name of its key; returns what the field holds."""

PTX = ("pass", "warn", "fail")
"""What PTX that the driver must compile can do to the outcome."""
_CODE = r"FB[0-9]{3}"
_RULE = r"(?s)\s*(?P<code>[^\s@:]*)\s*(?:@(?P<glob>.*?))?\s*:(?P<reason>{}.*)"
_SHOWN = 60
"""Characters of a refused value that a message shows."""


class Ignore(Record):
    """Findings that do not count, and why.

    Attributes:
        code: of the findings, ``FB106``.
        glob: of the libraries, as :func:`matches` reads it.
        reason: shown beside each finding that the rule takes out.
    """

    code: str
    glob: str
    reason: str

    @classmethod
    def parse(
        cls, text: str, *, codes: Collection[str] | None = None, key: str = "ignore"
    ) -> Ignore:
        """Read ``FB106: reason`` or ``FB106@*/libfoo.so: reason``.

        Behind a glob the colon needs a blank after it: globs have colons of their own.

        Args:
            text: the rule.
            codes: that exist; None for those of this version.
            key: what messages call the rule.

        Raises:
            PolicyError: another form, a code that does not exist, or no reason.
        """
        match = re.fullmatch(
            _RULE.format(r"(?:\s|\Z)" if "@" in text.partition(":")[0] else ""), text
        )
        if match is None:
            raise refused(key, "CODE: REASON or CODE@GLOB: REASON", text)
        return cls.of(match["code"], match["glob"], match["reason"], codes=codes, key=key)

    @classmethod
    def of(
        cls,
        code: str,
        glob: str | None,
        reason: str,
        *,
        codes: Collection[str] | None = None,
        key: str = "ignore",
    ) -> Ignore:
        """Make a rule of its checked parts; arguments and errors as for :meth:`parse`."""
        if codes is None:
            codes = _codes()
        if not re.fullmatch(_CODE, code) or code not in codes:
            raise refused(key, "the code of a finding, such as FB101", code, near=codes)
        if glob is not None and not glob.strip():
            raise refused(key, "a glob behind the @", glob)
        return cls(code, "*" if glob is None else glob.strip(), reason_of(reason, key))

    @property
    def rule(self) -> str:
        """The rule without its reason: ``FB106@*/libfoo.so``, or ``FB106`` for every library."""
        return self.code if self.glob == "*" else f"{self.code}@{self.glob}"

    def covers(self, code: str, location: str) -> bool:
        """Return whether the rule is for this code and library."""
        return code == self.code and matches(self.glob, location)


class Policy(Record):
    """What a check demands.

    Attributes:
        ptx: what it does when the driver must compile PTX: nothing, WARN or FAIL. A JIT link is at
            least a WARN.
        max_holes: of a library's modules, the share that may have nothing for a GPU although older
            ones are served; more is a WARN.
        max_newer_only: of a library's modules, the share that may have code for newer GPUs only;
            more is a WARN.
        expect: exactly the architectures that each library must have: real ones (``9.0``,
            ``sm_90a``) as SASS, virtual ones (``compute_90``; ``9.0+PTX`` is both) as PTX.
        forbid: architectures that no library may have.
        ignore: findings that do not count, each with its reason.
        optional: globs of libraries whose FAIL counts as WARN.
        strict: whether WARN fails too.
        skip_reason: why the exit code is to be 0 whatever comes of the check.
    """

    ptx: str = "warn"
    max_holes: float = 0.02
    max_newer_only: float = 0.10
    expect: tuple[Architecture, ...] = ()
    forbid: tuple[Architecture, ...] = ()
    ignore: tuple[Ignore, ...] = ()
    optional: tuple[str, ...] = ()
    strict: bool = False
    skip_reason: str = ""

    def is_optional(self, location: str) -> bool:
        """Return whether a FAIL of this library counts as WARN."""
        return any(matches(glob, location) for glob in self.optional)

    def merged(self, given: Mapping[str, Any]) -> Policy:
        """Return the policy with fields of another on top.

        Args:
            given: fields by name. ``ignore`` and ``optional`` are added to what there is, the
                others take its place.
        """
        values = dict(given)
        for name in ("ignore", "optional"):
            values[name] = getattr(self, name) + tuple(values.get(name, ()))
        return self._replace(**values)


def matches(glob: str, location: str) -> bool:
    """Return whether a glob names a library: by its location, its file name or its member name.

    ``*`` stands for any characters, ``/`` included. Case counts; a backslash is read as ``/``.
    """
    from fnmatch import fnmatchcase  # noqa: PLC0415 - a policy without globs needs none

    wanted, path = (text.replace("\\", "/").removeprefix("./") for text in (glob, location))
    outer, colons, inner = path.partition("::")
    file = outer.rpartition("/")[2] + colons + inner
    names = (path, file, path.rpartition("/")[2], path.rpartition("::")[2])
    return any(fnmatchcase(name, wanted) for name in names)


# Values -------------------------------------------------------------------------------------------


def refused(
    key: str, expected: str, found: object, *, near: Iterable[str] | None = None, hint: str = ""
) -> PolicyError:
    """Return the error for a value that cannot be used.

    Args:
        key: what the message calls the value.
        expected: what it should be.
        found: the value.
        near: words of which the nearest to the value is named.
        hint: what helps.
    """
    meant = nearest(str(found), near) if near else ""
    more = f"; the nearest is {meant}" if meant else ""
    msg = f"{key}: expected {expected}, found {shown(found)}{more}"
    return PolicyError(msg, key=key, hint=hint)


def shown(value: object) -> str:
    """Return how a message shows a value."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def nearest(word: str, words: Iterable[str]) -> str:
    """Return the one of several words that is most like another; empty when none is."""
    from difflib import get_close_matches  # noqa: PLC0415 - only mistakes need it

    folded = {known.lower(): known for known in words}
    found = get_close_matches(word[:_SHOWN].lower(), folded, n=1, cutoff=0.5)
    return folded[found[0]] if found else ""


def ptx_of(value: object, key: str) -> str:
    """Read ``pass``, ``warn`` or ``fail``."""
    if not isinstance(value, str) or value not in PTX:
        raise refused(key, "pass, warn or fail", value)
    return value


def share_of(value: object, key: str) -> float:
    """Read a share of modules: a number from 0 to 1, or text such as ``2%`` or ``0.02``."""
    share: float | None = None
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9]{1,3}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})\s*(%?)\s*", value)
        if match:
            share = float(match[1]) / (100 if match[2] else 1)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        share = value
    if share is None or not 0 <= share <= 1:
        raise refused(key, "a share from 0 to 1, such as 0.02 or 2%", value)
    return float(share)


def architectures_of(value: object, key: str) -> tuple[Architecture, ...]:
    """Read architectures as build systems list them: ``8.0 9.0a 12.0+PTX``, or a list of such."""
    what = "architectures such as '8.0 9.0a 12.0+PTX'"
    found: dict[Architecture, None] = {}
    for text in _texts(value, key, what):
        try:
            found.update(dict.fromkeys(Architecture.parse_list(text)))
        except ArchitectureError as exc:
            raise PolicyError(f"{key}: {exc.message}", key=key) from exc
    if not found:
        raise refused(key, what, value)
    return tuple(found)


def ignores_of(value: object, key: str) -> tuple[Ignore, ...]:
    """Read a list of rules: text as for :meth:`Ignore.parse`, or tables of code, path, reason."""
    if not isinstance(value, (list, tuple)):
        raise refused(key, "a list of rules", value)
    return tuple(_ignore_of(item, f"{key}[{number}]") for number, item in enumerate(value))


def _ignore_of(item: object, key: str) -> Ignore:
    if isinstance(item, str):
        return Ignore.parse(item, key=key)
    if not isinstance(item, dict):
        raise refused(key, "a table of code, path and reason, or 'CODE@GLOB: REASON'", item)
    names = ("code", "path", "reason")
    for name, part in item.items():
        if name not in names:
            raise unknown_key(f"{key}.{name}", name, names)
        if not isinstance(part, str):
            raise refused(f"{key}.{name}", "text", part)
    for name in ("code", "reason"):
        if name not in item:
            raise PolicyError(f"{key}: expected the key {name}, found none", key=key)
    glob = item.get("path")
    if glob is not None and not glob.strip():
        raise refused(f"{key}.path", "a glob", glob)
    reason_of(item["reason"], f"{key}.reason")
    return Ignore.of(item["code"], glob, item["reason"], key=f"{key}.code")


def globs_of(value: object, key: str) -> tuple[str, ...]:
    """Read a list of globs."""
    if not isinstance(value, (list, tuple)):
        raise refused(key, "a list of globs", value)
    for number, item in enumerate(value):
        if not isinstance(item, str) or not item.strip():
            raise refused(f"{key}[{number}]", "a glob", item)
    return tuple(item.strip() for item in value)


def flag_of(value: object, key: str) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise refused(key, "true or false", value)
    return value


def reason_of(value: object, key: str) -> str:
    """Read a reason: text with more than blanks in it, made one line."""
    reason = " ".join(value.split()) if isinstance(value, str) else ""
    if not reason:
        raise refused(key, "a reason", value)
    return reason


def gpus_of(value: object, key: str) -> tuple[str, ...]:
    """Read names of GPUs that there are: text, or a list of such."""
    from fatbin.judge.gpu import parse_gpus  # noqa: PLC0415 - a policy without GPUs needs none

    what = "GPUs such as '9.0, RTX 5090'"
    found = _texts(value, key, what)
    if not found:
        raise refused(key, what, value)
    for number, text in enumerate(found):
        _checked(parse_gpus, text, key if isinstance(value, str) else f"{key}[{number}]")
    return tuple(found)


def driver_of(value: object, key: str) -> str:
    """Read the version of a driver that there is."""
    from fatbin.judge.driver import Driver  # noqa: PLC0415 - a policy without one needs none

    if not isinstance(value, str):
        hint = f'write "{value}"' if type(value) in {int, float} else ""
        raise refused(key, "a driver's version as text, such as '570.124'", value, hint=hint)
    _checked(Driver.parse, value, key)
    return value


def path_of(value: object, key: str) -> str:
    """Read the path of a file."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise refused(key, "the path of a file", value)
    return value


def _checked(read: Callable[[str], object], text: str, key: str) -> None:
    """Raise the error of another reader as one of the policy."""
    try:
        read(text)
    except FatbinError as exc:
        raise PolicyError(f"{key}: {exc.message}", key=key, hint=exc.hint) from exc


def unknown_key(key: str, name: str, names: Iterable[str]) -> PolicyError:
    """Return the error for a key that does not exist."""
    meant = nearest(name, names)
    said = f"the nearest is {meant}" if meant else f"expected one of {', '.join(names)}"
    return PolicyError(f"unknown key {shown(key)}; {said}", key=key)


def _texts(value: object, key: str, what: str) -> list[str]:
    """Return one text, or a list of them, as a list."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, (list, tuple)):
        raise refused(key, what, value)
    for number, item in enumerate(value):
        if not isinstance(item, str):
            hint = f'write "{item}"' if type(item) in {int, float} else ""
            raise refused(f"{key}[{number}]", "text", item, hint=hint)
    return list(value)


def _codes() -> Collection[str]:
    from fatbin.judge.codes import CODES  # noqa: PLC0415 - a policy without rules needs none

    return CODES


class Key(Record):
    """One key of a policy file.

    Attributes:
        field: of :class:`Policy`, or of the file itself (``gpus``, ``driver``, ``baseline``).
        read: takes its value.
        form: what is written, for the documentation.
        option: of ``fatbin check`` that does the same.
    """

    field: str
    read: Reader
    form: str
    option: str


KEYS = {
    "gpus": Key("gpus", gpus_of, '`["9.0", "RTX 5090"]` or `"9.0, RTX 5090"`', "--gpu"),
    "driver": Key("driver", driver_of, '`"570.124"` or `"CUDA 12.8"`', "--driver"),
    "ptx": Key("ptx", ptx_of, '`"pass"`, `"warn"` or `"fail"`', "--ptx"),
    "max-holes": Key("max_holes", share_of, '`0.02` or `"2%"`', "--max-holes"),
    "max-newer-only": Key("max_newer_only", share_of, '`0.1` or `"10%"`', "--max-newer-only"),
    "expect": Key("expect", architectures_of, '`"8.0 9.0a 12.0+PTX"`, or a list', "--expect"),
    "forbid": Key("forbid", architectures_of, '`"5.0 6.0"`, or a list', "--forbid"),
    "ignore": Key("ignore", ignores_of, "a list of [rules](#ignore)", "--ignore"),
    "optional": Key("optional", globs_of, '`["*/libx.so"]`', "--optional"),
    "baseline": Key("baseline", path_of, '`"baseline.json"`', "--baseline"),
    "strict": Key("strict", flag_of, "`true` or `false`", "--strict"),
    "skip": Key("skip_reason", reason_of, '`"why"`', "--skip"),
}
"""The keys of a policy file, in the order of the documentation."""
