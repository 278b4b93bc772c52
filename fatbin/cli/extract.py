"""``extract``: images into files."""

from __future__ import annotations

import sys

from fatbin.cli import exits, limits
from fatbin.cli.tell import PLATFORM_HELP, TARGET_HELP, tell
from fatbin.errors import FatbinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from fatbin.inventory import Issue
    from fatbin.survey.extract import Extracted, Extraction

SCHEMA_VERSION = 1


def configure_extract(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``extract``."""
    add = parser.add_argument
    add("files", nargs="+", metavar="TARGET", help=TARGET_HELP)
    add("-o", "--output", default=".", metavar="DIR", help="folder, made when missing (default .)")
    add("--kind", default="", metavar="LIST", help="only these kinds: sass,ptx,ltoir")
    add("--arch", default="", metavar="LIST", help="only these: sm_90a,compute_120, or 9.0 for all")
    add("--place", default="", metavar="LIST", help="only from these places: loadable,embedded")
    add(
        "--kernel",
        action="append",
        default=[],
        metavar="GLOB",
        help="only images with a kernel whose mangled name matches; can be repeated",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--raw", action="store_true", help="the bytes as stored, not inflated")
    what.add_argument(
        "--containers", action="store_true", help="whole containers that hold a selected image"
    )
    add("--platform", default="", metavar="OS/ARCH", help=PLATFORM_HELP)
    limits.add_option(add)
    add("--list", action="store_true", help="say what would be written and write nothing")
    add("--force", action="store_true", help="replace files that are there already")
    add("--format", choices=("text", "json"), default="text", help="text (default), or JSON")


def run_extract(arguments: argparse.Namespace) -> int:
    """Write each selected image of each target to a file of its own."""
    from fatbin.survey.extract import Extraction, Form  # noqa: PLC0415 - usage errors need none
    from fatbin.survey.folder import Folder, UnwritableError  # noqa: PLC0415
    from fatbin.survey.selection import select  # noqa: PLC0415

    selection = select(arguments.kind, arguments.arch, arguments.place, arguments.kernel)
    form = Form(raw=arguments.raw, containers=arguments.containers, write=not arguments.list)
    folder = Folder(arguments.output, force=arguments.force)
    allowed = limits.limits_of(arguments)
    extraction = Extraction(folder, selection, form, limits=allowed, platform=arguments.platform)
    written: list[Extracted] = []
    errors: list[FatbinError] = []
    for path in arguments.files:
        try:
            written.extend(extraction.run(path))
        except FatbinError as exc:
            errors.append(exc)
            if isinstance(exc, UnwritableError):
                break
    _write(written, extraction.issues, arguments.format)
    return _judge(extraction, errors, arguments.files)


def _write(written: Sequence[Extracted], issues: Sequence[Issue], form: str) -> None:
    if form == "json":
        import json  # noqa: PLC0415 - tables need none

        document = {
            "schema_version": SCHEMA_VERSION,
            "files": [
                file._asdict()
                | {"place": file.place.value, "arch": str(file.arch) if file.arch else None}
                for file in written
            ],
            "issues": [issue._asdict() for issue in issues],
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    elif written:
        from fatbin.report.table import writer  # noqa: PLC0415 - JSON needs none

        rows = [(file.path, file.kind, str(file.arch or "-"), f"{file.size:,}") for file in written]
        writer(sys.stdout).table(("path", "kind", "arch", ">bytes"), rows)


def _judge(extraction: Extraction, errors: Sequence[FatbinError], files: Sequence[str]) -> int:
    """Tell what went wrong and return the exit code."""
    for problem in (*extraction.issues, *errors):
        tell(problem)
    if any("obfuscated" in issue.message for issue in extraction.issues):
        tell("--raw writes such LTO-IR as it is stored")
    if any(issue.code == "Taken" for issue in extraction.issues):
        tell("--force replaces files")
    if extraction.issues or errors:
        return exits.ERROR
    if not extraction.selected:
        tell(f"nothing to extract from {', '.join(files)}")
        return exits.NOTHING
    return exits.PASS
