"""Readers of documents: inventories, policies, verdicts, logs."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

from fatbin import FatbinError, check, read_baseline, read_policy
from fatbin.inventory import Inventory
from fatbin.node import diagnosis_text
from fatbin.node.diagnose import diagnose
from fatbin.report import text
from fatbin.report.formats import FORMATS, Options
from fatbin.report.table import PlainWriter

GPUS = "8.0, 9.0, 12.0"
_EMPTY = Inventory()


def inventory(data: bytes) -> None:
    """Read an inventory, write it, judge it, and tell the verdict in every format."""
    found = Inventory.from_json(data)
    assert Inventory.from_json(found.to_json()) == found, "JSON does not round-trip"
    assert json.loads(found.to_json()) == found.to_dict(), "the two writers differ"
    for library in found.libraries:
        assert library.sass is not None
        assert library.ptx is not None
    out = io.StringIO()
    text.list_libraries(PlainWriter(out), found, entries=True)
    text.inspect_libraries(PlainWriter(out), found)
    verdict = check(found, gpus=GPUS, driver="570")
    assert check(found, gpus=GPUS, driver="570") == verdict, "two checks differ"
    for write in FORMATS.values():
        write(out, verdict, Options(verbose=True, titles={"FB101": "a title"}))
    assert "\x1b" not in out.getvalue(), "steers the terminal"


def policy(data: bytes) -> None:
    """Read a policy, under both names a file of one has, and check with it."""
    with tempfile.TemporaryDirectory() as folder:
        told: FatbinError | None = None
        for name in ("fatbin.toml", "pyproject.toml"):
            path = Path(folder, name)
            path.write_bytes(data)
            try:
                found = read_policy(path)
                verdict = check(
                    _EMPTY,
                    gpus=found.gpus or GPUS,
                    driver=found.driver or None,
                    policy=found.policy,
                )
            except FatbinError as exc:
                told = exc
                told.location = told.location.replace(folder, "")
            else:
                assert json.dumps(verdict.to_dict())
        if told is not None:
            raise told


def verdict(data: bytes) -> None:
    """Read a verdict and use it as a baseline."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "verdict.json")
        path.write_bytes(data)
        baseline = read_baseline(path)
        assert read_baseline(path) == baseline, "read twice, two baselines"
    assert json.dumps(check(_EMPTY, gpus=GPUS, baseline=baseline).to_dict())


def log(data: bytes) -> None:
    """Diagnose logs; a form feed on a line of its own begins the next one."""
    errors: list[FatbinError] = []
    logs = data.split(b"\n\f\n")[:4]
    streams = [(f"log{n}", io.BytesIO(text)) for n, text in enumerate(logs)]
    found = diagnose(streams, report=errors.append)
    assert json.dumps(found.to_dict())
    out = io.StringIO()
    diagnosis_text.write(PlainWriter(out), found, verbose=True)
    assert all(line.isprintable() for line in out.getvalue().split("\n")), "not printable"
    for error in errors:
        assert "\n" not in str(error)
