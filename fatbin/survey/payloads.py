"""Payloads inflated one at a time: a group once, its images cut out of it."""

from __future__ import annotations

from fatbin.errors import FatbinError
from fatbin.kinds import EntryFlags, EntryKind
from fatbin.scanning.modules import read_entry

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
        group: bytes | bytearray = b""
        wanted = {e.group for e in module.entries if e.group >= 0 and e.kind in kinds}
        for entry in module.entries:
            is_group = entry.kind_number == EntryKind.GROUP
            if entry.group < 0:
                group = b""
            if entry.flags & EntryFlags.OBFUSCATED:
                continue
            if not (entry.kind in kinds or (is_group and entry.offset in wanted)):
                continue
            if entry.group >= 0:
                data = group[entry.image_offset : entry.image_offset + entry.size]
                if data:  # of a group that could not be inflated nothing more is to be said
                    use(entry, data)
                data = b""
                continue
            try:
                data = read_entry(view, entry, limits)
            except FatbinError as exc:
                report(exc)
                continue
            if is_group:
                group = data
            else:
                use(entry, data)
            data = b""  # let go of it before the next is made
