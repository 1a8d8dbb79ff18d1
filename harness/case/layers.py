"""Intermediate tensors of a running image, read from its memory operator by operator.

The firmware needs no change. Every kernel of TFLM calls ``GetEvalTensor(index)`` for its tensors
(tensorflow/lite/c/common.h, TfLiteContext). The index identifies the operator, and the returned
address locates the tensors. The outputs of an operator are read when the next operator requests
its own output.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.base.clock import Deadline
from harness.base.errors import CheckFailed, FirmwareFailed, UsageError
from harness.elf import Image
from harness.elf.functions import address_of
from harness.model import Model, Operator, Tensor
from harness.model.structures import EVAL_TENSOR
from harness.reference import Interpreter
from harness.reference.arrays import Array
from harness.reference.float_error import allowed_errors
from harness.reference.layers import LayerReport, compare_layers
from harness.reference.node import NUMPY_TYPES
from harness.targets.base import Stop
from harness.targets.session import Session

#: Calls of GetEvalTensor by one operator before the image is taken to run another model: a kernel
#: makes one, or a few, for each of its tensors.
_MOST_REQUESTS = 256
#: Bytes at an input's address that may hold a float instead.
_HEAD = 4
_INVOKE = "tflite::MicroInterpreter::Invoke"
_INVOKE_SHOWN = "MicroInterpreter::Invoke()"
#: The operator that runs another subgraph in the first inference alone.
_ONCE = "CALL_ONCE"
_GET_TENSOR = "GetEvalTensor"


@dataclass(frozen=True)
class LayerDump:
    """One inference of a device: its input tensors, and each operator's output tensors."""

    inputs: tuple[bytes, ...]
    outputs: Mapping[tuple[int, int], bytes]  # by index of the operator and of its output
    earlier: tuple[tuple[bytes, ...], ...] = ()  # inputs of the inferences before it


@dataclass(frozen=True)
class DeviceInference:
    """Inputs and outputs of one inference, as they lay in memory when it began and ended."""

    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]
    heads: tuple[bytes, ...]  # _HEAD bytes at each input's address, also behind its end


def device_inferences(
    session: Session, firmware: Image, model: Model, count: int, deadline: Deadline
) -> list[DeviceInference]:
    """The first ``count`` inferences; fewer if the image does not come to more.

    Raises :class:`UsageError` as :func:`dump_layers` does.
    """
    walk = _Walk(session, deadline)
    entry, request = functions_of(firmware)
    # The first inference then runs another subgraph first, whose tensors lie elsewhere.
    located = model.operators[0].name == _ONCE
    found: list[DeviceInference] = []
    try:
        if located:
            walk.to(entry, _INVOKE_SHOWN)
            walk.to(entry, "the second call of Invoke()")
            walk.locate(request)
            session.reset()
        for _ in range(count):
            walk.to(entry, _INVOKE_SHOWN)
            end = session.registers["lr"] & ~1
            if not located:
                walk.locate(request)
            inputs, heads = walk.tensors.inputs(model), walk.tensors.heads(model)
            walk.to(end, "the end of Invoke()")
            found.append(DeviceInference(inputs, walk.tensors.outputs(model), heads))
    except FirmwareFailed:
        pass
    return found


def compare_with_device(
    session: Session,
    firmware: Image,
    interpreter: Interpreter,
    *,
    inference: int = 0,
    deadline: Deadline,
    tolerance: float | None = None,
) -> LayerReport:
    """Run the device to the end of its ``inference`` and name the first operator that differs.

    The reference gets the device's inputs, for a stateful model also those of all earlier
    inferences. Without a ``tolerance`` integers must be bit-exact, and float32 sums may differ by
    the error bound of any summation order. Raises whatever :func:`dump_layers` raises.
    """
    model = interpreter.model
    dump = dump_layers(session, firmware, model, inference=inference, deadline=deadline)
    interpreter.reset()
    for earlier in dump.earlier if interpreter.stateful else ():
        interpreter.invoke(_arrays(earlier, model))
    allowed = allowed_errors if tolerance is None else tolerance
    inputs = _arrays(dump.inputs, model)
    return compare_layers(interpreter, inputs, dump.outputs, tolerance=allowed)


def _arrays(inputs: Sequence[bytes], model: Model) -> list[Array]:
    return [
        np.frombuffer(data, NUMPY_TYPES[tensor.dtype]).reshape(tensor.shape)
        for data, tensor in zip(inputs, model.inputs, strict=True)
    ]


def dump_layers(
    session: Session,
    firmware: Image,
    model: Model,
    *,
    inference: int = 0,
    deadline: Deadline,
) -> LayerDump:
    """Run the device through its ``inference`` (0: the first) and read every operator's outputs.

    Raises :class:`UsageError` for an image without TFLM's functions (another runtime, or stripped),
    a target without breakpoints, or a model with several subgraphs (each has tensor indices of its
    own); :class:`FirmwareFailed` if the image does not reach the inference, and
    :class:`CheckFailed` if it runs another model.
    """
    _, *branches = model.subgraphs
    if branches:
        raise UsageError(
            f"{model.name} has {len(model.subgraphs)} subgraphs; layers are read of one alone",
            hint="tflm-hil run compares the outputs of any model",
        )
    walk = _Walk(session, deadline)
    entry, request = functions_of(firmware)
    end, inputs = 0, []
    for _ in range(inference + 1):
        walk.to(entry, _INVOKE_SHOWN)
        end = session.registers["lr"] & ~1
        walk.locate(request)
        inputs.append(walk.tensors.inputs(model))
    outputs: dict[tuple[int, int], bytes] = {}
    previous: Operator | None = None
    for operator in model.operators:
        if not operator.outputs:  # ASSIGN_VARIABLE writes no tensor
            continue
        if previous is None:
            walk.first(operator.outputs, str(operator))
        else:
            walk.to_tensor(operator.outputs, str(operator))
            _read_outputs(outputs, walk, model, previous)
        previous = operator
    walk.to(end, "the end of Invoke()")
    if previous is not None:
        _read_outputs(outputs, walk, model, previous)
    return LayerDump(inputs[-1], outputs, tuple(inputs[:-1]))


def _read_outputs(
    outputs: dict[tuple[int, int], bytes], walk: _Walk, model: Model, operator: Operator
) -> None:
    for index, tensor in enumerate(operator.outputs):
        outputs[operator.index, index] = walk.tensors.read(model.tensors[tensor])


def functions_of(firmware: Image) -> tuple[int, int]:
    """The addresses of ``Invoke()`` and ``GetEvalTensor()``. Raises :class:`UsageError`."""
    return address_of(firmware, _INVOKE), address_of(firmware, _GET_TENSOR)


@dataclass(frozen=True)
class TensorReader:
    """Reads the current bytes of tensors; ``first`` is the first TfLiteEvalTensor's address."""

    session: Session
    first: int

    @staticmethod
    def base(address: int, index: int) -> int:
        """The address of the first one, from that of the one with ``index``."""
        return address - EVAL_TENSOR * index

    def read(self, tensor: Tensor, size: int | None = None) -> bytes:
        """A tensor, or ``size`` bytes from its beginning if that is given."""
        if size is None:
            size = tensor.elements * NUMPY_TYPES[tensor.dtype].itemsize
        memory = self.session.memory
        pointer = memory.read(self.first + EVAL_TENSOR * tensor.index, 4)
        return memory.read(int.from_bytes(pointer, "little"), size) if size else b""

    def inputs(self, model: Model) -> tuple[bytes, ...]:
        """All inputs."""
        return tuple(map(self.read, model.inputs))

    def outputs(self, model: Model) -> tuple[bytes, ...]:
        """All outputs."""
        return tuple(map(self.read, model.outputs))

    def heads(self, model: Model) -> tuple[bytes, ...]:
        """The first bytes at each input's address, also behind its end."""
        return tuple(self.read(tensor, _HEAD) for tensor in model.inputs)


class _Walk:
    """Moves a session from one call of GetEvalTensor to the next."""

    def __init__(self, session: Session, deadline: Deadline) -> None:
        self._session, self._deadline = session, deadline
        # `locate` sets these.
        self._request: int  # address of GetEvalTensor
        self.tensors: TensorReader
        self._requested: int  # the tensor that the current call requests

    def to(self, address: int, what: str) -> None:
        """Run to the function at ``address``; if the core is there already, to its next call."""
        registers = self._session.registers
        if registers["pc"] & ~1 == address:
            self.to(registers["lr"] & ~1, f"the return from {what}")
        stop = self._session.run_to_address(address, self._deadline)
        if stop is not Stop.CONDITION:
            raise FirmwareFailed(
                f"the image did not come to {what} ({stop.value}); it is in {self._session.where()}"
            )

    def locate(self, request: int) -> None:
        """Find the address of the tensors from the first one that a kernel requests."""
        self._request = request
        self._next()
        index = self._requested
        self.to(self._session.registers["lr"] & ~1, "the return of GetEvalTensor()")
        first = TensorReader.base(self._session.registers["r0"], index)
        self.tensors = TensorReader(self._session, first)

    def _next(self) -> None:
        self.to(self._request, "the next GetEvalTensor()")
        self._requested = self._session.registers["r1"]

    def first(self, outputs: Collection[int], operator: str) -> None:
        """Run until the first operator requests one of its outputs, unless it has already."""
        if self._requested not in outputs:
            self.to_tensor(outputs, operator)

    def to_tensor(self, outputs: Collection[int], operator: str) -> None:
        """Run until ``operator`` requests one of its outputs."""
        for _ in range(_MOST_REQUESTS):
            self._next()
            if self._requested in outputs:
                return
        raise CheckFailed(f"{operator} never requested its output")
