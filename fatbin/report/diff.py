"""``diff`` as text and as Markdown."""

from __future__ import annotations

from fatbin.errors import printable
from fatbin.report.table import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TextIO

    from fatbin.report.table import Writer
    from fatbin.survey.differences import Code, Diff, Held, KernelChange, LibraryDiff, Summary

__all__ = ["diff_markdown", "diff_text", "writer"]

_FACTS = {"cuda_runtime": "CUDA runtime", "needed": "needed libraries"}
_WORDS = {"+": "gained", "-": "lost", "~": "changed"}
_SIZES = (
    ("file", "bytes of the file"),
    ("stored", "bytes of device code"),
    ("inflated", "bytes of it inflated"),
    ("images", "images"),
)


def diff_text(out: Writer, diff: Diff, top: int | None) -> None:
    """Write what changed; ``top`` bounds the kernels listed for each library and side."""
    out.heading(f"{diff.before} -> {diff.after}")
    out.line(f"  {_verdict(diff)}")
    if not diff.single:
        for sign, text in _summary_changes(diff.summary):
            out.line(f"  {sign} {text}")
        out.table(("all libraries", ">before", ">after", ">change"), _summary_rows(diff.summary))
    for library in diff.libraries:
        out.line("")
        out.heading(_title(library))
        for sign, text, _ in _changes(library, top):
            out.line(f"  {sign} {text}")
        rows = list(_size_rows(library))
        if rows:
            out.table(("size", ">before", ">after", ">change"), rows)


def diff_markdown(stream: TextIO, diff: Diff, top: int | None) -> None:
    """Write what changed as Markdown, for a pull request or release notes."""
    stream.write(f"{_code(diff.before)} → {_code(diff.after)}: {_verdict(diff)}\n")
    if not diff.single:
        changes = [
            f"- **{_WORDS[sign]}** {_escaped(text)}\n"
            for sign, text in _summary_changes(diff.summary)
        ]
        stream.writelines(["\n", *changes] if changes else [])
        stream.write("\n| all libraries | before | after | change |\n|---|--:|--:|--:|\n")
        stream.writelines(f"| {' | '.join(row)} |\n" for row in _summary_rows(diff.summary))
    for library in diff.libraries:
        stream.write(f"\n### {_code(_title(library))}\n\n")
        for sign, text, name in _changes(library, top):
            shown = _escaped(text)
            if name:
                head, _, rest = text.partition(name)
                shown = _escaped(head) + _code(name) + _escaped(rest)
            stream.write(f"- **{_WORDS[sign]}** {shown}\n")
        rows = list(_size_rows(library))
        if rows:
            stream.write("\n| size | before | after | change |\n|---|--:|--:|--:|\n")
            stream.writelines(f"| {' | '.join(row)} |\n" for row in rows)


def _verdict(diff: Diff) -> str:
    kinds = ["architectures", "PTX versions", *(["kernels"] if diff.kernels else [])]
    what, last = ", ".join(kinds[:-1]), kinds[-1]
    if diff.differs:
        verdict = f"{what} or {last} differ"
    elif diff.libraries:
        verdict = f"same {what} and {last}; sizes or linkage differ"
    else:
        verdict = "no difference"
    if diff.unchanged and diff.libraries:
        what = "library" if diff.unchanged == 1 else "libraries"
        verdict += f"; {diff.unchanged:,} {what} without a difference"
    if diff.issues:
        verdict += "; not everything could be read"
    return verdict


def _summary_changes(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield ``(sign, text)`` of what changed in all libraries together."""
    for sign, codes in (("+", summary.gained), ("-", summary.lost)):
        for kind, names in _by_kind(codes).items():
            yield sign, f"{kind}: {', '.join(names)}"
    if summary.versions_before != summary.versions_after:
        before, after = (
            ", ".join(versions) or "none"
            for versions in (summary.versions_before, summary.versions_after)
        )
        yield "~", f"PTX versions: {before} -> {after}"


def _by_kind(codes: Iterable[Code]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for code in codes:
        found.setdefault(code.kind, []).append(str(code.arch or "-"))
    return found


def _summary_rows(summary: Summary) -> Iterator[tuple[str, str, str, str]]:
    """Yield how many libraries there are and how large they are, changed or not."""
    before, after = summary.libraries_before, summary.libraries_after
    yield "libraries", f"{before:,}", f"{after:,}", _change(before, after)
    for key, label in _SIZES:
        before, after = (getattr(s, key) for s in (summary.sizes_before, summary.sizes_after))
        label = label.replace("the file", "files")  # noqa: PLW2901
        yield label, f"{before:,}", f"{after:,}", _change(before, after)


def _change(before: int, after: int) -> str:
    if before == after:
        return "-"
    share = f" ({100 * (after - before) / before:+.1f} %)" if before else ""
    return f"{after - before:+,}{share}"


def _title(library: LibraryDiff) -> str:
    if not library.before:
        return f"{library.after} (only in the second)"
    if not library.after:
        return f"{library.before} (only in the first)"
    if library.before == library.after:
        return library.after
    return f"{library.before} -> {library.after}"


def _changes(library: LibraryDiff, top: int | None) -> Iterator[tuple[str, str, str]]:
    """Yield ``(sign, text, mangled name in it or nothing)`` of each change."""
    yield from (("+", text, "") for text in _held(library.gained))
    yield from (("-", text, "") for text in _held(library.lost))
    for change in library.versions:
        held = change.held
        versions = f"{', '.join(change.before)} -> {', '.join(change.after)}"
        yield "~", f"{held.place.value} {held.kind} {held.arch or '-'}: version {versions}", ""
    for fact in library.facts:
        name = _FACTS.get(fact.fact, fact.fact)
        yield "~", f"{name}: {fact.before or 'none'} -> {fact.after or 'none'}", ""
    yield from _kernels("+", library.kernels_gained, top)
    yield from _kernels("-", library.kernels_lost, top)


def _held(helds: Iterable[Held]) -> Iterator[str]:
    """Yield one text for each place and kind, with its architectures."""
    archs: dict[tuple[str, str], list[str]] = {}
    for held in helds:
        archs.setdefault((held.place.value, held.kind), []).append(str(held.arch or "-"))
    for (place, kind), names in archs.items():
        yield f"{place} {kind}: {', '.join(names)}"


def _kernels(
    sign: str, kernels: Sequence[KernelChange], top: int | None
) -> Iterator[tuple[str, str, str]]:
    """Yield the kernels by name that the other side lacks; of the others how many."""
    new = [kernel for kernel in kernels if not kernel.known]
    shown = new if top is None else new[:top]
    for kernel in shown:
        yield sign, f"kernel {kernel.name} ({', '.join(kernel.archs)})", kernel.name
    if len(new) > len(shown):
        yield sign, f"{len(new) - len(shown):,} more kernels", ""
    counts: dict[tuple[str, ...], int] = {}
    for kernel in kernels:
        if kernel.known:
            counts[kernel.archs] = counts.get(kernel.archs, 0) + 1
    for archs, count in counts.items():
        which = "kernel of both sides" if count == 1 else "kernels of both sides"
        yield sign, f"{count:,} {which}, for {', '.join(archs)}", ""


def _size_rows(library: LibraryDiff) -> Iterator[tuple[str, str, str, str]]:
    for key, label in _SIZES:
        before = getattr(library.sizes_before, key)
        after = getattr(library.sizes_after, key)
        if before != after:
            yield label, f"{before:,}", f"{after:,}", _change(before, after)


def _code(text: str) -> str:
    """Return text as Markdown code."""
    return f"`{printable(text).replace('`', chr(39))}`"


def _escaped(text: str) -> str:
    """Return text in which nothing is Markdown."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in printable(text))
