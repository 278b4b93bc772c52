"""What MkDocs does beside ``mkdocs.yml``: pages of the repository, links that leave ``docs/``.

A page is written for the repository, where ``../../deploy/docker/Dockerfile`` is a link that works.
The site has only ``docs/``. So the pages of the root that readers want become pages of the site,
every other file that a page links to becomes a file of it, and the links are turned to them.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
ADOPTED = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages of the root that are pages of the site, in ``project/``."""

LANDING_PAGE = "docs/index.md"

_OUTSIDE_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of a folder in the place of ``folder/*``."""
    config.nav = [_expanded(entry) for entry in config.nav or []]
    return config


def _expanded(entry: Any) -> Any:  # noqa: ANN401 - the tree that a YAML file holds
    if not isinstance(entry, dict):
        return entry
    ((title, inside),) = entry.items()
    if isinstance(inside, list):
        return {title: [_expanded(one) for one in inside]}
    folder, _, star = inside.rpartition("/")
    if star != "*":
        return entry
    pages = sorted((ROOT / "docs" / folder).glob("*.md"), key=lambda p: (p.stem != "index", p.name))
    return {title: [_titled(f"{folder}/{page.name}", page) for page in pages]}


def _titled(name: str, page: Path) -> str | dict[str, str]:
    """Return the entry of a page: its heading stands behind a comment, where MkDocs sees none."""
    heading = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {heading[1]: name} if heading and page.stem != "index" else name


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add what stands in the repository beside ``docs/`` and is linked to."""
    for name in ADOPTED:
        files.append(File.generated(config, _site_name(name), abs_src_path=str(ROOT / name)))
    linked = {
        target
        for page in list(files.documentation_pages())
        for target in _repository_links(page.content_string, _home(page.src_uri))
    }
    for name in sorted(linked):
        target = _site_name(name)
        # What is not there, or a folder, MkDocs will miss where the link is.
        if files.get_file_from_path(target) is None and (ROOT / name).is_file():
            files.append(File.generated(config, target, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the links that leave ``docs/`` to where the site has their targets."""
    del config, files
    home = _home(page.file.src_uri)
    if home == LANDING_PAGE:
        page.meta["hide"] = ["navigation", "toc"]

    def turned(match: re.Match[str]) -> str:
        name = _named(match[1], home)
        if name is None:
            return match[1]
        return posixpath.relpath(_site_name(name), posixpath.dirname(page.file.src_uri) or ".")

    parts = _OUTSIDE_CODE.split(markdown)
    return "".join(part if n % 2 else _TARGET.sub(turned, part) for n, part in enumerate(parts))


def _home(src_uri: str) -> str:
    """Return where a page of the site stands in the repository."""
    name = posixpath.basename(src_uri)
    return name if src_uri == f"project/{name}" and name in ADOPTED else f"docs/{src_uri}"


def _site_name(name: str) -> str:
    """Return where the site has a file of the repository."""
    if name == "README.md":  # the landing page of the repository
        return _site_name(LANDING_PAGE)
    if name in ADOPTED:
        return f"project/{name}"
    inside = name.removeprefix("docs/")
    return inside if inside != name else f"repository/{name.lstrip('.')}"


def _named(link: str, home: str) -> str | None:
    """Return the file of the repository that a link names; None where it leads out of it."""
    if "://" in link or link.startswith(("mailto:", "/")):
        return None
    name = posixpath.normpath(posixpath.join(posixpath.dirname(home), link))
    return None if name.startswith("..") else name.removeprefix("./")


def _repository_links(markdown: str, home: str) -> Iterator[str]:
    """Yield the files beside ``docs/`` that a page links to."""
    for part in _OUTSIDE_CODE.split(markdown)[::2]:
        for link in _TARGET.findall(part):
            name = _named(link, home)
            if name is not None and not name.startswith("docs/"):
                yield name
