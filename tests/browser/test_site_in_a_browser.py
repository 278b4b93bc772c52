"""The documentation's site in a browser: opened from a disk, wide and narrow, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documents import build_site

pytestmark = pytest.mark.browser
SHOWN = (
    "index.html",
    "tutorial.html",
    "how-to/gate.html",
    "reference/architectures.html",
    "reference/codes/FB101.html",
    "explanation/choice.html",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert build_site(folder).returncode == 0
    return folder


@pytest.fixture
def show(browser: Any, site: Path) -> Iterator[Any]:  # noqa: ANN401
    contexts: list[Any] = []
    trouble: list[str] = []
    requests: list[str] = []

    def shown(name: str, width: int = 1280, scheme: str = "light") -> Any:  # noqa: ANN401
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((site / name).as_uri())
        return page

    yield shown
    for context in contexts:
        context.close()
    assert trouble == []
    assert [url for url in requests if not url.startswith((site.as_uri(), "data:"))] == []


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_pages_fit_and_load_nothing_from_elsewhere(
    show: Any,  # noqa: ANN401
    name: str,
    width: int,
    scheme: str,
) -> None:
    page = show(name, width, scheme)
    assert page.locator("article h1").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for picture in page.locator("article img").all():
        assert picture.evaluate("image => image.complete && image.naturalWidth > 0")


def test_search_works_without_a_server(show: Any) -> None:  # noqa: ANN401
    page = show("reference/codes/FB101.html")
    page.locator("[data-md-component=search-query]").click()
    page.keyboard.type("silent hang", delay=20)
    first = page.locator(".md-search-result__item a").first
    first.wait_for()
    assert "explanation/jit-link.html" in first.get_attribute("href")
    first.click()
    page.wait_for_url("**/jit-link.html*")


def test_the_four_doors_open(show: Any) -> None:  # noqa: ANN401
    for number, name in enumerate(
        ("tutorial", "how-to/index", "reference/index", "explanation/index")
    ):
        page = show("index.html")
        page.locator(".doors h3 a:not(.headerlink)").nth(number).click()
        page.wait_for_url(f"**/{name}.html")


def test_the_choice_of_dark_is_kept(show: Any) -> None:  # noqa: ANN401
    page = show("index.html")
    assert page.locator("body").get_attribute("data-md-color-scheme") == "default"
    page.locator("label[title='To dark']").click()
    assert page.locator("body").get_attribute("data-md-color-scheme") == "slate"
