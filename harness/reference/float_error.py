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
* SOFTMAX and LOG_SOFTMAX: in closed form (``_softmax``);
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
#: Half of the smallest subnormal float32.
_SUBNORMAL = 2.0**-150
#: Half units in the last place that a C library's functions may be off by.
_LIBRARY = 4.0
_PRODUCTS = frozenset(
    {"BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"}
)
_SUMS = frozenset({"AVERAGE_POOL_2D", "CUMSUM", "L2_POOL_2D", "MEAN", "SUM"})
_FUNCTIONS = frozenset(
    {
        "COS", "ELU", "EXP", "HARD_SWISH", "L2_NORMALIZATION", "LOG", "LOGISTIC",
        "RESIZE_BILINEAR", "RSQRT", "SIN", "SQUARED_DIFFERENCE", "TANH",
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
    if name in ("SOFTMAX", "LOG_SOFTMAX") and results[0].dtype == values[0].dtype == np.float32:
        return [_softmax(step, values[0], given[0])]
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


def _softmax(step: PreparedOperator, value: Array, given: Array | None) -> Array:
    """The deviation of SOFTMAX and LOG_SOFTMAX over the last axis, for all sign patterns at once.

    With z = beta x (beta = 1 for LOG_SOFTMAX), p = exp(z) / sum exp(z) and log p:
    d log p_i / dz_j = [i = j] - p_j, so log p_i rises with z_i and falls with every other z_j.
    Of all moves of at most d_j the worst is thus z_i one way and all others the other way:
    |log p_i| moves by m_i = beta ((1 - p_i) d_i + sum over j != i of p_j d_j), to first order,
    and p_i by p_i m_i. A shift of all inputs cancels in p, not in m: signs are free.

    A device's own roundings, in units of u, with t = z - max z (Higham, Accuracy and Stability
    of Numerical Algorithms, 2nd edition, 3.1 and 4.2):

    * the subtraction and the product with beta: 2 |t_i| on log p_i;
    * its sum of n exponentials, each of a C library: sqrt(n) + _LIBRARY on log p_i. Their own
      arguments' roundings weigh sum p_j 2 |t_j|;
    * SOFTMAX: exponential and division, _LIBRARY + 1, relative to p_i, but not less than that many
      halves of the smallest subnormal;
    * LOG_SOFTMAX: the logarithm, _LIBRARY |log sum exp t|, and the last subtraction, |log p_i|.
      All are absolute: near 0, where one class has all weight, the sum is 1 and rounds by u.
    """
    logarithm = step.operator.name == "LOG_SOFTMAX"
    beta = 1.0 if logarithm else float(step.operator.options["beta"])
    scaled = beta * value.astype(np.float64)
    below = scaled - scaled.max(axis=-1, keepdims=True)
    weights = np.exp(below)
    total = weights.sum(axis=-1, keepdims=True)
    share = weights / total
    argument = 2 * np.abs(below)
    own = argument + (share * argument).sum(axis=-1, keepdims=True)
    own = own + np.sqrt(value.shape[-1]) + _LIBRARY
    moved = np.zeros(value.shape)
    if given is not None:
        mean = (share * given).sum(axis=-1, keepdims=True)
        moved = abs(beta) * ((1 - 2 * share) * given + mean)
    if logarithm:
        own = own + _LIBRARY * np.log(total) + np.abs(below - np.log(total))
        return np.asarray(np.hypot(moved, _UNIT * own))
    own = own + _LIBRARY + 1
    return np.asarray(np.hypot(share * moved, own * np.maximum(_UNIT * share, _SUBNORMAL)))


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
