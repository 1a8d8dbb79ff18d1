"""Cycles of a core with wait states, in place of the simulator's instructions.

The simulator's DWT counts an instruction as a cycle. With ``cycles=SEED`` a virtual board changes
the ticks in ``op`` and ``inference`` records: each operator takes :func:`ratio` cycles per
instruction, which depends on the seed alone; each image is a little off (its code lies elsewhere in
flash), each inference by less (interrupts). The code between the operators has a ratio of its own.
"""

from __future__ import annotations

import re
from random import Random

from harness.uart import records
from harness.uart.records import Record

#: Relative standard deviations: of an image's ratio, and of one inference's.
OF_IMAGE, OF_INFERENCE = 0.02, 0.005
#: Stands for the code between operators.
BETWEEN = ""
_LEAST, _MOST = 1.05, 2.6
#: A longer line is not a record, and is passed on at once.
_LONGEST = 400


def ratio(seed: int, operator: str) -> float:
    """Cycles per instruction of an operator."""
    return Random(f"{seed} {operator}").uniform(_LEAST, _MOST)


class CycleCounter:
    """Rewrites the ticks of a console as it passes; bytes that may belong to a record wait."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._build = ""
        self._inferences = Random(seed)
        self._line = b""
        self._held: list[tuple[bytes, Record | None]] = []  # an inference and the lines behind it

    def feed(self, data: bytes) -> bytes:
        """The lines that are complete: operators follow the inference that sums them."""
        *lines, self._line = re.split(rb"(?<=\n)", self._line + data)
        output = b"".join(map(self._take, lines))
        if records.PREFIX.encode()[:1] in self._line and len(self._line) < _LONGEST:
            return output
        if not self._held:
            output, self._line = output + self._line, b""
        return output

    def flush(self) -> bytes:
        """The lines that waited: nothing more comes."""
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
            behind.append(text if op is None else records.with_ticks(text, cycles))
        return b"".join((records.with_ticks(line, total), *behind))

    def _cycles(self, operator: str, instructions: int) -> int:
        image = Random(f"{self._seed} {self._build} {operator}").gauss(1, OF_IMAGE)
        noise = self._inferences.gauss(1, OF_INFERENCE)
        return round(instructions * ratio(self._seed, operator) * image * noise)
