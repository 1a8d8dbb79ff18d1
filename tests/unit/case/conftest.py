"""A device that plays a script: a real Session with a clock, a console and no processor."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from harness.base.clock import Deadline
from harness.base.errors import Unsupported
from harness.targets import ConsoleChunk, ConsoleMatch, Counters, Stop
from harness.uart import Record, encode
from harness.uart.records import TO_DEVICE, parse


class ScriptedSession:
    """Prints one chunk a millisecond; `answer` may add more to what the host writes."""

    target = "scripted"
    handler_seconds = None
    byte_seconds = 0.0
    calls = ()

    def __init__(
        self,
        chunks: Iterable[bytes],
        *,
        end: Stop = Stop.IDLE,
        answer: Callable[[bytes], bytes] = lambda data: b"",
    ) -> None:
        self.pending = list(chunks)
        self.end = end
        self.answer = answer
        self.console: list[ConsoleChunk] = []
        self.faults: list = []
        self.findings: list = []
        self.resets = 0
        self.closed = False
        self.time = 0.0

    @property
    def counters(self) -> Counters:
        ticks = int(self.time * 64e6)
        return Counters("scripted", ticks, None, self.time, self.time, self.resets)

    def deadline(self, seconds: float, *, guard: float = 60.0) -> Deadline:
        return Deadline(seconds, now=lambda: self.time, guard=guard)

    def run(self, until, deadline: Deadline) -> Stop:
        import re

        printed = b""
        while self.pending:
            if deadline.expired:
                return Stop.DEADLINE
            self.time += 1e-3
            chunk = self.pending.pop(0)
            self.console.append(ConsoleChunk(self.time, chunk))
            printed += chunk
            if isinstance(until, ConsoleMatch) and re.search(until.pattern, printed):
                return Stop.CONDITION
        if self.end is Stop.DEADLINE:
            self.time += deadline.remaining
        return self.end

    def write(self, data: bytes) -> None:
        reply = self.answer(data)
        if reply:
            self.pending.append(reply)

    def reset(self) -> None:
        self.resets += 1

    def close(self) -> None:
        self.closed = True

    def where(self) -> str:
        return "spin at main.c:7"

    @property
    def registers(self) -> dict[str, int]:
        raise Unsupported(self.target, "look inside")

    def watch_calls(self, addresses) -> None:
        raise Unsupported(self.target, "look inside")


class EchoDevice:
    """The image's side of the input protocol: acks what is right, answers each run with x + 1."""

    def __init__(self, *, lose: int = 0, corrupt: int = 0) -> None:
        self.sequence = 1
        self.expected = 0
        self.tensor = bytearray()
        self.inferences = 0
        self.lose, self.corrupt = lose, corrupt

    def record(self, kind: str, **fields: object) -> bytes:
        line = encode(self.sequence, kind, fields)
        self.sequence += 1
        return line

    def __call__(self, data: bytes) -> bytes:
        if not data.strip():  # an empty line is no record
            return b""
        if self.lose:
            self.lose -= 1
            return b""
        if self.corrupt:
            self.corrupt -= 1
            return self.record("nak", of=0, reason="crc")
        record = parse(data.decode().strip(), TO_DEVICE)
        assert isinstance(record, Record)
        if record.sequence == self.expected - 1:
            return self.record("ack", of=record.sequence)
        assert record.sequence == self.expected
        self.expected += 1
        return self.record("ack", of=record.sequence) + self.carry_out(record)

    def carry_out(self, record: Record) -> bytes:
        if record.kind == "input":
            self.tensor += record.fields["hex"]
            return b""
        if record.kind == "done":
            return self.record("end", inferences=self.inferences, status=0)
        number, whole = self.inferences, bytes(self.tensor)
        self.inferences, self.tensor = number + 1, bytearray()
        out = b""
        for kind, data in (("input", whole), ("output", bytes(b + 1 for b in whole))):
            for offset in range(0, len(data), 32):
                part = data[offset : offset + 32].hex()
                out += self.record(
                    kind, inference=number, index=0, offset=offset, total=len(data), hex=part
                )
        out += self.record("inference", index=number, ticks=64, source="dwt", hz=1, status=0)
        return out + self.record("ready", input_bytes=len(whole))


@pytest.fixture
def scripted() -> type[ScriptedSession]:
    return ScriptedSession


@pytest.fixture
def echo_device() -> type[EchoDevice]:
    return EchoDevice


@pytest.fixture(scope="session")
def scripted_type() -> type[ScriptedSession]:
    """The same for property tests, whose fixtures must outlive one example."""
    return ScriptedSession
