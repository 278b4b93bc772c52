"""Build and verify a release: ``python deploy/release.py [--rehearse] [--python PROGRAM ...]``.

Into ``dist/`` go the source archive, the wheel, ``fatbin.pyz``, a bill of materials (CycloneDX) and
``SHA256SUMS``; nothing is published. The first check that does not hold ends it with exit code 1.
docs/releasing.md says what comes before and after.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from reproducible import ELSEWHERE, HERE, DifferenceError, build, require_same, sha256

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
TOOLS = {
    "publishing": ("twine>=6", "check-wheel-contents>=0.6"),
    "types": ("pyright[nodejs]>=1.1.400",),
    "materials": ("cyclonedx-bom>=7",),
    "citation": ("cffconvert>=2",),
}
"""What a release needs beside the dev environment; each set in an environment of its own."""
SMOKE = (
    (("-W", "error", "-c", "import fatbin; fatbin.Architecture.parse('sm_90a')"), 0, ""),
    (("-m", "fatbin", "--version"), 0, "fatbin "),
    (("-m", "fatbin", "list", "{fixtures}/lib_3arch.so"), 0, "sm_90a"),
    (("-m", "fatbin", "list", "--verify", "{fixtures}/multi.fatbin"), 0, "sm_100f"),
    (
        ("-m", "fatbin", "check", "--no-policy", "--gpu", "A100", "{fixtures}/lib_3arch.so"),
        1,
        "FB101 fail",
    ),
    (
        ("-m", "fatbin", "check", "--no-policy", "--gpu", "H100", "{fixtures}/lib_3arch.so"),
        0,
        "PASS: the library passes",
    ),
    (("-m", "fatbin", "completion", "bash"), 0, "complete "),
)
"""What an installed fatbin must do: arguments of Python, the exit code, a text in the output."""
PORTABLE = (
    (("--version",), 0, "fatbin "),
    (("list", "{fixtures}/lib_3arch.so"), 0, "sm_90a"),
    (("check", "--no-policy", "--gpu", "A100", "{fixtures}/lib_3arch.so"), 1, "FB101 fail"),
    (("detect", "--format", "json"), None, '"schema_version": 1'),
    (("preflight", "--stages", "check", "{fixtures}/lib_3arch.so"), None, "check"),
)
"""Likewise for ``fatbin.pyz``; None where the machine decides."""


class ReleaseError(Exception):
    """Something that a release must not have."""


def main(arguments: Sequence[str]) -> int:
    """Build and verify; return the exit code."""
    parser = argparse.ArgumentParser(description="Build and verify a release of fatbin.")
    parser.add_argument(
        "--rehearse", action="store_true", help="allow changes, and a version without a date"
    )
    parser.add_argument(
        "--python", action="append", default=[], metavar="PROGRAM", help="one more Python to try"
    )
    parser.add_argument("--tests", choices=("whole", "quick"), default="whole")
    given = parser.parse_args(arguments)
    try:
        release(given.python, rehearse=given.rehearse, quick=given.tests == "quick")
    except (ReleaseError, DifferenceError) as exc:
        print(f"release: {exc}", file=sys.stderr)
        return 1
    return 0


def release(more: Sequence[str], *, rehearse: bool, quick: bool) -> None:
    """Do all of it, in order; what is cheap and likely to fail comes first."""
    version = require_version(dated=not rehearse)
    epoch = require_clean(rehearse=rehearse)
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)  # for the bill of materials too
    pythons = find_pythons(more)
    with tempfile.TemporaryDirectory(prefix="fatbin-release-") as name:
        work = Path(name)
        tools = {
            key: environment(work / key, sys.executable, names) for key, names in TOOLS.items()
        }
        cffconvert = tools["citation"].with_name("cffconvert")  # it has no module to run
        say("citation", run(cffconvert, "--validate", cwd=ROOT))
        built = build_twice(work, epoch)
        run(tools["publishing"], "-m", "twine", "check", "--strict", *map(str, built))
        run(tools["publishing"], "-m", "check_wheel_contents", str(built[0]))
        say("metadata and contents", "whole")
        unpacked = unpack(built[1], work / "unpacked")
        test(unpacked, quick=quick)
        pyz = work / "fatbin.pyz"
        tried = [try_python(work, program, built[0], unpacked) for program in pythons]
        run(tried[-1], str(unpacked / "deploy" / "make_pyz.py"), str(pyz))
        for program in tried:
            smoke(program, PORTABLE, unpacked, ("-I", "-S", str(pyz)))
        say("fatbin.pyz", f"runs by {len(tried)} Pythons with nothing beside it")
        verify_types(tools["types"], tried[-1], work)
        materials = work / f"fatbin-{version}.cdx.json"
        bill(tools["materials"], tried[-1], materials, unpacked)
        publish_to(DIST, [*built, pyz, materials])


def say(what: str, result: str) -> None:
    """Tell what holds."""
    last = result.strip().splitlines()[-1:] or ["whole"]
    print(f"{what}: {last[0]}", flush=True)


def run(
    program: str | Path,
    *arguments: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Run a Python and return what it prints.

    Raises:
        ReleaseError: it fails; its output is the message.
    """
    done = subprocess.run(  # noqa: S603 - Pythons that were asked for
        [str(program), *arguments], cwd=cwd, env=env, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise ReleaseError(f"{' '.join(arguments)}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


# What must hold before ----------------------------------------------------------------------------


def require_version(*, dated: bool) -> str:
    """Return the version, which three files must agree on.

    Raises:
        ReleaseError: they do not.
    """
    found = {
        name: re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)[:1]
        for name, pattern in (
            ("fatbin/__init__.py", r'^__version__ = "(.+)"$'),
            ("CITATION.cff", r"^version: (.+)$"),
            ("CHANGELOG.md", r"^## \[([^\]]+)\]"),
        )
    }
    if len({*map(tuple, found.values())}) != 1 or not found["CITATION.cff"]:
        raise ReleaseError(f"expected one version, found {found}")
    version: str = found["CITATION.cff"][0]
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if dated and not re.search(heading, text, re.MULTILINE):
        raise ReleaseError(f"CHANGELOG.md gives no date to {version}")
    return version


def require_clean(*, rehearse: bool) -> int:
    """Return the time of the last commit; what is built is what is committed.

    Raises:
        ReleaseError: there are changes that are not committed.
    """
    git = shutil.which("git")
    if git is None:
        msg = "expected git, found none"
        raise ReleaseError(msg)
    changed = run(git, "status", "--porcelain", cwd=ROOT)
    if changed and not rehearse:
        raise ReleaseError(f"not committed:\n{changed}")
    return int(run(git, "log", "-1", "--format=%ct", cwd=ROOT))


def find_pythons(more: Sequence[str]) -> list[str]:
    """Return a program for each version that is here, and tell which are not.

    Raises:
        ReleaseError: none is.
    """
    found: dict[str, str] = {}
    for program in (*more, *(f"python{version}" for version in PYTHONS)):
        path = shutil.which(program)
        if path is None:
            continue
        asked = subprocess.run(  # noqa: S603 - Pythons that were asked for
            [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            check=False,
            capture_output=True,
            text=True,
        )
        version = asked.stdout.strip()  # a shim without its Python says nothing
        if asked.returncode == 0 and version in PYTHONS:
            found.setdefault(version, path)
    if not found:
        raise ReleaseError(f"expected a Python out of {', '.join(PYTHONS)}, found none")
    for version in PYTHONS:
        if version not in found:
            print(f"NOT TRIED with Python {version}: it is not here; name it with --python")
    return [found[version] for version in PYTHONS if version in found]


# What is built ------------------------------------------------------------------------------------


def build_twice(work: Path, epoch: int) -> list[Path]:
    """Return wheel and source archive, which two builds in different surroundings agree on."""
    first = build(ROOT, work / "first", epoch=epoch, surroundings=HERE)
    (archive,) = (path for path in first if path.suffix == ".gz")
    source = unpack(archive, work / "another place")
    second = build(source, work / "second", epoch=epoch, surroundings=ELSEWHERE)
    require_same(first, second)
    say("source archive and wheel", "two builds are the same")
    return sorted(first, key=lambda path: path.suffix, reverse=True)


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a source archive and return its folder."""
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extraction_filter = tarfile.data_filter
        tar.extractall(folder)  # noqa: S202 - made a moment ago
    (inner,) = folder.iterdir()
    return inner


def publish_to(folder: Path, files: Sequence[Path]) -> None:
    """Put the files in the folder, with their digests, and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file in files:
        shutil.copy(file, folder)
    lines = [f"{sha256(file)}  {file.name}\n" for file in sorted(files, key=lambda f: f.name)]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    print("".join(lines), end="")


# What is tried ------------------------------------------------------------------------------------


def environment(folder: Path, program: str, names: Sequence[str]) -> Path:
    """Make an environment and return its Python."""
    run(program, "-m", "venv", "--without-pip", str(folder))
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(sys.executable, *_pip(python), "install", "--quiet", *names)
    return python


def _pip(python: Path) -> tuple[str, ...]:
    """Return the arguments of the pip at hand for another environment, which needs none then."""
    return ("-m", "pip", "--disable-pip-version-check", "--python", str(python))


def test(source: Path, *, quick: bool) -> None:
    """Run the tests of the unpacked source archive, as who packages it does."""
    chosen = ("tests/unit", "tests/test_startup.py") if quick else ()
    run(sys.executable, "-m", "pytest", "--collect-only", "-q", cwd=source)
    out = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, cwd=source)
    say("tests of the source archive", out)


def try_python(work: Path, program: str, wheel: Path, source: Path) -> Path:
    """Install the wheel in a fresh environment, look at what it does, and return its Python."""
    folder = work / f"python-{len(list(work.glob('python-*')))}"
    python = environment(folder, program, [str(wheel)])
    run(sys.executable, *_pip(python), "check")
    if os.name != "nt" and not (folder / "share" / "man" / "man1" / "fatbin.1").is_file():
        raise ReleaseError(f"{wheel.name} installs no manual page")
    smoke(python, SMOKE, source)
    say(f"wheel with {program}", run(python, "-V"))
    return python


Case = tuple[tuple[str, ...], "int | None", str]


def smoke(python: Path, cases: Sequence[Case], source: Path, before: Sequence[str] = ()) -> None:
    """Run commands far from the source.

    Raises:
        ReleaseError: one does not end, or does not print, as it should.
    """
    with tempfile.TemporaryDirectory() as away:
        for arguments, code, shown in cases:
            words = [word.format(fixtures=source / "fixtures") for word in arguments]
            done = subprocess.run(  # noqa: S603 - Pythons that were asked for
                [str(python), *before, *words],
                cwd=away,
                env={k: v for k, v in os.environ.items() if not k.startswith("PYTHON")},
                check=False,
                capture_output=True,
                text=True,
            )
            if code not in (None, done.returncode) or shown not in done.stdout:
                raise ReleaseError(
                    f"{python}: {' '.join(words)}: exit {done.returncode}, expected {code} and "
                    f"{shown!r}\n{done.stdout}{done.stderr}"
                )


def verify_types(tools: Path, python: Path, work: Path) -> None:
    """Require that a checker knows the type of every public symbol of the installed package.

    Raises:
        ReleaseError: it does not.
    """
    # It looks where the first Python on the path looks; --pythonpath does not count here.
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    command = ("-m", "pyright", "--verifytypes", "fatbin", "--ignoreexternal")
    out = run(tools, *command, cwd=work, env={**os.environ, "PATH": path})
    (score,) = re.findall(r"^Type completeness score: (.+)$", out, re.MULTILINE)
    if score != "100%":
        raise ReleaseError(f"types of public symbols are known to {score}\n{out}")
    say("types of public symbols", score)


def bill(tools: Path, python: Path, target: Path, source: Path) -> None:
    """Write what is installed with fatbin as a CycloneDX document."""
    project = str(source / "pyproject.toml")
    options = ("--pyproject", project, "--mc-type", "application", "--output-reproducible")
    command = ("-m", "cyclonedx_py", "environment", *options, "--validate", "-o", str(target))
    run(tools, *command, str(python))
    say("bill of materials", target.name)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
