"""Proofs that a mutant is equivalent: no input of the model can notice the mistake.

There are four proofs, each by exhaustion:

* the model has few possible inputs: all are run;
* the operator is elementwise on 8-bit tensors: it is run on every value, or pair of values;
* SOFTMAX scales differences of two values: every difference of 8-bit values is scaled;
* only requantization is changed: it is run on every accumulator that the weights and the range of
  the inputs allow, channel by channel.

The range of a tensor is that of its type, or of the clamp of the operator that computes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from harness.base.errors import HilError
from harness.model import Tensor
from harness.reference.arrays import Array
from harness.reference.examiner import Examiner, Trial
from harness.reference.mistakes import COPIES, PreparedMutant
from harness.reference.node import NUMPY_TYPES, Hooks, Node, constant
from harness.reference.scale import Multiplier, Requantizer

#: Most inputs of a model, or pairs of values, that are run; most accumulators of an operator.
_INPUTS = 1 << 16
_ACCUMULATORS = 1 << 24

_ELEMENTWISE = frozenset(
    {
        "ABS", "ADD", "DEQUANTIZE", "ELU", "EQUAL", "GREATER", "GREATER_EQUAL", "HARD_SWISH",
        "LEAKY_RELU", "LESS", "LESS_EQUAL", "LOGISTIC", "MAXIMUM", "MINIMUM", "MUL", "NOT_EQUAL",
        "PRELU", "QUANTIZE", "RELU", "RELU6", "RSQRT", "SQUARED_DIFFERENCE", "SUB", "TANH",
    }
)  # fmt: skip
_ACTIVATIONS = ("RELU", "RELU6", "RELU_N1_TO_1")
_SUMS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MEAN"})


def proven(examiner: Examiner, trials: Sequence[int]) -> Mapping[Trial, str]:
    """The proof of each of ``trials`` that is proven equivalent, as a short text."""
    if not trials:
        return {}
    whole = _every_input(examiner)
    if whole is not None:
        seen = examiner.noticed(whole, list(trials))
        count = len(whole[0])
        return {
            examiner.trials[trial]: f"none of all {count:,} inputs shows it"
            for trial, found in zip(trials, seen, strict=True)
            if not found.any()
        }
    ranges = _ranges(examiner)
    found = {}
    for trial in trials:
        proof = _proof(examiner, trial, ranges)
        if proof:
            found[examiner.trials[trial]] = proof
    return found


def _every_input(examiner: Examiner) -> list[Array] | None:
    """All possible inputs of a stateless model with one small input, or None."""
    inputs = examiner.interpreter.inputs
    if examiner.stateful or len(inputs) != 1 or inputs[0].dtype not in ("int8", "uint8", "bool"):
        return None
    tensor, bits = inputs[0], 8 * NUMPY_TYPES[inputs[0].dtype].itemsize
    if tensor.elements * bits > math.log2(_INPUTS):
        return None
    dtype = NUMPY_TYPES[tensor.dtype]
    each = np.arange(256).astype(np.uint8).view(dtype) if bits == 8 else np.arange(2).astype(dtype)
    grid = np.meshgrid(*[each] * tensor.elements, indexing="ij")
    rows = np.stack([axis.reshape(-1) for axis in grid], axis=1)
    return [rows.reshape(-1, *tensor.shape)]


#: Tensor index -> smallest and largest value.
_Ranges = Mapping[int, tuple[int, int]]


def _ranges(examiner: Examiner) -> _Ranges:
    """The ranges of the computed int8 and int16 tensors."""
    found: dict[int, tuple[int, int]] = {}
    for step in examiner.interpreter.steps:
        node = step.node
        for tensor in node.outputs:
            if tensor.dtype not in ("int8", "int16"):
                continue
            info = np.iinfo(tensor.dtype)
            ends = int(info.min), int(info.max)
            source = node.inputs[0] if node.inputs else None
            if step.operator.name in COPIES and source is not None and source.index in found:
                ends = found[source.index]
            elif step.operator.options.get("fused_activation_function") in _ACTIVATIONS:
                with np.errstate(all="ignore"):
                    clamp = node.clamp()
                ends = max(ends[0], int(clamp.low)), min(ends[1], int(clamp.high))
            elif step.operator.name in ("RELU", "RELU6"):
                ends = max(ends[0], tensor.zero_point), ends[1]
            found[tensor.index] = ends
    return found


def _proof(examiner: Examiner, trial: int, ranges: _Ranges) -> str:
    """The reason why the operator's output cannot differ, or ""."""
    node = examiner.interpreter.steps[examiner.trials[trial].step].node
    mutant, name = examiner.mutant(trial), node.operator.name
    try:
        with np.errstate(all="ignore"):
            if name in _ELEMENTWISE and _same_values(examiner, node, mutant, ranges):
                return "its output is the same for every value of its inputs"
            if name == "SOFTMAX" and _same_multiples(examiner, node, mutant):
                return "it scales every difference of two inputs alike"
            if name in _SUMS and _same_scaling(examiner, node, mutant, ranges):
                return "its output is the same for every sum that the weights allow"
    except HilError:
        return ""
    return ""


def _values(tensor: Tensor, ranges: _Ranges) -> Array | None:
    """All possible values of an element of an int8 or int16 tensor; None for other types."""
    if tensor.dtype not in ("int8", "int16"):
        return None
    if tensor.constant and not tensor.variable:
        return np.unique(constant(tensor))
    info = np.iinfo(tensor.dtype)
    low, high = ranges.get(tensor.index, (int(info.min), int(info.max)))
    return np.arange(low, high + 1).astype(tensor.dtype)


def _same_values(examiner: Examiner, node: Node, prepared: PreparedMutant, ranges: _Ranges) -> bool:
    """Whether an elementwise operator and its mutant agree on all values of one element."""
    mutant = prepared.mutant
    if mutant.after is not None or mutant.before is not None or mutant.constants:
        return False  # these depend on the position of an element
    tensors = [tensor for tensor in node.inputs if tensor is not None]
    choices = [_values(tensor, ranges) for tensor in tensors]
    known = [choice for choice in choices if choice is not None]
    if len(known) < len(choices) or math.prod(map(len, known)) > _INPUTS:
        return False
    single = _with_one_element(node)
    other = prepared.mistake.change(single)
    if other is None:
        return False
    kernels = examiner.interpreter.kernels
    pairs = np.meshgrid(*known, indexing="ij")
    inputs = [
        axis.reshape(-1, *tensor.shape)
        for axis, tensor in zip(pairs, filter(None, single.inputs), strict=True)
    ]
    right, wrong = kernels.find(single)(single), other.prepare(kernels)
    return np.array_equal(_first(right(*inputs)), _first(wrong(*inputs)))


def _with_one_element(node: Node) -> Node:
    """The operator on tensors of one element, none of them constant."""

    def single(tensor: Tensor) -> Tensor:
        return replace(tensor, shape=(1,) * len(tensor.shape), data=None)

    return replace(
        node,
        inputs=tuple(None if each is None else single(each) for each in node.inputs),
        outputs=tuple(map(single, node.outputs)),
    )


@dataclass(frozen=True)
class _ComparingMultiplier(Multiplier):
    """Scales as ``right`` does, and records whether ``wrong`` differs."""

    right: Multiplier | None = None
    wrong: Multiplier | None = None
    differs: list[bool] = field(default_factory=list)

    def scale(self, x: Array) -> Array:
        assert self.right is not None
        assert self.wrong is not None
        y = self.right.scale(x)
        self.differs.append(not np.array_equal(y, self.wrong.scale(x)))
        return y


def _same_multiples(examiner: Examiner, node: Node, prepared: PreparedMutant) -> bool:
    """Whether SOFTMAX and its mutant scale all differences of two 8-bit values alike.

    A row with all 256 values has all differences.
    """
    hooks, differs = prepared.mutant.node.hooks, list[bool]()
    if node.input(0).dtype != "int8" or hooks is node.hooks:
        return False

    def both(right: Multiplier) -> Multiplier:
        wrong = hooks.multiplier(right)
        return _ComparingMultiplier(
            right.multiplier, right.shift, right.rounding, right, wrong, differs
        )

    def row(tensor: Tensor) -> Tensor:
        return replace(tensor, shape=(1, 256), data=None)

    changed = replace(
        node, hooks=Hooks(multiplier=both), inputs=(row(node.input(0)),),
        outputs=(row(node.output()),),
    )  # fmt: skip
    run = examiner.interpreter.kernels.find(changed)(changed)
    run(np.arange(-128, 128).astype(np.int8).reshape(1, 1, 256))
    return bool(differs) and not any(differs)


def _first(result: Any) -> Array:
    return result if isinstance(result, np.ndarray) else next(iter(result))


def _same_scaling(
    examiner: Examiner, node: Node, prepared: PreparedMutant, ranges: _Ranges
) -> bool:
    """Whether operator and mutant requantize all possible accumulators of each channel alike."""
    mutant = prepared.mutant
    if mutant.node.hooks is node.hooks or mutant.constants:
        return False  # the mistake is elsewhere
    right, wrong = _requantizer(examiner, node), _requantizer(examiner, mutant.node)
    if right is None or wrong is None:
        return False
    limits = list(_limits(node, ranges))
    total = sum(high - low + 1 for low, high in limits)
    if not limits or total > _ACCUMULATORS:
        return False
    for channel, (low, high) in enumerate(limits):
        sums = np.arange(low, high + 1).reshape(1, -1, 1)
        a, b = (_of_channel(each, channel)(sums) for each in (right, wrong))
        if not np.array_equal(a, b):
            return False
    return True


def _of_channel(requantizer: Requantizer, channel: int) -> Requantizer:
    """The requantizer of one channel."""
    m = requantizer.multiplier
    if m.multiplier.ndim == 0:
        return requantizer
    part = slice(channel, channel + 1)
    one = replace(m, multiplier=m.multiplier[part], shift=m.shift[part])
    return replace(requantizer, multiplier=one)


def _requantizer(examiner: Examiner, node: Node) -> Requantizer | None:
    """The requantizer of the operator's kernel, seen through its hook; None unless it has one."""
    found: list[Requantizer] = []
    hooks = node.hooks

    def record(requantizer: Requantizer) -> Requantizer:
        found.append(hooks.requantizer(requantizer))
        return found[-1]

    # Not replace(): a subclass of Hooks may have further fields.
    recording = Hooks(
        multiplier=hooks.multiplier, requantizer=record, window=hooks.window,
        divisor=hooks.divisor, quotient=hooks.quotient,
    )  # fmt: skip
    examiner.interpreter.kernels.find(node)(replace(node, hooks=recording))
    return found[0] if len(found) == 1 else None


def _limits(node: Node, ranges: _Ranges) -> Iterator[tuple[int, int]]:
    """The smallest and the largest accumulator of each output channel, including the bias.

    Elements outside the image add 0, which lies within the range of each product.
    """
    x = node.input(0)
    if node.operator.name == "MEAN":
        yield from _sum_limits(node, ranges)
        return
    weights, bias = node.constant(1), node.constant(2) if node.present(2) else None
    values = _values(x, ranges)
    if weights is None or values is None or (node.present(2) and bias is None):
        return
    zero = x.zero_point
    low, high = min(int(values.min()) - zero, 0), max(int(values.max()) - zero, 0)
    axis = 3 if node.operator.name == "DEPTHWISE_CONV_2D" else 0
    w = np.moveaxis(weights.astype(np.int64), axis, 0).reshape(weights.shape[axis], -1)
    if node.operator.name == "FULLY_CONNECTED" and node.input(1).zero_point:
        return
    ends = w * low, w * high
    bottom, top = np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)
    offset = np.zeros(len(w), np.int64) if bias is None else bias.reshape(-1).astype(np.int64)
    for channel in range(len(w)):
        yield int(bottom[channel] + offset[channel]), int(top[channel] + offset[channel])


def _sum_limits(node: Node, ranges: _Ranges) -> Iterator[tuple[int, int]]:
    """The smallest and the largest sum of the elements of a mean."""
    x, values = node.input(0), _values(node.input(0), ranges)
    if values is not None and node.output().elements:
        count = x.elements // node.output().elements
        low, high = (count * (int(end) - x.zero_point) for end in (values.min(), values.max()))
        yield low, high
