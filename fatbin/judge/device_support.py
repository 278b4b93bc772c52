"""Which driver branches know a GPU."""

from __future__ import annotations

from fatbin.judge.driver import Driver
from fatbin.judge.facts.architectures import row_of
from fatbin.judge.facts.toolkits import TOOLKITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.arch import ComputeCapability


def drives(device: ComputeCapability, driver: Driver | None) -> str:
    """Return the statement why a driver does not know a device; empty when it does.

    What is not in the table of architectures is not refused, nor are Tegra devices: their drivers
    are numbered in another way.
    """
    row = row_of(device)
    if driver is None or row is None:
        return ""
    if row.last_driver is not None and driver.branch > row.last_driver:
        return "driver.device-dropped"
    known_from = first_driver_of(device)
    if known_from is not None and driver.branch < known_from:
        return "driver.device-unknown"
    return ""


def last_driver_of(device: ComputeCapability) -> Driver | None:
    """Return the last driver branch that drives a device; None when the newest known does."""
    row = row_of(device)
    return Driver.parse(str(row.last_driver)) if row is not None and row.last_driver else None


def first_driver_of(device: ComputeCapability) -> int | None:
    """Return the first driver branch that can know a device; None when that is not known.

    The lower of the branch that NVIDIA names and of that of the first toolkit with the
    architecture: pre-release drivers came with it.
    """
    row = row_of(device)
    if row is None or row.first_driver is None:
        return None
    toolkit = next((t for t in TOOLKITS if t.toolkit == row.first_toolkit), None)
    return row.first_driver if toolkit is None else min(row.first_driver, toolkit.driver_branch)
