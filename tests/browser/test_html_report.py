"""The HTML report in a browser: what is shown, what the controls do, and what paper gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from verdicts import RTX, example_with_baseline

from fatbin.judge.verdict import LibraryVerdict, Outcome, Verdict
from fatbin.report.html import render

pytestmark = pytest.mark.browser


class Shown:
    """A page, with what the browser complained about and asked the network for."""

    def __init__(self, browser: Any, path: Path, verdict: Verdict, **context: Any) -> None:  # noqa: ANN401
        path.write_text(render(verdict), encoding="utf-8")
        context = {"viewport": {"width": 1280, "height": 900}, **context}
        self.page = browser.new_context(**context).new_page()
        self.trouble: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.trouble.append(message.text))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def names(self) -> list[str]:
        """Return the last parts of the names of the rows that can be seen."""
        found = self.page.locator("tbody.library:visible .loc").all_text_contents()
        return [name.rpartition("/")[2].rpartition("::")[2] for name in found]

    def widest(self) -> int:
        return int(self.page.evaluate("document.documentElement.scrollWidth"))


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Iterator[Any]:  # noqa: ANN401
    made: list[Shown] = []

    def show(verdict: Verdict | None = None, **context: Any) -> Shown:  # noqa: ANN401
        made.append(
            Shown(browser, tmp_path / "x.html", verdict or example_with_baseline(), **context)
        )
        return made[-1]

    yield show
    for one in made:
        assert one.trouble == []
        assert len(one.requests) == 1, "the page is the only thing that is loaded"
        one.page.context.close()


ALL = ["libnccl.so.2", "libtorch_cuda.so", "saxpy.o", "libhost.so"]


def test_the_numbers_are_those_of_the_document(shown: Any) -> None:  # noqa: ANN401
    page = shown().page
    document = json.loads(page.locator("#verdict").text_content())
    assert document == json.loads(json.dumps(example_with_baseline().to_dict()))
    assert page.locator("#outcome").text_content() == document["outcome"]
    rows = page.locator("tbody.library")
    assert rows.count() == len(document["libraries"])
    for number, library in enumerate(document["libraries"]):
        row = rows.nth(number)
        assert row.locator(".loc").text_content() == library["location"]
        assert row.get_attribute("data-size") == str(library["size"])
        words = row.locator(".row > td").all_text_contents()[1:-1]
        assert words == [library["outcome"], *(a["outcome"] for a in library["answers"])]
    assert page.locator("#matrix .findings > li").count() + page.locator(
        "#check .findings > li"
    ).count() == sum(len(document[key]) for key in ("findings", "ignored", "known"))
    bars = page.locator("svg.chart text").all_text_contents()
    assert bars[:4] == ["SASS sm_80", "531.6 MB (82.7%)", "SASS sm_90", "41.3 MB (6.4%)"]


def test_search_hides_rows(shown: Any) -> None:  # noqa: ANN401
    one = shown()
    assert one.names() == ALL
    for text, names in (
        ("TORCH", ["libtorch_cuda.so"]),
        ("fb101", ["libnccl.so.2"]),
        ("sax FB109", ["saxpy.o"]),
        ("nothing of this name", []),
        ("", ALL),
    ):
        one.page.fill("#search", text)
        assert one.names() == names
    assert one.page.text_content("#shown") == "4 shown"


def test_outcomes_and_gpus_hide_rows(shown: Any) -> None:  # noqa: ANN401
    one = shown()
    for word in ("PASS", "NOTHING", "WARN"):
        one.page.uncheck(f"#controls input[value={word}]")
    assert one.names() == ["libnccl.so.2"]
    assert one.page.text_content("#shown") == "1 of 4 shown"
    one.page.select_option("#gpu", label="H100 (9.0)")
    assert one.names() == []
    one.page.select_option("#gpu", label=RTX)
    assert one.names() == ["libnccl.so.2"]


def test_rows_can_be_ordered(shown: Any) -> None:  # noqa: ANN401
    one = shown()
    for order, names in (
        ("library", ["libhost.so", "saxpy.o", "libnccl.so.2", "libtorch_cuda.so"]),
        ("size", ["libtorch_cuda.so", "libnccl.so.2", "saxpy.o", "libhost.so"]),
        ("outcome", ALL),
        ("", ALL),
    ):
        one.page.select_option("#order", order)
        assert one.names() == names, order
    size = one.page.locator("thead button", has_text="size")
    size.click()
    assert one.names()[0] == "libtorch_cuda.so"
    size.press("Enter")  # it keeps the focus
    assert one.names()[-1] == "libtorch_cuda.so"
    assert one.page.locator("th[aria-sort=descending]").text_content() == "size"


def test_details_open_by_mouse_and_by_keyboard(shown: Any) -> None:  # noqa: ANN401
    page = shown().page
    more = page.locator("tbody.library .more")
    assert not more.nth(0).is_visible()
    page.locator("tbody.library .row").nth(0).locator("td.size").click()
    assert more.nth(0).is_visible()
    assert "install NCCL 2.26.5" in more.nth(0).inner_text()
    box = page.locator("tbody.library input").nth(1)
    box.focus()
    page.keyboard.press("Enter")
    assert more.nth(1).is_visible()
    assert "these kernels are for Hopper" in more.nth(1).inner_text()
    page.keyboard.press("Space")
    assert not more.nth(1).is_visible()
    page.click("#open")
    assert [more.nth(n).is_visible() for n in range(4)] == [True] * 4
    page.click("#close")
    assert [more.nth(n).is_visible() for n in range(4)] == [False] * 4


def test_the_document_can_be_saved(shown: Any, tmp_path: Path) -> None:  # noqa: ANN401
    one = shown()
    with one.page.expect_download() as download:
        one.page.click("#save")
    download.value.save_as(tmp_path / "saved.json")
    saved = json.loads((tmp_path / "saved.json").read_text(encoding="utf-8"))
    assert saved == json.loads(json.dumps(example_with_baseline().to_dict()))
    one.requests[:] = [url for url in one.requests if not url.startswith("blob:")]


@pytest.mark.parametrize("script", [True, False])
def test_paper_shows_every_detail_and_no_control(shown: Any, script: bool) -> None:  # noqa: ANN401, FBT001 - a column
    page = shown(java_script_enabled=script, color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    more = page.locator("tbody.library .more")
    assert [more.nth(n).is_visible() for n in range(4)] == [True] * 4
    assert not page.locator("#controls").is_visible()
    assert not page.locator("#save").is_visible()
    if script:
        colours = "getComputedStyle(document.body)"
        assert page.evaluate(f"{colours}.backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate(f"{colours}.color") == "rgb(0, 0, 0)"


def test_without_a_script_the_table_is_there_and_the_controls_are_not(shown: Any) -> None:  # noqa: ANN401
    one = shown(java_script_enabled=False)
    assert one.names() == ALL
    assert not one.page.locator("#controls").is_visible()
    one.page.locator("tbody.library input").nth(0).check()
    assert one.page.locator("tbody.library .more").nth(0).is_visible()


@pytest.mark.parametrize("width", [320, 390, 1280, 2560])
def test_nothing_sticks_out(shown: Any, width: int) -> None:  # noqa: ANN401
    one = shown(viewport={"width": width, "height": 800})
    one.page.click("#open")
    assert one.widest() <= width


def test_names_of_files_are_never_markup_or_style(shown: Any) -> None:  # noqa: ANN401
    name = "</style></script><script>document.title='x'</script><img src=x onerror=alert(1)>"
    gpu = '"}</style>*{display:none}/*\\'
    library = LibraryVerdict(name, name, name, "elf", (name,), (name,), Outcome.PASS)
    verdict = Verdict(
        Outcome.PASS, (gpu,), name, (library,), skip_reason="<!--<script>", targets=(name,)
    )
    one = shown(verdict, viewport={"width": 390, "height": 800})
    assert one.page.title() == "PASS: the library passes"
    assert one.page.locator("img").count() == 0
    assert one.page.locator(".loc").is_visible()
    assert json.loads(one.page.locator("#verdict").text_content())["driver"] == name
    label = one.page.evaluate(
        "getComputedStyle(document.querySelector('tbody .row > :nth-child(4)'), '::before').content"
    )
    assert json.loads(label) == gpu
