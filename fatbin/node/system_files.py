"""What the system's files say about GPUs and the driver; nothing is loaded and nothing is run."""

from __future__ import annotations

import os
import re

from fatbin._record import Record

_VERSION = re.compile(r"\b(\d{3,4}(?:\.\d{1,4}){1,3})\b")
_TEGRA = re.compile(r"# R(\d+) \(release\), REVISION: ([\d.]+)")
_NVIDIA = "0x10de"
_DISPLAY = "0x03"
_PROC = "proc/driver/nvidia"


class ProcGpu(Record):
    """A GPU as the kernel's driver lists it.

    Attributes:
        name: ``Model`` of its file.
        uuid: ``GPU UUID`` of its file.
        pci: address on the bus.
    """

    name: str
    uuid: str
    pci: str


def kernel_driver(root: str) -> tuple[str, str]:
    """Return the version of the kernel's driver and the line that says it; empty when not there."""
    text = _read(os.path.join(root, _PROC, "version"))
    line = text.splitlines()[0].strip() if text else ""
    found = _VERSION.search(line)
    return (found[1] if found else ""), line


def kernel_gpus(root: str) -> tuple[ProcGpu, ...]:
    """Return the GPUs that the kernel's driver lists, by their address."""
    folder = os.path.join(root, _PROC, "gpus")
    found = []
    for address in _names(folder):
        facts = {}
        for line in _read(os.path.join(folder, address, "information")).splitlines():
            key, _, value = line.partition(":")
            facts[key.strip()] = value.strip()
        pci = facts.get("Bus Location", address)
        found.append(ProcGpu(facts.get("Model", ""), facts.get("GPU UUID", ""), pci))
    return tuple(found)


def tegra_release(root: str) -> str:
    """Return the release of a Jetson's system, ``L4T 35.4.1``; empty elsewhere."""
    found = _TEGRA.match(_read(os.path.join(root, "etc/nv_tegra_release")))
    return f"L4T {found[1]}.{found[2]}" if found else ""


def is_wsl(root: str) -> bool:
    """Tell whether this is Linux inside Windows."""
    return "microsoft" in _read(os.path.join(root, "proc/version")).lower()


def pci_cards(root: str) -> tuple[str, ...]:
    """Return the addresses of NVIDIA's display and 3D controllers on the bus."""
    folder = os.path.join(root, "sys/bus/pci/devices")
    return tuple(
        address
        for address in _names(folder)
        if _read(os.path.join(folder, address, "vendor")).strip() == _NVIDIA
        and _read(os.path.join(folder, address, "class")).startswith(_DISPLAY)
    )


def _read(path: str) -> str:
    """Return the text of a small file; empty where it is absent or may not be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(65536)
    except OSError:
        return ""  # absent is an answer here


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []  # as above
