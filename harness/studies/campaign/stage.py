"""Where a campaign begins: a snapshot just before an inference, and its fault-free run.

Tensors are found as :mod:`harness.case.layers` finds them: by what kernels ask ``GetEvalTensor``
for (tensorflow/lite/c/common.h, TfLiteContext) and where the answers lie.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from harness.elf.demangle import qualified
from harness.elf.functions import address_of
from harness.errors import CheckFailed, FirmwareFailed, UsageError
from harness.model import Model
from harness.simulator import End, Machine
from harness.simulator.snapshot import Snapshot, take
from harness.studies.campaign.feeding import QUESTION, Inputs, lines, send, to_question

_EVAL_TENSOR = 12  # sizeof(TfLiteEvalTensor): data, dims, type; data comes first
_INVOKE = "MicroInterpreter::Invoke"
GET_TENSOR = "GetEvalTensor"
#: Functions that an image calls when it gives up, where it has them.
_GIVES_UP = (
    "abort", "__assert_func", "assert_post_action", "z_fatal_error", "k_sys_fatal_error_handler",
    "TfLiteAbort", "hard_assert", "_exit",
)  # fmt: skip
#: Vectors of NMI, HardFault, MemManage, BusFault, UsageFault, SecureFault (Armv8-M ARM, B3.30).
_FAULTS = range(2, 8)
#: Virtual seconds in which an image must come to the inference.
_BOOT_SECONDS = 60.0
_STACK_MARGIN = 256  # bytes below the deepest stack that was seen: interrupts need some, too


@dataclass(frozen=True)
class Place:
    """A stretch of memory that may be hit."""

    name: str
    region: str  # "weights", "activations", "arena", "stack", "data", "line"
    address: int
    size: int
    tensor: int = -1
    width: int = 1  # bytes of an element
    operators: tuple[int, ...] = ()  # that read it


@dataclass(frozen=True)
class Output:
    """One output tensor: where it lies and what the fault-free run left there."""

    address: int
    dtype: str
    scale: float
    zero_point: int
    data: str  # hexadecimal

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data) // 2


@dataclass(frozen=True)
class Stage:
    """The fault-free run of one inference; addresses and counts are the image's own.

    ``boundaries[i]`` is how many instructions after ``begin`` operator ``i`` asks for its output:
    its inputs are complete then, and it has computed nothing yet.
    """

    inference: int
    begin: int  # instructions executed before the inference
    boot_ticks: int  # virtual time before it
    length: int  # instructions of the inference
    ticks: int  # virtual time of it
    ends: int  # the address at which it is over
    boundaries: tuple[int, ...]
    operators: tuple[str, ...]
    weights: tuple[Place, ...]
    activations: tuple[Place, ...]
    ram: tuple[Place, ...]
    outputs: tuple[Output, ...]
    traps: dict[str, str] = field(default_factory=dict)  # address -> what it means to come there
    printed: int = 0  # chunks of the console that the inference prints
    line: tuple[Place, ...] = ()  # records that the host sends for it, by their first byte
    sending: int = 0  # virtual time from the image's question to the inference

    def operator_at(self, offset: int) -> int:
        """The operator that runs at an offset in instructions; -1 before the first."""
        return sum(1 for boundary in self.boundaries if boundary <= offset) - 1

    def to_json(self) -> dict[str, Any]:
        """As JSON types."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """What :meth:`to_json` gave."""

        def places(name: str) -> tuple[Place, ...]:
            return tuple(
                Place(**{**one, "operators": tuple(one["operators"])}) for one in content[name]
            )

        changed = {name: places(name) for name in ("weights", "activations", "ram", "line")}
        outputs = tuple(Output(**one) for one in content["outputs"])
        plain = {name: tuple(content[name]) for name in ("boundaries", "operators")}
        return cls(**{**content, **changed, **plain, "outputs": outputs})


@dataclass(frozen=True)
class Prepared:
    """A stage and the states that runs start from: before the inference, and, of an image that is
    fed, as it asks for that inference's inputs."""

    stage: Stage
    snapshot: Snapshot
    waiting: Snapshot | None


def prepare(machine: Machine, model: Model, inference: int = 0, inputs: Inputs = ()) -> Prepared:
    """Boot to ``inference`` (0: the first), keep that state, and run it without a fault.

    ``inputs`` are sent to an image that asks for them, one row an inference. Raises
    :class:`UsageError` for an image without the functions to stop at, :class:`FirmwareFailed` if
    it does not come so far, :class:`CheckFailed` if it runs another model.
    """
    return _Rehearsal(machine, model, inputs).run(inference)


class _Rehearsal:
    def __init__(self, machine: Machine, model: Model, inputs: Inputs) -> None:
        self.machine, self.model, self.inputs = machine, model, inputs
        self.asked = 0  # when the image asked for inputs last
        self.entry = address_of(machine.firmware, _INVOKE)
        self.ask = address_of(machine.firmware, GET_TENSOR)

    def run(self, inference: int) -> Prepared:
        machine = self.machine
        waiting: Snapshot | None = None
        for number in range(inference + 1):
            if self.inputs:
                waiting = self._ask(number)
            self._to(self.entry, f"inference {number}")
            if number < inference:
                self._to(machine.registers["lr"] & ~1, f"the end of inference {number}")
        ends = machine.registers["lr"] & ~1
        snapshot, begin, began = take(machine), machine.core.executed, machine.now
        printed = len(machine.console)
        asked: list[tuple[int, int, int]] = []
        answers: list[tuple[int, int]] = []

        def note(at: Machine) -> None:
            registers = at.registers
            asked.append((at.core.executed - begin, registers["r1"], registers["sp"]))
            if not answers and len(asked) == 1:
                at.hook(registers["lr"] & ~1, answer)

        def answer(at: Machine) -> None:
            if not answers:
                answers.append((asked[-1][1], at.registers["r0"]))

        top = machine.registers["sp"]
        machine.hook(self.ask, note)
        self._to(ends, "the end of the inference")
        machine.unhook(self.ask)
        if machine.registers["r0"] != 0:
            raise FirmwareFailed(
                "the fault-free inference fails: Invoke() does not return kTfLiteOk"
            )
        if not answers:
            raise CheckFailed("no kernel asked for a tensor: does the image run another model?")
        length = machine.core.executed - begin
        tensors = answers[0][1] - _EVAL_TENSOR * answers[0][0]
        lowest = min(stack for _, _, stack in asked)
        boundaries = self._boundaries(asked)
        weights, activations = self._tensors(tensors)
        stage = Stage(
            inference, begin, began, length, machine.now - began, ends, boundaries,
            tuple(f"{one.index} {one.name}" for one in self.model.operators),
            weights, activations, self._ram(lowest, top), self._outputs(tensors),
            self._traps(), len(machine.console) - printed,
            self._line(inference), began - self.asked,
        )  # fmt: skip
        return Prepared(stage, snapshot, waiting)

    def _ask(self, number: int) -> Snapshot:
        """To where the image asks for the inputs of an inference; send them from there."""
        machine = self.machine
        if number >= len(self.inputs):
            raise UsageError(f"there are inputs for {len(self.inputs)} inferences only")
        until = machine.now + round(_BOOT_SECONDS * machine.memory_map.cpu_hz)
        if to_question(machine, until) is not End.CONDITION:
            raise FirmwareFailed(
                f"the image does not ask for the inputs of inference {number}",
                hint="" if number else "an image with inputs of its own takes no --inputs",
            )
        waiting, self.asked = take(machine), machine.now
        if send(machine, self.inputs, number, until) is not End.CONDITION:
            raise FirmwareFailed(f"the image does not take the inputs of inference {number}")
        return waiting

    def _line(self, number: int) -> tuple[Place, ...]:
        """Where each record for an inference lies on the line."""
        places: list[Place] = []
        at = 0
        for what, line in lines(self.inputs, number) if self.inputs else ():
            places.append(Place(what, "line", at, len(line)))
            at += len(line)
        return tuple(places)

    def _to(self, address: int, what: str) -> None:
        machine = self.machine
        machine.hook(address, lambda _: True)
        until = machine.now + round(_BOOT_SECONDS * machine.memory_map.cpu_hz)
        end = machine.run(until_tick=until)
        machine.unhook(address)
        if end is not End.CONDITION:
            console = b"".join(chunk.data for chunk in machine.console)
            if not self.inputs and re.search(QUESTION, console):
                raise UsageError("the image asks for inputs", hint="send them with --inputs")
            raise FirmwareFailed(f"the image does not come to {what} ({end})")

    def _boundaries(self, asked: Sequence[tuple[int, int, int]]) -> tuple[int, ...]:
        found: list[int] = []
        calls = iter(asked)
        for operator in self.model.operators:
            offset = next((at for at, index, _ in calls if index in operator.outputs), None)
            if offset is None:
                raise CheckFailed(
                    f"{operator} never asked for its output: does the image run another model?"
                )
            found.append(offset)
        return tuple(found)

    def _tensors(self, base: int) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
        weights: list[Place] = []
        activations: list[Place] = []
        for tensor in self.model.tensors:
            readers = tuple(one.index for one in self.model.operators if tensor.index in one.inputs)
            address = self._address(base, tensor.index)
            size = self._size(tensor.index)
            if not readers or not size or not address:
                continue
            region = "weights" if tensor.constant else "activations"
            width = max(1, size // max(1, tensor.elements))
            place = Place(tensor.name, region, address, size, tensor.index, width, readers)
            (weights if tensor.constant else activations).append(place)
        for place in weights:
            data = self.model.tensors[place.tensor].data
            assert data is not None
            if self.machine.read_memory(place.address, place.size) != bytes(data):
                raise CheckFailed(
                    f"tensor {place.name!r} is another one in the image: does it run another model?"
                )
        return tuple(weights), tuple(activations)

    def _address(self, base: int, index: int) -> int:
        return int.from_bytes(self.machine.read_memory(base + _EVAL_TENSOR * index, 4), "little")

    def _size(self, index: int) -> int:
        tensor = self.model.tensors[index]
        if tensor.data is not None:
            return len(tensor.data)
        return tensor.elements * WIDTHS.get(tensor.dtype, 0)

    def _outputs(self, base: int) -> tuple[Output, ...]:
        found = []
        for tensor in self.model.outputs:
            address = self._address(base, tensor.index)
            data = self.machine.read_memory(address, self._size(tensor.index)).hex()
            found.append(Output(address, tensor.dtype, tensor.scale, tensor.zero_point, data))
        return tuple(found)

    def _ram(self, lowest: int, top: int) -> tuple[Place, ...]:
        """The RAM that the image has variables in, object by object, and the stack in use."""
        ram = self.machine.memory_map.area("ram")
        found = [
            Place(one.name, _region(one.name), one.address, one.size)
            for one in self.machine.firmware.symbols
            if one.kind == "object" and one.size and ram.holds(one.address, one.size)
        ]
        unique = {place.address: place for place in found}
        stack = lowest - _STACK_MARGIN
        if not any(one.address <= stack < one.address + one.size for one in unique.values()):
            stack = max([stack, *(one.address + one.size for one in unique.values()
                                  if one.address + one.size <= top)])  # fmt: skip
            end = min([ram.end, *(one.address for one in unique.values() if one.address >= top)])
            unique[stack] = Place("stack", "stack", stack, min(end, top + _STACK_MARGIN) - stack)
        return tuple(unique[address] for address in sorted(unique))

    def _traps(self) -> dict[str, str]:
        """Where an image comes to when it has noticed something: handlers, assertions, reset."""
        machine = self.machine
        table = machine.scb.vtor
        found: dict[str, str] = {}
        for number in _FAULTS:
            vector = int.from_bytes(machine.read_memory(table + 4 * number, 4), "little") & ~1
            if vector and machine.engine.store_of(vector, 2):
                found[str(vector)] = "fault"
        start = int.from_bytes(machine.read_memory(table + 4, 4), "little") & ~1
        found[str(start)] = "reset"
        for symbol in machine.firmware.symbols:
            if symbol.kind == "func" and qualified(symbol.name) in _GIVES_UP:
                found.setdefault(str(symbol.address & ~1), "assertion")
        return found


#: Bytes of an element, by the model's type.
WIDTHS = {
    "int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "float16": 2, "int32": 4,
    "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip


def _region(name: str) -> str:
    lowered = name.lower()
    return next((word for word in ("arena", "stack") if word in lowered), "data")
