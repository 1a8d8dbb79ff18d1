"""Converts the simulator's instructions to cycles of a core with wait states.

The simulator's DWT counts an instruction as a cycle. With ``cycles=SEED`` a virtual board changes
the ticks in ``op`` and ``inference`` records: each operator takes :func:`ratio` cycles per
instruction, which depends only on the seed. The ratio varies between images (location of the code
in flash) and, less, between inferences (interrupts). The code between operators has its own ratio.
"""

from __future__ import annotations

import re
import zlib
from random import Random

from harness.uart import records
from harness.uart.records import Record

#: Relative standard deviations of the ratio between images and between inferences.
IMAGE_DEVIATION, INFERENCE_DEVIATION = 0.02, 0.005
#: Name of the code between operators.
BETWEEN = ""
_MIN_RATIO, _MAX_RATIO = 1.05, 2.6
#: Bytes; a longer line is not a record, and is passed on immediately.
_MAX_RECORD = 400


def ratio(seed: int, operator: str) -> float:
    """The cycles per instruction of an operator."""
    return Random(f"{seed} {operator}").uniform(_MIN_RATIO, _MAX_RATIO)


class CycleCounter:
    """Rewrites the ticks in records of a console stream; holds back incomplete records."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._build = ""
        self._inferences = Random(seed)
        self._line = b""
        self._held: list[tuple[bytes, Record | None]] = []  # an inference and its operators

    def feed(self, data: bytes) -> bytes:
        """The bytes that can be passed on; an inference waits for the operators that follow it."""
        *lines, self._line = re.split(rb"(?<=\n)", self._line + data)
        output = b"".join(map(self._take, lines))
        if records.PREFIX.encode()[:1] in self._line and len(self._line) < _MAX_RECORD:
            return output
        if not self._held:
            output, self._line = output + self._line, b""
        return output

    def flush(self) -> bytes:
        """The bytes held back, at the end of the output."""
        output, self._line = self._release() + self._line, b""
        return output

    def _take(self, line: bytes) -> bytes:
        record = next(records.each_in(line), None)
        if record is not None and record.kind == "boot":
            self._build = record.text("build")
            self._inferences = Random(f"{self._seed} {self._build}")
        if record is not None and record.kind == "inference":
            output = self._release()
            self._held = [(line, record)]
            return output
        if not self._held:
            return line
        if record is None or record.kind == "op":
            self._held.append((line, record))
            return b""
        return self._release() + line

    def _release(self) -> bytes:
        if not self._held:
            return b""
        (line, whole), *rest = self._held
        self._held = []
        assert whole is not None
        between = whole.integer("ticks") - sum(op.integer("ticks") for _, op in rest if op)
        total = self._cycles(BETWEEN, max(0, between))
        behind = []
        for text, op in rest:
            if op is not None:
                cycles = self._cycles(op.text("operator"), op.integer("ticks"))
                total += cycles
            behind.append(text if op is None else with_ticks(text, cycles))
        return b"".join((with_ticks(line, total), *behind))

    def _cycles(self, operator: str, instructions: int) -> int:
        image = Random(f"{self._seed} {self._build} {operator}").gauss(1, IMAGE_DEVIATION)
        noise = self._inferences.gauss(1, INFERENCE_DEVIATION)
        return round(instructions * ratio(self._seed, operator) * image * noise)


_WITH_TICKS = re.compile(rb"(~HIL [^*\r\n]{0,300}? ticks=)\d{1,10}([^*\r\n]{0,160}?) \*[0-9a-f]{8}")


def with_ticks(line: bytes, ticks: int) -> bytes:
    """``line`` with other ticks in its ``op`` or ``inference`` record, and the right CRC-32."""

    def rewritten(match: re.Match[bytes]) -> bytes:
        body = b"%b%d%b" % (match[1], min(ticks, records.LARGEST), match[2])
        return b"%b *%08x" % (body, zlib.crc32(body))

    return _WITH_TICKS.sub(rewritten, line)
