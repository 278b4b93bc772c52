"""Payloads inflated one at a time: a group once, its images cut out of it."""

from __future__ import annotations

from fatbin.errors import FatbinError
from fatbin.kinds import EntryFlags, EntryKind
from fatbin.scanning.modules import read_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fatbin.errors import Report
    from fatbin.format.view import View
    from fatbin.inventory import Entry, Module
    from fatbin.limits import Limits


def payloads(
    view: View, modules: Iterable[Module], kinds: frozenset[str], limits: Limits, report: Report
) -> Iterator[tuple[Entry, bytes | bytearray]]:
    """Yield the entries of some kinds with their inflated payloads.

    What cannot be inflated goes to ``report``. Obfuscated LTO-IR is passed over: nobody outside
    NVIDIA can read it. Whoever keeps no payload has one of them in memory, or one group.
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
                    yield entry, data
                continue
            try:
                data = read_entry(view, entry, limits)
            except FatbinError as exc:
                report(exc)
                continue
            if is_group:
                group = data
            else:
                yield entry, data
            data = b""  # let go of it before the next is made
