"""How far the outputs of a correct device may be from the reference's.

The reference computes each float32 operator in double precision and rounds once; a device adds
float32 products one after the other: each addition rounds a partial sum s, u = 2^-24, with the mean
square u^2 s^2 / 3, and such errors are independent (Higham and Mary, A New Approach to
Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019). The partial sums of n
products y = sum x w go to y as a random walk whose steps are the products: their mean square is
below (y^2 + sum (x w)^2) / 3. So each element of a computed tensor has a deviation d, and an
element may be off by SAFETY d. The worst case, n u sum |x w| carried through the magnitudes of all
weights, is useless: it grows tenfold with each layer.

A rounding is at most half of a unit in the last place, which is u s at the lower end of a binade
and u s / 2 at the upper one: over the binade its mean square is 3 / (8 ln 2) = 0.54 of u^2 s^2 / 3
(significands are spread as their logarithms, Benford). So d is 1.36 standard deviations of a layer
by itself. But elements share the errors of the layers before them, which are then not independent:
behind 90 layers of a face mesh network they were 1.3 d. SAFETY d are 5.4 of these, and 9.5 in a
small network. What rounds a few times only cannot be off by more than the sum of its roundings: k
halves of a unit at worst are a deviation of k / SAFETY.

Each operator stands in one of these sets, by how it passes deviations on and what it adds:

* ``_PRODUCTS``: d^2 = sum d_x^2 w^2 + n u^2 (y^2 + sum (x w)^2) / 9, the sums by the operator's own
  kernel from squared inputs and weights;
* ``_SUMS`` of one input, no weights: the worst case where it is the smaller one (``_sums``);
* ``_SHARES`` (SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION): each output depends on all inputs, with
  either sign: in closed form;
* ``_FUNCTIONS`` and ``_ROUNDED``, element by element: the outputs at the ends of the inputs'
  intervals, and halves of a unit in the last place: _LIBRARY at worst; a single rounding has the
  deviation 1 / sqrt(3), as any uniform error, and none of exact inputs;
* ``_EXACT``: moves elements, takes the largest: the ends of the intervals alone;
* ``_VARIABLES``: a state has the deviations that the same inference assigns to it;
* ``_TRANSFORMS``: a Fourier transform, of which each output is a sum of all inputs;
* ``_MEMORY`` and other custom operators: the relative deviations of their inputs and of a sum of
  all weights;
* ``_JUMPS`` round, compare, or find the largest. A float so close to an edge that a device may
  take it the other way gives another integer. The rest of the network is computed for each such
  element (``_Branches``); what changes by it is allowed, too.

A fused activation cuts each interval at its edges: an element that is clipped with all its interval
is exact.
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

#: Deviations that a correct device may be off by.
SAFETY = 7.0
#: Half a unit in the last place of 1.
_UNIT = 2.0**-24
#: Half of the smallest subnormal float32.
_SUBNORMAL = 2.0**-150
#: Half units in the last place that a C library's functions may be off by.
_LIBRARY = 4.0
#: The deviation of one rounding, a uniform error of at most half a unit, in such halves.
_ROUNDING = 3**-0.5
#: Elements of a tensor that jump are tried one by one up to this number, then in as many groups.
_GROUPS = 64

_PRODUCTS = frozenset(
    {"BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"}
)
_SUMS = frozenset({"AVERAGE_POOL_2D", "CUMSUM", "L2_POOL_2D", "MEAN", "RESIZE_BILINEAR", "SUM"})
_SHARES = frozenset({"L2_NORMALIZATION", "LOG_SOFTMAX", "SOFTMAX"})
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
_JUMPS = frozenset(
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

    float64 arrays of the tensors' shapes and units (quantized steps for integers, 1 for a bool), of
    all float32 tensors that the main subgraph computes, and of the others where any element may be
    off. 0, or no array, means that the device must agree to the bit.
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
    """The same for output ``output`` of a batch, (runs, ...); zeros for runs that are not wanted.

    ``runs`` is a bool per run.
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
    """Other courses that the inference may take on a device: the tensors that differ in each."""

    def __init__(self) -> None:
        self._courses: list[dict[int, Array]] = []

    @property
    def tensors(self) -> dict[int, None]:
        """The tensors that differ in any course, in order."""
        return {index: None for course in self._courses for index in course}

    def start(self, step: _Step) -> None:
        """Add a course for each element that the step may give another value on a device."""
        (base,) = step.results
        jumps = list(_jumps(step))
        for group in np.array_split(np.arange(len(jumps)), min(len(jumps), _GROUPS) or 1):
            other = base.copy()
            for number in group:
                at, value = jumps[number]
                other.flat[at] = value
            if len(group):
                self._courses.append({step.prepared.outputs[0].index: other})

    def follow(self, step: _Step) -> None:
        """Compute the step in each course that reaches it."""
        for course in self._courses:
            changed = {index: course[index] for index in step.prepared.inputs if index in course}
            if not changed:
                continue
            results = zip(step.prepared.outputs, step.outputs(changed), step.results, strict=True)
            course.update({t.index: y for t, y, base in results if not np.array_equal(y, base)})

    def change(self, index: int, base: Array) -> Array:
        """The sum of the changes of a tensor over all courses."""
        values = [course[index] for course in self._courses if index in course]
        changes = (np.abs(value.astype(np.float64) - base) for value in values)
        return np.asarray(sum((np.nan_to_num(each) for each in changes), np.zeros(base.shape)))


@dataclass(frozen=True)
class _ErrorWalk:
    """Deviations by tensor, courses, and the deviations of the variables' states by resource."""

    known: Mapping[int, Array]
    deviations: dict[int, Array]
    branches: _Branches
    states: dict[int, Array]

    @classmethod
    def over(cls, interpreter: Interpreter, states: Mapping[int, Array]) -> _ErrorWalk:
        """Go through the operators of the last inference, once."""
        known = {index: value[None] for index, value in interpreter.tensors.items()}
        walk = cls(known, {}, _Branches(), {})
        for prepared in interpreter.steps:
            values = tuple(_value(interpreter, known, index) for index in prepared.inputs)
            results = tuple(known[tensor.index] for tensor in prepared.outputs)
            step = _Step(interpreter, prepared, values, walk.deviations, results)
            if step.remembers:
                given = {i: walk.allowed(i) / SAFETY for i in prepared.inputs if i in known}
                found = _remembering(replace(step, given=given))
            elif step.name in _VARIABLES:
                found = walk.variable(step, states)
            else:
                found = _deviations(step)
                walk.branches.follow(step)
            if step.name in _JUMPS and step.moved:
                walk.branches.start(step)
            for tensor, deviation in zip(prepared.outputs, found, strict=True):
                if tensor.dtype == "float32" or deviation.any():
                    walk.deviations[tensor.index] = np.nan_to_num(deviation, posinf=0.0)
        return walk

    def variable(self, step: _Step, states: Mapping[int, Array]) -> list[Array]:
        """Note the deviation of what is assigned; what is read has that of its state."""
        if step.name in ("ASSIGN_VARIABLE", "READ_VARIABLE"):
            (resource,) = self.known[step.prepared.inputs[0]].flat
            if step.name == "READ_VARIABLE":
                return [states.get(int(resource), np.zeros(step.results[0].shape))]
            self.states[int(resource)] = self.allowed(step.prepared.inputs[1]) / SAFETY
        return step.zeros()

    def allowed(self, index: int) -> Array:
        """What the elements of a tensor may be off by, in its units."""
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
    """One operator after an inference: its inputs (None: left out or not known), its outputs.

    ``given`` holds the inputs' deviations by tensor index; a tensor without one is exact. All
    arrays have a leading axis of one run.
    """

    interpreter: Interpreter
    prepared: PreparedOperator
    values: tuple[Array | None, ...]
    given: Mapping[int, Array]
    results: tuple[Array, ...]

    @property
    def name(self) -> str:
        return self.prepared.operator.name

    @property
    def remembers(self) -> bool:
        """Whether the rule for operators with a memory holds, or one behind it in integers."""
        known = zip(self.prepared.inputs, self.values, strict=True)
        return (
            self.name in _MEMORY
            or (bool(self.prepared.operator.custom) and self.name not in _TRANSFORMS)
            or (self.name not in _VARIABLES and any(v is None for i, v in known if i >= 0))
            or any(self.value(index).dtype.kind != "f" for index in self.moved)
        )

    @cached_property
    def moved(self) -> tuple[int, ...]:
        """The inputs' tensors that deviate anywhere; each once, even if it is read twice."""
        inputs = dict.fromkeys(self.prepared.inputs)
        return tuple(i for i in inputs if i in self.given and self.given[i].any())

    def value(self, index: int) -> Array:
        """The array of the input with the tensor index ``index``."""
        value = self.values[self.prepared.inputs.index(index)]
        assert value is not None  # what deviates was computed
        return value

    def deviation(self, place: int) -> Array:
        """The deviation of input ``place``, zeros if it is exact."""
        value, index = self.values[place], self.prepared.inputs[place]
        return self.given.get(index, np.zeros(() if value is None else value.shape))

    def off(self, index: int, sign: float) -> Array:
        """Input ``index``, each element moved by all that it may be off by."""
        moved = self.value(index).astype(np.float64) + sign * SAFETY * self.given[index]
        return moved.astype(np.float32)

    def outputs(self, changed: Mapping[int, Array]) -> list[Array]:
        """The outputs if the inputs with these tensor indices have other values."""
        pairs = zip(self.prepared.inputs, self.values, strict=True)
        return self.prepared([changed.get(index, value) for index, value in pairs])

    def change(self, output: int, y: Array) -> Array:
        """How far ``y`` is from output ``output``; 0 where either is not a number."""
        change = np.abs(y.astype(np.float64) - self.results[output].astype(np.float64))
        return np.where(np.isfinite(change), change, 0.0)

    def zeros(self) -> list[Array]:
        """No deviation."""
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
    """The deviations of the step's outputs, without what jumps."""
    if step.name in _JUMPS or all(y.dtype != np.float32 for y in step.results):
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
    if name in _SHARES:
        return [_normalized(step) if name == "L2_NORMALIZATION" else _softmax(step)]
    if name in _SUMS:
        return [_sums(step)]
    units = _LIBRARY / SAFETY if name in _FUNCTIONS else _ROUNDING if step.moved else 0.0
    return [
        np.hypot(moved, _own(units, y)) for moved, y in zip(_ends(step), step.results, strict=True)
    ]


def _own(units: float | Array, magnitude: Array) -> Array:
    """``units`` halves of a unit in the last place; subnormal results have an absolute one."""
    return units * np.maximum(_UNIT * np.abs(magnitude.astype(np.float64)), _SUBNORMAL)


def _clipped(step: _Step, value: Array, deviation: Array) -> Array:
    """The deviation behind the fused activation of ``value``, cut at its edges."""
    edges = REAL_RANGES[step.prepared.operator.options["fused_activation_function"]]
    middle = value.astype(np.float64)
    low, at, high = (np.clip(middle + k * SAFETY * deviation, *edges) for k in (-1, 0, 1))
    return np.asarray(np.maximum(high - at, at - low) / SAFETY)


def _ends(step: _Step) -> list[Array]:
    """The change at the ends of each input's interval, of all inputs as independent ones.

    Of a function that rises, or falls, with each element this is exact to what float32 shows: a
    device's element is a float32 itself.
    """
    total = step.zeros()
    for index in step.moved:
        ends = [step.outputs({index: step.off(index, sign)}) for sign in (1.0, -1.0)]
        for number in range(len(total)):
            changes = [step.change(number, end[number]) for end in ends]
            total[number] = np.hypot(total[number], np.maximum(*changes) / SAFETY)
    return total


def _jumps(step: _Step) -> Iterator[tuple[int, Any]]:
    """The elements of the output that a device may compute otherwise: flat index, other value."""
    base = step.results[0]
    if step.name in ("ARG_MAX", "ARG_MIN"):
        yield from _candidates(step)
    elif step.name in ("EQUAL", "NOT_EQUAL"):
        yield from ((int(at), not base.flat[at]) for at in np.flatnonzero(_touching(step)))
    else:
        found = set()
        for signs in product((1.0, -1.0), repeat=len(step.moved)):
            ends = {i: step.off(i, sign) for i, sign in zip(step.moved, signs, strict=True)}
            (y,) = step.outputs(ends)
            found |= {(int(at), y.flat[at]) for at in np.flatnonzero(y != base)}
        yield from sorted(found)


def _candidates(step: _Step) -> Iterator[tuple[int, int]]:
    """The other places where the largest, or smallest, element may be on a device."""
    value, axis = step.values[:2]
    assert value is not None and axis is not None  # what is not known was sorted out before
    sign, place = (1.0 if step.name == "ARG_MAX" else -1.0), int(axis.flat[0])
    x = np.moveaxis(sign * value[0].astype(np.float64), place, -1)
    off = np.moveaxis(SAFETY * step.deviation(0)[0], place, -1)
    likely = x + off >= (x - off).max(axis=-1, keepdims=True)
    rows = likely.reshape(-1, x.shape[-1])
    for at, (row, found) in enumerate(zip(rows, step.results[0].flat, strict=True)):
        yield from ((at, int(other)) for other in np.flatnonzero(row) if other != found)


def _touching(step: _Step) -> Array:
    """Where the intervals of two inputs that are compared for equality meet."""
    rank = step.results[0].ndim - 1
    a, b = (aligned(np.asarray(value, np.float64), rank) for value in step.values[:2])
    one, other = (aligned(SAFETY * step.deviation(at), rank) for at in (0, 1))
    distance, both = np.abs(a - b), one + other
    return np.broadcast_to((both > 0) & (distance <= both), step.results[0].shape)


def _sums(step: _Step) -> Array:
    """A sum of n terms rounds n - 1 times, by at most n u sum |x| in all.

    That is the smaller bound up to SAFETY^2 terms. Of more, a random walk's is taken, in which
    terms that are equal round alike: they are as many steps as there are distinct values.
    """
    value = step.values[0]
    assert value is not None  # what is not known was sorted out before
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
    if step.name == "L2_POOL_2D":  # of squares: an element's sign does not count
        step = replace(step, values=absolute)
    units = min(terms / SAFETY, np.sqrt(terms * _alike(terms, value))) + 1.0
    return np.hypot(_ends(step)[0], _own(units, step.prepared(absolute)[0]))


def _alike(terms: int, *factors: Array) -> float:
    """How many of ``terms`` products, or values, are equal on average: they round alike."""
    if terms <= SAFETY**2:
        return 1.0
    distinct = 1
    for factor in factors:
        distinct *= max(len(np.unique(factor)), 1)
    return max(1.0, terms / distinct)


def _softmax(step: _Step) -> Array:
    """SOFTMAX and LOG_SOFTMAX over the last axis, for all patterns of signs at once.

    With z = beta x (beta = 1 for LOG_SOFTMAX), p = exp(z) / sum exp(z) and log p:
    d log p_i / dz_j = [i = j] - p_j, so log p_i rises with z_i and falls with every other z_j.
    Of all moves of at most d_j the worst is thus z_i one way and all others the other way:
    |log p_i| moves by m_i = beta ((1 - p_i) d_i + sum over j != i of p_j d_j), to first order,
    and p_i by p_i (exp(m_i) - 1). A shift of all inputs cancels in p, not in m: signs are free.

    A device's own roundings, in units of u, with t = z - max z (Higham, Accuracy and Stability
    of Numerical Algorithms, 2nd edition, 3.1 and 4.2):

    * the subtraction and the product with beta: 2 |t_i| on log p_i;
    * its sum of n exponentials, each of a C library: sqrt(n) + _LIBRARY on log p_i. Their own
      arguments' roundings weigh sum p_j 2 |t_j|;
    * SOFTMAX: exponential and division, _LIBRARY + 1, relative to p_i;
    * LOG_SOFTMAX: the logarithm, _LIBRARY |log sum exp t|, and the last subtraction, |log p_i|.
      All are absolute: near 0, where one class has all weight, the sum is 1 and rounds by u.
    """
    value, deviation = step.values[0], step.deviation(0)
    assert value is not None  # what is not known was sorted out before
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
    return np.asarray(np.hypot(carried, _own(own + _LIBRARY + 1, share)))


def _normalized(step: _Step) -> Array:
    """L2_NORMALIZATION, y = x / r, r = |x|, over the last axis.

    dy_i / dx_j = ([i = j] - y_i y_j) / r, so of all moves of at most d_j the worst is
    ((1 - y_i^2) d_i + |y_i| sum over j != i of |y_j| d_j) / r; no two results are further apart
    than 2. Its own roundings: a sum of n squares, a root, a division.
    """
    value, deviation = step.values[0], step.deviation(0)
    assert value is not None  # what is not known was sorted out before
    x = value.astype(np.float64)
    size = np.sqrt(np.square(x).sum(axis=-1, keepdims=True))
    y = np.abs(step.results[0].astype(np.float64))
    others = (y * deviation).sum(axis=-1, keepdims=True)
    moved = ((1 - 2 * y * y) * deviation + y * others) / np.maximum(size, _SUBNORMAL)
    moved = np.where(deviation.any(axis=-1, keepdims=True), np.minimum(moved, 2 / SAFETY), 0.0)
    return np.hypot(moved, _own(np.sqrt(x.shape[-1]) + 3, y))


def _transform(step: _Step) -> Array:
    """SignalRfft and SignalIrfft of n points: log2(n) stages, each of which rounds a product with a
    factor of the circle and a sum.

    A stage's errors are u times the mean magnitude of its results, and the stages after it keep
    them against the results' magnitude (Higham, Accuracy and Stability of Numerical Algorithms,
    section 24.1). The mean magnitude of the bins is the root of sum x^2 (Parseval), of the inverse
    the root mean square of y. Each output moves by all the inputs', with factors of at most 1, and
    2 / n in the inverse.
    """
    value, deviation = step.values[0], step.deviation(0)
    assert value is not None  # what is not known was sorted out before
    y = step.results[0].astype(np.float64)
    if step.name == "SignalRfft":
        points, factor = y.shape[-1] - 2, 1.0
        size = np.sqrt(np.square(value.astype(np.float64)).sum(axis=-1, keepdims=True))
    else:
        points = y.shape[-1]
        factor, size = 2.0 / points, np.sqrt(np.square(y).mean(axis=-1, keepdims=True))
    moved = factor * np.sqrt(np.square(deviation).sum(axis=-1, keepdims=True))
    own = _own(np.sqrt(np.log2(points)), size)
    return np.broadcast_to(np.hypot(moved, own), y.shape).copy()


def _products(step: _Step) -> Array:
    result = _twin(step, step.values, np.positive).astype(np.float64)
    terms_squared = _twin(step, step.values, np.square).astype(np.float64)
    magnitude = np.sqrt(result**2 + np.maximum(terms_squared, 0)) / 3
    node = step.prepared.node
    weights = [t for t in node.inputs if t is not None and t.dtype == "float32"]
    terms = max(max(t.shape[-1:], default=1) for t in weights[:2])
    if step.name != "BATCH_MATMUL":
        weight = next(t for t in weights if t.index == step.prepared.inputs[1])
        terms = weight.elements // max(step.prepared.outputs[0].shape[-1], 1) or 1
    factors = [v for v in step.values if v is not None and v.dtype == np.float32][:2]
    own = np.sqrt((terms + 2.0) * _alike(terms, *factors))
    total = _own(own, magnitude)
    for place, index in enumerate(step.prepared.inputs):
        if index not in step.moved:
            continue
        deviation = step.given[index]
        top = float(deviation.max())
        part = list(step.values)
        part[place] = (deviation / top).astype(np.float32)
        squares = _twin(step, part, np.square, bias=False).astype(np.float64)
        total = np.hypot(total, top * np.sqrt(np.maximum(squares, 0)))
    return np.asarray(total)


def _twin(
    step: _Step,
    values: Sequence[Array | None],
    change: Callable[[Array], Array],
    *,
    bias: bool = True,
) -> Array:
    """The output of the step's kernel from changed float32 inputs."""
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


def _remembering(step: _Step) -> list[Array]:
    relative = [
        float(step.given[index].max()) / (float(np.abs(step.value(index)).max()) or 1.0)
        for index in step.moved
    ]
    terms = max((t.elements for t in step.prepared.node.inputs if t is not None), default=1)
    found = []
    for y in step.results:
        sums = step.name in _MEMORY and y.dtype == np.float32
        # One inference's products are a walk as in _products, of results near 1 or below.
        part = 1 / 3 if step.name in _RECURRENT else 1.0
        own = np.sqrt(terms) * part * _UNIT if sums else 0.0
        total = float(np.sqrt(own**2 + sum(each**2 for each in relative)))
        deviation = total * float(np.abs(y).max(initial=1.0))
        if y.dtype != np.float32 and relative:
            deviation = max(deviation, 1 / SAFETY)  # a step at least
        found.append(np.full(y.shape, deviation))
    return found
