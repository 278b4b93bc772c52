"""The HTML report: one file, policies that hold, colours that can be read, order and columns."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256

import pytest
from support import ROOT
from verdicts import example, example_with_baseline

from fatbin.judge.verdict import Evidence, Finding, LibraryVerdict, Outcome, Severity, Verdict
from fatbin.report.html import render
from fatbin.report.html_chart import chart, total_sizes

CSS = (ROOT / "fatbin" / "report" / "page.css").read_text(encoding="ascii")


def library(name: str, **more: object) -> LibraryVerdict:
    made = LibraryVerdict(name, name, "", "elf", (), (), Outcome.PASS)
    return made._replace(**more)  # type: ignore[arg-type]


def test_the_policy_names_the_one_script_and_style() -> None:
    page = render(example())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}';" in policy[1]
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    assert not re.search(r' style="| on\w+="|src=|@import|url\(', page)


def test_there_is_no_date_unless_one_is_given() -> None:
    assert "<dt>Made</dt>" not in render(example())
    assert "<dt>Made</dt><dd>1 &lt; 2</dd>" in render(example(), made="1 < 2")


def test_placeholders_in_names_are_names() -> None:
    page = render(Verdict(Outcome.PASS, ("{{json}}",), libraries=(library("{{script}}"),)))
    assert page.count("{{json}}") >= 2
    assert "{{script}}" in page


def test_only_addresses_become_links() -> None:
    source = "guide (https://a.example/b?c=1&d=2), javascript:alert(1), http://x.example/."
    evidence = Evidence("fact", "x", "y", source)
    finding = Finding("FB101", Severity.FAIL, "https://no.example", because=(evidence,))
    page = render(Verdict(Outcome.FAIL, (), findings=(finding,)))
    assert re.findall(r'<a href="([^"]*)"', page) == [
        "https://a.example/b?c=1&amp;d=2",
        "http://x.example/",
    ]
    assert "javascript:alert(1), " in page


def test_many_targets_are_counted() -> None:
    page = render(Verdict(Outcome.PASS, (), targets=tuple(f"t{n}" for n in range(15))))
    assert "<code>t11</code> and 3 more" in page


def test_a_document_cannot_end_its_script() -> None:
    name = "</script><!--<script>\u2028"
    page = render(Verdict(Outcome.PASS, (), driver=name))
    (data,) = re.findall(r'id="verdict">(.*?)</script>', page, re.DOTALL)
    assert "\\u003c/script\\u003e\\u003c!--\\u003cscript\\u003e\\u2028" in data
    assert "<" not in data


def test_gpus_with_one_answer_share_a_row() -> None:
    verdict = example()
    page = render(verdict._replace(libraries=verdict.libraries[2:3]))
    shared = '<span class="nowrap">H100 (9.0)</span>, <span class="nowrap">RTX 5090 (12.0)</span>'
    assert f'<th scope="row">{shared}</th>' in page


def test_findings_without_a_library_have_a_row() -> None:
    finding = Finding("FB501", Severity.FAIL, "ends early", "lib/broken.a")
    page = render(example()._replace(findings=(finding,)))
    (row,) = re.findall(r'<tr class="row"><th[^\n]*broken\.a[^\n]*', page)
    assert re.findall(r"<td[^>]*>([^<]*)</td>", row) == ["", "FAIL", "-", "-"]
    assert "FB501" in row


class Packaged(LibraryVerdict):
    """A library of a verdict that knows where it came from."""

    distribution = ""


def test_distributions_make_a_column_and_groups() -> None:
    libraries = []
    for name, distribution in (("a", "torch 2.9"), ("b", ""), ("c", "torch 2.9")):
        made = Packaged(*library(name))
        made.distribution = distribution
        libraries.append(made)
    page = render(Verdict(Outcome.PASS, (), libraries=tuple(libraries)))
    order = re.findall(r'rowgroup">([^<]*)<|class="loc">([^<]*)<', page)
    assert ["".join(pair) for pair in order] == [
        "torch 2.9: 2 libraries", "a", "c", "of no distribution: 1 library", "b",
    ]  # fmt: skip
    assert 'data-key="distribution"' in page
    assert "distribution" not in re.sub(
        r"<script.*?</script>", "", render(example()), flags=re.DOTALL
    )


# The chart ----------------------------------------------------------------------------------------


def test_sizes_are_added_and_ordered() -> None:
    one = library("a", code_sizes=(("ptx compute_90", 5), ("sass sm_100", 1), ("sass sm_90", 2)))
    two = library("b", code_sizes=(("sass sm_90", 40), ("group", 7)))
    assert list(total_sizes([one, two]).items()) == [
        ("sass sm_90", 42), ("sass sm_100", 1), ("ptx compute_90", 5), ("group", 7),
    ]  # fmt: skip


def test_bars_are_as_long_as_their_share_of_the_longest() -> None:
    drawn = chart([library("a", code_sizes=(("sass sm_80", 300), ("ptx compute_80", 100)))])
    assert re.findall(r'<rect class="(sass|ptx)"[^>]* width="([^"]*)"', drawn) == [
        ("sass", "100.00%"), ("ptx", "33.33%"),
    ]  # fmt: skip
    assert re.findall(r">([^<>]+)</text>", drawn) == [
        "SASS sm_80", "300 B (75.0%)", "PTX compute_80", "100 B (25.0%)",
    ]  # fmt: skip


def test_nothing_is_drawn_of_nothing_and_too_much_is_summed_up() -> None:
    assert chart([library("a")]) == ""
    assert 'width="0.20%"' in chart([library("a", code_sizes=(("sass sm_80", 0),))])
    many = chart([library("a", code_sizes=tuple((f"sass sm_{n}", n) for n in range(1, 101)))])
    assert many.count('class="rail"') == 40
    assert "61 others" in many
    assert "1,891 B" in many


# Colours ------------------------------------------------------------------------------------------


def palette(start: str) -> dict[str, str]:
    block = CSS[CSS.index(start) :]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block[: block.index("\n}")]))


LIGHT = palette(":root {")
DARK = LIGHT | palette("@media screen and (prefers-color-scheme: dark)")


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


PAIRS = [
    *[(f"{word}-ink", f"{word}-ground") for word in ("fail", "warn", "pass", "none")],
    *[("on-strong", f"{word}-strong") for word in ("fail", "warn", "pass", "none")],
    *[(ink, ground) for ink in ("ink", "soft", "link") for ground in ("page", "sheet", "rail")],
]


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("pair", PAIRS, ids="-on-".join)
def test_words_can_be_read(colours: dict[str, str], pair: tuple[str, str]) -> None:
    assert contrast(*(colours[name] for name in pair)) >= 4.5


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_bars_can_be_seen(colours: dict[str, str]) -> None:
    for bar in ("sass", "ptx"):
        assert contrast(colours[bar], colours["sheet"]) >= 3
        assert contrast(colours[bar], colours["rail"]) >= 3


def test_the_palettes_differ_and_black_on_white_is_21() -> None:
    assert LIGHT["page"] != DARK["page"]
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_known_findings_are_marked_and_counted() -> None:
    page = render(example_with_baseline())
    assert page.count('<span class="severity">known (') == 2
    assert '<span class="aside">1 known</span>' in page
