"""The interface of kernels: a kernel's argument, one operator of a model, and its result.

A kernel is a function of a node. It checks the operator once, prepares everything that does not
depend on computed values (weights in matrix form, multipliers, tables), and returns the function
that runs the operator on arrays with a leading axis of runs.
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

#: Runs one operator. The arguments are the arrays of its inputs (None: omitted); the result is the
#: array of its only output, or a sequence of the arrays of all outputs. Every array has a leading
#: axis of *runs* before the shape of the tensor: one per independent inference, or 1 for an array
#: that is the same in all of them (constants). Inputs are not changed, except variable tensors,
#: which are updated in place. A stateful operator runs one inference at a time.
Run = Callable[..., "Array | Sequence[Array]"]

#: Checks an operator as TFLM's Prepare does, and returns the function that runs it.
Kernel = Callable[["Node"], Run]

#: The real range of a fused activation (ActivationFunctionType of the schema).
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

#: Type of the schema -> type of the kernels' arrays. int4 is unpacked to int8; a resource is the
#: number of a resource variable.
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
        """The parameters of :meth:`call`."""

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The results of :meth:`call`."""

    def call(self, values: Sequence[Array]) -> list[Array]:
        """The outputs for ``values``; all arrays have a leading axis of runs."""


def _identity(step: Any) -> Any:
    """``step``, unchanged."""
    return step


@dataclass(frozen=True)
class Hooks:
    """The steps of kernels that :mod:`.mistakes` can replace; kernels pass each step through them.

    ``divisor`` changes the number of elements of averages, an int64 array; ``quotient`` divides
    sums by it. ``window`` changes a Window, or the Scatter of a transposed convolution.
    """

    multiplier: Callable[[Multiplier], Multiplier] = _identity
    requantizer: Callable[[Requantizer], Requantizer] = _identity
    window: Callable[[Any], Any] = _identity
    divisor: Callable[[Array], Array] = _identity
    quotient: Callable[[Array, Array], Array] = rounded_quotient


@dataclass(frozen=True)
class Node:
    """One operator of a model.

    ``inputs`` holds None for an omitted optional input. ``where`` is the prefix of every message:
    the model's name and the operator's index, name and version. ``memory`` persists between
    inferences. ``graph`` is the index of the operator's subgraph, ``subroutines`` are all
    subgraphs. ``decoded`` are the indices of tensors that are constants here but computed in TFLM
    (see :mod:`.kernels.decode`).
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
    hooks: Hooks = Hooks()

    @property
    def rounding(self) -> Rounding:
        """The rounding of requantization."""
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

        TFLM does not check all of this, and may read memory outside the tensor.
        """
        return BadModel(
            f"{self.where}: {reason}",
            hint="TFLM refuses this too, or its result is undefined",
        )

    def refused(self, reason: str) -> BadModel:
        """The error for a model that TFLM also refuses; tests compare this with TFLM."""
        return BadModel(f"{self.where}: {reason}", hint="TFLM refuses such a model too")

    def aborts(self, reason: str) -> BadModel:
        """The error for inputs for which TFLM aborts; tests compare this with TFLM."""
        return BadModel(f"{self.where}: {reason}", hint="TFLM aborts here (TFLITE_CHECK)")

    def unsupported(self, reason: str) -> UnsupportedOperator:
        """The error for an operator that has no reference kernel, or none for its types."""
        return UnsupportedOperator(f"{self.where}: {reason}", hint=OWN_KERNEL)

    def settings(self) -> Mapping[str, int | float]:
        """The numeric options of a custom operator, from its FlexBuffer map. Raises BadModel."""
        try:
            return flexbuffer.scalars(self.operator.custom_options)
        except flexbuffer.NoFlexMap as error:
            raise self.bad(f"its options are not a FlexBuffer map: {error}") from None

    def number(self, name: str, low: int, high: int) -> int:
        """An integer option of a custom operator, from ``low`` to ``high``.

        Raises BadModel if it is missing, out of range, or not an integer.
        """
        value = self.settings().get(name)
        if value is None:
            raise self.bad(f"it has no option {name!r}")
        if not low <= value <= high or value != int(value):
            raise self.bad(f"its option {name} is {value}")
        return int(value)

    def check_signature(self, signature: str) -> None:
        """Raises BadModel unless the types are ``signature``, e.g. ``int16 int16 -> int32``."""
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
        """The subgraph whose index is the value of ``option``. Raises BadModel if there is none."""
        number = int(self.option(option))
        if not 0 <= number < len(self.subroutines):
            raise self.bad(f"{option} is {number}, there are {len(self.subroutines)} subgraphs")
        return self.subroutines[number]

    def constant(self, index: int) -> Array | None:
        """The value of input ``index`` without a runs axis, or None if it is computed."""
        tensor = self.input(index)
        return constant(tensor) if tensor.constant and not tensor.variable else None

    def required_constant(self, index: int, what: str) -> Array:
        """The value of constant input ``index``, called ``what`` in messages.

        Raises UnsupportedOperator if it is computed.
        """
        value = self.constant(index)
        if value is None or self.input(index).index in self.decoded:
            error = self.unsupported(f"{what} is computed at run time, not a constant of the model")
            error.hint = self.free_dimension() or error.hint
            raise error
        return value

    def integers(self, index: int, what: str, types: str = "int32") -> list[int]:
        """The value of constant input ``index`` as a flat list. Raises BadModel for other types."""
        value, dtype = self.required_constant(index, what), self.input(index).dtype
        if dtype not in types.split():
            raise self.bad(f"{what} has the type {dtype}")
        return [int(each) for each in value.ravel()]

    def check_types(self, allowed: str) -> str:
        """The common type of input 0 and output 0.

        Raises BadModel if they differ, UnsupportedOperator if the type is not in ``allowed``.
        """
        dtype = self.input(0).dtype
        if self.output().dtype != dtype:
            raise self.bad(f"its input is {dtype}, its output {self.output().dtype}")
        if dtype not in allowed.split():
            raise self.unsupported(f"input type {dtype} is not supported")
        return dtype

    def check_output(self, shape: Sequence[int], index: int = 0) -> None:
        """Raises BadModel if the model declares another shape for output ``index``."""
        if tuple(shape) != self.output(index).shape:
            declared = list(self.output(index).shape)
            error = self.bad(f"computes the shape {list(shape)}, but the model declares {declared}")
            error.hint = self.free_dimension() or error.hint
            raise error

    def free_dimension(self) -> str:
        """The hint for a tensor with an axis of dynamic size, or ""."""
        for tensor in (*self.inputs, *self.outputs):
            if tensor and tensor.free:
                return (
                    f"axis {tensor.free[0]} of tensor {tensor.index} ({tensor.name[:64]!r}) is"
                    f" dynamic (a batch?), and {tensor.shape[tensor.free[0]]} in TFLM: convert the"
                    " model with a fixed size"
                )
        return ""

    def axis(self, axis: int, rank: int) -> int:
        """``axis`` of ``rank`` axes as a nonnegative index. Raises BadModel if out of range."""
        if not -rank <= axis < rank:
            raise self.bad(f"axis {axis} is out of range for {rank} axes")
        return axis % rank

    def check_broadcast(self) -> None:
        """Raises BadModel unless the output has the broadcast shape of both inputs."""
        shapes = [self.input(index).shape for index in (0, 1)]
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            one, other = map(list, shapes)
            raise self.bad(f"its inputs {one} and {other} do not broadcast") from None
        self.check_output(shape)

    def precise(self, real: float) -> Any:
        """A scale in the precision with which TFLM computes a multiplier from it.

        float for ``multipliers`` "double", np.float32 for "single", in FULLY_CONNECTED,
        BATCH_MATMUL, SUB, DIV, SVDF, LSTM, ABS, RSQRT, RELU, LEAKY_RELU, HARD_SWISH. The tests
        compare "double" with the package tflite-micro of October 2026, and "single", as in earlier
        revisions, with LiteRT (except SVDF and LSTM, which differ there).
        """
        return np.float32(real) if self.arithmetic.multipliers == "single" else float(real)

    def scale(self, tensor: Tensor) -> float:
        """A tensor's scale. Raises BadModel unless it is positive."""
        if not tensor.scale > 0:
            raise self.bad(f"tensor {tensor.index} ({tensor.name!r}) has no scale")
        return tensor.scale

    def multiplier(self, real: float | Iterable[float]) -> Multiplier:
        """A real multiplier, or one per channel, in the device's fixed point."""
        return self.hooks.multiplier(Multiplier.of(real, self.rounding))

    def requantizer(self, real: float, clamp: Clamp | None = None) -> Requantizer:
        """The requantizer to output 0; ``clamp`` is by default the range of its type."""
        output = self.output()
        clamp = clamp or Clamp.whole(NUMPY_TYPES[output.dtype])
        return self.rescaled(self.multiplier(real), output.zero_point, clamp)

    def rescaled(
        self, multiplier: Multiplier, zero_point: int, clamp: Clamp, wide: bool = False
    ) -> Requantizer:
        """The :class:`Requantizer` to a tensor with this zero point."""
        return self.hooks.requantizer(Requantizer(multiplier, zero_point, clamp, wide))

    def clamp(self, activation: str | None = None) -> Clamp:
        """The clamp of output 0 for a fused activation (default: the node's option).

        Quantized limits are zero_point + round(limit / scale), within the range of the type
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
    """A :data:`Run` that always returns ``arrays``, constants for the later operators."""

    arrays: Sequence[Array]

    def __call__(self, *_: Array) -> Sequence[Array]:
        """The arrays, each with one run."""
        return self.arrays


def constant(tensor: Tensor) -> Array:
    """The value of a constant tensor, of shape ``tensor.shape``; int4 as int8."""
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
