"""The baseline of a campaign: a snapshot just before an inference, and its fault-free run.

Tensors are located as in :mod:`harness.case.layers`: by the indices with which kernels call
``GetEvalTensor`` (tensorflow/lite/c/common.h, TfLiteContext) and the addresses that it returns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from harness.base.errors import CheckFailed, FirmwareFailed, UsageError
from harness.base.hints import NO_HINT, Hint
from harness.elf.demangle import qualified
from harness.elf.functions import address_of
from harness.model import Model
from harness.model.structures import EVAL_TENSOR
from harness.simulator import End, Machine
from harness.simulator.snapshot import Snapshot, take
from harness.studies.campaign.feeding import READY, Inputs, run_to_ready, send
from harness.uart.records import pattern

_INVOKE = "MicroInterpreter::Invoke"
GET_TENSOR = "GetEvalTensor"
_INFERENCE = pattern("inference")
#: Functions that firmware calls when it gives up: reaching one detects a fault.
_ABORTS = (
    "abort", "__assert_func", "assert_post_action", "z_fatal_error", "k_sys_fatal_error_handler",
    "TfLiteAbort", "hard_assert", "_exit",
)  # fmt: skip
#: Vectors of NMI, HardFault, MemManage, BusFault, UsageFault, SecureFault (Armv8-M ARM, B3.30).
_FAULTS = range(2, 8)
#: Virtual seconds within which an image must reach the next step to the inference.
_BOOT_SECONDS = 60.0
#: Bytes of stack below the lowest observed stack pointer, for interrupts.
_STACK_MARGIN = 256


@dataclass(frozen=True)
class FaultSite:
    """A range of memory that a fault may hit."""

    name: str
    region: str  # "weights", "activations", "arena", "stack", "data"
    address: int
    size: int
    tensor: int = -1
    width: int = 1  # bytes of an element
    operators: tuple[int, ...] = ()  # indices of the operators that read it


@dataclass(frozen=True)
class OutputTensor:
    """An output tensor: its address, and its content after the fault-free run."""

    address: int
    dtype: str
    scale: float
    zero_point: int
    data: str  # hexadecimal

    @property
    def size(self) -> int:
        """Size of the tensor in bytes."""
        return len(self.data) // 2


@dataclass(frozen=True)
class Baseline:
    """The fault-free run of one inference.

    Operator ``i`` requests its output ``boundaries[i]`` instructions after ``begin``: its inputs
    are then complete, and it has computed nothing yet.
    """

    inference: int
    begin: int  # instructions executed before the inference
    boot_ticks: int  # virtual time before it
    length: int  # instructions of the inference
    ticks: int  # virtual time of it
    ends: int  # address to which the inference returns
    boundaries: tuple[int, ...]
    operators: tuple[str, ...]
    weights: tuple[FaultSite, ...]
    activations: tuple[FaultSite, ...]
    ram: tuple[FaultSite, ...]
    outputs: tuple[OutputTensor, ...]
    traps: dict[str, str] = field(default_factory=dict)  # address -> "fault", "reset", "assertion"
    printed: int = 0  # chunks of the console that the inference prints

    def operator_at(self, offset: int) -> int:
        """The index of the operator at an offset in instructions; -1 before the first."""
        return sum(1 for boundary in self.boundaries if boundary <= offset) - 1

    def to_json(self) -> dict[str, Any]:
        """The baseline as JSON types."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """The baseline of a :meth:`to_json` document."""

        def sites(name: str) -> tuple[FaultSite, ...]:
            return tuple(
                FaultSite(**{**site, "operators": tuple(site["operators"])})
                for site in content[name]
            )

        parts = {name: sites(name) for name in ("weights", "activations", "ram")}
        tuples = {name: tuple(content[name]) for name in ("boundaries", "operators")}
        outputs = tuple(OutputTensor(**output) for output in content["outputs"])
        return cls(**{**content, **parts, **tuples, "outputs": outputs})


def record_baseline(
    machine: Machine, model: Model, inference: int = 0, inputs: Inputs = ()
) -> tuple[Baseline, Snapshot]:
    """Boot to ``inference`` (0: the first), take a snapshot, and run it without a fault.

    ``inputs`` are sent to an image that is fed, one row per inference. Raises
    :class:`UsageError` for an image without TFLM's functions, :class:`FirmwareFailed` if it does
    not reach the inference, :class:`CheckFailed` if it runs another model.
    """
    return _Recorder(machine, model, inputs).run(inference)


class _Recorder:
    def __init__(self, machine: Machine, model: Model, inputs: Inputs) -> None:
        self.machine, self.model, self.inputs = machine, model, inputs
        self.invoke = address_of(machine.firmware, _INVOKE)
        self.get_tensor = address_of(machine.firmware, GET_TENSOR)

    def run(self, inference: int) -> tuple[Baseline, Snapshot]:
        machine = self.machine
        for number in range(inference + 1):
            if self.inputs:
                self._feed(number)
            self._to(self.invoke, f"inference {number}")
            if number < inference:
                self._to(machine.registers["lr"] & ~1, f"the end of inference {number}")
        ends = machine.registers["lr"] & ~1
        snapshot, begin, start = take(machine), machine.core.executed, machine.now
        printed = len(machine.console)
        calls: list[tuple[int, int, int]] = []  # of GetEvalTensor: offset, index, stack pointer
        returns: list[tuple[int, int]] = []  # index and address of the first tensor

        def called(machine: Machine) -> None:
            registers = machine.registers
            calls.append((machine.core.executed - begin, registers["r1"], registers["sp"]))
            if not returns and len(calls) == 1:
                machine.hook(registers["lr"] & ~1, returned)

        def returned(machine: Machine) -> None:
            if not returns:
                returns.append((calls[-1][1], machine.registers["r0"]))

        top = machine.registers["sp"]
        machine.hook(self.get_tensor, called)
        self._to(ends, "the end of the inference")
        machine.unhook(self.get_tensor)
        if machine.registers["r0"] != 0:
            raise FirmwareFailed(
                "the fault-free inference fails: Invoke() does not return kTfLiteOk"
            )
        if not returns:
            raise CheckFailed("no kernel asked for a tensor")
        length = machine.core.executed - begin
        first_index, address = returns[0]
        tensors = address - EVAL_TENSOR * first_index
        lowest = min(stack for _, _, stack in calls)
        boundaries = self._boundaries(calls)
        weights, activations = self._tensors(tensors)
        baseline = Baseline(
            inference, begin, start, length, machine.now - start, ends, boundaries,
            tuple(f"{operator.index} {operator.name}" for operator in self.model.operators),
            weights, activations, self._ram(lowest, top), self._outputs(tensors),
            self._traps(), len(machine.console) - printed,
        )  # fmt: skip
        return baseline, snapshot

    def _feed(self, number: int) -> None:
        """Run until the image requests the inputs of an inference and send them."""
        machine = self.machine
        if number >= len(self.inputs):
            raise UsageError(f"there are inputs for {len(self.inputs)} inferences only")
        until = machine.now + round(_BOOT_SECONDS * machine.memory_map.cpu_hz)
        if run_to_ready(machine, until) is not End.CONDITION:
            computed = re.search(_INFERENCE, self._console())
            raise FirmwareFailed(
                f"the image does not ask for the inputs of inference {number}",
                hint=Hint.OWN_INPUTS.told() if computed and not number else NO_HINT,
            )
        if send(machine, self.inputs, number, until) is not End.CONDITION:
            raise FirmwareFailed(f"the image does not take the inputs of inference {number}")

    def _console(self) -> bytes:
        return b"".join(chunk.data for chunk in self.machine.console)

    def _to(self, address: int, name: str) -> None:
        machine = self.machine
        machine.hook(address, lambda _: True)
        until = machine.now + round(_BOOT_SECONDS * machine.memory_map.cpu_hz)
        end = machine.run(until_tick=until)
        machine.unhook(address)
        if end is not End.CONDITION:
            if not self.inputs and re.search(READY, self._console()):
                raise UsageError("the image waits for inputs", hint="send them with --inputs")
            raise FirmwareFailed(f"the image does not reach {name} ({end})")

    def _boundaries(self, calls: Sequence[tuple[int, int, int]]) -> tuple[int, ...]:
        """The offset at which each operator requests its output."""
        offsets: list[int] = []
        remaining = iter(calls)
        for operator in self.model.operators:
            requests = (offset for offset, index, _ in remaining if index in operator.outputs)
            offset = next(requests, None)
            if offset is None:
                raise CheckFailed(f"{operator} never requested its output")
            offsets.append(offset)
        return tuple(offsets)

    def _tensors(self, base: int) -> tuple[tuple[FaultSite, ...], tuple[FaultSite, ...]]:
        """The weights and the activations that operators read."""
        weights: list[FaultSite] = []
        activations: list[FaultSite] = []
        operators = self.model.operators
        for tensor in self.model.tensors:
            readers = tuple(op.index for op in operators if tensor.index in op.inputs)
            address = self._address(base, tensor.index)
            size = self._size(tensor.index)
            if not readers or not size or not address:
                continue
            region = "weights" if tensor.constant else "activations"
            width = max(1, size // max(1, tensor.elements))
            site = FaultSite(tensor.name, region, address, size, tensor.index, width, readers)
            (weights if tensor.constant else activations).append(site)
        for site in weights:
            data = self.model.tensors[site.tensor].data
            assert data is not None
            if self.machine.read_memory(site.address, site.size) != bytes(data):
                raise CheckFailed(f"tensor {site.name!r} differs in the image")
        return tuple(weights), tuple(activations)

    def _address(self, base: int, index: int) -> int:
        return int.from_bytes(self.machine.read_memory(base + EVAL_TENSOR * index, 4), "little")

    def _size(self, index: int) -> int:
        tensor = self.model.tensors[index]
        if tensor.data is not None:
            return len(tensor.data)
        return tensor.elements * WIDTHS.get(tensor.dtype, 0)

    def _outputs(self, base: int) -> tuple[OutputTensor, ...]:
        outputs = []
        for tensor in self.model.outputs:
            address = self._address(base, tensor.index)
            data = self.machine.read_memory(address, self._size(tensor.index)).hex()
            outputs.append(
                OutputTensor(address, tensor.dtype, tensor.scale, tensor.zero_point, data)
            )
        return tuple(outputs)

    def _ram(self, lowest: int, top: int) -> tuple[FaultSite, ...]:
        """The objects in RAM, and the used stack if no object contains it."""
        ram = self.machine.memory_map.area("ram")
        sites = {
            symbol.address: FaultSite(
                symbol.name, _region(symbol.name), symbol.address, symbol.size
            )
            for symbol in self.machine.firmware.symbols
            if symbol.kind == "object" and symbol.size and ram.holds(symbol.address, symbol.size)
        }
        stack = lowest - _STACK_MARGIN
        spans = [(site.address, site.address + site.size) for site in sites.values()]
        if not any(start <= stack < end for start, end in spans):
            stack = max([stack, *(end for _, end in spans if end <= top)])
            limit = min([ram.end, *(start for start, _ in spans if start >= top)])
            sites[stack] = FaultSite(
                "stack", "stack", stack, min(limit, top + _STACK_MARGIN) - stack
            )
        return tuple(sites[address] for address in sorted(sites))

    def _traps(self) -> dict[str, str]:
        """The addresses at which the image has detected a fault, with their kinds."""
        machine = self.machine
        table = machine.engine.scb[False].vtor
        traps: dict[str, str] = {}
        for number in _FAULTS:
            vector = int.from_bytes(machine.read_memory(table + 4 * number, 4), "little") & ~1
            if vector and machine.engine.store_of(vector, 2):
                traps[str(vector)] = "fault"
        start = int.from_bytes(machine.read_memory(table + 4, 4), "little") & ~1
        traps[str(start)] = "reset"
        for symbol in machine.firmware.symbols:
            if symbol.kind == "func" and qualified(symbol.name) in _ABORTS:
                traps.setdefault(str(symbol.address & ~1), "assertion")
        return traps


#: Bytes of an element, by the model's type.
WIDTHS = {
    "int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "float16": 2, "int32": 4,
    "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip


def _region(name: str) -> str:
    lowered = name.lower()
    return next((word for word in ("arena", "stack") if word in lowered), "data")
