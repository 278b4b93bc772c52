from __future__ import annotations

import subprocess
import sys

from support import ROOT

from fatbin.report.formats import FORMATS

MODULES = {"verdict_text", "verdict_json", "sarif", "junit", "markdown", "github", "html"}


def imported(code: str) -> set[str]:
    script = f"import io, sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return {
        name.removeprefix("fatbin.report.")
        for name in done.stdout.split()
        if name.startswith("fatbin.report.")
    }


def test_a_format_is_imported_when_it_is_written() -> None:
    assert not imported("import fatbin.report.formats") & MODULES
    code = (
        "from fatbin.report.formats import FORMATS, Options\n"
        "from fatbin.judge.verdict import Verdict, Outcome\n"
        "FORMATS['github'](io.StringIO(), Verdict(Outcome.PASS, ()), Options())"
    )
    assert imported(code) & MODULES == {"github"}


def test_the_formats_are_those_of_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "verdict.md").read_text(encoding="utf-8")
    table = page.split("## Other formats")[1]
    named = {line.split("`")[1] for line in table.splitlines() if line.startswith("| `")}
    assert named == set(FORMATS) - {"json"}
