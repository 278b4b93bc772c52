"""One verdict in every format, against documents that a person has read."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from verdicts import example, example_with_baseline

import fatbin
from fatbin.report.formats import FORMATS, Options

HERE = Path(__file__).parent
TITLES = {
    "FB101": "No code that runs on the GPU",
    "FB105": "Compiled by the driver",
    "FB106": "Modules without code for the GPU",
    "FB109": "No PTX for later GPUs",
}


@pytest.mark.parametrize(
    ("file", "name", "verbose"),
    [
        ("verdict.txt", "text", False),
        ("verdict_verbose.txt", "text", True),
        ("verdict.json", "json", False),
        ("verdict.sarif", "sarif", False),
        ("verdict.xml", "junit", False),
        ("verdict.md", "markdown", False),
        ("verdict_github.txt", "github", True),
        ("verdict.html", "html", False),
    ],
)
def test_a_verdict_is_what_was_read(
    request: pytest.FixtureRequest,
    file: str,
    name: str,
    verbose: bool,  # noqa: FBT001 - a column
) -> None:
    made = example_with_baseline() if name == "html" else example()
    verdict = made._replace(skip_reason="the runner has no RTX 5090 yet" if verbose else "")
    out = io.StringIO()
    FORMATS[name](out, verdict, Options(verbose=verbose, titles=TITLES))
    text = out.getvalue().replace(f'"{fatbin.__version__}"', '"VERSION"')
    text = text.replace(f"fatbin {fatbin.__version__}", "fatbin VERSION")
    golden = HERE / file
    if request.config.getoption("--update-golden"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
