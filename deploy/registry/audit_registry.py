#!/usr/bin/env python3
"""Judge many images of a registry with Dask: one task an image, one line of JSON each.

Usage: audit_registry.py --gpu GPUS [--scheduler ADDRESS] [--cache FOLDER] < NAMES > LINES

NAMES has one image a line, as skopeo spells it behind ``docker://``. Lines come as images are done.
Workers need fatbin, skopeo, and room in TMPDIR for one image each. The exit code is 2 when an image
could not be read or not as a whole, 1 when one fails, else 0.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import fatbin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distributed import Client


def audit(image: str, gpus: str, cache: str | None) -> dict[str, Any]:
    """Fetch an image, judge it, and forget it; runs in a worker."""
    with tempfile.TemporaryDirectory(prefix="audit-") as folder:
        layout = os.path.join(folder, "image")
        command = ["skopeo", "copy", "--quiet", f"docker://{image}", f"oci:{layout}"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - no shell, a prefix before the name
        if done.returncode:
            return failed(image, done.stderr.strip() or f"skopeo: exit {done.returncode}")
        inventory = fatbin.scan_many([layout], cache=cache)
    verdict = fatbin.check(inventory, gpus=gpus)
    return {
        "image": image,
        "outcome": str(verdict.outcome),
        "libraries": len(inventory.libraries),
        "architectures": sorted(
            {str(arch) for library in inventory.libraries for arch in library.sass}
        ),
        "issues": [str(issue).replace(layout, image) for issue in inventory.all_issues],
    }


def failed(image: str, reason: str) -> dict[str, Any]:
    """Return the line of an image that nothing is known of."""
    return {"image": image, "outcome": "ERROR", "issues": [" ".join(reason.split())]}


def lines(
    client: Client, images: Sequence[str], gpus: str, cache: str | None
) -> Iterator[dict[str, Any]]:
    """Yield the line of each image when it is done; a worker that dies costs its image only."""
    from distributed import as_completed  # noqa: PLC0415 - not needed in workers

    futures = {
        client.submit(audit, image, gpus, cache, pure=False, retries=1): image for image in images
    }
    for future in as_completed(futures):  # type: ignore[no-untyped-call]
        error = future.exception()
        if error is None:
            yield future.result()
        else:
            yield failed(futures[future], f"{type(error).__name__}: {error}")
        future.release()


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit the images that standard input names."""
    parser = argparse.ArgumentParser(description="Judge images of a registry with Dask.")
    parser.add_argument("--gpu", required=True, metavar="GPUS", help="such as 'H100, L4'")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="default: processes of this machine")
    parser.add_argument("--cache", metavar="FOLDER", help="that all workers see")
    given = parser.parse_args(arguments)
    images = [line.strip() for line in sys.stdin if line.strip()]
    fatbin.parse_gpus(given.gpu)  # a wrong name is told before anything is fetched
    from distributed import Client  # noqa: PLC0415 - after the usage

    code = 0
    with Client(given.scheduler) as client:  # type: ignore[no-untyped-call]
        for line in lines(client, images, given.gpu, given.cache):
            print(json.dumps(line), flush=True)
            if line["outcome"] == "ERROR" or line["issues"]:
                code = 2
            elif line["outcome"] == "FAIL":
                code = max(code, 1)
    return code


if __name__ == "__main__":
    sys.exit(main())
