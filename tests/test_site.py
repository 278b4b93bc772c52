"""The documentation as a site: whole, like the pages in the repository, and loading nothing from elsewhere."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from documents import DOCS, build_site, page_name, text_of
from markdown_it import MarkdownIt
from support import ROOT

ADOPTED = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
SOURCES = [*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in ADOPTED)]
COUNTED = ("h1", "h2", "h3", "li", "table", "tr", "td", "pre", "img", "em", "strong", "code")
"""What a page has as often in the site as in the repository."""

_LOADING = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}
_CSS_URL = re.compile(r"@import|url\(\s*['\"]?(?!data:)([^)'\"]*)")


class Page(HTMLParser):
    """What a page of the site names, links to and loads, and what its text is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.elements: Counter[str] = Counter()
        self._inside = self._block = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.names.add(given.get("id", ""))
        if tag == "article":
            self._inside = True
        if self._inside and tag in COUNTED and not self._block:
            self.elements[tag] += 1
        if tag == "pre":
            self._block = True
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in _LOADING and _LOADING[tag] in given:
            self.loads.append(given[_LOADING[tag]])

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self._inside = False
        if tag == "pre":
            self._block = False


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build_site(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def html_of(source: Path, site: Path) -> Path:
    """Return the page of the site that is made from a page of the repository."""
    inside = source.relative_to(DOCS) if DOCS in source.parents else Path("project", source.name)
    return site / inside.with_suffix(".html")


# The navigation -----------------------------------------------------------------------------------


def listed(entry: Any) -> list[str]:  # noqa: ANN401 - the tree of a YAML file
    """Return the pages that a part of the navigation names."""
    if isinstance(entry, str):
        folder, _, star = entry.rpartition("/")
        found = sorted((DOCS / folder).glob("*.md")) if star == "*" else []
        return [page.relative_to(DOCS).as_posix() for page in found] or [entry]
    values = entry if isinstance(entry, list) else list(entry.values())
    return [page for value in values for page in listed(value)]


class _Loader(yaml.SafeLoader):
    """Reads what it must; objects of Python stay unmade."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def config() -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(text_of(ROOT / "mkdocs.yml"), _Loader)  # noqa: S506 - a safe one
    return found


def test_every_page_stands_once_in_the_navigation() -> None:
    pages = listed(config()["nav"])
    inside = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    assert sorted(pages) == sorted([*inside, *(f"project/{name}" for name in ADOPTED)])


def test_whatever_could_be_wrong_is_a_warning() -> None:
    """With ``--strict`` every warning ends the build."""
    checks = config()["validation"]
    assert {level for part in checks.values() for level in part.values()} == {"warn"}
    assert set(checks["nav"]) == {"omitted_files", "not_found", "absolute_links"}
    assert set(checks["links"]) == {"not_found", "anchors", "absolute_links", "unrecognized_links"}


def test_what_leads_nowhere_ends_the_build_site(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    links = ("nowhere.md", "listed.md#nothing", "../deploy/nowhere.yaml", "../deploy", "/x.html")
    (docs / "index.md").write_text(" ".join(f"[x]({link})" for link in links))
    (docs / "listed.md").write_text("# Listed\n")
    (docs / "unlisted.md").write_text("# Unlisted\n")
    settings = text_of(ROOT / "mkdocs.yml").partition("\nnav:")[0]
    settings = settings.replace("docs/site/hooks.py", f"{DOCS}/site/hooks.py")
    (tmp_path / "mkdocs.yml").write_text(f"{settings}\nnav: [index.md, listed.md]\n")
    done = build_site(tmp_path / "site", settings=tmp_path / "mkdocs.yml")
    assert done.returncode == 1
    for said in (
        "'nowhere.md'",
        "'#nothing'",
        "'repository/deploy/nowhere.yaml'",
        "'repository/deploy'",
        "'/x.html'",
        "unlisted.md",
    ):
        assert said in done.stderr, said


# The pages ----------------------------------------------------------------------------------------


def test_every_source_has_its_page(site: Path, pages: dict[Path, Page]) -> None:
    made = {html_of(source, site) for source in SOURCES}
    assert made == set(pages) - {site / "404.html"}


@pytest.mark.parametrize("source", SOURCES, ids=page_name)
def test_a_page_is_the_same_in_the_repository(
    source: Path, site: Path, pages: dict[Path, Page]
) -> None:
    """Two readers of Markdown agree on headings, lists, tables and blocks of each page."""
    text = re.sub(r"^</?div.*>$", "", text_of(source), flags=re.MULTILINE)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    flat = [token for outer in tokens for token in (outer, *(outer.children or ()))]
    expected = Counter(token.tag for token in flat if token.nesting >= 0)
    expected["pre"] = sum(token.type in {"fence", "code_block"} for token in flat)
    expected["code"] = sum(token.type == "code_inline" for token in flat)
    found = pages[html_of(source, site)].elements
    assert {tag: found[tag] for tag in COUNTED} == {tag: expected[tag] for tag in COUNTED}


def test_links_and_anchors_resolve(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            known = pages[target].names if target in pages else set()
            anchor = unquote(parts.fragment)
            if not target.is_file() or (
                anchor and target.suffix == ".html" and anchor not in known
            ):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for load in page.loads:
            assert not urlsplit(load).scheme or load.startswith("data:"), load
            assert not load.startswith("//"), load
            if path.name != "404.html":
                assert (path.parent / unquote(urlsplit(load).path)).is_file(), load
    for path in site.rglob("*.css"):
        for found in _CSS_URL.finditer(path.read_text(encoding="utf-8")):
            assert found[1] is not None, f"{path}: {found[0]}"
            assert not urlsplit(found[1]).netloc, f"{path}: {found[0]}"
    for path in site.rglob("*.svg"):
        loaded = r"""(href|src)=(?!"#)|@import|@font-face|url\(http"""
        assert not re.search(loaded, path.read_text("utf-8")), path


def test_the_search_knows_every_page(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    known = {document["location"].partition("#")[0] for document in index["docs"]}
    made = {html_of(source, site).relative_to(site).as_posix() for source in SOURCES}
    assert made <= known
    assert (site / "search" / "search_index.js").is_file()  # for pages that are opened from a disk
