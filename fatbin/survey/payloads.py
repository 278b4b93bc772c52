"""What is done with every payload of some kinds."""

from __future__ import annotations

from fatbin.errors import FatbinError
from fatbin.scanning.payloads import Payloads, is_obfuscated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.inventory import Entry, Module
    from fatbin.limits import Limits

    Use = Callable[[Entry, bytes | bytearray], None]
    """What is done with an entry and its inflated payload."""


def each_payload(
    view: View,
    modules: Iterable[Module],
    kinds: frozenset[str],
    limits: Limits,
    report: Report,
    use: Use,
) -> None:
    """Inflate the entries of some kinds and hand them to ``use``.

    What cannot be inflated goes to ``report``. Obfuscated LTO-IR is passed over: nobody outside
    NVIDIA can read it. If ``use`` keeps no payload, one of them is in memory, or one group: a
    generator could not promise that, since its caller's loop keeps the last while the next is made.
    """
    for module in modules:
        payloads = Payloads(view, limits)
        for entry in module.entries:
            if entry.kind in kinds and not is_obfuscated(entry):
                try:
                    use(entry, payloads.read(entry))
                except FatbinError as exc:
                    report(exc)
