"""Layer-by-layer comparison: a device's intermediate tensors with the reference's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.base.errors import UsageError
from harness.model import Operator, Tensor
from harness.reference.arrays import Array
from harness.reference.comparison import Comparison, compare, plain
from harness.reference.interpreter import Interpreter
from harness.reference.node import NUMPY_TYPES

#: A device's dump: operator index, or (operator index, output index), -> bytes or array.
Dump = Mapping[int, Any] | Mapping[tuple[int, int], Any]
#: The allowed difference of an element: one number, or a function that gets the interpreter after
#: the inference and returns arrays by tensor index. Tensors without an array must be equal.
Tolerance = float | Callable[[Interpreter], Mapping[int, Array]] | None
_Limits = tuple[float | Array | None, float]


@dataclass(frozen=True)
class Layer:
    """One output of one operator. ``comparison`` is None if the device did not dump it.

    ``own_fault``: True if the operator is wrong for the inputs that it read on the device, False if
    the reference computes the same output from these (wrong) inputs, None if unknown.
    """

    operator: Operator
    output: int
    tensor: Tensor
    expected: Array
    comparison: Comparison | None = None
    own_fault: bool | None = None

    @property
    def differs(self) -> bool:
        """True if the device's output is compared and unequal."""
        return self.comparison is not None and not self.comparison.equal

    def to_json(self) -> Mapping[str, Any]:
        """One row of a table: the operator, its output, and the comparison."""
        values = self.expected
        return {
            "node": self.operator.index,
            "operator": self.operator.name,
            "version": self.operator.version,
            "output": self.output,
            "tensor": self.tensor.to_json(),
            "minimum": plain(values.min().item()) if values.size else None,
            "maximum": plain(values.max().item()) if values.size else None,
            "comparison": None if self.comparison is None else self.comparison.to_json(),
            "own_fault": self.own_fault,
        }


@dataclass(frozen=True)
class LayerReport:
    """All outputs of operators in execution order; ``first`` is the first that differs."""

    layers: tuple[Layer, ...]

    @property
    def compared(self) -> int:
        """The number of outputs that the device dumped."""
        return sum(layer.comparison is not None for layer in self.layers)

    @property
    def first(self) -> Layer | None:
        """The first output that differs, or None."""
        return next((layer for layer in self.layers if layer.differs), None)

    @property
    def equal(self) -> bool:
        """True if at least one output was compared and none differs."""
        return self.compared > 0 and self.first is None

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        if self.compared == 0:
            return "nothing to compare: no operator's output was dumped"
        first = self.first
        if first is None:
            return f"all {self.compared} dumped layers equal"
        return f"first diverging layer: {first.operator}{self._note(first)}\n{first.comparison}"

    def _note(self, first: Layer) -> str:
        """Whether an earlier operator may be the first wrong one."""
        if first.own_fault:
            return ", from right inputs"
        before = [layer for layer in self.layers if layer.operator.index < first.operator.index]
        unseen = sorted({layer.operator.index for layer in before if layer.comparison is None})
        if not unseen:
            return ""
        return f" (not dumped, so perhaps earlier: operators {', '.join(map(str, unseen))})"

    def to_json(self) -> Mapping[str, Any]:
        """The whole table, and the index of the first row that differs (None: all equal)."""
        first = self.first
        return {
            "compared": self.compared,
            "equal": self.equal,
            "first": None if first is None else self.layers.index(first),
            "layers": [layer.to_json() for layer in self.layers],
        }


def table(interpreter: Interpreter, inputs: Sequence[Any]) -> LayerReport:
    """The outputs of every operator in one inference, without comparisons."""
    interpreter.invoke(inputs)
    values = interpreter.tensors
    return LayerReport(
        tuple(
            Layer(step.operator, index, tensor, values[tensor.index])
            for step in interpreter.steps
            for index, tensor in enumerate(step.outputs)
        )
    )


def compare_layers(
    interpreter: Interpreter,
    inputs: Sequence[Any],
    dump: Dump,
    *,
    tolerance: Tolerance = None,
    relative: float = 0.0,
) -> LayerReport:
    """The comparison of one inference with the operators' outputs that a device dumped.

    ``dump`` holds arrays, or raw little-endian bytes, by operator index (its only output) or
    (operator index, output index). ``inputs``, ``tolerance`` and ``relative`` are those of
    ``Interpreter.invoke`` and :func:`compare`. Raises UsageError if the model has no such operator.
    """
    obtained = {key if isinstance(key, tuple) else (key, 0): value for key, value in dump.items()}
    report = table(interpreter, inputs)
    errors = tolerance(interpreter) if callable(tolerance) else {}
    known = {(layer.operator.index, layer.output) for layer in report.layers}
    if unknown := sorted(set(obtained) - known):
        node, output = unknown[0]
        raise UsageError(f"{interpreter.model.name} has no operator {node} with an output {output}")
    device: dict[int, Array | None] = {
        tensor.index: np.asarray(each)
        for tensor, each in zip(interpreter.inputs, inputs, strict=True)
    }
    layers = []
    for layer in report.layers:
        raw = obtained.get((layer.operator.index, layer.output))
        value = None if raw is None else _array(raw, layer.tensor)
        device[layer.tensor.index] = value if raw is not None else None
        allowed = errors.get(layer.tensor.index) if callable(tolerance) else tolerance
        compared = _compared(interpreter, layer, value, device, (allowed, relative))
        layers.append(compared)
    return LayerReport(tuple(layers))


def _array(raw: Any, tensor: Tensor) -> Array:
    """A dumped tensor as an array; bytes of a wrong length stay flat uint8, which never compare."""
    if not isinstance(raw, (bytes, bytearray, memoryview)):
        return np.asarray(raw)
    dtype = NUMPY_TYPES[tensor.dtype].newbyteorder("<")
    if len(raw) != tensor.elements * dtype.itemsize:
        return np.frombuffer(bytes(raw), np.uint8)
    return np.frombuffer(bytes(raw), dtype).reshape(tensor.shape)


def _compared(
    interpreter: Interpreter,
    layer: Layer,
    value: Array | None,
    device: Mapping[int, Array | None],
    limits: _Limits,
) -> Layer:
    if value is None:
        return layer
    comparison = _within(value, layer.expected, limits)
    fault = None if comparison.equal else _own_fault(interpreter, layer, value, device, limits)
    return Layer(layer.operator, layer.output, layer.tensor, layer.expected, comparison, fault)


def _within(value: Array, expected: Array, limits: _Limits) -> Comparison:
    allowed, relative = limits
    return compare(value, expected, tolerance=allowed, relative=relative)


def _own_fault(
    interpreter: Interpreter,
    layer: Layer,
    value: Array,
    device: Mapping[int, Array | None],
    limits: _Limits,
) -> bool | None:
    """Whether the operator is wrong for the inputs that it read on the device; None: unknown."""
    if interpreter.stateful:
        return None
    recomputed = interpreter.run_operator(layer.operator.index, device)
    if recomputed is None:
        return None
    return not _within(value, recomputed[layer.output], limits).equal
