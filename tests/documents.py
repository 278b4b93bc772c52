"""The pages of the documentation, and what stands in them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from support import ROOT

README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    text = FENCE.sub("", text_of(page))
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 0
        while (f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(f"{slug}-{number}" if number else slug)
    return found


def run_python(
    *command: str, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=env,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


def build_site(
    into: Path, *, settings: Path = ROOT / "mkdocs.yml"
) -> subprocess.CompletedProcess[str]:
    """Build the site as a reader would; the notice about a later MkDocs is none about these pages."""
    options = ["--strict", "--config-file", str(settings), "--site-dir", str(into)]
    command = [sys.executable, "-m", "mkdocs", "build", *options]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=300
    )
