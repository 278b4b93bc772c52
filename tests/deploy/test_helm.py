"""The library chart: rendered by helm where there is one, and by a small reader of its subset."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import ROOT, require

CHART = ROOT / "deploy" / "helm" / "gpu-compat-check"
TEMPLATE = CHART / "templates" / "_init-container.tpl"
_TAG = re.compile(r"\s*\{\{-\s*(.*?)\s*-?\}\}\s*\n?|\{\{\s*(.*?)\s*\}\}", re.DOTALL)


def render(values: dict[str, Any], image: str, gpus: int) -> Any:  # noqa: ANN401 - YAML
    """Render the one template with what it uses of the language: define, if, end, names, quote."""
    text = re.sub(r"\{\{/\*.*?\*/\}\}", "", TEMPLATE.read_text(encoding="utf-8"), flags=re.DOTALL)
    scope = {"values": values, "image": image, "gpus": gpus}
    shown = [True]
    out: list[str] = []
    at = 0
    for match in _TAG.finditer(text):
        out.append(text[at : match.start()] if all(shown) else "")
        at = match.end()
        words = (match[1] or match[2]).split()
        if words[0] == "define":
            assert words[1] == '"gpuCompatCheck.initContainer"'
            shown.append(True)
        elif words[0] == "if":
            shown.append(bool(_value(words[1], scope)))
        elif words[0] == "end":
            shown.pop()
        elif all(shown):
            assert words[1:] in ([], ["|", "quote"])
            value = _value(words[0], scope)
            out.append(f'"{value}"' if words[1:] else str(value))
    assert shown == [True]
    return yaml.safe_load("".join(out))


def _value(name: str, scope: Any) -> Any:  # noqa: ANN401 - YAML
    for part in name.strip(".").split("."):
        scope = scope[part]
    return scope


def values() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    return found


def example() -> list[dict[str, Any]]:
    path = ROOT / "deploy" / "kubernetes" / "examples" / "pod.yaml"
    found: list[dict[str, Any]] = yaml.safe_load(path.read_text())["spec"]["initContainers"]
    return found


def test_the_chart_is_a_library() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["apiVersion"], chart["type"], chart["name"]) == ("v2", "library", CHART.name)


def test_values_have_the_documented_keys() -> None:
    assert values() == {"gpuCompatCheck": {"enabled": True, "timeoutSeconds": 60}}


def test_the_template_makes_the_container_of_the_examples() -> None:
    assert render(values(), "registry.example.com/trainer:1.0", 1) == example()


def test_values_are_used() -> None:
    changed = {"gpuCompatCheck": {"enabled": True, "timeoutSeconds": 300}}
    (container,) = render(changed, "other:2", 8)
    assert container["image"] == "other:2"
    assert container["command"][3] == "300"
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 8}


def test_switched_off_it_makes_nothing() -> None:
    assert render({"gpuCompatCheck": {"enabled": False, "timeoutSeconds": 60}}, "x", 1) is None


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_helm_renders_the_same(tmp_path: Path, enabled: str) -> None:
    helm = shutil.which("helm") or require("helm", "not installed")
    chart = tmp_path / "app"
    (chart / "templates").mkdir(parents=True)
    shutil.copytree(CHART, chart / "charts" / CHART.name)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: app\nversion: 0.1.0\n")
    shutil.copy(CHART / "values.yaml", chart / "values.yaml")
    (chart / "templates" / "pod.yaml").write_text(
        "spec:\n"
        '  {{- with include "gpuCompatCheck.initContainer" (dict "values" .Values "image" '
        '"registry.example.com/trainer:1.0" "gpus" 1) }}\n'
        "  initContainers:\n    {{- . | nindent 4 }}\n  {{- end }}\n"
    )
    done = subprocess.run(
        [helm, "template", str(chart), "--set", f"gpuCompatCheck.enabled={enabled}"],
        check=True,
        capture_output=True,
        text=True,
    )
    spec = yaml.safe_load(done.stdout)["spec"] or {}
    assert spec.get("initContainers") == (example() if enabled == "true" else None)
