"""Mutations of documents: JSON by its tree, other texts by words and lines."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

_DEEP = "put a deep list here"
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1 << 31, 1 << 63, 1 << 70, 10**30, 1.5, float("nan"), "", "x",
    "sm_90a", "compute_120", "9" * 400, "\ud800", "\x1b[31m", "a\nb", [], {}, [[]], {"": None},
    "loadable", "zstd", "sass", "ptx", "fail", "linux/amd64", "sha256:" + "0" * 64, "../../x",
)  # fmt: skip
_WORDS: tuple[bytes, ...] = (
    b"\n", b" ", b"=", b"[", b"]", b"[[", b"{", b"}", b'"', b"'", b"#", b"\\u0000", b"\x1b[31m",
    b"1e400", b"9" * 5000, b"0x", b"1979-05-27T07:32:00Z", b"[ignore]", b"[[ignore]]", b"gpus = ",
    b"a.", b"{a=", b"sm_90a", b"compute_80", b"\xff", b"\0", b"\r\n", b"\n\f\n", b"[rank", b"]:", b"NCCL INFO ",
    b"NCCL version 2.27.5+cuda12.9", b"NVRM: Xid (PCI:0000:01:00): 13, ", b".version 8.0\n",
    b".target sm_90a\n", b".entry ", b".func ", b"(", b")", b"/*", b"*/", b"//", b".address_size 64",
)  # fmt: skip


def mutate_json(data: bytes, rng: Random) -> bytes:
    """Change a value of a document, move one, or take one out; now and then damage the text."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_words(data, rng)
    if not rng.randrange(10):
        return mutate_words(data, rng)
    for _ in range(rng.choice((1, 1, 2, 4))):
        tree = _changed(tree, rng)
    deep = b"[" * (depth := rng.choice((10, 1100, 200_000))) + b"]" * depth
    try:
        return json.dumps(tree).encode().replace(b'"%s"' % _DEEP.encode(), deep)
    except (RecursionError, ValueError):  # deep already, or a number of too many digits
        return mutate_words(data, rng)


def _changed(tree: Any, rng: Random) -> Any:  # noqa: ANN401 - JSON
    holders: list[Any] = []
    _collect(tree, holders)
    if not holders:
        return _fresh(rng, holders)
    holder = rng.choice(holders)
    if isinstance(holder, dict):
        key = rng.choice(list(holder) or ["x"])
        if not rng.randrange(4):
            holder.pop(key, None)
        elif not rng.randrange(6):
            holder[rng.choice(("", "schema_version", "libraries", "x\ny"))] = _fresh(rng, [])
        else:
            holder[key] = _other(holder.get(key), rng, holders)
    elif not holder or not rng.randrange(4):
        holder.append(_fresh(rng, holders))
    else:
        at = rng.randrange(len(holder))
        holder[at] = _other(holder[at], rng, holders)
    return tree


def _other(value: Any, rng: Random, holders: list[Any]) -> Any:  # noqa: ANN401
    """Return another value, mostly of the same type: others are refused at once."""
    alike = [other for other in _VALUES if type(other) is type(value)]
    return copy.deepcopy(rng.choice(alike)) if alike and rng.randrange(4) else _fresh(rng, holders)


def _fresh(rng: Random, holders: list[Any]) -> Any:  # noqa: ANN401
    if rng.randrange(4) or not holders:
        return copy.deepcopy(rng.choice(_VALUES))  # what is put in may be changed next
    if not rng.randrange(20):
        return _DEEP
    return copy.deepcopy(rng.choice(holders))


def _collect(node: Any, holders: list[Any], depth: int = 0) -> None:  # noqa: ANN401
    if depth > 100 or not isinstance(node, (dict, list)):
        return
    holders.append(node)
    for inner in node.values() if isinstance(node, dict) else node:
        _collect(inner, holders, depth + 1)


def mutate_words(data: bytes, rng: Random) -> bytes:
    """Put words in, take lines out, repeat or exchange them."""
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        index = rng.randrange(len(lines))
        line = lines[index]
        at = rng.randrange(len(line) + 1)
        action = rng.randrange(6)
        if action == 0:
            lines[index : index + 1] = []
        elif action == 1:
            lines.insert(index, rng.choice(lines))
        elif action == 2:
            lines[index] = (
                line[:at] + rng.choice(_WORDS) * rng.choice((1, 1, 1, 50, 3000)) + line[at:]
            )
        elif action == 3:
            lines[index] = line[:at]
        elif action == 4:
            other = rng.choice(lines)
            lines[index] = line[:at] + other[rng.randrange(len(other) + 1) :]
        else:
            lines[index] = line[:at] + rng.randbytes(1) + line[at + 1 :]
        lines = lines or [b""]
    return b"\n".join(lines)
