from __future__ import annotations

import pytest
from markdown_it import MarkdownIt
from verdicts import example

from fatbin.report.markdown import render

PARSER = MarkdownIt("commonmark").enable("table")


@pytest.mark.parametrize(
    "name",
    [
        "a|b.so", "a\\|b.so", "`|`", "a`b``c", "<img src=x>|", "@org/team", "</code></summary>", "&lt;.so", "&#124;|", "*a*|_b_",
    ],
)  # fmt: skip
def test_a_name_is_shown_as_it_is(name: str) -> None:
    library = example().libraries[0]._replace(location=name)
    text = PARSER.render(render(example()._replace(libraries=(library,), findings=())))
    cells = text.split("<td>")[1].split("</td>")[0]
    shown = cells.replace("<code>", "").replace("</code>", "")
    plain = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert shown == plain
    assert f"<summary><code>{plain}</code>: FAIL</summary>" in text


def test_a_message_names_nobody_and_links_nowhere() -> None:
    finding = (
        example()
        .findings[0]
        ._replace(message="see @@org https://x.y www.x.y [a](b) <b> &copy; *x* `@`")
    )
    text = PARSER.render(render(example()._replace(findings=(finding,))))
    assert (
        "see <code>@@</code>org https://x.y www.x.y [a](b) &lt;b&gt; &amp;copy; *x* `<code>@</code>`"
        in text
    )
    raw = render(example()._replace(findings=(finding,)))
    assert r"https\://x.y www\.x.y" in raw


def test_what_fails_is_open_and_what_passes_is_absent() -> None:
    text = render(example()._replace(findings=example().findings[:2]))
    assert "<details open>\n<summary><code>lib/libnccl.so.2</code>: FAIL" in text
    assert "<details>\n<summary><code>lib/libtorch_cuda.so</code>: WARN" in text
    assert "<summary><code>lib/libkernels.a" not in text


def test_an_override_stands_below_the_outcome() -> None:
    text = render(example()._replace(skip_reason="no <b>runner</b>"))
    assert text.startswith("## FAIL: ")
    assert "\n> **OVERRIDDEN**: no \\<b\\>runner\\</b\\>\n" in text
