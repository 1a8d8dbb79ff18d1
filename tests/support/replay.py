"""The target ``replay``: plays a recorded console, line by line, with a clock and no processor.

A :class:`Recording` holds the lines of one device in order, each with the host's record that it
answers. The session numbers the records as it prints them, so a record that a test leaves out, adds
or changes has a good CRC and a good number: only its meaning is wrong. It speaks the device's side
of docs/records.md: it answers each host record once, and acknowledges the last one again. It reads
and writes records itself, so that it shares no mistake with the package.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NoReturn

from harness.base.clock import Deadline
from harness.base.errors import Unsupported
from harness.targets import (
    TARGETS,
    ConsoleChunk,
    ConsoleMatch,
    Counters,
    Elapsed,
    Fault,
    Stop,
    Target,
)
from harness.targets.registry import TargetOption

_RECORD = re.compile(r"~HIL (\d+) ([a-z_]+)((?: [a-z0-9_]+=\S*)*) \*([0-9a-f]{8})")

_OPTIONS = (TargetOption("recording", "text", "what the device said."),)
TARGETS.setdefault("replay", Target("replay", "replay", instructions=True, options=_OPTIONS))

_TICK = 1e-5  # seconds between two lines at least


@dataclass(frozen=True)
class Said:
    """One line: a record of ``kind`` with ``fields``, or ``text`` if there is no kind."""

    kind: str = ""
    fields: tuple[tuple[str, str], ...] = ()  # as they are spelt
    text: str = ""
    answers: int | None = None  # the host's record before it; None: it needs none
    pause: float = _TICK  # seconds since the line before
    restart: bool = False  # the processor was reset just before: numbers begin at 0 again
    number: int | None = None  # a number of its own instead of the next
    skipped: int = 0  # how many numbers are left out before it
    garbled: bool = False  # one bit of the line is wrong

    def get(self, name: str) -> str:
        return dict(self.fields).get(name, "")


@dataclass(frozen=True)
class Recording:
    """What a device said in a run, and how the run ended."""

    lines: tuple[Said, ...]
    counters: Counters
    stop: Stop = Stop.IDLE
    faults: tuple[Fault, ...] = ()

    def saying(self, lines: Sequence[Said]) -> Recording:
        return replace(self, lines=tuple(lines))


def record_session(chunks: Sequence[ConsoleChunk], counters: Counters) -> Recording:
    """The recording of a session that ran: ``ack`` records tell which host record came before."""
    lines: list[Said] = []
    pending, time_before, answered = b"", 0.0, None
    for chunk in chunks:
        *ended, pending = (pending + chunk.data).split(b"\n")
        for raw in ended:
            text = raw.rstrip(b"\r").decode()
            pause = max(chunk.time - time_before, _TICK)
            time_before = chunk.time
            parsed = read(text)
            if parsed is None:
                lines.append(Said(text=text, answers=answered, pause=pause))
                continue
            _, kind, fields = parsed
            if kind == "ack":
                answered = int(dict(fields)["of"])
            lines.append(Said(kind, fields, "", answered, pause))
    return Recording(tuple(lines), counters)


def record_text(text: str, counters: Counters) -> Recording:
    """The recording of a device that only prints ``text``."""
    return Recording(tuple(Said(text=line) for line in text.splitlines()), counters)


class ReplayMemory:
    """The memory of a device that has none."""

    def read(self, address: int, size: int) -> bytes:
        raise ValueError(f"a replayed device has no memory at 0x{address:08x}")

    def write(self, address: int, data: bytes) -> None:
        raise ValueError(f"a replayed device has no memory at 0x{address:08x}")


class ReplaySession:
    """A session that plays a recording."""

    target = "replay"
    stops_exactly = False
    handler_seconds = None
    byte_seconds = 0.0
    calls = ()

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.memory = ReplayMemory()
        self.console: list[ConsoleChunk] = []
        self.findings: list = []
        self.time = 0.0
        self._read = 0
        self._silent = False  # the recording is over
        self._number = self._resets = 0
        self._heard = -1  # the last host record that was answered
        self._half = b""
        self._pending = [line for line in recording.lines if line.answers is None]
        self._last_host = max((line.answers or -1 for line in recording.lines), default=-1)

    @property
    def counters(self) -> Counters:
        return replace(self.recording.counters, resets=self._resets)

    @property
    def core_state(self) -> NoReturn:
        raise Unsupported(self.target, "look inside")

    @property
    def faults(self) -> Sequence[Fault]:
        """The recording's faults, after its last line."""
        return self.recording.faults if self._silent else ()

    def deadline(self, seconds: float, *, guard: float = 60.0) -> Deadline:
        return Deadline(seconds, now=lambda: self.time, guard=guard)

    def run(self, until, deadline: Deadline) -> Stop:
        printed = b""
        end = self.time + deadline.remaining
        limit = min(end, self.time + until.seconds) if isinstance(until, Elapsed) else end
        while self._pending:
            if self.time + self._pending[0].pause > limit:
                self.time = limit
                return Stop.CONDITION if limit < end else Stop.DEADLINE
            line = self._pending.pop(0)
            self.time += line.pause
            data = self._spell(line)
            self.console.append(ConsoleChunk(self.time, data))
            if isinstance(until, ConsoleMatch):
                printed = data if until.lines else printed + data
                if re.search(until.pattern, printed):
                    return Stop.CONDITION
        waiting = self._heard < self._last_host
        self._silent = not waiting
        stop = Stop.DEADLINE if waiting else self.recording.stop
        if stop is Stop.DEADLINE:
            self.time = limit
            return Stop.CONDITION if limit < end else Stop.DEADLINE
        return stop

    def _spell(self, line: Said) -> bytes:
        if line.restart:
            self._number = 0
        if not line.kind:
            self._resets += line.restart  # a reset among records shows in their numbers alone
            return line.text.encode() + b"\r\n"
        self._number += line.skipped
        number = self._number if line.number is None else line.number
        spelt = spell(number, line.kind, line.fields)
        if line.garbled:
            spelt = spelt[:8] + bytes([spelt[8] ^ 1]) + spelt[9:]
        if line.number is None:
            self._number += 1
        return spelt

    def write(self, data: bytes) -> None:
        *ended, self._half = (self._half + data).split(b"\n")
        for raw in ended:
            record = read(raw.decode().strip())
            if record is not None:
                self._hear(record[0])

    def _hear(self, sequence: int) -> None:
        if sequence == self._heard:
            self._pending.append(Said("ack", (("of", str(sequence)),)))
        elif sequence == self._heard + 1:
            self._heard = sequence
            self._pending += [line for line in self.recording.lines if line.answers == sequence]
        else:
            self._pending.append(Said("nak", (("of", str(sequence)), ("reason", "sequence"))))

    def read(self) -> bytes:
        fresh = self.console[self._read :]
        self._read = len(self.console)
        return b"".join(chunk.data for chunk in fresh)

    def reset(self) -> None:
        raise AssertionError("nobody resets a recording")

    @property
    def registers(self) -> dict[str, int]:
        raise Unsupported(self.target, "look inside")

    def watch_calls(self, addresses) -> None:
        raise Unsupported(self.target, "look inside")

    def where(self) -> str:
        return ""

    def close(self) -> None:
        pass

    def __enter__(self) -> ReplaySession:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@lru_cache(maxsize=4096)
def spell(number: int, kind: str, fields: tuple[tuple[str, str], ...]) -> bytes:
    """A record as a line, with its CRC."""
    words = "".join(f" {name}={value}" for name, value in fields)
    body = f"~HIL {number} {kind}{words}"
    return f"{body} *{zlib.crc32(body.encode()):08x}\r\n".encode()


def read(text: str) -> tuple[int, str, tuple[tuple[str, str], ...]] | None:
    """Number, kind and fields of the record in a line, None if there is none."""
    match = _RECORD.fullmatch(text)
    if match is None or zlib.crc32(text[: -len(" *12345678")].encode()) != int(match[4], 16):
        assert "~HIL" not in text, f"a good run printed {text!r}"
        return None
    words = (word.split("=", 1) for word in match[3].split())
    return int(match[1]), match[2], tuple((name, value) for name, value in words)


def open(image, *, recording: Recording) -> ReplaySession:  # noqa: A001
    """What the registry of targets calls."""
    return ReplaySession(recording)
