"""The real driver beside the prediction: python -m pytest tests/hardware/live."""

from __future__ import annotations

from importlib.metadata import distributions
from pathlib import Path

import pytest
from h200 import CODES, H200, HERE, images
from hosts import archive
from support import FIXTURES, manifest, require

import fatbin
from fatbin import Detection, Probe, ProbeResult

pytestmark = pytest.mark.gpu
MEASURED = "13.0"
"""CUDA version of the driver that the recorded results are of."""


def wrong(found: Probe) -> list[tuple[str, str, str, str]]:
    return [
        (result.location.rpartition("/")[2], hex(result.offset), result.prediction, result.said)
        for probed in found.gpus
        for result in probed.results
        if result.agrees is False or result.status == "not-tried"
    ]


@pytest.fixture(scope="module")
def probed_images(here: Detection, tmp_path_factory: pytest.TempPathFactory) -> Probe:
    # One archive, so that one process loads them all.
    path = tmp_path_factory.mktemp("images") / "images.a"
    files = sorted((HERE / "images").iterdir())
    path.write_bytes(archive(*((file.name, file.read_bytes()) for file in files)))
    return fatbin.probe(path, jit=True, names=True, detection=here)


def test_the_images_do_what_is_predicted(probed_images: Probe) -> None:
    assert len(probed_images.gpus[0].tried) > 200
    assert wrong(probed_images) == []


def test_the_images_do_what_they_did_on_the_h200(probed_images: Probe, here: Detection) -> None:
    probed = next((p for p in probed_images.gpus if p.gpu.compute_capability == H200), None)
    if probed is None or here.cuda_version != MEASURED:
        require("h200", f"recorded on a GPU of 9.0 with a driver of CUDA {MEASURED}")
    loads: dict[str, list[ProbeResult]] = {}
    for result in probed.results:
        loads.setdefault(result.location.rpartition("::")[2], []).append(result)
    compared = 0
    differing = []
    for case in images()["cases"]:
        found = loads.get(case["file"], [])
        tried = [result for result in found if result.agrees is not None]
        recorded = CODES[case["result"]["default"]["load"]]
        compared += len(tried)
        differing += [(case["name"], r.said, recorded) for r in tried if r.code != recorded]
    assert differing == []
    assert compared > 200


def test_kernels_are_those_that_the_cubin_names(here: Detection) -> None:
    gpu = next((g for g in here.gpus if g.compute_capability == H200), None)
    if gpu is None:
        require("gpu", "the fixture is for compute capability 9.0")
    path = FIXTURES / "res_90a.cubin"
    (probed,) = fatbin.probe(path, gpu=gpu.number, names=True, detection=here).gpus
    (result,) = probed.results
    assert result.status == "loaded"
    names = set(fatbin.Cubin(path.read_bytes()).kernel_names)
    assert (result.kernels, set(result.kernel_names)) == (len(names), names)


def test_the_fixtures_do_what_is_predicted(here: Detection) -> None:
    tried = 0
    for row in manifest():
        name = row["file"]
        if name.startswith("hostile") or name == "nvfatbin124.fatbin":
            continue  # damaged, or PTX without a version, which only opening it tells
        found = fatbin.probe(FIXTURES / name, jit=True, detection=here)
        assert wrong(found) == [], name
        tried += found.tried
    assert tried > 100


def installed_libraries() -> list[Path]:
    """Return the shared libraries of torch and of NVIDIA's packages beside it, found by metadata."""
    found: dict[Path, None] = {}
    for distribution in distributions():
        name = (distribution.metadata["Name"] or "").lower()
        if name != "torch" and not name.startswith("nvidia-"):
            continue
        for file in distribution.files or ():
            path = Path(str(file.locate()))
            if ".so" in path.name and path.is_file():
                found[path.resolve()] = None
    return sorted(found)


def test_every_module_of_the_installed_libraries_does_what_is_predicted(here: Detection) -> None:
    libraries = installed_libraries()
    if not any(path.name.startswith("libtorch_cuda") for path in libraries):
        require("torch", "torch with CUDA is not installed")
    problems = []
    tried = 0
    for path in libraries:
        found = fatbin.probe(path, detection=here)
        tried += found.tried
        problems += wrong(found)
        problems += [(str(issue), "", "", "") for issue in found.issues]
        print(f"{path.name}: {found.tried} modules, {len(wrong(found))} not as predicted")  # noqa: T201 - a record of what was compared
    assert problems == []
    assert tried > 400
