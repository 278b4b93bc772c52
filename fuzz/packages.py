"""Readers of what libraries are shipped in."""

from __future__ import annotations

import gzip

from fatbin.format.view import View
from fatbin.scanning.collector import Collector
from fatbin.scanning.parts import any_parts, holder_of
from fatbin.scanning.scanner import Options
from fuzz.binaries import scanned
from fuzz.target import LIMITS


def package(data: bytes) -> None:
    """Scan a zip, wheel, conda package or tar archive; a whole one holds the same when packed again."""
    name = "some_package-1.2.3-py3-none-any.whl"
    found = scanned(data, name)
    if found.all_issues or data[257:262] != b"ustar":
        return
    packed = gzip.compress(data, 1, mtime=0)
    assert scanned(packed, name).libraries == found.libraries, "another result when compressed"


def image(data: bytes) -> None:
    """Scan a container image, for the usual platform and for another, and open its parts."""
    scanned(data, "image.tar", verify=False)
    options = Options(LIMITS, platform="linux/arm64", verify=True)
    view = View(data, "image.tar")
    collector = Collector(view.name, LIMITS)
    for part in any_parts(view, holder_of(view), options, collector):
        assert part.view.size >= 0
