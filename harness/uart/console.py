"""Everything that is read from one console: lines, records, tensors, profiles, findings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.findings import Finding, Kind
from harness.uart.faults import FaultReader
from harness.uart.lines import Line, LineSplitter
from harness.uart.messages import MessageReader
from harness.uart.records import Record, RecordReader, TensorAssembler, TensorKey
from harness.uart.scrapers import Scraper

_BANNER = re.compile(r"\*\*\* Booting Zephyr OS")
_TICKS = re.compile(r"^(?P<operator>[A-Za-z_][\w]*) took (?P<ticks>\d+) ticks \(")
_RATE = re.compile(r"^ticks_per_second (?P<hz>\d+)$")

#: What a `failed` record's stage means; a refused registration has findings of its own.
_STAGES = {
    "schema": Kind.SCHEMA_MISMATCH,
    "allocate": Kind.ALLOCATION_FAILED,
    "invoke": Kind.INVOKE_FAILED,
}
_REFUSALS = {Kind.RESOLVER_TOO_SMALL, Kind.DUPLICATE_OPERATOR}


@dataclass(frozen=True)
class OperatorTicks:
    """One operator's time as MicroProfiler or an ``op`` record told it; ticks of ``hz``."""

    operator: str
    ticks: int
    inference: int = -1
    node: int = -1


class Console:
    """Reads a console as it comes in; ask it at any time, and call :meth:`finish` at the end."""

    def __init__(self, scrapers: Sequence[Scraper] = ()) -> None:
        self.raw = bytearray()
        self.lines: list[Line] = []
        self.profile: list[OperatorTicks] = []
        self.boots = 0
        self.scrapers = tuple(scrapers)
        self._splitter = LineSplitter()
        self._records = RecordReader()
        self._tensors = TensorAssembler()
        self._messages = MessageReader()
        self._faults = FaultReader()
        self._own: list[Finding] = []
        self._refusals: list[Record] = []

    def feed(self, data: bytes, time: float = 0.0) -> None:
        """Take bytes as they arrive, cut anywhere."""
        self.raw += data
        for line in self._splitter.feed(data, time):
            self._take(line)

    def finish(self, time: float = 0.0) -> None:
        """The session is over: read what is left and report what never became whole."""
        for line in self._splitter.flush(time):
            self._take(line)
        self._messages.finish()
        self._faults.finish()
        self._tensors.finish()
        for one in self.scrapers:
            one.finish()
        self._check_ticks()
        self._check_refusals()
        self._check_end()

    def _take(self, line: Line) -> None:
        self.lines.append(line)
        if _BANNER.search(line.text):
            self.boots += 1
        record = self._records.feed(line)
        if record is not None:
            self._take_record(record)
        # A record may stand behind a log message on the same line, so every reader sees every line.
        self._messages.feed(line)
        self._faults.feed(line)
        for one in self.scrapers:
            one.feed(line)
        self._read_profile(line)

    def _take_record(self, record: Record) -> None:
        self._tensors.feed(record)
        if record.kind == "boot":
            self.boots += 1
        elif record.kind in ("failed", "resolver"):
            self._refusals.append(record)
        elif record.kind == "op":
            fields = record.fields
            try:
                self.profile.append(
                    OperatorTicks(
                        fields.get("operator", ""),
                        record.integer("ticks"),
                        record.integer("inference"),
                        record.integer("node"),
                    )
                )
            except ValueError as error:
                self._own.append(Finding(Kind.RECORD_GARBLED, str(error), line=record.line))

    def _read_profile(self, line: Line) -> None:
        if match := _TICKS.match(line.text):
            self.profile.append(OperatorTicks(match["operator"], int(match["ticks"])))
        elif (match := _RATE.match(line.text)) and int(match["hz"]) == 0:
            message = "the profiler's clock runs at 0 ticks per second: the stock tick source"
            self._own.append(Finding(Kind.ZERO_TICKS, message, "ticks_per_second", line.number))

    def _check_ticks(self) -> None:
        if self.profile and all(entry.ticks == 0 for entry in self.profile):
            message = f"all {len(self.profile)} profiled operators took 0 ticks"
            self._own.append(Finding(Kind.ZERO_TICKS, message, "profile"))

    def _check_refusals(self) -> None:
        """Builds without error strings print no message: their records must tell."""
        kinds = {finding.kind for finding in self.findings}
        for record in self._refusals:
            stage = record.fields.get("stage", "")
            kind = _STAGES.get(stage)
            message = f"the image failed at {stage!r}, status {record.fields.get('status', '?')}"
            if record.kind == "resolver":
                refused = record.fields.get("refused", "0")
                if refused == "0" or kinds & _REFUSALS:
                    continue
                kind, message = Kind.RESOLVER_TOO_SMALL, f"{refused} Add* calls were refused"
            if kind is not None and kind not in kinds:
                self._own.append(Finding(kind, message, line=record.line))

    def _check_end(self) -> None:
        if self.records and not any(record.kind in ("end", "failed") for record in self.records):
            last = self.records[-1]
            message = f"the records stop after number {last.sequence} ({last.kind}): no end record"
            self._own.append(Finding(Kind.RECORD_TRUNCATED, message, line=last.line))

    @property
    def records(self) -> Sequence[Record]:
        """All good records, in order."""
        return self._records.records

    def of_kind(self, kind: str) -> list[Record]:
        """The records of one kind."""
        return [record for record in self.records if record.kind == kind]

    @property
    def tensors(self) -> dict[TensorKey, bytes]:
        """The tensors that arrived whole."""
        return self._tensors.complete

    @property
    def findings(self) -> list[Finding]:
        """All findings so far, in the order of their lines."""
        found = [
            *self._records.findings,
            *self._tensors.findings,
            *self._messages.findings,
            *self._faults.findings,
            *self._own,
            *(finding for one in self.scrapers for finding in one.findings),
        ]
        return sorted(found, key=lambda finding: finding.line or len(self.lines) + 1)

    @property
    def ended(self) -> bool:
        """True once an ``end`` record came."""
        return any(record.kind == "end" for record in self.records)

    def transcript(self) -> str:
        """The lines with their time stamps, one a line: what ``transcript.txt`` holds."""
        return "".join(f"[{line.time:12.6f}] {line.text}\n" for line in self.lines)
