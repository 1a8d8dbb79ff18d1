"""Carry one fault out: restore, run to its moment, do it, run on, compare.

What the image does in between is the simulator's work alone; Python acts at the fault's moment and
at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from harness.simulator import End, Machine
from harness.simulator.snapshot import Snapshot, restore
from harness.studies.campaign.faults import AFRESH, LINE, REGISTERS, Fault
from harness.studies.campaign.feeding import Inputs, send, sequence, to_question
from harness.studies.campaign.line import Exchange, FaultyLine, exchange
from harness.studies.campaign.stage import Output, Prepared
from harness.studies.campaign.supply import brown_out
from harness.targets.simulator import SimulatorSession

MASKED, TOLERABLE, CRITICAL, DETECTED, HANG = OUTCOMES = (
    "masked", "tolerable", "critical", "detected", "hang",
)  # fmt: skip
#: What an inference may take, in fault-free ones, before it is called a hang.
PATIENCE = 4
_LEAST = 20_000  # instructions beyond that
#: Virtual seconds beyond that for a host that waits for answers and sends again.
HOST_SECONDS = 10.0
_FIRST_32 = 0b11101  # the top five bits of a halfword that begins a 32-bit instruction, at least


@dataclass(frozen=True)
class Result:
    """What came of a fault; ``detail`` says by what it was detected, ``changed`` counts values."""

    fault: Fault
    outcome: str
    detail: str = ""
    changed: int = 0
    verdict: str = ""  # the harness's, of the whole run, where it was asked

    def to_json(self) -> dict[str, Any]:
        """One record of ``campaign --json``."""
        return {
            **self.fault.to_json(),
            "outcome": self.outcome,
            "detail": self.detail,
            "changed": self.changed,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class _Limit:
    instructions: int
    ticks: int


def _limit(instructions: int, ticks: int) -> _Limit:
    return _Limit(PATIENCE * instructions + _LEAST, PATIENCE * ticks + _LEAST)


class Injector:
    """A machine with snapshots, ready for any number of faults.

    ``inputs`` are those that :func:`~harness.studies.campaign.stage.prepare` was given.
    ``tolerance``: by how much (in the output's own units) a value may differ and still be the same
    decision, for outputs of one value. Of several values the largest one's index is the decision.
    """

    def __init__(
        self, machine: Machine, prepared: Prepared, inputs: Inputs = (), tolerance: float = 0.0
    ) -> None:
        self.machine, self.inputs = machine, inputs
        self.stage = stage = prepared.stage
        self._snapshot, self._waiting = prepared.snapshot, prepared.waiting
        self._tolerance = tolerance
        self._expected = [bytes.fromhex(one.data) for one in stage.outputs]
        self._came: str = ""
        self._known = list(machine.findings)  # noticed before any fault
        self._stage_limit = _limit(stage.length, stage.ticks)
        self._boot_limit = _limit(stage.begin + stage.length, stage.boot_ticks + stage.ticks)
        self._traps = {stage.ends: "end"}
        for address, what in stage.traps.items():
            self._traps.setdefault(int(address), what)
        self._hook_all()

    def _hook_all(self) -> None:
        for address, what in self._traps.items():
            self.machine.hook(address, partial(self._come, what))

    def _unhook_all(self) -> None:
        for address in self._traps:
            self.machine.unhook(address)

    def _come(self, what: str, machine: Machine) -> bool:
        self._came = what
        return True

    def run(self, fault: Fault, then: Callable[[Result], None] = lambda result: None) -> Result:
        """Carry out one fault and say what came of it; ``then`` sees the machine as it is left."""
        if fault.model in LINE:
            result = self._judge_exchange(fault)
            then(result)
            return result
        self.begin()
        undo = self.do(fault)
        try:
            end = self._again() if fault.model in AFRESH else self._to_the_end(self._stage_limit)
            result = self._judge(fault, end)
            then(result)
        finally:
            undo()
        return result

    def watch(self, fault: Fault | None) -> bool:
        """Run the inference, with ``fault`` or without one; True if it came to its end."""
        if fault is not None and fault.model in LINE:
            return bool(self._exchange(fault).ends)
        self.begin()
        undo = self.do(fault) if fault is not None else _nothing
        try:
            self._to_the_end(self._stage_limit)
        finally:
            undo()
        return self._came == "end"

    @contextmanager
    def session(self, fault: Fault | None) -> Iterator[SimulatorSession]:
        """A session free to go on: at the fault, or before an inference without one.

        With an image that is fed it begins where the image asks for inputs, and only faults on the
        line can come.
        """
        if self._waiting is not None:
            self.begin(self._waiting)
            with self.free():
                yield FaultyLine(self.machine, fault)
            return
        self.begin()
        undo = self.do(fault) if fault is not None else _nothing
        try:
            with self.free():
                yield SimulatorSession(self.machine)
        finally:
            undo()

    @contextmanager
    def free(self) -> Iterator[None]:
        """Nothing stops the machine in this block, neither an end nor a trap."""
        self._unhook_all()
        try:
            yield
        finally:
            self._hook_all()

    def let_go(self, seconds: float) -> None:
        """Run on for so long in virtual time, past the end and every trap."""
        machine = self.machine
        with self.free():
            machine.run(until_tick=machine.now + round(seconds * machine.memory_map.cpu_hz))

    def begin(self, snapshot: Snapshot | None = None) -> None:
        """Back to just before the inference, or to another snapshot."""
        restore(self.machine, snapshot or self._snapshot)
        self.machine.clear_evidence()
        self.machine.findings += self._known
        self._came = ""

    def _to_the_end(self, limit: _Limit) -> End:
        """Run until the inference is over, a trap is reached, or patience is."""
        if self._came:
            return End.CONDITION
        machine = self.machine
        return machine.run(
            until_executed=machine.core.executed + limit.instructions,
            until_tick=machine.now + limit.ticks,
        )

    def _again(self) -> End:
        """From a reset to the end of the same inference; the host sends all inputs once more."""
        self._came = ""
        self._to_the_end(self._boot_limit)  # stops where it begins: at the trap of a reset
        end = End.CONDITION
        for number in range(self.stage.inference + 1):
            if self._came not in ("end", "reset"):
                break
            self._came = ""
            if self.inputs:
                end = self._feed(number)
            if not self._came and end is End.CONDITION:
                end = self._to_the_end(self._boot_limit)
        return end

    def _feed(self, number: int) -> End:
        """Let the image ask for the inputs of an inference, and send them."""
        until = self.machine.now + self._boot_limit.ticks
        end = to_question(self.machine, until)
        if end is not End.CONDITION or self._came:
            return end
        return send(self.machine, self.inputs, number, until, lambda: bool(self._came))

    def do(self, fault: Fault) -> Callable[[], None]:
        """Run to the fault's moment and make it happen; gives what takes back changes of flash."""
        machine = self.machine
        if fault.offset:
            machine.run(until_executed=self.stage.begin + fault.offset)
        action = _ACTIONS[fault.model]
        return action(machine, fault)

    def _judge(self, fault: Fault, end: End) -> Result:
        machine = self.machine
        if end is End.LOCKUP:
            return Result(fault, DETECTED, "lockup")
        if end is End.RESET_LOOP:
            return Result(fault, DETECTED, "reset")
        if self._came and self._came != "end":
            kind = machine.faults[0].kind if machine.faults else self._came
            return Result(fault, DETECTED, kind)
        if not self._came:
            return Result(fault, HANG, "asleep" if end is End.IDLE else "")
        if machine.registers["r0"]:
            return Result(fault, DETECTED, "status")
        if fault.model not in AFRESH and len(machine.console) > self._console():
            return Result(fault, DETECTED, "message")
        return self._compare(fault, self._outputs())

    def _console(self) -> int:
        return len(self._snapshot.console) + self.stage.printed

    def _outputs(self) -> list[bytes]:
        return [self.machine.read_memory(one.address, one.size) for one in self.stage.outputs]

    def _compare(self, fault: Fault, outputs: Sequence[bytes]) -> Result:
        changed, same = 0, True
        for output, expected, got in zip(self.stage.outputs, self._expected, outputs, strict=True):
            if got != expected:
                differ, decision = compare(output, expected, got, self._tolerance)
                changed, same = changed + differ, same and decision
        if not changed:
            return Result(fault, MASKED)
        return Result(fault, TOLERABLE if same else CRITICAL, changed=changed)

    # faults on the line

    def _exchange(self, fault: Fault) -> _Exchanged:
        """Let the host send the inputs of the inference while ``fault`` happens on the line."""
        assert self._waiting is not None
        self.begin(self._waiting)
        ends: list[tuple[int, list[bytes]]] = []

        def met() -> bool:
            if self._came != "end":
                return not self._came
            ends.append((self.machine.registers["r0"], self._outputs()))
            self._came = ""
            return True

        stage = self.stage
        hertz = self.machine.memory_map.cpu_hz
        seconds = PATIENCE * (stage.sending + stage.ticks) / hertz + HOST_SECONDS
        session = FaultyLine(self.machine, fault, met)
        inputs = self.inputs[stage.inference]
        first = sequence(self.inputs, stage.inference)
        host = exchange(session, stage.inference, inputs, first, seconds)
        return _Exchanged(host, ends)

    def _judge_exchange(self, fault: Fault) -> Result:
        seen = self._exchange(fault)
        if self._came:
            kind = self.machine.faults[0].kind if self.machine.faults else self._came
            return Result(fault, DETECTED, kind)
        if seen.host.late:
            return Result(fault, HANG)
        if seen.host.complaint:
            return Result(fault, DETECTED, "host")
        if len(seen.ends) != 1 or seen.ends[0][0]:
            return Result(fault, DETECTED, "status" if len(seen.ends) == 1 else "inferences")
        result = self._compare(fault, seen.ends[0][1])
        return replace(result, detail="sent again") if seen.host.again else result


@dataclass(frozen=True)
class _Exchanged:
    host: Exchange
    ends: list[tuple[int, list[bytes]]]  # status and outputs of each inference


def compare(output: Output, expected: bytes, got: bytes, tolerance: float) -> tuple[int, bool]:
    """How many values differ, and whether they make the same decision."""
    kind = np.dtype(output.dtype)
    before, after = np.frombuffer(expected, kind), np.frombuffer(got, kind)
    integers = np.dtype(f"u{kind.itemsize}")  # two NaNs of the same bits are the same
    changed = int(np.count_nonzero(before.view(integers) != after.view(integers)))
    if kind.kind == "f" and not np.isfinite(after).all():
        return changed, False
    if before.size > 1:
        return changed, int(before.argmax()) == int(after.argmax())
    scale = output.scale if kind.kind != "f" and output.scale else 1.0
    difference = abs(float(after[0]) - float(before[0])) * scale
    return changed, difference <= tolerance


def _nothing() -> None:
    pass


def _poke(machine: Machine, fault: Fault) -> Callable[[], None]:
    """Flip bits of memory that holds data. Flash is taken back: a snapshot looks at it only where
    it was programmed, and data in it was never translated."""
    size = (fault.mask.bit_length() + 7) // 8
    store = machine.engine.store_of(fault.address, size)
    assert store is not None
    place = store.slice(fault.address, size)
    before = bytes(place)
    number = int.from_bytes(before, "little") ^ fault.mask
    if store.area.name != "flash":
        machine.write_memory(fault.address, number.to_bytes(size, "little"))
        return _nothing
    place[:] = number.to_bytes(size, "little")

    def undo() -> None:
        place[:] = before

    return undo


def _register(machine: Machine, fault: Fault) -> Callable[[], None]:
    name = REGISTERS[fault.address]
    machine.write_register(name, machine.registers[name] ^ fault.mask)
    return _nothing


def _length(machine: Machine, pc: int) -> int:
    halfword = int.from_bytes(machine.read_memory(pc, 2), "little")
    return 4 if halfword >> 11 >= _FIRST_32 else 2


def _skip(machine: Machine, fault: Fault) -> Callable[[], None]:
    pc = machine.registers["pc"] & ~1
    machine.write_register("pc", pc + _length(machine, pc))
    return _nothing


def _replace(machine: Machine, fault: Fault) -> Callable[[], None]:
    """One instruction is fetched with flipped bits, once; flash itself stays as it is."""
    pc = machine.registers["pc"] & ~1
    before = machine.read_memory(pc, 2)
    flipped = (int.from_bytes(before, "little") ^ fault.mask).to_bytes(2, "little")
    machine.write_memory(pc, flipped)
    machine.run(until_executed=machine.core.executed + 1)
    machine.write_memory(pc, before)
    return _nothing


def _reset(machine: Machine, fault: Fault) -> Callable[[], None]:
    machine.reset()
    return _nothing


def _brownout(machine: Machine, fault: Fault) -> Callable[[], None]:
    brown_out(machine, fault.mask)
    return _nothing


_ACTIONS: dict[str, Callable[[Machine, Fault], Callable[[], None]]] = {
    "weights": _poke,
    "activations": _poke,
    "arena": _poke,
    "ram": _poke,
    "registers": _register,
    "skip": _skip,
    "replace": _replace,
    "reset": _reset,
    "brownout": _brownout,
}
