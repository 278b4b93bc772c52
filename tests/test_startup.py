"""What is imported when: start-up is a feature."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import pytest
from support import ROOT

HEAVY = (
    "construct",
    "cramjam",
    "lief",
    "rich",
    "torch",
    "dataclasses",
    "inspect",
    "typing",
    "shutil",
)
PACKAGES = ("zipfile", "tarfile", "tempfile", "concurrent", "hashlib", "fatbin.scanning.spool")
"""What only wheels, directories and the like need."""


def modules_after(code: str) -> set[str]:
    script = f"{code}\nimport sys\nsys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{script}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize(
    ("code", "light"),
    [
        ("import fatbin", HEAVY),
        ("from fatbin.cli.main import build_parser; build_parser()", HEAVY),
        (
            "from fatbin.cli.main import build_parser; build_parser().format_help()",
            # Colours of Python 3.14 need dataclasses.
            HEAVY[:7] if sys.version_info < (3, 14) else HEAVY[:5],
        ),
        ("from fatbin.cli import main; main(['list', 'fixtures/lib_rdc.so'])", (*HEAVY, *PACKAGES)),
        (
            "import fatbin; fatbin.scan('fixtures/multi.fatbin', linkage=False, kernels=False)",
            HEAVY,
        ),
        ("import fatbin; fatbin.scan('fixtures/lib_rdc.so', linkage=True)", {"lief", "rich"}),
        ("from fatbin.cli import main; main(['gpus', 'RTX 5090'])", HEAVY),
        (
            "from fatbin.cli import main; main('check --no-policy --gpu 9.0 fixtures/multi.fatbin'.split())",
            {*HEAVY, "tomllib", "difflib", "json"} - {"cramjam"},  # kernels are counted
        ),
        (
            "from fatbin.cli import main; main('check --no-policy --gpu 9.0 fixtures/lib_rdc.so'.split())",
            {"lief", "rich", "tomllib", "difflib", "json"},
        ),
    ],
)
def test_nothing_heavy_is_imported(code: str, light: Iterable[str]) -> None:
    found = modules_after(code)
    assert "fatbin" in found
    assert not found & set(light)


def test_import_fatbin_imports_nothing_else_of_it() -> None:
    assert {name for name in modules_after("import fatbin") if name.startswith("fatbin")} == {
        "fatbin"
    }


def test_public_names_can_be_had_and_listed() -> None:
    import fatbin

    for name in fatbin.__all__:
        assert getattr(fatbin, name) is not None
    assert dir(fatbin) == sorted(fatbin.__all__)
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        fatbin.nothing_of_this_name  # noqa: B018


def test_functions_are_not_shadowed_by_packages() -> None:
    code = "import fatbin, fatbin.scanning.scanner, fatbin.format.build; assert callable(fatbin.scan), fatbin.scan; assert callable(fatbin.open); assert callable(fatbin.build)"
    modules_after(code)
