"""Everything that is read from one console: lines, records, tensors, profiles, findings."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from harness.findings import Finding, Findings, Kind
from harness.uart.lines import Line, LineSplitter
from harness.uart.order import check_order
from harness.uart.readers import OwnedReaders
from harness.uart.recording import Recording
from harness.uart.records import PREFIX
from harness.uart.scrapers import Scraper
from harness.uart.store import OfKind, RecordReader, Records
from harness.uart.tensors import Tensors, assemble

#: What is read and kept of one console, in bytes and in lines; of the rest only the size is told.
LARGEST = 64 << 20
MOST_LINES = 1_000_000
#: Operators that a profile holds.
_MOST_PROFILED = 100_000
#: Bytes that are looked at in one go.
_BLOCK = 65_536

_BANNER = "*** Booting Zephyr OS"
_HANDED_OVER = "Jumping to the first image slot"  # MCUboot prints the same banner before that
_HALT = "Halting system"  # of Zephyr's fatal error handler: it never comes back
_NO_TENSORS = "AllocateTensors() failed"  # what the samples say before they give up
_TICKS = re.compile(r"^(?P<operator>[A-Za-z_]\w{0,80}) took (?P<ticks>\d{1,20}) ticks \(")
_NO_RATE = re.compile(r"ticks_per_second 0{1,20}$")

#: What a `failed` record's stage means; a refused registration has findings of its own.
_STAGES = {
    "schema": Kind.SCHEMA_MISMATCH,
    "register": Kind.REGISTRATION_FAILED,
    "allocate": Kind.ALLOCATION_FAILED,
    "input": Kind.INPUT_FAILED,
    "invoke": Kind.INVOKE_FAILED,
}
_REFUSALS = {Kind.RESOLVER_TOO_SMALL, Kind.DUPLICATE_OPERATOR}


@dataclass(frozen=True, slots=True)
class OperatorTicks:
    """One operator's time as MicroProfiler printed it."""

    operator: str
    ticks: int


class Console:
    """Reads a console as it comes in; ask it at any time, and call :meth:`finish` at the end."""

    def __init__(
        self, scrapers: Sequence[Scraper] = (), recording: Recording | None = None
    ) -> None:
        self.profile: list[OperatorTicks] = []
        self.size = 0  # bytes that came
        self.line_count = 0
        self.scrapers = tuple(scrapers)
        self.gave_up = False  # it said that it stops here
        self._recording = recording or Recording()
        self._left_out = 0  # bytes behind the limit
        self._splitter = LineSplitter()
        self._records = RecordReader()
        self._tensors: Tensors | None = Tensors()  # None: a record came since they were joined
        self._readers = OwnedReaders()
        self._own = Findings()
        self._banners = array("Q")  # their console lines

    def feed(self, data: bytes, time: float = 0.0) -> None:
        """Take bytes as they arrive, cut anywhere."""
        for start in range(0, len(data), _BLOCK):
            if self.flooded:
                self._left_out += len(data) - start
                break
            block = data[start : start + _BLOCK]
            self._recording.keep(block)
            self.size += len(block)
            for line in self._splitter.feed(block, time):
                self._take(line)

    @property
    def flooded(self) -> bool:
        """True when the console has printed all that is read of it: more of a run tells nothing."""
        return self.size >= LARGEST or self.line_count >= MOST_LINES

    def finish(self, time: float = 0.0) -> None:
        """The session is over: read what is left and report what never became whole."""
        for line in self._splitter.flush(time):
            self._take(line)
        self._readers.finish()
        for one in self.scrapers:
            one.finish()
        for start, stop in self.boots:
            check_order(self.records, start, stop, self._own)
            assemble(self.records, start, stop, self._own)
        self._check_boots()
        self._check_size()
        self._check_ticks()
        self._check_refusals()
        self._check_end()

    def _take(self, line: Line) -> None:
        self.line_count += 1
        self._recording.keep_line(line)
        owner = 0
        for one in self.scrapers:
            one.feed(line)
            owner = owner or one.owner
        # A record may stand behind a log message on the same line, so every reader sees every line.
        self._readers.feed(line, owner)
        if PREFIX in line.text and self._records.feed(line):
            self._tensors = None
        if _BANNER in line.text:
            self._banners.append(line.number)
        elif self._banners and _HANDED_OVER in line.text:
            self._banners.pop()
        if _HALT in line.text or (_NO_TENSORS in line.text and not owner):
            self.gave_up = True
        if "ticks" in line.text and not owner:
            self._read_profile(line)

    def _read_profile(self, line: Line) -> None:
        if match := _TICKS.match(line.text):
            if len(self.profile) < _MOST_PROFILED:
                self.profile.append(OperatorTicks(match["operator"], int(match["ticks"])))
        elif _NO_RATE.match(line.text):
            message = "the profiler's clock runs at 0 ticks per second: the stock tick source"
            self._own.add(Finding(Kind.ZERO_TICKS, message, "ticks_per_second", line.number))

    def _check_size(self) -> None:
        if self.flooded:
            message = (
                f"the console printed more than is read of one: {self.size:,} bytes in "
                f"{self.line_count:,} lines are kept, {self._left_out:,} more bytes came"
            )
            self._own.add(Finding(Kind.CONSOLE_FLOOD, message, line=self.line_count))

    def _check_ticks(self) -> None:
        if self.profile and not any(entry.ticks for entry in self.profile):
            message = f"all {len(self.profile)} profiled operators took 0 ticks"
            self._own.add(Finding(Kind.ZERO_TICKS, message, "profile"))

    def _check_refusals(self) -> None:
        """Builds without error strings print no message: their records must tell."""
        kinds = {finding.kind for finding in self.findings}
        for record in self.of_kind("resolver"):
            refused = record.integer("refused")
            if refused and not kinds & _REFUSALS:
                message = f"{refused} Add* calls were refused"
                self._own.add(Finding(Kind.RESOLVER_TOO_SMALL, message, line=record.line))
        for record in self.of_kind("failed"):
            stage, status = record.text("stage"), record.integer("status")
            if _STAGES[stage] not in kinds:
                message = f"the image failed at {stage!r}, status {status}"
                self._own.add(Finding(_STAGES[stage], message, line=record.line))

    def _check_boots(self) -> None:
        """An image boots once; the banner and the first record of one boot are one boot."""
        starts = [self.records.lines[start] for start in self.records.boots]
        lines = max(starts, list(self._banners), key=len)
        if len(lines) > 1:
            message = f"the image booted {len(lines)} times"
            self._own.add(Finding(Kind.REBOOTED, message, line=lines[1]))

    def _check_end(self) -> None:
        if self.records and not self.of_kind("end") and not self.of_kind("failed"):
            last = self.records[-1]
            message = f"the records stop after number {last.sequence} ({last.kind}): no end record"
            self._own.add(Finding(Kind.RECORD_TRUNCATED, message, line=last.line))

    @property
    def records(self) -> Records:
        """All good records, in order."""
        return self._records.records

    def of_kind(self, kind: str) -> OfKind:
        """The records of one kind, of all boots."""
        return self.records.of_kind(kind)

    @property
    def boots(self) -> list[tuple[int, int]]:
        """Where the records of each boot begin and end."""
        return list(pairwise(chain(self.records.boots, [len(self.records)])))

    @property
    def tensors(self) -> Tensors:
        """The tensors of the last boot that arrived whole."""
        if self._tensors is None:
            self._tensors = assemble(self.records, *self.boots[-1], Findings())
        return self._tensors

    @property
    def findings(self) -> list[Finding]:
        """All findings so far, in the order of their lines; those without a line come last."""
        found = [
            *self._records.findings,
            *self._readers,
            *self._own,
            *(finding for one in self.scrapers for finding in one.findings),
        ]
        return sorted(found, key=lambda finding: finding.line or math.inf)

    @property
    def ended(self) -> bool:
        """True once an ``end`` record came."""
        return bool(self.of_kind("end"))

    @property
    def raw(self) -> bytes:
        """The bytes as they came, up to LARGEST."""
        return b"".join(self._recording.blocks())

    def read_lines(self) -> Iterator[Line]:
        """All lines once more, without their times."""
        splitter = LineSplitter()
        for block in self._recording.blocks():
            yield from splitter.feed(block)
        yield from splitter.flush()

    def transcript(self) -> str:
        """The lines with their time stamps, one a line: what ``transcript.txt`` holds."""
        return self._recording.transcript()
