"""One console: its lines, records, tensors, profile and findings."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from harness.base.findings import Finding, Findings, Kind
from harness.uart.lines import Line, LineSplitter
from harness.uart.messages import Diagnostics
from harness.uart.record_reader import RecordReader, Records, RecordsOfKind, check_order
from harness.uart.recording import Recording
from harness.uart.records import PREFIX
from harness.uart.scrapers import SCRAPERS, AbsentLines, Scraper, failed_tests
from harness.uart.tensors import Tensors, assemble

#: Most bytes and most lines of a console that are read and kept; the rest is only counted.
LARGEST = 64 << 20
MOST_LINES = 1_000_000
#: Most entries of a profile.
_MOST_PROFILED = 100_000
#: Bytes that are processed at a time, between checks of the limits.
_BLOCK = 65_536

_BOOTING = "*** Booting "
_BANNERS = (f"{_BOOTING}Zephyr OS", f"{_BOOTING}nRF Connect SDK")
_HANDED_OVER = "Jumping to the first image slot"  # MCUboot's, after the same banner
_HALT = "Halting system"  # Zephyr's fatal error handler, which never returns
_NO_TENSORS = "AllocateTensors() failed"  # the samples' last line in that case
_TICKS = re.compile(r"^(?P<operator>[A-Za-z_]\w{0,80}) took (?P<ticks>\d{1,20}) ticks \(")
_NO_RATE = re.compile(r"ticks_per_second 0{1,20}$")

#: The finding for each stage of a `failed` record.
_STAGES = {
    "schema": Kind.SCHEMA_MISMATCH,
    "register": Kind.REGISTRATION_FAILED,
    "allocate": Kind.ALLOCATION_FAILED,
    "input": Kind.INPUT_FAILED,
    "invoke": Kind.INVOKE_FAILED,
}
_REFUSALS = {Kind.RESOLVER_TOO_SMALL, Kind.DUPLICATE_OPERATOR}


@dataclass(frozen=True, slots=True)
class ProfilerEntry:
    """One operator's time as MicroProfiler printed it."""

    operator: str
    ticks: int


class Console:
    """Reads a console while it arrives. Results can be read at any time; :meth:`finish` ends it."""

    def __init__(
        self,
        scrapers: Sequence[Scraper] = (),
        recording: Recording | None = None,
        lines_absent: Sequence[str] = (),
    ) -> None:
        self.profile: list[ProfilerEntry] = []
        self.size = 0  # bytes read
        self.line_count = 0
        self.scrapers = tuple(scrapers)
        self.gave_up = False  # True once the image has printed that it stops
        self._recording = recording or Recording()
        self._left_out = 0  # bytes beyond the limit
        self._splitter = LineSplitter()
        self._records = RecordReader()
        self._tensors: Tensors | None = Tensors()  # None: outdated by a later record
        self._diagnostics = Diagnostics()
        self._absent = AbsentLines(lines_absent) if lines_absent else None
        self._own = Findings()
        self._banners = array("Q")  # console lines with Zephyr's boot banner
        self._begun = array("d")  # when each line began, in seconds on the target's clock

    def feed(self, data: bytes, time: float = 0.0, begun: float | None = None) -> None:
        """Read bytes as they arrive, split anywhere; the target sent them from ``begun`` on."""
        for start in range(0, len(data), _BLOCK):
            if self.flooded:
                self._left_out += len(data) - start
                break
            block = data[start : start + _BLOCK]
            self._recording.keep(block)
            self.size += len(block)
            for line in self._splitter.feed(block, time, begun):
                self._take(line)

    def cut_line(self, time: float = 0.0) -> int:
        """End the line that has begun: the device was reset. Its number; 0 if none had begun."""
        before = self.line_count
        for line in self._splitter.flush(time):
            self._take(line)
        return self.line_count if self.line_count > before else 0

    @property
    def echoed(self) -> bool:
        """True if the console is shown while it arrives."""
        return self._recording.echoed

    @property
    def flooded(self) -> bool:
        """True once a limit is reached: nothing that is printed later would be read."""
        return self.size >= LARGEST or self.line_count >= MOST_LINES

    def finish(self, time: float = 0.0) -> None:
        """End the session: read the rest and report incomplete records."""
        for line in self._splitter.flush(time):
            self._take(line)
        self._diagnostics.finish()
        for scraper in self.scrapers:
            scraper.finish()
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
        self._begun.append(line.begun)
        self._recording.keep_line(line)
        owner = 0
        for scraper in self.scrapers:
            scraper.feed(line)
            owner = owner or scraper.owner
        # A record may follow a log message on the same line, so every reader sees every line.
        self._diagnostics.feed(line, owner)
        if self._absent is not None:
            self._absent.feed(line)
        text = line.text
        if PREFIX in text and self._records.feed(line):
            self._tensors = None
        if _BOOTING in text and any(banner in text for banner in _BANNERS):
            self._banners.append(line.number)
            if len(self._banners) > 1:
                for scraper in self.scrapers:
                    scraper.restarted()
        elif self._banners and _HANDED_OVER in text:
            self._banners.pop()
        if _HALT in text or (_NO_TENSORS in text and not owner):
            self.gave_up = True
        if "ticks" in text and not owner:
            self._read_profile(line)
        if not owner and ("FAILED" in text or " Failures " in text):
            self._check_failed_tests(line)

    def _check_failed_tests(self, line: Line) -> None:
        """Report failed tests that no scraper reads."""
        suite = failed_tests(line.text)
        if suite and not any(isinstance(scraper, SCRAPERS[suite]) for scraper in self.scrapers):
            message = f"tests failed, and --scraper {suite} is not there to read them: "
            message += repr(line.text[:200])
            self._own.add(Finding(Kind.TESTS_FAILED, message, suite, line.number))

    def _read_profile(self, line: Line) -> None:
        if match := _TICKS.match(line.text):
            if len(self.profile) < _MOST_PROFILED:
                self.profile.append(ProfilerEntry(match["operator"], int(match["ticks"])))
        elif _NO_RATE.match(line.text):
            message = "the profiler's clock runs at 0 ticks per second: the stock tick source"
            self._own.add(Finding(Kind.ZERO_TICKS, message, "ticks_per_second", line.number))

    def _check_size(self) -> None:
        if self.flooded:
            message = (
                f"the console printed more than is read: {self.size:,} bytes in "
                f"{self.line_count:,} lines are kept, {self._left_out:,} more bytes came"
            )
            self._own.add(Finding(Kind.CONSOLE_FLOOD, message, line=self.line_count))

    def _check_ticks(self) -> None:
        if self.profile and not any(entry.ticks for entry in self.profile):
            message = f"all {len(self.profile)} profiled operators took 0 ticks"
            self._own.add(Finding(Kind.ZERO_TICKS, message, "profile"))

    def _check_refusals(self) -> None:
        """Report refusals and failures that only records show: some builds print no messages."""
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
        """Report an image that boots more than once, by its boot records or its banners."""
        by_record = [self.records.lines[start] for start in self.records.boots]
        lines = max(by_record, list(self._banners), key=len)
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
        """All valid records, in order."""
        return self._records.records

    def of_kind(self, kind: str) -> RecordsOfKind:
        """The records of one kind, of all boots."""
        return self.records.of_kind(kind)

    @property
    def boots(self) -> list[tuple[int, int]]:
        """The records of each boot, as (first index, index after the last)."""
        return list(pairwise(chain(self.records.boots, [len(self.records)])))

    @property
    def tensors(self) -> Tensors:
        """The tensors that arrived complete in the last boot."""
        if self._tensors is None:
            self._tensors = assemble(self.records, *self.boots[-1], Findings())
        return self._tensors

    @property
    def findings(self) -> list[Finding]:
        """All findings so far, in the order of their lines; those without a line come last."""
        findings = [
            *self._records.findings,
            *self._diagnostics,
            *self._own,
            *(self._absent.findings if self._absent is not None else ()),
            *chain.from_iterable(scraper.findings for scraper in self.scrapers),
        ]
        findings.sort(key=lambda finding: finding.line or math.inf)
        return [self.timed(finding) for finding in findings]

    def timed(self, finding: Finding) -> Finding:
        """``finding`` with the time of its line; records that stop have no time."""
        if not 0 < finding.line <= len(self._begun) or finding.kind is Kind.RECORD_TRUNCATED:
            return finding
        return replace(finding, time=self._begun[finding.line - 1])

    @property
    def ended(self) -> bool:
        """True once an ``end`` record was read."""
        return bool(self.of_kind("end"))

    @property
    def raw(self) -> bytes:
        """The bytes as received, up to LARGEST."""
        return b"".join(self._recording.blocks())

    def read_lines(self) -> Iterator[Line]:
        """All lines again, without their times."""
        splitter = LineSplitter()
        for block in self._recording.blocks():
            yield from splitter.feed(block)
        yield from splitter.flush()

    def transcript(self) -> str:
        """The lines with their time stamps, as in ``transcript.txt``."""
        return self._recording.transcript()
