"""Inject one fault: restore a snapshot, run to its instruction, apply it, run on, compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from harness.simulator import End, Machine
from harness.simulator.snapshot import Snapshot, restore
from harness.studies.campaign.baseline import Baseline, OutputTensor
from harness.studies.campaign.faults import REGISTERS, RESET, InjectedFault
from harness.studies.campaign.feeding import Inputs, run_to_ready, send
from harness.targets.simulator import SimulatorSession

MASKED, TOLERABLE, CRITICAL, DETECTED, HANG = OUTCOMES = (
    "masked", "tolerable", "critical", "detected", "hang",
)  # fmt: skip
#: A run is a hang if it takes longer than PATIENCE times the fault-free run and _EXTRA more
#: instructions or ticks.
PATIENCE = 4
_EXTRA = 20_000
#: Smallest value of a halfword's top five bits that begins a 32-bit instruction.
_FIRST_32 = 0b11101
#: Runs after which Unicorn's translations are flushed, which alone frees their memory. Faults that
#: change code or control flow add some 2 KB a run.
_RUNS_BETWEEN_FLUSHES = 5_000


@dataclass(frozen=True)
class Result:
    """The outcome of a fault."""

    fault: InjectedFault
    outcome: str
    detail: str = ""  # how the fault was detected
    changed: int = 0  # number of changed output values
    verdict: str = ""  # the harness's, on the whole run, with --judge

    def to_json(self) -> dict[str, Any]:
        """The result as a record of ``campaign --json``."""
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

    @classmethod
    def of(cls, instructions: int, ticks: int) -> _Limit:
        """The limit of a run that takes these without a fault."""
        return cls(PATIENCE * instructions + _EXTRA, PATIENCE * ticks + _EXTRA)


class Injector:
    """A machine with a snapshot just before the inference, ready for any number of faults.

    ``inputs`` are those of :func:`~harness.studies.campaign.baseline.record_baseline`. The decision
    of an output with several values is the index of the largest; for an output of one value it is
    the same while the value differs by at most ``tolerance``, in the output's units.
    """

    def __init__(
        self,
        machine: Machine,
        baseline: Baseline,
        snapshot: Snapshot,
        inputs: Inputs = (),
        tolerance: float = 0.0,
    ) -> None:
        self.machine, self.baseline, self.inputs = machine, baseline, inputs
        self._snapshot, self._tolerance = snapshot, tolerance
        self._expected = [bytes.fromhex(output.data) for output in baseline.outputs]
        self._stopped_at = ""  # the trap that stopped the run: "end", "reset", "fault", ...
        self._restored = 0  # number of restores
        self._printed = 0  # chunks of the console before the inference
        self._known = list(machine.findings)  # of the fault-free run
        self._run_limit = _Limit.of(baseline.length, baseline.ticks)
        self._boot_limit = _Limit.of(
            baseline.begin + baseline.length, baseline.boot_ticks + baseline.ticks
        )
        self._traps = {baseline.ends: "end"}
        for address, trap in baseline.traps.items():
            self._traps.setdefault(int(address), trap)
        self._hook_all()

    def _hook_all(self) -> None:
        for address, trap in self._traps.items():
            self.machine.hook(address, partial(self._stop_at, trap))

    def _unhook_all(self) -> None:
        for address in self._traps:
            self.machine.unhook(address)

    def _stop_at(self, trap: str, machine: Machine) -> bool:
        self._stopped_at = trap
        return True

    def run(
        self, fault: InjectedFault, then: Callable[[Result], None] = lambda result: None
    ) -> Result:
        """Inject one fault and return its outcome; call ``then`` before the machine is reused."""
        self.restore()
        undo = self.apply(fault)
        try:
            end = self._boot_again() if fault.model == RESET else self._finish(self._run_limit)
            result = self._judge(fault, end)
            then(result)
        finally:
            undo()
        return result

    def watch(self, fault: InjectedFault | None) -> bool:
        """Run the inference, with ``fault`` or without one; return whether it ended."""
        self.restore()
        undo = self.apply(fault) if fault is not None else _no_undo
        try:
            self._finish(self._run_limit)
        finally:
            undo()
        return self._stopped_at == "end"

    @contextmanager
    def session(self, fault: InjectedFault | None) -> Iterator[SimulatorSession]:
        """Open a session without traps that begins at the fault, or else before the inference."""
        self.restore()
        undo = self.apply(fault) if fault is not None else _no_undo
        try:
            with self.without_traps():
                yield SimulatorSession(self.machine)
        finally:
            undo()

    @contextmanager
    def without_traps(self) -> Iterator[None]:
        """Disable all traps, even the end of the inference, within a block."""
        self._unhook_all()
        try:
            yield
        finally:
            self._hook_all()

    def run_on(self, seconds: float) -> None:
        """Run on for ``seconds`` of virtual time, past the end and every trap."""
        machine = self.machine
        with self.without_traps():
            machine.run(until_tick=machine.now + round(seconds * machine.memory_map.cpu_hz))

    def restore(self) -> None:
        """Restore the state just before the inference."""
        self._restored += 1
        if self._restored % _RUNS_BETWEEN_FLUSHES == 0:
            self.machine.engine.flush()
        restore(self.machine, self._snapshot)
        self.machine.clear_evidence()
        self.machine.findings += self._known
        self._stopped_at = ""
        self._printed = len(self.machine.console)

    def _finish(self, limit: _Limit) -> End:
        """Run until the inference ends, another trap is reached, or ``limit`` is exceeded."""
        if self._stopped_at:
            return End.CONDITION
        machine = self.machine
        return machine.run(
            until_executed=machine.core.executed + limit.instructions,
            until_tick=machine.now + limit.ticks,
        )

    def _boot_again(self) -> End:
        """Run from a reset to the end of the same inference; the host sends all inputs again."""
        self._stopped_at = ""
        self._finish(self._boot_limit)  # stops immediately, at the trap of a reset
        end = End.CONDITION
        for number in range(self.baseline.inference + 1):
            if self._stopped_at not in ("end", "reset"):
                break
            self._stopped_at = ""
            if self.inputs:
                end = self._feed(number)
            if not self._stopped_at and end is End.CONDITION:
                end = self._finish(self._boot_limit)
        return end

    def _feed(self, number: int) -> End:
        """Run until the image requests the inputs of an inference, and send them."""
        until = self.machine.now + self._boot_limit.ticks
        end = run_to_ready(self.machine, until)
        if end is not End.CONDITION or self._stopped_at:
            return end
        return send(self.machine, self.inputs, number, until, lambda: bool(self._stopped_at))

    def apply(self, fault: InjectedFault) -> Callable[[], None]:
        """Run to the fault's instruction and apply it; return a function that restores flash."""
        if fault.offset:
            self.machine.run(until_executed=self.baseline.begin + fault.offset)
        return _ACTIONS[fault.model](self.machine, fault)

    def _judge(self, fault: InjectedFault, end: End) -> Result:
        machine = self.machine
        if end is End.LOCKUP:
            return Result(fault, DETECTED, "lockup")
        if end is End.RESET_LOOP:
            return Result(fault, DETECTED, "reset")
        if self._stopped_at and self._stopped_at != "end":
            return Result(fault, DETECTED, self._trap_kind())
        if not self._stopped_at:
            return Result(fault, HANG, "asleep" if end is End.IDLE else "")
        if machine.registers["r0"]:
            return Result(fault, DETECTED, "status")
        printed = len(machine.console) - self._printed
        if fault.model != RESET and printed > self.baseline.printed:
            return Result(fault, DETECTED, "message")
        return self._compare(fault, self._outputs())

    def _trap_kind(self) -> str:
        """The kind of the processor's fault, if there was one, or else of the trap."""
        return self.machine.faults[0].kind if self.machine.faults else self._stopped_at

    def _outputs(self) -> list[bytes]:
        outputs = self.baseline.outputs
        return [self.machine.read_memory(output.address, output.size) for output in outputs]

    def _compare(self, fault: InjectedFault, outputs: Sequence[bytes]) -> Result:
        changed, same_decision = 0, True
        for output, expected, got in zip(
            self.baseline.outputs, self._expected, outputs, strict=True
        ):
            if got != expected:
                count, same = compare(output, expected, got, self._tolerance)
                changed, same_decision = changed + count, same_decision and same
        if not changed:
            return Result(fault, MASKED)
        return Result(fault, TOLERABLE if same_decision else CRITICAL, changed=changed)


def compare(
    output: OutputTensor, expected: bytes, got: bytes, tolerance: float
) -> tuple[int, bool]:
    """The number of values that differ, and whether the decision is the same."""
    kind = np.dtype(output.dtype)
    before, after = np.frombuffer(expected, kind), np.frombuffer(got, kind)
    integers = np.dtype(f"u{kind.itemsize}")  # NaNs with the same bits are equal
    changed = int(np.count_nonzero(before.view(integers) != after.view(integers)))
    if kind.kind == "f" and not np.isfinite(after).all():
        return changed, False
    if before.size > 1:
        return changed, int(before.argmax()) == int(after.argmax())
    scale = output.scale if kind.kind != "f" and output.scale else 1.0
    difference = abs(float(after[0]) - float(before[0])) * scale
    return changed, difference <= tolerance


def _no_undo() -> None:
    pass


def _poke(machine: Machine, fault: InjectedFault) -> Callable[[], None]:
    """Flip bits of data in memory.

    Flash is restored by the returned function, since a snapshot restores only what firmware has
    programmed. It is written without the engine, which has translated no code there.
    """
    size = (fault.mask.bit_length() + 7) // 8
    store = machine.engine.store_of(fault.address, size)
    assert store is not None
    before = bytes(store.slice(fault.address, size))
    flipped = (int.from_bytes(before, "little") ^ fault.mask).to_bytes(size, "little")
    if store.area.name != "flash":
        machine.write_memory(fault.address, flipped)
        return _no_undo
    store.slice(fault.address, size)[:] = flipped

    def undo() -> None:
        store.slice(fault.address, size)[:] = before

    return undo


def _register(machine: Machine, fault: InjectedFault) -> Callable[[], None]:
    name = REGISTERS[fault.address]
    machine.write_register(name, machine.registers[name] ^ fault.mask)
    return _no_undo


def _skip(machine: Machine, fault: InjectedFault) -> Callable[[], None]:
    pc = machine.registers["pc"] & ~1
    halfword = int.from_bytes(machine.read_memory(pc, 2), "little")
    machine.write_register("pc", pc + (4 if halfword >> 11 >= _FIRST_32 else 2))
    return _no_undo


def _replace(machine: Machine, fault: InjectedFault) -> Callable[[], None]:
    """Run one instruction with flipped bits, which are then restored."""
    pc = machine.registers["pc"] & ~1
    before = machine.read_memory(pc, 2)
    flipped = (int.from_bytes(before, "little") ^ fault.mask).to_bytes(2, "little")
    machine.write_memory(pc, flipped)
    machine.run(until_executed=machine.core.executed + 1)
    machine.write_memory(pc, before)
    return _no_undo


def _reset(machine: Machine, fault: InjectedFault) -> Callable[[], None]:
    machine.reset()
    return _no_undo


_ACTIONS: dict[str, Callable[[Machine, InjectedFault], Callable[[], None]]] = {
    "weights": _poke,
    "activations": _poke,
    "arena": _poke,
    "ram": _poke,
    "registers": _register,
    "skip": _skip,
    "replace": _replace,
    RESET: _reset,
}
