"""Writes of the application beyond the end of an input tensor.

Between two inferences only the application writes to the arena. What lies behind an input tensor is
read when the application gets the tensor and after each inference, and compared where ``Invoke()``
begins: a change that begins at the tensor's end is a write beyond it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from harness.base.errors import UsageError
from harness.base.findings import Finding, Kind
from harness.base.text import count_of
from harness.case.interpreters import arena_of
from harness.elf import Image
from harness.elf.interpreter import INPUT, INVOKE, OUTPUT
from harness.targets.calls import Call
from harness.targets.session import Session

#: Offsets of the pointer to the data in ``TfLiteTensor``, with and without TF_LITE_STATIC_MEMORY;
#: the size of the data has the same in both (tensorflow/lite/c/common.h).
_DATA, _BYTES = (16, 4), 24
#: Inferences that are compared, and calls of ``input()`` that are looked at.
_MOST, _ASKED = 8, 16
#: Bytes behind a tensor that are compared. Unchanged bytes in a row end a write.
_REACH, _GAP = 2048, 16
#: Tensors begin at multiples of so many bytes; up to there nobody has the bytes behind one.
_ALIGNMENT = 16


@dataclass(frozen=True)
class _Tensor:
    """The memory of a tensor."""

    begin: int
    end: int


def _aligned(address: int) -> int:
    return address + -address % _ALIGNMENT


class Overruns:
    """Looks at each call of the interpreter's functions; ``findings`` has the first overrun."""

    def __init__(self, session: Session, image: Image, functions: Mapping[int, str]) -> None:
        self._session, self._image, self._functions = session, image, functions
        self._arenas: dict[int, range] = {}  # by the interpreter's address
        self._tensors: dict[int, set[_Tensor]] = {}  # inputs, by the interpreter's address
        self._known: set[_Tensor] = set()  # outputs, too
        self._behind: dict[_Tensor, bytes] = {}
        self._asked = self._inferences = 0
        self.findings: tuple[Finding, ...] = ()

    def seen(self, call: Call) -> bool:
        """Look at ``call``, which begins or has returned; False: such calls are not needed."""
        name, this = self._functions[call.address], call.argument
        if (arena := arena_of(name, call)) is not None:
            self._arenas[this] = arena
        elif name in (INPUT, OUTPUT):
            self._asked += 1
            if call.returned is not None:
                self._add(this, call.result or 0, is_input=name == INPUT)
            return self._asked < _ASKED
        elif name == INVOKE and call.returned is None:
            self._inferences += 1
            self._compare(call)
        elif name == INVOKE and self._inferences < _MOST:
            self._behind.update((one, self._read(one)) for one in self._tensors.get(this, ()))
        return True

    def _add(self, this: int, address: int, *, is_input: bool) -> None:
        """Take the tensor whose structure is at ``address``, if it lies in the arena."""
        arena = self._arenas.get(this, range(0))
        for at in _DATA:
            begin, size = self._word(address + at), self._word(address + _BYTES)
            if begin in arena and 0 < size <= arena.stop - begin:
                tensor = _Tensor(begin, begin + size)
                self._known.add(tensor)
                if not is_input:
                    return
                self._tensors.setdefault(this, set()).add(tensor)
                self._behind.setdefault(tensor, self._read(tensor))
                return

    def _compare(self, call: Call) -> None:
        if self.findings or self._inferences > _MOST:
            return
        tensors = self._tensors.get(call.argument, set())
        for tensor, excess in self._written(tensors):
            size = count_of(tensor.end - tensor.begin, "byte")
            text = f"an input of {size} is written {count_of(excess, 'byte')} beyond its end"
            place = self._image.locate(call.caller - 2)
            text = f"{text} before Invoke() (in {place})"
            self.findings = (Finding(Kind.INPUT_OVERRUN, text, time=call.begun),)

    def _written(self, tensors: set[_Tensor]) -> Iterator[tuple[_Tensor, int]]:
        """Tensors with the number of bytes that were written behind them."""
        for tensor in sorted(tensors, key=lambda one: one.begin, reverse=True):
            before, now = self._behind[tensor], self._read(tensor)
            changed = np.flatnonzero(
                np.frombuffer(before, np.uint8) != np.frombuffer(now, np.uint8)
            )
            steps = np.diff(changed, prepend=-1)
            row = changed[: int(np.argmax(steps > _GAP)) if (steps > _GAP).any() else len(changed)]
            excess = int(row[-1]) + 1 if len(row) else 0
            last = self._last_behind(tensor)
            # Of inputs in a row the last one shows a write beyond all of them.
            if last not in tensors - {tensor} and tensor.end + excess > _aligned(last.end):
                yield tensor, excess

    def _last_behind(self, tensor: _Tensor) -> _Tensor:
        """The last of the known tensors that lie in a row behind ``tensor``; itself for none."""
        begins = {one.begin: one for one in self._known}
        while (following := begins.get(_aligned(tensor.end))) is not None:
            tensor = following
        return tensor

    def _read(self, tensor: _Tensor) -> bytes:
        ram = self._image.chip.area("ram")
        return self._session.memory.read(tensor.end, min(_REACH, ram.end - tensor.end))

    def _word(self, address: int) -> int:
        try:
            return int.from_bytes(self._session.memory.read(address, 4), "little")
        except UsageError:
            return 0
