"""What people copy into clusters: valid, and patched examples are the whole examples."""

from __future__ import annotations

import copy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from support import ROOT, require

FOLDER = ROOT / "deploy" / "kubernetes"
VERSION = "1.30"
NAME = "gpu-compat-check"


def load(path: Path) -> Any:  # noqa: ANN401 - YAML
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def pod_specs(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the pod specifications of an example, by the group that they are for."""
    spec = document["spec"]
    if document["kind"] == "Pod":
        return {"pod": spec}
    if document["kind"] == "Job":
        return {"pod": spec["template"]["spec"]}
    spec = spec.get("rayClusterSpec", spec)
    groups = {group["groupName"]: group for group in spec["workerGroupSpecs"]}
    return {
        name: group["template"]["spec"]
        for name, group in {"head": spec["headGroupSpec"], **groups}.items()
    }


def has_gpu(spec: dict[str, Any]) -> bool:
    limits = spec["containers"][0].get("resources", {}).get("limits", {})
    return "nvidia.com/gpu" in limits


EXAMPLES = sorted(path.stem for path in (FOLDER / "examples").glob("*.yaml"))


def test_every_example_has_a_patch() -> None:
    assert EXAMPLES == ["job", "pod", "raycluster", "rayjob"]
    assert sorted(path.stem for path in (FOLDER / "patches").glob("*.yaml")) == EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_pods_are_valid_by_the_schema_of_kubernetes(name: str) -> None:
    document = load(FOLDER / "examples" / f"{name}.yaml")
    if document["apiVersion"] in ("v1", "batch/v1"):
        kubernetes_validate.validate(document, VERSION, strict=True)
    for group, spec in pod_specs(document).items():
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": group}, "spec": spec}
        kubernetes_validate.validate(pod, VERSION, strict=True)


def test_the_schema_refuses_what_is_wrong() -> None:
    document = load(FOLDER / "examples" / "pod.yaml")
    document["spec"]["initContainers"][0]["comand"] = []
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, VERSION, strict=True)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_check_has_the_image_and_gpus_of_what_follows_and_nobody_else_has_it(name: str) -> None:
    specs = pod_specs(load(FOLDER / "examples" / f"{name}.yaml"))
    assert any(has_gpu(spec) for spec in specs.values())
    for spec in specs.values():
        if not has_gpu(spec):
            assert "initContainers" not in spec
            continue
        (check,) = spec["initContainers"]
        (container,) = spec["containers"]
        assert check["name"] == NAME
        assert check["image"] == container["image"]
        assert check["resources"]["limits"] == container["resources"]["limits"]
        assert check["env"] == [
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
        ]
        assert check["command"][:2] == ["fatbin", "preflight"]
        assert check["command"][-1] == check["terminationMessagePath"]


def bare(document: dict[str, Any]) -> dict[str, Any]:
    """Return an example as it was before the patch."""
    document = copy.deepcopy(document)
    for spec in pod_specs(document).values():
        spec.pop("initContainers", None)
    return document


@pytest.mark.parametrize("name", ["raycluster", "rayjob"])
def test_json_patches_lead_to_the_examples(name: str) -> None:
    whole = load(FOLDER / "examples" / f"{name}.yaml")
    document = bare(whole)
    assert document != whole
    for operation in load(FOLDER / "patches" / f"{name}.yaml"):
        assert operation["op"] == "add"
        *parts, last = operation["path"].strip("/").split("/")
        place: Any = document
        for part in parts:
            place = place[int(part)] if isinstance(place, list) else place[part]
        assert last not in place
        place[last] = operation["value"]
    assert document == whole


@pytest.mark.parametrize("name", EXAMPLES)
def test_kustomize_makes_the_examples(name: str, tmp_path: Path) -> None:
    kubectl = shutil.which("kubectl") or require("kubectl", "not installed")
    whole = load(FOLDER / "examples" / f"{name}.yaml")
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(bare(whole)))
    shutil.copy(FOLDER / "patches" / f"{name}.yaml", tmp_path / "patch.yaml")
    target = {"kind": whole["kind"], "name": whole["metadata"]["name"]}
    kustomization = {
        "resources": ["base.yaml"],
        "patches": [{"path": "patch.yaml", "target": target}],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    done = subprocess.run(
        [kubectl, "kustomize", str(tmp_path)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout) == whole


def test_the_kustomization_names_patches_that_there_are() -> None:
    document = load(FOLDER / "kustomization.yaml")
    for patch in document["patches"]:
        assert (FOLDER / patch["path"]).is_file()
        example = load(FOLDER / "examples" / f"{Path(patch['path']).stem}.yaml")
        assert patch["target"]["kind"] == example["kind"]
        assert patch["target"]["name"] == example["metadata"]["name"]
