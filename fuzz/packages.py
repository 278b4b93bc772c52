"""Readers of what libraries are shipped in."""

from __future__ import annotations

from fatbin.format.view import View
from fatbin.scanning.collector import Collector
from fatbin.scanning.parts import any_parts, holder_of
from fatbin.scanning.scanner import Options
from fuzz.binaries import scanned
from fuzz.target import LIMITS


def package(data: bytes) -> None:
    """Scan a zip, wheel, conda package or tar archive, compressed or not."""
    scanned(data, "some_package-1.2.3-py3-none-any.whl")


def image(data: bytes) -> None:
    """Scan a container image, for the usual platform and for another, and open its parts."""
    scanned(data, "image.tar", verify=False)
    options = Options(LIMITS, platform="linux/arm64", verify=True)
    view = View(data, "image.tar")
    collector = Collector(view.name, LIMITS)
    for part in any_parts(view, holder_of(view), options, collector):
        assert part.view.size >= 0
