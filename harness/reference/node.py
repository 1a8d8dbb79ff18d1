"""Kernels, and their argument: one operator with its tensors and the device's arithmetic.

A kernel is a function of a node. It checks the operator once, prepares everything that does not
depend on computed values (weights in matrix form, multipliers, tables), and returns the function
that runs it on arrays with a leading axis of runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from harness.base.arithmetic import Arithmetic, Rounding
from harness.base.errors import BadModel, UnsupportedOperator
from harness.model import Operator, Tensor, flexbuffer
from harness.reference.arrays import Array
from harness.reference.memory import ModelMemory
from harness.reference.quantization import round_away
from harness.reference.scale import Clamp, Multiplier, Requantizer, rounded_quotient

#: Runs one operator: from the arrays of its inputs (None: left out) to that of its output, or to a
#: sequence with that of each output. Every array has a leading axis of *runs* before the tensor's
#: own shape: one per independent inference, or 1 for an array that is the same in all of them
#: (constants). Inputs are not changed, but for variable tensors, which are updated in place; an
#: operator with a memory runs one inference at a time.
Run = Callable[..., "Array | Sequence[Array]"]

#: Checks an operator, as TFLM's Prepare does, and returns the function that runs it.
Kernel = Callable[["Node"], Run]

#: The real range that a fused activation allows (ActivationFunctionType of the schema).
REAL_RANGES = {
    "NONE": (-math.inf, math.inf),
    "RELU": (0.0, math.inf),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU6": (0.0, 6.0),
}
#: The largest float output of an operator with a fused activation, also with "NONE".
FLOAT_MAX = float(np.finfo(np.float32).max)

_PLAIN = "float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool"

#: The hint for an operator without a kernel.
OWN_KERNEL = (
    "give a kernel of your own: an entry point of the group tflm_hil.kernels, or in Python"
    " Kernels.with_builtin or with_custom (docs/reference.md, Your own custom operator)"
)

#: Types that a reference kernel can hold, by the schema's name; int4 is unpacked to int8, a
#: resource is the number of a resource variable.
NUMPY_TYPES: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        **{name: np.dtype(name) for name in _PLAIN.split()},
        "int4": np.dtype("int8"),
        "resource": np.dtype("int32"),
    }
)


class CallableSubgraph(Protocol):
    """A subgraph that operators can call (IF, WHILE, CALL_ONCE)."""

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that :meth:`call` takes."""

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors that :meth:`call` returns."""

    def call(self, values: Sequence[Array]) -> list[Array]:
        """Run it once on arrays with a leading axis of runs."""


def _nothing() -> Callable[[Any], Any]:
    """What leaves a step as it is."""
    return lambda step: step


@dataclass(frozen=True)
class Seams:
    """The steps of kernels that :mod:`.mistakes` replaces; a kernel takes each of them from here.

    ``divisor`` is of averages: the number of elements, an int64 array. ``quotient`` divides sums
    by it. ``window`` changes a Window or the places of a transposed convolution.
    """

    multiplier: Callable[[Multiplier], Multiplier] = field(default_factory=_nothing)
    requantizer: Callable[[Requantizer], Requantizer] = field(default_factory=_nothing)
    window: Callable[[Any], Any] = field(default_factory=_nothing)
    divisor: Callable[[Array], Array] = field(default_factory=_nothing)
    quotient: Callable[[Array, Array], Array] = rounded_quotient


@dataclass(frozen=True)
class Node:
    """One operator of a model.

    ``inputs`` holds None for an optional input that is left out. ``where`` begins every message:
    the model's name and the operator's index, name and version. ``memory`` outlasts inferences;
    ``graph`` is the number of the operator's subgraph, ``subroutines`` are all of them. ``decoded``
    tensors are constants here, but computed ones to TFLM (see :mod:`.kernels.decode`).
    """

    operator: Operator
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    intermediates: tuple[Tensor | None, ...]
    arithmetic: Arithmetic
    where: str
    memory: ModelMemory = field(default_factory=ModelMemory, repr=False)
    graph: int = 0
    subroutines: Sequence[CallableSubgraph] = field(default=(), repr=False)
    decoded: frozenset[int] = frozenset()
    seams: Seams = Seams()

    @property
    def rounding(self) -> Rounding:
        """The rounding of its kernel's requantization."""
        return self.arithmetic.rounding

    @property
    def options(self) -> Mapping[str, Any]:
        """The operator's options by the schema's names."""
        return self.operator.options

    def option(self, name: str) -> Any:
        """One option. Raises BadModel if the file has no options table of the right type."""
        if name not in self.options:
            raise self.bad(f"it has no option {name!r}")
        return self.options[name]

    def bad(self, reason: str) -> BadModel:
        """The error for an operator that contradicts itself, in its model or its inputs.

        TFLM does not check all of this; it may read memory outside of the tensor.
        """
        return BadModel(
            f"{self.where}: {reason}",
            hint="TFLM refuses this too, or computes something that nothing defines",
        )

    def refused(self, reason: str) -> BadModel:
        """The error for a model that TFLM refuses, too; tests compare this with TFLM."""
        return BadModel(f"{self.where}: {reason}", hint="TFLM refuses such a model too")

    def aborts(self, reason: str) -> BadModel:
        """The error for inputs on which TFLM ends the program; tests compare this with TFLM."""
        return BadModel(f"{self.where}: {reason}", hint="TFLM aborts here (TFLITE_CHECK)")

    def unsupported(self, reason: str) -> UnsupportedOperator:
        """The error for an operator that has no reference kernel, or none for its types."""
        return UnsupportedOperator(f"{self.where}: {reason}", hint=OWN_KERNEL)

    def settings(self) -> Mapping[str, int | float]:
        """The numbers among a custom operator's options, a FlexBuffer map."""
        try:
            return flexbuffer.scalars(self.operator.custom_options)
        except flexbuffer.NoFlexMap as error:
            raise self.bad(f"its options are not a FlexBuffer map: {error}") from None

    def number(self, name: str, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high`` among a custom operator's options.

        Raises BadModel if it is missing or another number.
        """
        value = self.settings().get(name)
        if value is None:
            raise self.bad(f"it has no option {name!r}")
        if not low <= value <= high or value != int(value):
            raise self.bad(f"its option {name} is {value}")
        return int(value)

    def check_signature(self, signature: str) -> None:
        """Check the types of all inputs and outputs, written as ``int16 int16 -> int32``."""
        inputs, outputs = ([tensor.dtype if tensor else "none" for tensor in tensors]
                           for tensors in (self.inputs, self.outputs))  # fmt: skip
        given = f"{' '.join(inputs)} -> {' '.join(outputs)}"
        if given != signature:
            raise self.bad(f"its tensors are {given[:200]}, not {signature}")

    def present(self, index: int) -> bool:
        """True if the model gives input ``index``."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def input(self, index: int) -> Tensor:
        """Input tensor ``index``. Raises BadModel if it is missing."""
        tensor = self.inputs[index] if index < len(self.inputs) else None
        if tensor is None:
            raise self.bad(f"its input {index} is missing")
        return tensor

    def output(self, index: int = 0) -> Tensor:
        """Output tensor ``index``. Raises BadModel if it is missing."""
        if index >= len(self.outputs):
            raise self.bad(f"its output {index} is missing")
        return self.outputs[index]

    def subroutine(self, option: str) -> CallableSubgraph:
        """The subgraph that an option names by its number."""
        number = int(self.option(option))
        if not 0 <= number < len(self.subroutines):
            raise self.bad(f"{option} is {number}, there are {len(self.subroutines)} subgraphs")
        return self.subroutines[number]

    def constant(self, index: int) -> Array | None:
        """The value of input ``index`` without a runs axis, or None if it is computed."""
        tensor = self.input(index)
        return constant(tensor) if tensor.constant and not tensor.variable else None

    def required_constant(self, index: int, what: str) -> Array:
        """The value of constant input ``index``. Raises UnsupportedOperator if it is computed."""
        value = self.constant(index)
        if value is None or self.input(index).index in self.decoded:
            error = self.unsupported(f"{what} is computed at run time, not a constant of the model")
            error.hint = self.free_dimension() or error.hint
            raise error
        return value

    def integers(self, index: int, what: str, types: str = "int32") -> list[int]:
        """A constant input of one of those types as a flat list."""
        value, dtype = self.required_constant(index, what), self.input(index).dtype
        if dtype not in types.split():
            raise self.bad(f"{what} has the type {dtype}")
        return [int(each) for each in value.ravel()]

    def check_types(self, allowed: str) -> str:
        """The common type of input 0 and output 0, which must be one of ``allowed``."""
        dtype = self.input(0).dtype
        if self.output().dtype != dtype:
            raise self.bad(f"its input is {dtype}, its output {self.output().dtype}")
        if dtype not in allowed.split():
            raise self.unsupported(f"input type {dtype} is not supported")
        return dtype

    def check_output(self, shape: Sequence[int], index: int = 0) -> None:
        """Compare the shape that the operator computes with the shape that the model declares."""
        if tuple(shape) != self.output(index).shape:
            declared = list(self.output(index).shape)
            error = self.bad(f"computes the shape {list(shape)}, but the model declares {declared}")
            error.hint = self.free_dimension() or error.hint
            raise error

    def free_dimension(self) -> str:
        """The hint for a shape that depends on a dimension that the model leaves open, or ""."""
        for tensor in (*self.inputs, *self.outputs):
            if tensor and tensor.free:
                return (
                    f"axis {tensor.free[0]} of tensor {tensor.index} ({tensor.name[:64]!r}) is free"
                    f" (a batch?), and {tensor.shape[tensor.free[0]]} in TFLM: convert the model"
                    " with a fixed size"
                )
        return ""

    def axis(self, axis: int, rank: int) -> int:
        """``axis`` counted from the front. Raises BadModel if there are too few axes."""
        if not -rank <= axis < rank:
            raise self.bad(f"axis {axis} of {rank} axes")
        return axis % rank

    def check_broadcast(self) -> None:
        """Check that the output has the shape of both inputs broadcast."""
        shapes = [self.input(index).shape for index in (0, 1)]
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            one, other = map(list, shapes)
            raise self.bad(f"its inputs {one} and {other} do not broadcast") from None
        self.check_output(shape)

    def precise(self, real: float) -> Any:
        """A scale as the type in which TFLM computes a multiplier from it.

        float for ``multipliers`` "double", np.float32 for "single", in FULLY_CONNECTED,
        BATCH_MATMUL, SUB, DIV, SVDF, LSTM, ABS, RSQRT, RELU, LEAKY_RELU, HARD_SWISH. The tests
        compare "double" with the package tflite-micro of October 2026, and "single", which is
        that of earlier revisions, with LiteRT (except SVDF and LSTM, which differ there).
        """
        return np.float32(real) if self.arithmetic.multipliers == "single" else float(real)

    def scale(self, tensor: Tensor) -> float:
        """A tensor's scale. Raises BadModel if it has none above 0."""
        if not tensor.scale > 0:
            raise self.bad(f"tensor {tensor.index} ({tensor.name!r}) has no scale")
        return tensor.scale

    def multiplier(self, real: float | Iterable[float]) -> Multiplier:
        """A real multiplier, or one per channel, in the device's fixed point."""
        return self.seams.multiplier(Multiplier.of(real, self.rounding))

    def requantizer(self, real: float, clamp: Clamp | None = None) -> Requantizer:
        """From accumulators to output 0; ``clamp`` is by default the range of its type."""
        output = self.output()
        clamp = clamp or Clamp.whole(NUMPY_TYPES[output.dtype])
        return self.rescaled(self.multiplier(real), output.zero_point, clamp)

    def rescaled(
        self, multiplier: Multiplier, zero_point: int, clamp: Clamp, wide: bool = False
    ) -> Requantizer:
        """From accumulators to a tensor with that zero point, see :class:`Requantizer`."""
        return self.seams.requantizer(Requantizer(multiplier, zero_point, clamp, wide))

    def clamp(self, activation: str | None = None) -> Clamp:
        """The clamp of output 0 under a fused activation (default: the node's own option).

        Quantized limits are zero_point + round(limit / scale), cut to the type's range
        (TensorFlow Lite, ``CalculateActivationRangeQuantized``).
        """
        name = self.option("fused_activation_function") if activation is None else activation
        if name not in REAL_RANGES:
            raise self.bad(f"TFLM has no fused activation {name}: its limits are never set")
        low, high = REAL_RANGES[name]
        dtype = NUMPY_TYPES[self.output().dtype]
        if dtype.kind == "f":
            return Clamp(max(low, -FLOAT_MAX), min(high, FLOAT_MAX), dtype)
        whole = Clamp.whole(dtype)
        if name == "NONE":
            return whole
        low = whole.low if math.isinf(low) else max(whole.low, self._quantized(low))
        high = whole.high if math.isinf(high) else min(whole.high, self._quantized(high))
        return Clamp(low, high, dtype)

    def _quantized(self, limit: float) -> int:
        output = self.output()
        scale = self.scale(output)
        steps = float(round_away(np.float32(limit) / np.asarray(scale, np.float32)))
        if not abs(steps) < 1 << 31:
            raise self.bad(f"its activation limit {limit} is {steps} steps of the scale {scale}")
        return int(steps) + output.zero_point


@dataclass(frozen=True)
class KnownOutputs:
    """A :data:`Run` that always gives ``arrays``: constants for the operators behind it."""

    arrays: Sequence[Array]

    def __call__(self, *_: Array) -> Sequence[Array]:
        """The arrays, each of one run."""
        return self.arrays


def constant(tensor: Tensor) -> Array:
    """A constant tensor's value, shape ``tensor.shape``; int4 comes as int8."""
    assert tensor.data is not None
    if tensor.dtype == "int4":
        return unpack_int4(np.frombuffer(tensor.data, np.uint8), tensor.elements).reshape(
            tensor.shape
        )
    kind = NUMPY_TYPES[tensor.dtype].newbyteorder("<")
    return np.frombuffer(tensor.data, kind).reshape(tensor.shape)


def unpack_int4(packed: Array, elements: int) -> Array:
    """``elements`` signed 4-bit values as int8; two per byte, the low nibble first."""
    nibbles = np.stack([packed & 15, packed >> 4], axis=-1).ravel()[:elements].astype(np.int8)
    return (nibbles ^ 8) - np.int8(8)
