"""The codes of findings. They are stable: a code is never given another meaning."""

from __future__ import annotations

from fatbin._record import Record

__all__ = ["CODES", "Code", "page"]


class Code(Record):
    """One kind of finding.

    Attributes:
        code: such as ``FB101``.
        title: what it says, in a few words.
        severity: ``fail``, ``warn`` or ``note``; where policy or counts decide, what it is without
            a policy at its worst.
    """

    code: str
    title: str
    severity: str


CODES: dict[str, Code] = {
    code.code: code
    for code in (
        # the code of a library and the GPU
        Code("FB101", "no code for the GPU", "fail"),
        Code("FB102", "device-linked code that neither fits nor can be linked", "fail"),
        Code("FB103", "modules with a hole: older GPUs are served, this one is not", "warn"),
        Code("FB104", "many modules for newer GPUs only", "warn"),
        Code("FB105", "runs by compiling PTX (JIT)", "warn"),
        Code("FB106", "runs by linking relocatable PTX (JIT link)", "warn"),
        Code("FB107", "likely to run, without a promise", "warn"),
        Code("FB108", "not sure to run: the evidence conflicts", "warn"),
        Code("FB109", "relocatable code only: needs a device link", "warn"),
        Code("FB110", "specialised modules that are not for the GPU", "note"),
        Code("FB111", "a few modules without code for the GPU", "note"),
        Code("FB112", "another GPU is served by more modules", "note"),
        Code("FB113", "LTO-IR and unnamed kinds are not judged", "warn"),
        # the driver and the process
        Code("FB201", "the driver is too old for the GPU", "fail"),
        Code("FB202", "the driver no longer supports the GPU", "fail"),
        Code("FB203", "the driver is too old for the CUDA runtime", "fail"),
        Code("FB204", "PTX too new for the driver", "fail"),
        Code("FB205", "packing too new for the driver", "fail"),
        Code("FB206", "compilation of PTX is switched off", "fail"),
        Code("FB207", "environment variables change the choice", "note"),
        Code("FB208", "the driver is newer than the tables", "note"),
        Code("FB209", "code that the driver refuses", "fail"),
        # known faults
        Code("FB301", "known to fail on the GPU", "fail"),
        # what the user claims
        Code("FB401", "expected architecture missing", "fail"),
        Code("FB402", "unexpected architecture", "fail"),
        Code("FB403", "forbidden architecture", "fail"),
        Code("FB404", "ignore rule that matches nothing", "note"),
        Code("FB405", "baseline entry is gone", "note"),
        # the input
        Code("FB501", "damaged or unreadable", "fail"),
        Code("FB502", "no device code", "note"),
        Code("FB503", "no kernel in any module", "note"),
        Code("FB504", "kinds or architectures without a name", "note"),
        Code("FB505", "a GPU that the tables do not know", "note"),
    )
}
"""By code."""


def page(code: str) -> str:
    """Return the page that explains a code, as Markdown.

    Raises:
        KeyError: no such code.
    """
    from importlib.resources import files  # noqa: PLC0415 - only explanations need it

    name = CODES[code].code
    return (files("fatbin.judge") / "pages" / f"{name}.md").read_text(encoding="utf-8")
