"""The rules about one library on one GPU: from the driver's answers to findings.

A rule is a function from a :class:`fatbin.judge.case.Case` to findings. Rules about policy and
input are in :mod:`fatbin.judge.claims`.
"""

from __future__ import annotations

from fatbin.judge.rules import code, driver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fatbin.judge.case import Case
    from fatbin.judge.verdict import Finding

RULES: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    driver.device_supported,
    driver.runtime_supported,
    code.known_faults,
    code.nothing_serves,
    code.device_linked,
    driver.refused_code,
    code.gaps,
    code.linked_by_driver,
    code.compiled,
    code.uncertain,
    code.relocatable_only,
    code.specialised,
)
"""In the order of a reader's interest; each looks at the case alone."""
