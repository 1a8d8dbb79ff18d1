"""Error bounds of float32: the largest difference between a correct device and the reference.

The reference computes each float32 operator in double precision and rounds once. A device adds
float32 products one after the other; with u = 2^-24, each addition rounds a partial sum s with the
mean square u^2 s^2 / 3, and these errors are independent (Higham and Mary, A New Approach to
Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019). The partial sums of n
products y = sum x w approach y as a random walk whose steps are the products: their mean square is
below (y^2 + sum (x w)^2) / 3. Each element of a computed tensor therefore has a deviation d, and
its error may be SAFETY d. The worst case, n u sum |x w| propagated through the magnitudes of all
weights, is useless: it grows tenfold with each layer.

A rounding error is at most half a unit in the last place, which is u s at the lower end of a binade
and u s / 2 at the upper end: over the binade its mean square is 3 / (8 ln 2) = 0.54 of u^2 s^2 / 3
(significands are distributed as their logarithms, Benford). So d is 1.36 standard deviations of a
single layer. Elements share the errors of the layers before them, which are then not independent:
after 90 layers of a face mesh network the standard deviation was 1.3 d. SAFETY d is 5.4 of these
standard deviations, and 9.5 in a small network. For an operator of few roundings the sum of their
worst cases is smaller: at most k half units are a deviation of k / SAFETY.

Each operator belongs to one of these sets, by its propagation of deviations and its own errors:

* ``_PRODUCTS``: d^2 = sum d_x^2 w^2 + n u^2 (y^2 + sum (x w)^2) / 9, the sums by the operator's own
  kernel from squared inputs and weights;
* ``_SUMS`` of one input without weights: the smaller of worst case and random walk (``_sums``);
* ``_NORMALIZATIONS`` (SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION): each output depends on all inputs,
  with either sign: a closed form;
* ``_FUNCTIONS`` and ``_ROUNDED``, element by element: the outputs at the ends of the inputs'
  intervals, and rounding errors: at most _LIBRARY half units for a function of a C library; for
  a single rounding the deviation 1 / sqrt(3) of a uniform error, and 0 if the inputs are exact;
* ``_EXACT``: operators that move or select elements: the ends of the intervals alone;
* ``_VARIABLES``: a state has the deviations that the same inference assigns to it;
* ``_TRANSFORMS``: Fourier transforms; each output is a sum of all inputs;
* ``_MEMORY`` and other custom operators: the relative deviations of the inputs and of a sum of all
  weights;
* ``_DISCONTINUOUS``: discontinuous operators (rounding, comparisons, arg max). A float close to a
  discontinuity may give another integer on a device. The rest of the network is computed for each
  such element (``_Branches``), and the resulting changes are allowed as well.

A fused activation clips each interval: an element whose whole interval is clipped is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from harness.model import Tensor
from harness.reference.arrays import Array, aligned
from harness.reference.graph import PreparedOperator
from harness.reference.interpreter import Interpreter
from harness.reference.node import REAL_RANGES, constant

#: The allowed error of an element, in its deviations.
SAFETY = 7.0
#: Half a unit in the last place of 1 (the unit roundoff u of float32).
_UNIT = 2.0**-24
#: Half of the smallest subnormal float32.
_SUBNORMAL = 2.0**-150
#: The largest error of a C library's functions, in half units in the last place.
_LIBRARY = 4.0
#: The deviation of one rounding, in half units: the error is uniform, at most one half unit.
_ROUNDING = 3**-0.5
#: Most branches for one tensor; more discontinuous elements are grouped.
_GROUPS = 64

_PRODUCTS = frozenset(
    {"BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"}
)
_SUMS = frozenset({"AVERAGE_POOL_2D", "CUMSUM", "L2_POOL_2D", "MEAN", "RESIZE_BILINEAR", "SUM"})
_NORMALIZATIONS = frozenset({"L2_NORMALIZATION", "LOG_SOFTMAX", "SOFTMAX"})
_FUNCTIONS = frozenset(
    {
        "COS", "ELU", "EXP", "HARD_SWISH", "LOG", "LOGISTIC", "RSQRT", "SIN", "SQUARED_DIFFERENCE",
        "TANH",
    }
)  # fmt: skip
_ROUNDED = frozenset({"ADD", "ADD_N", "DIV", "LEAKY_RELU", "MUL", "PRELU", "SQRT", "SQUARE", "SUB"})
_EXACT = frozenset(
    {
        "ABS", "BATCH_TO_SPACE_ND", "BROADCAST_ARGS", "BROADCAST_TO", "CONCATENATION",
        "DEPTH_TO_SPACE", "DEQUANTIZE", "DYNAMIC_UPDATE_SLICE", "EMBEDDING_LOOKUP", "EXPAND_DIMS",
        "FILL", "GATHER", "GATHER_ND", "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "MAXIMUM",
        "MAX_POOL_2D", "MINIMUM", "MIRROR_PAD", "NEG", "PACK", "PAD", "PADV2", "REDUCE_ALL",
        "REDUCE_MAX", "REDUCE_MIN", "RELU", "RELU6", "RESHAPE", "RESIZE_NEAREST_NEIGHBOR",
        "REVERSE_V2", "SELECT_V2", "SHAPE", "SLICE", "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH",
        "SPLIT", "SPLIT_V", "SQUEEZE", "STRIDED_SLICE", "TRANSPOSE", "UNPACK", "ZEROS_LIKE",
    }
)  # fmt: skip
_DISCONTINUOUS = frozenset(
    {
        "ARG_MAX", "ARG_MIN", "CAST", "CEIL", "EQUAL", "FLOOR", "FLOOR_DIV", "FLOOR_MOD",
        "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL", "QUANTIZE", "ROUND",
    }
)  # fmt: skip
_TRANSFORMS = frozenset({"SignalIrfft", "SignalRfft"})
_VARIABLES = frozenset({"ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"})
_RECURRENT = frozenset({"SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"})
_MEMORY = _RECURRENT | {"IF", "WHILE"}


def allowed_errors(interpreter: Interpreter) -> dict[int, Array]:
    """The allowed error of each element after the last ``invoke``, by tensor index.

    The arrays are float64, in the shapes and units of the tensors (quantized steps for integers, 1
    for bool). They exist for all float32 tensors that the main subgraph computes, and for other
    tensors with a nonzero error. 0, or no array, requires bit-exact agreement.
    """
    states: dict[int, Array] = {}
    assigns = any(each.operator.name == "ASSIGN_VARIABLE" for each in interpreter.steps)
    with np.errstate(all="ignore"):
        if assigns:
            states = _ErrorWalk.over(interpreter, {}).states
        walk = _ErrorWalk.over(interpreter, states)
    return {index: walk.allowed(index)[0] for index in walk.deviations | walk.branches.tensors}


def allowed_in_batch(
    interpreter: Interpreter, inputs: Sequence[Array], output: int, runs: Array
) -> Array:
    """The allowed errors of output ``output`` in a batch: float64 (runs, *output shape).

    ``runs``, bool (runs,), selects the runs to compute; the others are 0.
    """
    tensor = interpreter.outputs[output]
    allowed = np.zeros((len(runs), *tensor.shape))
    if not any(each.dtype == "float32" for each in interpreter.model.tensors):
        return allowed
    fresh = interpreter.with_arithmetic(interpreter.arithmetic)
    for number, wanted in enumerate(runs):
        if wanted or fresh.stateful:
            fresh.invoke([array[number] for array in inputs])
        if wanted:
            allowed[number] = allowed_errors(fresh).get(tensor.index, 0.0)
    return allowed


class _Branches:
    """Alternative results of an inference on a device: for each, the tensors that differ."""

    def __init__(self) -> None:
        self._branches: list[dict[int, Array]] = []

    @property
    def tensors(self) -> dict[int, None]:
        """The tensors that differ in any branch, in order."""
        return {index: None for branch in self._branches for index in branch}

    def start(self, step: _Step) -> None:
        """Adds a branch for each output element that may have another value on a device."""
        (base,) = step.results
        jumps = list(_discontinuities(step))
        for group in np.array_split(np.arange(len(jumps)), min(len(jumps), _GROUPS) or 1):
            other = base.copy()
            for number in group:
                at, value = jumps[number]
                other.flat[at] = value
            if len(group):
                self._branches.append({step.prepared.outputs[0].index: other})

    def follow(self, step: _Step) -> None:
        """Computes the step in each branch in which an input of it differs."""
        for branch in self._branches:
            changed = {index: branch[index] for index in step.prepared.inputs if index in branch}
            if not changed:
                continue
            results = zip(step.prepared.outputs, step.outputs(changed), step.results, strict=True)
            branch.update({t.index: y for t, y, base in results if not np.array_equal(y, base)})

    def change(self, index: int, base: Array) -> Array:
        """The sum of the changes of a tensor over all branches."""
        values = [branch[index] for branch in self._branches if index in branch]
        changes = (np.abs(value.astype(np.float64) - base) for value in values)
        return np.asarray(sum((np.nan_to_num(each) for each in changes), np.zeros(base.shape)))


@dataclass(frozen=True)
class _ErrorWalk:
    """One pass over the operators of an inference.

    ``deviations`` are by tensor index, ``states`` (of resource variables) by resource number.
    """

    known: Mapping[int, Array]
    deviations: dict[int, Array]
    branches: _Branches
    states: dict[int, Array]

    @classmethod
    def over(cls, interpreter: Interpreter, states: Mapping[int, Array]) -> _ErrorWalk:
        """The pass over the last inference; ``states`` are the deviations that variables have."""
        known = {index: value[None] for index, value in interpreter.tensors.items()}
        walk = cls(known, {}, _Branches(), {})
        for prepared in interpreter.steps:
            values = tuple(_value(interpreter, known, index) for index in prepared.inputs)
            results = tuple(known[tensor.index] for tensor in prepared.outputs)
            step = _Step(interpreter, prepared, values, walk.deviations, results)
            if step.relative:
                total = {i: walk.allowed(i) / SAFETY for i in prepared.inputs if i in known}
                found = _relative(replace(step, deviations=total))
            elif step.name in _VARIABLES:
                found = walk.variable(step, states)
            else:
                found = _deviations(step)
                walk.branches.follow(step)
            if step.name in _DISCONTINUOUS and step.moved:
                walk.branches.start(step)
            for tensor, deviation in zip(prepared.outputs, found, strict=True):
                if tensor.dtype == "float32" or deviation.any():
                    walk.deviations[tensor.index] = np.nan_to_num(deviation, posinf=0.0)
        return walk

    def variable(self, step: _Step, states: Mapping[int, Array]) -> list[Array]:
        """The deviations of a variable operator's outputs; records that of an assigned value."""
        if step.name in ("ASSIGN_VARIABLE", "READ_VARIABLE"):
            (resource,) = self.known[step.prepared.inputs[0]].flat
            if step.name == "READ_VARIABLE":
                return [states.get(int(resource), np.zeros(step.results[0].shape))]
            self.states[int(resource)] = self.allowed(step.prepared.inputs[1]) / SAFETY
        return step.zeros()

    def allowed(self, index: int) -> Array:
        """The allowed errors of a tensor's elements, in its units."""
        base = self.known[index]
        deviation = self.deviations.get(index, np.zeros(base.shape))
        allowed = SAFETY * deviation + self.branches.change(index, base)
        return allowed if base.dtype.kind == "f" else np.rint(allowed)


def _value(interpreter: Interpreter, known: Mapping[int, Array], index: int) -> Array | None:
    if index < 0 or index in known:
        return known.get(index)
    tensor = interpreter.model.tensors[index]
    return constant(tensor)[None] if tensor.constant and not tensor.variable else None


@dataclass(frozen=True)
class _Step:
    """One operator after an inference: its inputs (None: omitted or unknown) and its outputs.

    ``deviations`` are by tensor index; a tensor without one is exact. All arrays have a leading
    axis of one run.
    """

    interpreter: Interpreter
    prepared: PreparedOperator
    values: tuple[Array | None, ...]
    deviations: Mapping[int, Array]
    results: tuple[Array, ...]

    @property
    def name(self) -> str:
        return self.prepared.operator.name

    @property
    def relative(self) -> bool:
        """Whether the rule of ``_MEMORY`` applies.

        It also covers custom operators, unknown inputs, and integer inputs that deviate.
        """
        known = zip(self.prepared.inputs, self.values, strict=True)
        return (
            self.name in _MEMORY
            or (bool(self.prepared.operator.custom) and self.name not in _TRANSFORMS)
            or (self.name not in _VARIABLES and any(v is None for i, v in known if i >= 0))
            or any(self.value(index).dtype.kind != "f" for index in self.moved)
        )

    @cached_property
    def moved(self) -> tuple[int, ...]:
        """The indices of input tensors with a nonzero deviation, each once."""
        inputs = dict.fromkeys(self.prepared.inputs)
        return tuple(i for i in inputs if i in self.deviations and self.deviations[i].any())

    def value(self, index: int) -> Array:
        """The value of the input with the tensor index ``index``."""
        value = self.values[self.prepared.inputs.index(index)]
        assert value is not None  # a tensor that deviates was computed
        return value

    def known(self, place: int) -> Array:
        """The value of input ``place``, which is known (see :attr:`relative`)."""
        value = self.values[place]
        assert value is not None
        return value

    def deviation(self, place: int) -> Array:
        """The deviation of input ``place``, zeros if it is exact."""
        value, index = self.values[place], self.prepared.inputs[place]
        return self.deviations.get(index, np.zeros(() if value is None else value.shape))

    def end(self, index: int, sign: float) -> Array:
        """The end of the interval of input tensor ``index``: value + sign * allowed error."""
        moved = self.value(index).astype(np.float64) + sign * SAFETY * self.deviations[index]
        return moved.astype(np.float32)

    def outputs(self, changed: Mapping[int, Array]) -> list[Array]:
        """The outputs if the input tensors of these indices have other values."""
        pairs = zip(self.prepared.inputs, self.values, strict=True)
        return self.prepared([changed.get(index, value) for index, value in pairs])

    def change(self, output: int, y: Array) -> Array:
        """|y - output number ``output``|; 0 where it is not finite."""
        change = np.abs(y.astype(np.float64) - self.results[output].astype(np.float64))
        return np.where(np.isfinite(change), change, 0.0)

    def zeros(self) -> list[Array]:
        """Zero deviations of the outputs."""
        return [np.zeros(y.shape) for y in self.results]

    def plain(self) -> _Step:
        """The same operator without its fused activation."""
        if self.prepared.operator.options.get("fused_activation_function", "NONE") == "NONE":
            return self
        options = {**self.prepared.operator.options, "fused_activation_function": "NONE"}
        operator = replace(self.prepared.operator, options=options)
        node = replace(self.prepared.node, operator=operator)
        run = self.interpreter.kernels.find(node)(node)
        prepared = replace(self.prepared, operator=operator, node=node, run=run)
        return replace(self, prepared=prepared, results=tuple(prepared(self.values)))


def _deviations(step: _Step) -> list[Array]:
    """The deviations of the step's outputs, without its discontinuities."""
    if step.name in _DISCONTINUOUS or all(y.dtype != np.float32 for y in step.results):
        return step.zeros()
    plain = step.plain()
    found = _rule(plain)
    return found if plain is step else [_clipped(step, plain.results[0], found[0])]


def _rule(step: _Step) -> list[Array]:
    name = step.name
    if name in _EXACT:
        return _ends(step)
    if name in _PRODUCTS:
        return [_products(step)]
    if name in _TRANSFORMS:
        return [_transform(step)]
    if name in _NORMALIZATIONS:
        return [_normalized(step) if name == "L2_NORMALIZATION" else _softmax(step)]
    if name in _SUMS:
        return [_sums(step)]
    units = _LIBRARY / SAFETY if name in _FUNCTIONS else _ROUNDING if step.moved else 0.0
    return [
        np.hypot(moved, _half_units(units, y))
        for moved, y in zip(_ends(step), step.results, strict=True)
    ]


def _half_units(units: float | Array, magnitude: Array) -> Array:
    """``units`` half units in the last place of ``magnitude``; subnormals: of the smallest one."""
    return units * np.maximum(_UNIT * np.abs(magnitude.astype(np.float64)), _SUBNORMAL)


def _clipped(step: _Step, value: Array, deviation: Array) -> Array:
    """The deviation after the step's fused activation, which clips the interval of ``value``."""
    edges = REAL_RANGES[step.prepared.operator.options["fused_activation_function"]]
    middle = value.astype(np.float64)
    low, at, high = (np.clip(middle + k * SAFETY * deviation, *edges) for k in (-1, 0, 1))
    return np.asarray(np.maximum(high - at, at - low) / SAFETY)


def _ends(step: _Step) -> list[Array]:
    """The changes at the ends of the inputs' intervals, added as independent errors.

    For a function that is monotonic in each element this is exact within float32, the type of a
    device's element.
    """
    total = step.zeros()
    for index in step.moved:
        ends = [step.outputs({index: step.end(index, sign)}) for sign in (1.0, -1.0)]
        for number in range(len(total)):
            changes = [step.change(number, end[number]) for end in ends]
            total[number] = np.hypot(total[number], np.maximum(*changes) / SAFETY)
    return total


def _discontinuities(step: _Step) -> Iterator[tuple[int, Any]]:
    """Output elements that may have another value on a device: (flat index, other value)."""
    base = step.results[0]
    if step.name in ("ARG_MAX", "ARG_MIN"):
        yield from _other_extremes(step)
    elif step.name in ("EQUAL", "NOT_EQUAL"):
        yield from ((int(at), not base.flat[at]) for at in np.flatnonzero(_overlapping(step)))
    else:
        found = set()
        for signs in product((1.0, -1.0), repeat=len(step.moved)):
            ends = {i: step.end(i, sign) for i, sign in zip(step.moved, signs, strict=True)}
            (y,) = step.outputs(ends)
            found |= {(int(at), y.flat[at]) for at in np.flatnonzero(y != base)}
        yield from sorted(found)


def _other_extremes(step: _Step) -> Iterator[tuple[int, int]]:
    """Other indices of the largest, or smallest, element on a device: (flat index, index)."""
    sign = 1.0 if step.name == "ARG_MAX" else -1.0
    axis = int(step.known(1).flat[0])
    x = np.moveaxis(sign * step.known(0)[0].astype(np.float64), axis, -1)
    error = np.moveaxis(SAFETY * step.deviation(0)[0], axis, -1)
    possible = x + error >= (x - error).max(axis=-1, keepdims=True)
    rows = possible.reshape(-1, x.shape[-1])
    for at, (row, found) in enumerate(zip(rows, step.results[0].flat, strict=True)):
        yield from ((at, int(other)) for other in np.flatnonzero(row) if other != found)


def _overlapping(step: _Step) -> Array:
    """Whether the intervals of two elements that are compared for equality overlap: bool."""
    rank = step.results[0].ndim - 1
    a, b = (aligned(np.asarray(value, np.float64), rank) for value in step.values[:2])
    total = sum(aligned(SAFETY * step.deviation(place), rank) for place in (0, 1))
    return np.broadcast_to((total > 0) & (np.abs(a - b) <= total), step.results[0].shape)


def _sums(step: _Step) -> Array:
    """The deviations of sums of n terms: n - 1 roundings, together at most n u sum |x|.

    Up to SAFETY^2 terms this worst case is the smaller bound; beyond, that of a random walk is.
    Equal terms round alike, so the walk has as many steps as there are distinct values.
    """
    value = step.known(0)
    options = step.prepared.operator.options
    if step.name.endswith("_POOL_2D"):
        terms = int(options["filter_height"]) * int(options["filter_width"])
    elif step.name == "CUMSUM":
        terms = max(value.shape)
    elif step.name == "RESIZE_BILINEAR":
        terms = 8  # four neighbours, each times the product of two weights
    else:
        terms = value.size // max(step.results[0].size, 1)
    absolute = (np.abs(value), *step.values[1:])
    if step.name == "L2_POOL_2D":  # a sum of squares: the sign of an element has no effect
        step = replace(step, values=absolute)
    units = min(terms / SAFETY, np.sqrt(terms * _multiplicity(terms, value))) + 1.0
    return np.hypot(_ends(step)[0], _half_units(units, step.prepared(absolute)[0]))


def _multiplicity(terms: int, *factors: Array) -> float:
    """The average number of equal terms among ``terms`` values or products of ``factors``."""
    if terms <= SAFETY**2:
        return 1.0
    distinct = 1
    for factor in factors:
        distinct *= max(len(np.unique(factor)), 1)
    return max(1.0, terms / distinct)


def _softmax(step: _Step) -> Array:
    """The deviations of SOFTMAX and LOG_SOFTMAX over the last axis, for any signs of the errors.

    Let z = beta x (beta = 1 for LOG_SOFTMAX) and p = exp(z) / sum exp(z). Then
    d log p_i / dz_j = [i = j] - p_j: log p_i increases with z_i and decreases with every other z_j.
    The worst change by at most d_j is thus z_i in one direction, all others in the other:
    |log p_i| changes by m_i = beta ((1 - p_i) d_i + sum over j != i of p_j d_j), to first order,
    and p_i by p_i (exp(m_i) - 1). A common shift cancels in p but not in m: signs are independent.

    The device's own rounding errors, in units of u, with t = z - max z (Higham, Accuracy and
    Stability of Numerical Algorithms, 2nd edition, 3.1 and 4.2):

    * the subtraction and the product with beta: 2 |t_i| on log p_i;
    * the sum of n exponentials of a C library: sqrt(n) + _LIBRARY on log p_i, and for the rounding
      errors of their arguments sum p_j 2 |t_j|;
    * SOFTMAX: exponential and division, _LIBRARY + 1, relative to p_i;
    * LOG_SOFTMAX: the logarithm, _LIBRARY |log sum exp t|, and the last subtraction, |log p_i|.
      All are absolute: near 0, where one class has all weight, the sum is 1 and rounds by u.
    """
    value, deviation = step.known(0), step.deviation(0)
    logarithm = step.name == "LOG_SOFTMAX"
    beta = 1.0 if logarithm else float(step.prepared.operator.options["beta"])
    scaled = beta * value.astype(np.float64)
    below = scaled - scaled.max(axis=-1, keepdims=True)
    weights = np.exp(below)
    total = weights.sum(axis=-1, keepdims=True)
    share = weights / total
    argument = 2 * np.abs(below)
    own = argument + (share * argument).sum(axis=-1, keepdims=True)
    own = own + np.sqrt(value.shape[-1]) + _LIBRARY
    mean = (share * deviation).sum(axis=-1, keepdims=True)
    moved = abs(beta) * ((1 - 2 * share) * deviation + mean)
    if logarithm:
        own = own + _LIBRARY * np.log(total) + np.abs(below - np.log(total))
        return np.asarray(np.hypot(moved, _UNIT * own))
    carried = np.minimum(share * np.expm1(SAFETY * moved), 1.0) / SAFETY
    return np.asarray(np.hypot(carried, _half_units(own + _LIBRARY + 1, share)))


def _normalized(step: _Step) -> Array:
    """The deviations of L2_NORMALIZATION, y = x / r, r = |x|, over the last axis.

    dy_i / dx_j = ([i = j] - y_i y_j) / r, so the worst change by at most d_j is
    ((1 - y_i^2) d_i + |y_i| sum over j != i of |y_j| d_j) / r; two results differ by at most 2.
    Its own rounding errors: a sum of n squares, a root, a division.
    """
    x, deviation = step.known(0).astype(np.float64), step.deviation(0)
    norm = np.sqrt(np.square(x).sum(axis=-1, keepdims=True))
    y = np.abs(step.results[0].astype(np.float64))
    others = (y * deviation).sum(axis=-1, keepdims=True)
    moved = ((1 - 2 * y * y) * deviation + y * others) / np.maximum(norm, _SUBNORMAL)
    moved = np.where(deviation.any(axis=-1, keepdims=True), np.minimum(moved, 2 / SAFETY), 0.0)
    return np.hypot(moved, _half_units(np.sqrt(x.shape[-1]) + 3, y))


def _transform(step: _Step) -> Array:
    """The deviations of SignalRfft and SignalIrfft of n points.

    Each of log2(n) stages rounds a product with a twiddle factor and a sum. Its errors are u times
    the mean magnitude of its results, and the later stages keep this ratio (Higham, Accuracy and
    Stability of Numerical Algorithms, section 24.1). The mean magnitude of the bins is the root of
    sum x^2 (Parseval), that of the inverse the root mean square of y. The deviations of all inputs
    add up in each output, with factors of at most 1, or 2 / n in the inverse.
    """
    value, deviation = step.known(0), step.deviation(0)
    y = step.results[0].astype(np.float64)
    if step.name == "SignalRfft":
        points, factor = y.shape[-1] - 2, 1.0
        size = np.sqrt(np.square(value.astype(np.float64)).sum(axis=-1, keepdims=True))
    else:
        points = y.shape[-1]
        factor, size = 2.0 / points, np.sqrt(np.square(y).mean(axis=-1, keepdims=True))
    moved = factor * np.sqrt(np.square(deviation).sum(axis=-1, keepdims=True))
    own = _half_units(np.sqrt(np.log2(points)), size)
    return np.broadcast_to(np.hypot(moved, own), y.shape).copy()


def _products(step: _Step) -> Array:
    """The deviations of sums of products, see the module."""
    result = _recomputed(step, step.values, np.positive).astype(np.float64)
    terms_squared = _recomputed(step, step.values, np.square).astype(np.float64)
    magnitude = np.sqrt(result**2 + np.maximum(terms_squared, 0)) / 3
    node = step.prepared.node
    weights = [t for t in node.inputs if t is not None and t.dtype == "float32"]
    terms = max(max(t.shape[-1:], default=1) for t in weights[:2])
    if step.name != "BATCH_MATMUL":
        weight = next(t for t in weights if t.index == step.prepared.inputs[1])
        terms = weight.elements // max(step.prepared.outputs[0].shape[-1], 1) or 1
    factors = [v for v in step.values if v is not None and v.dtype == np.float32][:2]
    own = np.sqrt((terms + 2.0) * _multiplicity(terms, *factors))
    total = _half_units(own, magnitude)
    for place, index in enumerate(step.prepared.inputs):
        if index not in step.moved:
            continue
        deviation = step.deviations[index]
        top = float(deviation.max())
        part = list(step.values)
        part[place] = (deviation / top).astype(np.float32)
        squares = _recomputed(step, part, np.square, bias=False).astype(np.float64)
        total = np.hypot(total, top * np.sqrt(np.maximum(squares, 0)))
    return np.asarray(total)


def _recomputed(
    step: _Step,
    values: Sequence[Array | None],
    change: Callable[[Array], Array],
    *,
    bias: bool = True,
) -> Array:
    """The output of the step's kernel for ``change`` of its float32 inputs; the bias may be 0."""
    place = 3 if step.name == "TRANSPOSE_CONV" else 2

    def changed(number: int) -> Callable[[Array], Array]:
        return np.zeros_like if number == place and not bias else change

    inputs = [_real(value, changed(number)) for number, value in enumerate(values)]
    node = step.prepared.node
    tensors = tuple(
        _with_data(tensor, value) for tensor, value in zip(node.inputs, inputs, strict=True)
    )
    node = replace(node, inputs=tensors)
    return np.asarray(step.interpreter.kernels.find(node)(node)(*inputs))


def _real(value: Array | None, change: Callable[[Array], Array]) -> Array | None:
    """``value``, changed if it is float32."""
    if value is None or value.dtype != np.float32:
        return value
    return change(value.astype(np.float64)).astype(np.float32)


def _with_data(tensor: Tensor | None, value: Array | None) -> Tensor | None:
    if tensor is None or not tensor.constant or value is None or value.dtype != np.float32:
        return tensor
    return replace(tensor, data=memoryview(value.astype("<f4").tobytes()))


def _relative(step: _Step) -> list[Array]:
    """The relative deviations of inputs and weights, of the largest element of each output."""
    relative = [
        float(step.deviations[index].max()) / (float(np.abs(step.value(index)).max()) or 1.0)
        for index in step.moved
    ]
    terms = max((t.elements for t in step.prepared.node.inputs if t is not None), default=1)
    found = []
    for y in step.results:
        sums = step.name in _MEMORY and y.dtype == np.float32
        # The products of one inference are a walk as in _products, with results near 1 or below.
        factor = 1 / 3 if step.name in _RECURRENT else 1.0
        own = np.sqrt(terms) * factor * _UNIT if sums else 0.0
        total = float(np.sqrt(own**2 + sum(each**2 for each in relative)))
        deviation = total * float(np.abs(y).max(initial=1.0))
        if y.dtype != np.float32 and relative:
            deviation = max(deviation, 1 / SAFETY)  # at least one quantized step
        found.append(np.full(y.shape, deviation))
    return found
