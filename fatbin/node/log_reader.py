"""One pass over logs: symptoms with their lines, and what the logs tell of processes and GPUs."""

from __future__ import annotations

import re

from fatbin._record import Record
from fatbin.node.diagnosis import Sighting
from fatbin.node.log_lines import chunks, find_rank, find_stamp, find_who, window
from fatbin.node.symptoms import SYMPTOMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from fatbin.node.log_lines import Chunk, Stamp

__all__ = ["MOST_EVIDENCE", "LogReader", "Process", "Seen"]

MOST_EVIDENCE = 3
"""Lines of a symptom that are kept; the others are counted."""
_MOST_PROCESSES = 10_000
_MOST_NAMES = 32
"""GPUs, versions and drivers that are kept of hostile logs."""
_BACK = 200
"""Lines before a line in which its time is looked for."""
_NEEDLES = tuple((needle.encode(), row.id) for row in SYMPTOMS for needle in row.needles)
_WORDS = (b"nccl", b"xid", b"cuda capabilit", b"driver version", b"kernel module", b"nvidia ")
"""What lines hold that tell more than a symptom."""
_EARLY = (b"cudadriverversion", b"nccl version", b"comm config blocking", b"bootstrap")
"""NCCL's lines before a communicator begins to be made."""
_DONE = (b"init complete", b"init start", b" comm 0x", b"destroy complete", b"abort complete")

_VERSION = re.compile(
    rb"nccl(?: version |==)(?P<v>\d{1,2}\.\d{1,3}(?:\.\d{1,3})?)"
    rb"(?:\+cuda(?P<cuda>\d{1,2}\.\d{1,2}))?"
)
_XID = re.compile(rb"nvrm: xid \([^)\n]{1,60}\): (?P<xid>\d{1,4})")
_CAPABILITY = re.compile(rb" with cuda capability sm_(?P<sm>\d{2,3}) is not")
_LISTED = re.compile(
    rb"(?:\bgpu \d{1,3}: |\bdevice {1,3}\d{1,3} \[0x[0-9a-f]{1,8}\] )(?P<name>nvidia [^(\n]{1,80})"
)
_CUDA_DRIVER = re.compile(rb"cudadriverversion (?P<v>\d{4,5})")
_DRIVER = re.compile(
    rb"(?:driver version: |kernel module {1,3})(?P<v>\d{3,4}\.\d{1,4}(?:\.\d{1,4})?)"
)
_SUPPORTED = b"install supports cuda capabilities"
_XID_ROWS = {"13": "XID13", "31": "XID31", "43": "XID43"}


class Seen:
    """One symptom in all logs: its first lines, and how many there are."""

    def __init__(self) -> None:
        """Begin with none."""
        self.evidence: list[Sighting] = []
        self.count = 0


class First(Record):
    """The first symptom of a process.

    Attributes:
        symptom: id of its row.
        file: the log.
        line: its number.
        stamp: its time, or None.
    """

    symptom: str
    file: str
    line: int
    stamp: Stamp | None


class Process:
    """One rank or process of the logs."""

    def __init__(self, file: str) -> None:
        """Begin with nothing known."""
        self.file = file
        self.rank = ""
        self.symptoms: dict[str, First] = {}
        self.early: Sighting | None = None
        """The last line of NCCL if it is one of its first lines; else None."""
        self.done = False


class _Place(Record):
    """A line of a chunk, to be looked at once more when the chunk is over."""

    chunk: Chunk
    at: int
    who: str


class LogReader:
    """Reads logs one after the other and keeps what matters of them."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self.files: list[str] = []
        self.lines: int = 0
        self.seen: dict[str, Seen] = {}
        self.processes: dict[str, Process] = {}
        self.versions: dict[tuple[str, str], Sighting] = {}
        self.gpu_names: dict[str, None] = {}
        self.drivers: dict[str, None] = {}
        self.ranks_told: int = 0
        self.supported: dict[str, None] = {}
        self.last_nccl: Sighting | None = None
        self.last_nccl_stamp: Stamp | None = None
        self.last_stamp: Stamp | None = None
        """The last time in the log that holds the last line of NCCL."""
        self._stamp: Stamp | None = None
        self._stamps: dict[int, Stamp | None] = {}
        self._nccl_here = False

    def read(self, stream: BinaryIO, name: str) -> None:
        """Read one log.

        Raises:
            SourceError: it cannot be read.
        """
        self.files.append(name)
        self._stamp, self._nccl_here = None, False
        last = 0
        for chunk in chunks(stream, name):
            self._stamps = {}
            self._chunk(chunk, name)
            last = chunk.numbers[-1]
            self._stamp = self._stamp_of(chunk, len(chunk.lines) - 1)
        self.lines += last
        if self._nccl_here:
            self.last_stamp = self._stamp

    # Lines ----------------------------------------------------------------------------------------

    def _chunk(self, chunk: Chunk, name: str) -> None:
        needles = [(needle, row) for needle, row in _NEEDLES if needle in chunk.lower]
        words = [word for word in _WORDS if word in chunk.lower]
        if not needles and not words:
            return
        last: _Place | None = None
        for index, line in enumerate(chunk.lines):
            lower = line.lower()
            found: dict[str, int] = {}
            for needle, row in needles:
                at = lower.find(needle)
                if at >= 0:
                    found.setdefault(row, at)
            told = any(word in lower for word in words)
            if told:
                self._tell(chunk, index, lower, name, found)
            if found:
                self._add(chunk, index, name, found)
            if told and b"nccl" in lower:
                last = self._nccl(chunk, index, lower, name) or last
        if last is not None:
            self._nccl_here = True
            self.last_nccl = self._sighting(last.chunk, last.at, 0, name, last.who)
            self.last_nccl_stamp = self._stamp_of(last.chunk, last.at)

    def _tell(
        self, chunk: Chunk, index: int, lower: bytes, name: str, found: dict[str, int]
    ) -> None:
        """Take what a line says besides symptoms."""
        line = chunk.lines[index]
        match = _XID.search(lower)
        if match is not None:
            found[_XID_ROWS.get(match["xid"].decode(), "XID")] = match.start()
        match = _VERSION.search(lower)
        if match is not None and len(self.versions) < _MOST_NAMES:
            key = match["v"].decode(), (match["cuda"] or b"").decode()
            if key not in self.versions:
                who = self._who(line, name)
                self.versions[key] = self._sighting(chunk, index, match.start(), name, who)
        match = _CAPABILITY.search(lower)
        if match is not None:
            before = line[max(0, match.start() - 80) : match.start()]
            at = before.lower().rfind(b"nvidia ")
            self._name(before[at:] if at >= 0 else b"sm_" + match["sm"])
        match = _LISTED.search(lower)
        if match is not None:
            self._name(line[match.start("name") : match.end("name")])
        match = _CUDA_DRIVER.search(lower)
        if match is not None:
            self._driver(f"CUDA {int(match['v']) // 1000}.{int(match['v']) % 1000 // 10}")
        match = _DRIVER.search(lower)
        if match is not None:
            self._driver(match["v"].decode())
        at = lower.find(_SUPPORTED)
        if at >= 0:
            words = lower[at : at + 400].decode("ascii", "replace").split()
            archs = [w.rstrip(".") for w in words if w.startswith(("sm_", "compute_"))]
            self.supported.update(dict.fromkeys(archs[:_MOST_NAMES]))

    def _name(self, name: bytes) -> None:
        if len(self.gpu_names) < _MOST_NAMES:
            self.gpu_names[name.decode("utf-8", "replace").strip()] = None

    def _driver(self, text: str) -> None:
        if len(self.drivers) < _MOST_NAMES:
            self.drivers[text] = None

    def _add(self, chunk: Chunk, index: int, name: str, found: dict[str, int]) -> None:
        who = self._who(chunk.lines[index], name)
        process = self._process(who or name, name)
        for row, at in found.items():
            seen = self.seen.setdefault(row, Seen())
            seen.count += 1
            if len(seen.evidence) < MOST_EVIDENCE:
                seen.evidence.append(self._sighting(chunk, index, at, name, who))
            if process is not None and row not in process.symptoms:
                stamp = self._stamp_of(chunk, index)
                process.symptoms[row] = First(row, name, chunk.numbers[index], stamp)

    def _nccl(self, chunk: Chunk, index: int, lower: bytes, name: str) -> _Place | None:
        """Follow what NCCL itself writes; None when the line is somebody else's about NCCL."""
        if b" nccl info" not in lower and b" nccl warn" not in lower:
            return None
        line = chunk.lines[index]
        who = self._who(line, name)
        process = self._process(who, name) if who else None
        if process is not None:
            told = find_rank(line)
            if told is not None:
                process.rank = told[0]
                self.ranks_told = max(self.ranks_told, told[1])
            process.done = process.done or any(word in lower for word in _DONE)
            early = any(word in lower for word in _EARLY)
            process.early = self._sighting(chunk, index, 0, name, who) if early else None
        return _Place(chunk, index, who)

    # Who and when ---------------------------------------------------------------------------------

    def _who(self, line: bytes, name: str) -> str:
        """Return who wrote a line: the process when it is told, since ranks are told less often."""
        rank, process = find_who(line)
        who = process or rank
        if rank and process:
            known = self._process(process, name)
            if known is not None:
                known.rank = rank
        return who

    def _process(self, who: str, name: str) -> Process | None:
        known = self.processes.get(who)
        if known is None and len(self.processes) < _MOST_PROCESSES:
            known = self.processes[who] = Process(name)
        return known

    def _sighting(self, chunk: Chunk, index: int, at: int, name: str, who: str) -> Sighting:
        stamp = self._stamp_of(chunk, index)
        known = self.processes.get(who)
        return Sighting(
            name,
            chunk.numbers[index],
            known.rank if known is not None and known.rank else who,
            stamp.text if stamp is not None else "",
            window(chunk.lines[index], at),
        )

    def _stamp_of(self, chunk: Chunk, index: int) -> Stamp | None:
        """Return the time of a line, or of the nearest line before it.

        No line is looked at twice, so that many questions cost no more than the lines.
        """
        stamp: Stamp | None = self._stamp
        at = index
        while at >= max(0, index - _BACK):
            if at in self._stamps:
                stamp = self._stamps[at]
                break
            found = find_stamp(chunk.lines[at])
            if found is not None:
                stamp = found
                break
            at -= 1
        self._stamps.update(dict.fromkeys(range(max(at, 0), index + 1), stamp))
        return stamp
