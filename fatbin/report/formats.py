"""The formats of a verdict by name; a format's module is imported when the format is written."""

from __future__ import annotations

from fatbin._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

    from fatbin.judge.verdict import Verdict


class Options(Record):
    """What formats can be told; each takes what concerns it.

    Attributes:
        verbose: ``text`` shows everything, ``github`` notes too.
        strict: in ``junit``, cases with warnings fail.
        titles: for ``sarif`` and ``html``: a short text for each code.
        root: for ``sarif``: folder that paths are relative to.
        made: for ``html``: when it was made, in words; empty says nothing.
    """

    verbose: bool = False
    strict: bool = False
    titles: Mapping[str, str] = {}
    root: str = ""
    made: str = ""


def _text(out: TextIO, verdict: Verdict, options: Options) -> None:
    from fatbin.report import verdict_text as form  # noqa: PLC0415 - see the module's docstring

    form.write(form.writer(out), verdict, verbose=options.verbose)


def _json(out: TextIO, verdict: Verdict, _: Options) -> None:
    from fatbin.report import verdict_json as form  # noqa: PLC0415 - see the module's docstring

    out.write(form.render(verdict))


def _sarif(out: TextIO, verdict: Verdict, options: Options) -> None:
    from fatbin.report import sarif as form  # noqa: PLC0415 - see the module's docstring

    out.write(form.render(verdict, titles=options.titles, root=options.root))


def _junit(out: TextIO, verdict: Verdict, options: Options) -> None:
    from fatbin.report import junit as form  # noqa: PLC0415 - see the module's docstring

    out.write(form.render(verdict, strict=options.strict))


def _markdown(out: TextIO, verdict: Verdict, _: Options) -> None:
    from fatbin.report import markdown as form  # noqa: PLC0415 - see the module's docstring

    out.write(form.render(verdict))


def _github(out: TextIO, verdict: Verdict, options: Options) -> None:
    from fatbin.report import github as form  # noqa: PLC0415 - see the module's docstring

    out.write(form.render(verdict, verbose=options.verbose))


def _html(out: TextIO, verdict: Verdict, options: Options) -> None:
    from fatbin.report import html as form  # noqa: PLC0415 - see the module's docstring

    out.write(form.render(verdict, titles=options.titles, made=options.made))


FORMATS: Mapping[str, Callable[[TextIO, Verdict, Options], None]] = {
    "text": _text,
    "json": _json,
    "sarif": _sarif,
    "junit": _junit,
    "markdown": _markdown,
    "github": _github,
    "html": _html,
}
"""Each writes a verdict to a stream; all but ``text`` write the same to any stream."""
