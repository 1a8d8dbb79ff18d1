"""How far the float32 outputs of a correct device may be from the reference's.

The reference computes each operator in double precision and rounds once; a device adds float32
products one after the other: each addition rounds a partial sum s, u = 2^-24, with the mean square
u^2 s^2 / 3, and such errors are independent (Higham and Mary, A New Approach to Probabilistic
Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019). The partial sums of n products y = sum x w
go to y as a random walk whose steps are the products: their mean square is below
(y^2 + sum (x w)^2) / 3. So each element of a computed tensor has a deviation d:

* sums of products: d^2 = sum d_x^2 w^2 + n u^2 (y^2 + sum (x w)^2) / 9, the sums by the operator's
  own kernel from squared inputs and weights;
* all others: the change of the kernel's outputs if its inputs move by their deviations, and some
  units in the last place; 0 for a single rounding of inputs that do not deviate;
* operators with a memory: the relative deviations of their inputs and of a sum of all weights.

An element may be off by SAFETY deviations. The worst case, n u sum |x w| carried through the
magnitudes of all weights, is useless: it grows tenfold with each layer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from harness.model import Tensor
from harness.reference.arrays import Array
from harness.reference.graph import PreparedOperator
from harness.reference.interpreter import Interpreter
from harness.reference.node import constant

#: Deviations that a correct device may be off by.
SAFETY = 12.0
#: Half a unit in the last place of 1.
_UNIT = 2.0**-24
#: Half units in the last place that a C library's functions may be off by.
_LIBRARY = 4.0
_PRODUCTS = frozenset(
    {"BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"}
)
_SUMS = frozenset({"AVERAGE_POOL_2D", "CUMSUM", "L2_POOL_2D", "MEAN", "SUM"})
_FUNCTIONS = frozenset(
    {
        "COS", "ELU", "EXP", "HARD_SWISH", "L2_NORMALIZATION", "LOG", "LOGISTIC", "LOG_SOFTMAX",
        "RESIZE_BILINEAR", "RSQRT", "SIN", "SOFTMAX", "SQUARED_DIFFERENCE", "TANH",
    }
)  # fmt: skip
_MEMORY = frozenset(
    {
        "ASSIGN_VARIABLE", "CALL_ONCE", "IF", "READ_VARIABLE", "SVDF",
        "UNIDIRECTIONAL_SEQUENCE_LSTM", "VAR_HANDLE", "WHILE",
    }
)  # fmt: skip


def allowed_errors(interpreter: Interpreter) -> dict[int, Array]:
    """The allowed error of each element after the last ``invoke``, by tensor index.

    float64 arrays of the tensors' shapes and units, for the float32 tensors that the main subgraph
    computes. 0 means that the device must agree to the bit.
    """
    known = {index: value[None] for index, value in interpreter.tensors.items()}
    deviations: dict[int, Array] = {}
    with np.errstate(all="ignore"):
        for step in interpreter.steps:
            values = [_value(interpreter, known, index) for index in step.inputs]
            given = [deviations.get(index) for index in step.inputs]
            found = _step(interpreter, step, values, given, [known[t.index] for t in step.outputs])
            for tensor, deviation in zip(step.outputs, found, strict=True):
                if tensor.dtype == "float32":
                    deviations[tensor.index] = np.where(np.isfinite(deviation), deviation, 0.0)
    return {index: SAFETY * deviation[0] for index, deviation in deviations.items()}


def allowed_in_batch(
    interpreter: Interpreter, inputs: Sequence[Array], output: int, runs: Array
) -> Array:
    """The same for output ``output`` of a batch, (runs, ...); zeros for runs that are not wanted.

    ``runs`` is a bool per run.
    """
    tensor = interpreter.outputs[output]
    allowed = np.zeros((len(runs), *tensor.shape))
    fresh = interpreter.with_arithmetic(interpreter.arithmetic)
    for number, wanted in enumerate(runs):
        if wanted or fresh.stateful:
            fresh.invoke([array[number] for array in inputs])
        if wanted:
            allowed[number] = allowed_errors(fresh).get(tensor.index, 0.0)
    return allowed


def _value(interpreter: Interpreter, known: Mapping[int, Array], index: int) -> Array | None:
    if index < 0 or index in known:
        return known.get(index)
    tensor = interpreter.model.tensors[index]
    return constant(tensor)[None] if tensor.constant and not tensor.variable else None


def _step(
    interpreter: Interpreter,
    step: PreparedOperator,
    values: Sequence[Array | None],
    given: Sequence[Array | None],
    results: Sequence[Array],
) -> list[Array]:
    name = step.operator.name
    if name in _MEMORY or step.operator.custom or not _known(step, values):
        return _remembering(step, values, given, results)
    if not any(each.dtype == np.float32 for each in results):
        return [np.zeros(each.shape) for each in results]
    if name in _PRODUCTS:
        return [_products(interpreter, step, values, given)]
    moved = _moved(step, values, given, results)
    if name not in _SUMS:
        units = _LIBRARY if name in _FUNCTIONS else 1.0 if any(d.any() for d in moved) else 0.0
        return [
            np.hypot(d, units * _UNIT * np.abs(y.astype(np.float64)))
            for d, y in zip(moved, results, strict=True)
        ]
    magnitudes = step([_real(value, np.abs) for value in values])
    terms = max(value.size for value in values if value is not None)
    return [
        np.hypot(d, np.sqrt(terms) * _UNIT * np.abs(a.astype(np.float64)))
        for d, a in zip(moved, magnitudes, strict=True)
    ]


def _known(step: PreparedOperator, values: Sequence[Array | None]) -> bool:
    return all(
        value is not None for index, value in zip(step.inputs, values, strict=True) if index >= 0
    )


def _real(value: Array | None, change: Callable[[Array], Array]) -> Array | None:
    """``value``, changed if it is float32."""
    if value is None or value.dtype != np.float32:
        return value
    return change(value.astype(np.float64)).astype(np.float32)


def _moved(
    step: PreparedOperator,
    values: Sequence[Array | None],
    given: Sequence[Array | None],
    results: Sequence[Array],
) -> list[Array]:
    """How far the outputs move if each input moves by its deviation: up, down, at random."""
    total = [np.zeros(result.shape) for result in results]
    rng = np.random.default_rng(0)
    for place, deviation in enumerate(given):
        value = values[place]
        if deviation is None or value is None or not deviation.any():
            continue
        signs = rng.choice([-1.0, 1.0], deviation.shape)
        largest = [np.zeros(result.shape) for result in results]
        for sign in (1.0, -1.0, signs):
            other = list(values)
            # By about a thousandth of the largest value: float32 must show the move.
            factor = _visible(value, deviation)
            other[place] = (value + sign * factor * deviation).astype(np.float32)
            for index, y in enumerate(step(other)):
                change = np.abs(y.astype(np.float64) - results[index]) / factor
                largest[index] = np.maximum(largest[index], change)
        total = [np.hypot(a, b) for a, b in zip(total, largest, strict=True)]
    return total


def _visible(value: Array, deviation: Array) -> float:
    """A factor of at least 1 that makes the largest deviation a thousandth of the largest value."""
    scale = float(np.abs(value).max(initial=0)) * 2.0**-10
    return max(1.0, scale / float(deviation.max()))


def _products(
    interpreter: Interpreter,
    step: PreparedOperator,
    values: Sequence[Array | None],
    given: Sequence[Array | None],
) -> Array:
    result = _twin(interpreter, step, values, np.positive).astype(np.float64)
    terms_squared = _twin(interpreter, step, values, np.square).astype(np.float64)
    magnitude = np.sqrt(result**2 + np.maximum(terms_squared, 0)) / 3
    weights = [t for t in step.node.inputs if t is not None and t.dtype == "float32"]
    terms = max(max(t.shape[-1:], default=1) for t in weights[:2])
    if step.operator.name != "BATCH_MATMUL":
        weight = next(t for t in weights if t.index == step.inputs[1])
        terms = weight.elements // max(step.outputs[0].shape[-1], 1) or 1
    total = np.sqrt(terms + 2.0) * _UNIT * magnitude
    for place, deviation in enumerate(given):
        if deviation is None or not deviation.any():
            continue
        top = float(deviation.max())
        part = list(values)
        part[place] = (deviation / top).astype(np.float32)
        squares = _twin(interpreter, step, part, np.square, bias=False).astype(np.float64)
        total = np.hypot(total, top * np.sqrt(np.maximum(squares, 0)))
    return np.asarray(total)


def _twin(
    interpreter: Interpreter,
    step: PreparedOperator,
    values: Sequence[Array | None],
    change: Callable[[Array], Array],
    *,
    bias: bool = True,
) -> Array:
    """The output of the step's kernel from changed float32 inputs, without activation."""
    place = 3 if step.operator.name == "TRANSPOSE_CONV" else 2

    def changed(number: int) -> Callable[[Array], Array]:
        return np.zeros_like if number == place and not bias else change

    inputs = [_real(value, changed(number)) for number, value in enumerate(values)]
    tensors = tuple(
        _with_data(tensor, value) for tensor, value in zip(step.node.inputs, inputs, strict=True)
    )
    options = dict(step.operator.options)
    if "fused_activation_function" in options:
        options["fused_activation_function"] = "NONE"
    node = replace(step.node, inputs=tensors, operator=replace(step.operator, options=options))
    return np.asarray(interpreter.kernels.find(node)(node)(*inputs))


def _with_data(tensor: Tensor | None, value: Array | None) -> Tensor | None:
    if tensor is None or not tensor.constant or value is None or value.dtype != np.float32:
        return tensor
    return replace(tensor, data=memoryview(value.astype("<f4").tobytes()))


def _remembering(
    step: PreparedOperator,
    values: Sequence[Array | None],
    given: Sequence[Array | None],
    results: Sequence[Array],
) -> list[Array]:
    relative = [
        float(d.max(initial=0)) / (float(np.abs(v).max(initial=0)) or 1.0)
        for d, v in zip(given, values, strict=True)
        if d is not None and v is not None
    ]
    terms = max((t.elements for t in step.node.inputs if t is not None), default=1)
    exact = step.operator.name not in _MEMORY or step.operator.custom
    own = 0.0 if exact else np.sqrt(terms) * _UNIT
    total = float(np.sqrt(own**2 + sum(each**2 for each in relative)))
    return [np.full(y.shape, total * float(np.abs(y).max(initial=1.0))) for y in results]
