"""Try a CUDA toolkit: ``python toolkits/refresh.py [VERSION]``; the newest on the index by default.

It fetches the toolkit from the package index, builds the fixtures again with it, and says in
Markdown what the toolkit knows or writes that fatbin's tables do not have. Exit code 1 when there
is such a thing, 2 when the toolkit cannot be had.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asking
import unknowns
from comparing import Found, compare
from from_index import NotOnIndexError, cuobjdump
from rebuilding import Rebuilt, rebuild
from recording import read_manifest, record, write_manifest
from toolkit import Toolkit, installed, local, newest_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from unknowns import Row

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
RECORDED = "13.5.37"
"""The cuobjdump whose answers the manifest has."""
_SOURCES = {"res.cu": (), "rd1.cu": ("-rdc=true",)}
"""What is compiled for every target: kernels with all resources, and relocatable code."""
_DAMAGED = ("hostile_", "truncated", "lib_rdc.debug")
_UNNAMED = ("unknown_kind.fatbin",)


class Report:
    """The report, and whether anything in it is unknown."""

    def __init__(self) -> None:
        """Begin one."""
        self.lines: list[str] = []
        self.unknown = False

    def section(self, title: str, found: Iterable[str], *, unknown: bool = True) -> None:
        """Add a list under a heading, or ``nothing``."""
        items = list(found)
        self.lines += [f"## {title}", ""]
        self.lines += [f"- {item}" for item in items] or ["nothing"]
        self.lines.append("")
        self.unknown |= unknown and bool(items)


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="refresh.py", description=__doc__)
    parser.add_argument("version", nargs="?", help="of the toolkit, 13.6; default: the newest")
    parser.add_argument("--installed", type=Path, help="a toolkit's folder on this machine")
    parser.add_argument("--folder", type=Path, help="where to build, and keep what was built")
    parser.add_argument("--write", action="store_true", help="replace fixtures and manifest")
    given = parser.parse_args(arguments)
    try:
        if given.installed:
            toolkit = local(given.installed)
        else:
            toolkit = installed(given.version or newest_version())
        with tempfile.TemporaryDirectory(prefix="refresh-") as temporary:
            folder = given.folder or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                parser.error(f"expected an empty folder, found files in {folder}")
            report = run(toolkit, folder, write=given.write)
    except NotOnIndexError as exc:
        print(f"refresh.py: {exc}", file=sys.stderr)
        return 2
    print("\n".join(report.lines))
    return 1 if report.unknown else 0


def run(toolkit: Toolkit, folder: Path, *, write: bool) -> Report:
    """Build with a toolkit and compare.

    Args:
        toolkit: to try.
        folder: an empty one.
        write: whether to replace the committed fixtures with the new ones.
    """
    manifest = read_manifest(FIXTURES)
    built = rebuild(manifest, FIXTURES, folder, toolkit)
    compiled, failures = compile_targets(toolkit, folder / "targets")
    report = Report()
    _tools(report, toolkit)
    whole = [folder / one.file for one in built if _whole(one)]
    rows = [*_asked(toolkit, folder / "asked"), *unknowns.of_files([*whole, *compiled])]
    report.section("Rows to add", (f"`{row.table}`: {row.text}" for row in dict.fromkeys(rows)))
    report.section("Targets that do not compile", failures)
    _rebuilt(report, built)
    _compared(report, toolkit, [one for one in built if not one.error], folder)
    if write:
        write_fixtures(manifest, built, folder, toolkit)
    return report


def compile_targets(toolkit: Toolkit, folder: Path) -> tuple[list[Path], list[str]]:
    """Compile for every target that ptxas lists; return the files, and what failed."""
    folder.mkdir()
    made, failures = [], []
    for number, suffixes in sorted(asking.targets(toolkit).items()):
        for suffix in sorted(suffixes):
            name = f"{number}{suffix}"
            for source, options in _SOURCES.items():
                path = folder / f"{source.removesuffix('.cu')}_{name}.fatbin"
                code = f"arch=compute_{name},code=[sm_{name},compute_{name}]"
                command: list[str | Path] = [toolkit.program("nvcc"), "-fatbin", *options]
                command += [FIXTURES / "src" / source, "-gencode", code, "-o", path]
                done = subprocess.run(  # noqa: S603 - NVIDIA's compiler
                    command, cwd=folder, check=False, capture_output=True, text=True
                )
                if done.returncode:
                    failures.append(f"{source} for sm_{name}: {done.stderr.strip()[:200]}")
                else:
                    made.append(path)
    return made, failures


def write_fixtures(
    manifest: dict[str, Any], built: list[Rebuilt], folder: Path, toolkit: Toolkit
) -> None:
    """Replace the committed fixtures and their rows with what was built."""
    asked = cuobjdump(RECORDED)
    good = {one.file for one in built if not one.error}
    for index, row in enumerate(manifest["fixtures"]):
        if row["file"] in good:
            shutil.copy(folder / row["file"], FIXTURES / row["file"])
        manifest["fixtures"][index] = record(row, FIXTURES, asked)
    for variable, program in (("NVCC", "nvcc"), ("FATBINARY", "fatbinary")):
        manifest["variables"][variable] = f"nvidia-cuda-nvcc=={toolkit.build} {program}"
    write_manifest(FIXTURES, manifest)


def _asked(toolkit: Toolkit, folder: Path) -> list[Row]:
    """Return what the toolkit's programs know by their own account, and fatbin does not."""
    folder.mkdir()
    old = (FIXTURES / "saxpy_80.cubin").read_bytes()
    new = (FIXTURES / "saxpy_100a.cubin").read_bytes()
    dumper = toolkit.cuobjdump
    return [
        *unknowns.of_toolkit(toolkit.version, asking.isa_versions(toolkit)),
        *unknowns.of_targets(toolkit.version, asking.targets(toolkit)),
        *unknowns.of_answers(
            asking.kind_names(dumper, old, folder),
            asking.flags_that_matter(dumper, old, folder),
            asking.compress_modes(toolkit),
        ),
        *unknowns.of_names(
            asking.attribute_names(dumper, old, ".nv.info.saxpy", folder),
            asking.attribute_names(dumper, new, ".nv.compat", folder),
        ),
    ]


def _whole(one: Rebuilt) -> bool:
    return not one.error and not one.file.startswith((*_DAMAGED, *_UNNAMED))


def _tools(report: Report, toolkit: Toolkit) -> None:
    targets = asking.targets(toolkit)
    shown = ", ".join(f"sm_{n}{s}" for n in sorted(targets) for s in sorted(targets[n]))
    isa = asking.isa_versions(toolkit)
    report.lines += [
        f"# CUDA {toolkit.version}",
        "",
        f"- nvcc {toolkit.build}",
        f"- cuobjdump {toolkit.cuobjdump_version}",
        *(f"- {name} {version}" for name, version in toolkit.packages.items()),
        f"- targets: {shown}",
        f"- PTX ISA: {isa[0]} to {isa[-1]}" if isa else "- PTX ISA: none listed",
        "",
    ]


def _rebuilt(report: Report, built: list[Rebuilt]) -> None:
    changed: dict[str, list[str]] = defaultdict(list)
    for one in built:
        for change in one.changes:
            changed[change].append(one.file)
    same = sum(one.same for one in built)
    alike = sum(not (one.same or one.error or one.changes) for one in built)
    counts = (
        f"{len(built)} built: {same} the committed bytes, {alike} other bytes with the same "
        f"entries, {sum(bool(one.changes) for one in built)} with other entries, "
        f"{sum(bool(one.error) for one in built)} not at all."
    )
    report.lines += ["## Fixtures", "", counts, ""]
    report.section(
        "Fixtures that cannot be built", (f"{o.file}: {o.error}" for o in built if o.error)
    )
    report.section(
        "Changed entries",
        (f"{change} ({len(files)}: {_some(files)})" for change, files in changed.items()),
        unknown=False,
    )


def _compared(report: Report, toolkit: Toolkit, built: list[Rebuilt], folder: Path) -> None:
    images = folder / "images"
    images.mkdir()
    dumper, version = toolkit.cuobjdump, toolkit.cuobjdump_version
    failing: list[tuple[str, Found]] = []
    for place, title in ((FIXTURES, "committed"), (folder, "built")):
        for one in built:
            if title == "built" and one.same:
                continue
            found = compare(place / one.file, one.file, dumper, version, images)
            if found.undocumented or found.gone:
                failing.append((title, found))
    report.section(
        f"Differences from cuobjdump {version} that are not in the table",
        (
            f"{f.file} ({title}): {', '.join(f.undocumented)}"
            for title, f in failing
            if f.undocumented
        ),
    )
    report.section(
        f"Differences from cuobjdump {version} in the table that do not show",
        (f"{f.file} ({title}): {', '.join(f.gone)}" for title, f in failing if f.gone),
    )


def _some(files: list[str]) -> str:
    shown = ", ".join(files[:3])
    return shown if len(files) <= 3 else f"{shown}, ..."  # noqa: PLR2004 - enough to look at


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
