"""The 35 libraries that all work on an H200, judged for it and for GPUs that they were built for."""

from __future__ import annotations

import pytest
from h200 import DRIVER, libraries

from fatbin.inventory import Inventory
from fatbin.judge.check import check
from fatbin.judge.driver import Driver
from fatbin.judge.verdict import Severity, Verdict

EMPTY = "libcufftw.so.12"
"""Its one module holds no kernel, which the recorded rows do not say."""
COMPILED = "libcufile.so.0"
"""Its one module has SASS for 7.5 to 8.6 and PTX for 8.6."""
BROKEN = "libtorch_cuda_linalg.so"
"""No module has code for 7.5, although the package names it."""
RUNTIME_ENGINES = "libcudnn_engines_runtime_compiled.so.9"
"""A quarter of its modules does not exist for Turing."""


def judged(gpu: str, driver: Driver | None) -> dict[str, Verdict]:
    found = {}
    for name, library in libraries().items():
        if name == EMPTY:
            (module,) = library.modules
            stub = tuple(entry._replace(kernels=0) for entry in module.entries)
            library = library._replace(modules=(module._replace(entries=stub),))  # noqa: PLW2901
        found[name] = check(Inventory(libraries=(library,)), gpus=gpu, driver=driver)
    return found


def test_on_the_h200() -> None:
    verdicts = judged("9.0", DRIVER)
    assert len(verdicts) == 35
    outcomes = {name: str(verdict.outcome) for name, verdict in verdicts.items()}
    assert outcomes.pop(EMPTY) == "NOTHING"
    assert outcomes.pop(COMPILED) == "WARN"
    assert set(outcomes.values()) == {"PASS"}, outcomes
    warned = [f for f in verdicts[COMPILED].findings if f.severity is not Severity.NOTE]
    assert [f.code for f in warned] == ["FB105"]


@pytest.mark.parametrize("gpu", ["7.5", "8.0", "8.6", "8.9", "10.0", "12.0"])
def test_holes_and_newer_only_warn_for_no_working_pair(gpu: str) -> None:
    """The thresholds of 2 % and 10 % name one library, rightly, and fail the one that is broken."""
    alarms = {
        name: {f.code for f in verdict.findings if f.code in ("FB101", "FB102", "FB103", "FB104")}
        for name, verdict in judged(gpu, None).items()
    }
    found = {name: codes for name, codes in alarms.items() if codes}
    if gpu == "7.5":
        assert found.pop(BROKEN) == {"FB101"}
        assert found.pop(RUNTIME_ENGINES) == {"FB104"}
    assert found == {}
