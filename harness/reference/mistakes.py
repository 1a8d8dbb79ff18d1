"""The table of plausible implementation mistakes, the mutation operators of test adequacy.

A mistake changes one operator: its tensors and options as the kernel reads them, a step that the
kernel takes from the node's hooks (:class:`~harness.reference.node.Hooks`), or its input and output
arrays. The kernels contain no code for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from harness.base.errors import HilError
from harness.model import Tensor
from harness.reference.arrays import Array
from harness.reference.memory import ModelMemory
from harness.reference.node import NUMPY_TYPES, Hooks, Node, Run, constant
from harness.reference.registry import Kernels
from harness.reference.scale import Clamp, Multiplier, Requantizer
from harness.reference.window import Window

#: The arrays of an operator's inputs, None for an omitted one.
InputArrays = Sequence["Array | None"]


@dataclass(frozen=True)
class Mutant:
    """An operator with a mistake.

    ``node`` is passed to the kernel of the operator ``kernel`` (default: its own). ``constants``
    replace inputs by index, ``before`` changes the inputs, ``after`` the outputs. ``forgets``: the
    operator's memory is reset before each inference.
    """

    node: Node
    kernel: str = ""
    constants: Mapping[int, Array] = field(default_factory=dict)
    before: Callable[[list[Array | None]], InputArrays] | None = None
    after: Callable[[list[Array]], list[Array]] | None = None
    forgets: bool = False

    def prepare(self, kernels: Kernels) -> Run:
        """The function that runs the mutant. Raises HilError if the kernel refuses its node."""
        node = self.node
        if self.forgets:
            node = replace(node, memory=ModelMemory())
        name = self.kernel or node.operator.name
        run = kernels.find(replace(node, operator=replace(node.operator, name=name)))(node)

        def mutated(*inputs: Array | None) -> Sequence[Array]:
            arrays = [self.constants.get(place, each) for place, each in enumerate(inputs)]
            if self.before is not None:
                arrays = list(self.before(arrays))
            if self.forgets:
                node.memory.reset(restart=True)
            result = run(*arrays)
            outputs = [result] if isinstance(result, np.ndarray) else list(result)
            return self.after(outputs) if self.after is not None else outputs

        return mutated


#: Makes the mistake in one operator; None if the operator has no such step.
Change = Callable[[Node], "Mutant | None"]


@dataclass(frozen=True)
class Mistake:
    """A row of the table; ``name`` completes the sentence "The device ..."."""

    name: str
    change: Change
    operators: frozenset[str] | None = None  # None: any


@dataclass(frozen=True)
class PreparedMutant:
    """A mutant of one operator of a model, ready to run."""

    mistake: Mistake
    mutant: Mutant
    run: Run


def mutants_of(node: Node, kernels: Kernels) -> Iterator[PreparedMutant]:
    """The mutants of one operator, one for each mistake of the table that applies to it."""
    for mistake in MISTAKES:
        if mistake.operators is not None and node.operator.name not in mistake.operators:
            continue
        with np.errstate(all="ignore"):
            try:
                mutant = mistake.change(node)
                run = None if mutant is None else mutant.prepare(kernels)
            except HilError:  # Prepare refuses the mutant: it cannot occur on a device
                continue
        if mutant is not None and run is not None and _is_changed(mutant):
            yield PreparedMutant(mistake, mutant, run)


def _is_changed(mutant: Mutant) -> bool:
    """False if the mistake is in a hook that the kernel did not use, or left the step unchanged."""
    hooks = mutant.node.hooks
    return not isinstance(hooks, _RecordingHooks) or any(hooks.changed)


# Hooks.


@dataclass(frozen=True)
class _RecordingHooks(Hooks):
    """Hooks that record whether they changed their steps."""

    changed: list[bool] = field(default_factory=list)


def _at_hook(name: str, change: Callable[[Node, Any], Any]) -> Change:
    """The mistake of applying ``change`` to the step of that hook; None or itself: unchanged."""

    def make(node: Node) -> Mutant:
        changed: list[bool] = []

        def hook(step: Any) -> Any:
            other = change(node, step)
            changed.append(other is not None and other is not step)
            return step if other is None else other

        hooks: dict[str, Any] = {name: hook}
        return Mutant(replace(node, hooks=_RecordingHooks(**hooks, changed=changed)))

    return make


@dataclass(frozen=True)
class _TruncatingMultiplier(Multiplier):
    """Drops the fraction."""

    def scale(self, x: Array) -> Array:
        return _scaled(self, x, lambda product, unit: product // unit)

    def scale64(self, x: Array) -> Array:
        return self.scale(x)


@dataclass(frozen=True)
class _HalfEvenMultiplier(Multiplier):
    """Rounds once, halves to even."""

    def scale(self, x: Array) -> Array:
        def rounded(product: Array, unit: Array) -> Array:
            whole, rest = np.divmod(product, unit)
            up = (2 * rest > unit) | ((2 * rest == unit) & (whole & 1 == 1))
            return np.asarray(whole + up)

        return _scaled(self, x, rounded)

    def scale64(self, x: Array) -> Array:
        return self.scale(x)


def _scaled(m: Multiplier, x: Array, divide: Callable[[Array, Array], Array]) -> Array:
    """x * multiplier / 2^(31 - shift) by ``divide``; the exponent is clipped to 1 .. 62."""
    shift = np.clip(31 - m.shift, 1, 62)
    return np.asarray(divide(x.astype(np.int64) * m.multiplier, np.int64(1) << shift))


def _rounding_of(kind: type[Multiplier]) -> Change:
    return _at_hook("multiplier", lambda _, m: kind(m.multiplier, m.shift, m.rounding))


def _other_rounding(_: Node, m: Multiplier) -> Multiplier:
    return replace(m, rounding="double" if m.rounding == "single" else "single")


def _first_channel(_: Node, m: Multiplier) -> Multiplier | None:
    uniform = m.multiplier.ndim == 0 or (
        (m.multiplier == m.multiplier[0]).all() and (m.shift == m.shift[0]).all()
    )
    if uniform:
        return None
    return replace(
        m, multiplier=np.full_like(m.multiplier, m.multiplier[0]),
        shift=np.full_like(m.shift, m.shift[0]),
    )  # fmt: skip


@dataclass(frozen=True)
class _WrappingClamp(Clamp):
    """Wraps at the range of the type; the limits of the activation are kept."""

    def __call__(self, x: Array) -> Array:
        whole = Clamp.whole(self.dtype)
        limited = np.asarray(x)
        if self.low > whole.low:
            limited = np.maximum(limited, int(self.low))
        if self.high < whole.high:
            limited = np.minimum(limited, int(self.high))
        return limited.astype(np.int64).astype(self.dtype)


def _wraps(_: Node, requantizer: Requantizer) -> Requantizer | None:
    clamp = requantizer.clamp
    if clamp.dtype.kind not in "iu":
        return None
    return replace(requantizer, clamp=_WrappingClamp(clamp.low, clamp.high, clamp.dtype))


def _moved_end(low: int, high: int) -> Change:
    def change(_: Node, requantizer: Requantizer) -> Requantizer:
        clamp = requantizer.clamp
        ends = Clamp(clamp.low + low, clamp.high + high, clamp.dtype)
        return replace(requantizer, clamp=ends)

    return _at_hook("requantizer", change)


@dataclass(frozen=True)
class _NarrowRequantizer(Requantizer):
    """Accumulates in half of the bits: 16 instead of 32, 32 instead of 64."""

    def _output(self, accumulators: Array, bias: Array | None, multiplier: Multiplier) -> Array:
        sums = accumulators.astype(np.int64)
        if bias is not None:
            sums = sums + bias
        kind = np.int32 if self.wide else np.int16
        return super()._output(sums.astype(kind).astype(np.int64), None, multiplier)


def _narrow(_: Node, r: Requantizer) -> Requantizer:
    return _NarrowRequantizer(r.multiplier, r.zero_point, r.clamp, r.wide)


# Windows.


def _other_axis(name: str) -> Change:
    """Height and width exchanged in one respect."""

    def change(_: Node, window: Any) -> Any:
        if not isinstance(window, Window):
            if name != "before" or window.before[0] == window.before[1]:
                return None
            return _scatter_before(window, window.before[::-1])
        h, w = window.height, window.width
        if getattr(h, name) == getattr(w, name):
            return None
        return Window(
            replace(h, **{name: getattr(w, name)}), replace(w, **{name: getattr(h, name)})
        )

    return _at_hook("window", change)


def _scatter_before(scatter: Any, before: tuple[int, int]) -> Any:
    sizes = zip(scatter.canvas, before, scatter.out, strict=True)
    room = tuple(max(size, start + out) for size, start, out in sizes)
    return replace(scatter, before=before, canvas=room)


def _no_padding(_: Node, window: Any) -> Any:
    if not isinstance(window, Window):
        return _scatter_before(window, (0, 0)) if any(window.before) else None
    if not window.height.before and not window.width.before:
        return None
    return Window(replace(window.height, before=0), replace(window.width, before=0))


def _padding_up(_: Node, window: Any) -> Any:
    """The odd element of the padding before the image instead of after it."""
    if not isinstance(window, Window):
        return None

    def end(axis: Any) -> Any:
        reach = (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1
        total = max(0, reach - axis.size)
        return replace(axis, before=axis.before + total % 2)

    ends = Window(end(window.height), end(window.width))
    return None if ends == window else ends


@dataclass(frozen=True)
class _WindowPaddedWith(Window):
    """A window that pads with ``value``."""

    value: float = 0.0

    def pad(self, x: Array, value: float) -> Array:
        return super().pad(x, self.value)


def _raw_zero(node: Node, window: Any) -> Any:
    """Padding with the stored value 0 instead of the real value 0."""
    zero_point = node.input(0).zero_point
    name = node.operator.name
    if not isinstance(window, Window) or node.input(0).dtype not in ("int8", "int16"):
        return None
    sizes = [(axis.padded, axis.size) for axis in (window.height, window.width)]
    if all(padded == size for padded, size in sizes):
        return None
    if name == "MAX_POOL_2D":
        return _WindowPaddedWith(window.height, window.width, 0)
    if name == "AVERAGE_POOL_2D" or zero_point == 0:
        return None
    return _WindowPaddedWith(window.height, window.width, -zero_point)


# Divisors.


def _whole_window(node: Node, count: Array) -> Array | None:
    """The size of the window, including elements outside the image."""
    if node.operator.name not in ("AVERAGE_POOL_2D", "L2_POOL_2D"):
        return None
    whole = node.option("filter_height") * node.option("filter_width")
    return None if (count == whole).all() else np.full_like(count, whole)


def _one_more(node: Node, count: Array) -> Array | None:
    return None if node.operator.name == "SUM" else np.asarray(count + 1)


def _quotient(divide: Callable[[Array, Array], Array]) -> Change:
    def make(node: Node) -> Mutant | None:
        if node.input(0).dtype == "float32":
            return None
        return Mutant(replace(node, hooks=Hooks(quotient=divide)))

    return make


# Tensors and options as the kernel reads them.


def _quantized(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.dtype in ("int8", "int16", "uint8") and tensor.scale > 0


def _with_zero_point_0(tensor: Tensor) -> Tensor:
    assert tensor.quantization is not None
    zeros = (0,) * len(tensor.quantization.zero_points)
    return replace(tensor, quantization=replace(tensor.quantization, zero_points=zeros))


def _replaced(node: Node, place: int, tensor: Tensor) -> Node:
    return replace(node, inputs=(*node.inputs[:place], tensor, *node.inputs[place + 1 :]))


#: Operators that copy or select elements of their first input: they do not use its zero point.
COPIES = frozenset(
    {
        "BATCH_TO_SPACE_ND", "BROADCAST_TO", "DEPTH_TO_SPACE", "DYNAMIC_UPDATE_SLICE",
        "EXPAND_DIMS", "GATHER", "GATHER_ND", "MAX_POOL_2D", "MIRROR_PAD", "REDUCE_MAX",
        "REDUCE_MIN", "RESHAPE", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "SLICE",
        "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V", "SQUEEZE", "STRIDED_SLICE", "TRANSPOSE", "UNPACK",
    }
)  # fmt: skip
#: All operators that compute with stored values, or with differences of them.
_STORED = COPIES | {
    "AVERAGE_POOL_2D", "CONCATENATION", "MAXIMUM", "MINIMUM", "PACK", "PAD", "PADV2", "SELECT_V2",
    "SHAPE", "SOFTMAX", "LOG_SOFTMAX", "SPACE_TO_BATCH_ND", "SUM", "ARG_MAX", "ARG_MIN",
    "RESIZE_BILINEAR", "ASSIGN_VARIABLE", "EMBEDDING_LOOKUP", "FILL", "ZEROS_LIKE", "CAST",
    "CIRCULAR_BUFFER",
}  # fmt: skip


def _input_zero(place: int) -> Change:
    def make(node: Node) -> Mutant | None:
        tensor = node.inputs[place] if place < len(node.inputs) else None
        if node.operator.name in _STORED or tensor is None:
            return None
        if not _quantized(tensor) or tensor.zero_point == 0:
            return None
        return Mutant(_replaced(node, place, _with_zero_point_0(tensor)))

    return make


def _output_zero(node: Node) -> Mutant | None:
    output = node.output()
    if node.operator.name in _STORED - {"SOFTMAX", "LOG_SOFTMAX"}:
        return None
    if not _quantized(output) or output.zero_point == 0:
        return None
    whole = Clamp.whole(NUMPY_TYPES[output.dtype])

    def moved(outputs: list[Array]) -> list[Array]:
        return [whole(outputs[0].astype(np.int64) - output.zero_point), *outputs[1:]]

    return Mutant(node, after=moved)


def _same_scale(node: Node) -> Mutant | None:
    """Input 1 read with the scale of input 0."""
    pair = node.inputs[:2]
    if len(pair) < 2 or not all(map(_quantized, pair)):
        return None
    first, second = node.input(0), node.input(1)
    if first.scale == second.scale or first.quantization is None:
        return None
    scaled = replace(first.quantization, zero_points=second.quantization.zero_points)  # type: ignore[union-attr]
    return Mutant(_replaced(node, 1, replace(second, quantization=scaled)))


def _no_activation(node: Node) -> Mutant | None:
    if node.options.get("fused_activation_function", "NONE") in ("NONE", "TANH"):
        return None
    if node.clamp() == node.clamp("NONE"):
        return None
    return _with_option(node, "fused_activation_function", "NONE")


def _with_option(node: Node, name: str, value: Any) -> Mutant:
    operator = replace(node.operator, options={**node.options, name: value})
    return Mutant(replace(node, operator=operator))


def _flipped(name: str) -> Change:
    return lambda node: _with_option(node, name, not node.option(name))


def _reads_as(kernels: Mapping[str, str]) -> Change:
    """The kernel of a similar operator."""
    return lambda node: Mutant(node, kernel=kernels[node.operator.name])


# Constants.

#: Operator -> index of its weights, and of its bias.
_WEIGHTS = {"FULLY_CONNECTED": 1, "CONV_2D": 1, "DEPTHWISE_CONV_2D": 1, "TRANSPOSE_CONV": 1}
_BIASES = dict.fromkeys(_WEIGHTS, 2) | {"TRANSPOSE_CONV": 3, "SVDF": 3}


def _constant(node: Node, place: int, change: Callable[[Array], Array | None]) -> Mutant | None:
    """Constant input ``place`` with the values ``change(value)``; None if it is not constant."""
    tensor = node.inputs[place] if place < len(node.inputs) else None
    if tensor is None or not tensor.constant or tensor.variable:
        return None
    value = constant(tensor)
    other = change(value)
    if other is None or np.array_equal(other, value):
        return None
    other = np.ascontiguousarray(other, value.dtype)
    changed = replace(tensor, data=memoryview(_packed(other, tensor.dtype)))
    return Mutant(_replaced(node, place, changed), constants={place: other[None]})


def _packed(value: Array, dtype: str) -> bytes:
    if dtype != "int4":
        return value.tobytes()
    flat = value.reshape(-1).astype(np.uint8) & 15
    padded = np.append(flat, np.zeros(flat.size % 2, np.uint8))
    return bytes(padded[::2] | padded[1::2] << 4)


def _bias(change: Callable[[Array], Array]) -> Change:
    return lambda node: _constant(node, _BIASES[node.operator.name], change)


def _weights(change: Callable[[str, Array], Array | None]) -> Change:
    def make(node: Node) -> Mutant | None:
        name = node.operator.name
        return _constant(node, _WEIGHTS[name], lambda w: change(name, w))

    return make


def _without(axis: int) -> Change:
    """Weights (outputs, rows, columns, inputs) whose last element along ``axis`` is 0."""

    def change(name: str, w: Array) -> Array | None:
        depthwise = name == "DEPTHWISE_CONV_2D"
        if w.ndim != 4 and axis != 3:
            return None
        place = axis if w.ndim == 4 else -1
        if (depthwise and axis == 3) or w.shape[place] == 1:
            return None
        other = w.copy()
        np.moveaxis(other, place, 0)[-1] = 0
        return other

    return _weights(change)


def _transposed(_: str, w: Array) -> Array | None:
    """Rows and columns of a square kernel exchanged."""
    return w.swapaxes(1, 2) if w.ndim == 4 and w.shape[1] == w.shape[2] > 1 else None


# Arrays.


def _unwritten(axis: int, rank: int) -> Change:
    """The last element along ``axis`` of an output of at least ``rank`` axes is not written: 0."""

    def make(node: Node) -> Mutant | None:
        shape = node.output().shape
        if len(shape) < rank or shape[axis] < 2:
            return None

        def after(outputs: list[Array]) -> list[Array]:
            other = outputs[0].copy()
            np.moveaxis(other, axis, 0)[-1] = 0
            return [other, *outputs[1:]]

        return Mutant(node, after=after)

    return make


def _computed(node: Node) -> list[int]:
    """The indices of the inputs that are computed at run time."""
    return [
        place
        for place, each in enumerate(node.inputs)
        if each is not None and not each.constant and not each.variable
    ]


def _overwritten(older: int, newer: int) -> Change:
    """The memory of input ``older`` is reused for input ``newer`` too early."""

    def make(node: Node) -> Mutant | None:
        if _computed(node)[:2] != [0, 1]:
            return None
        one, other = node.input(0), node.input(1)
        if one.dtype != other.dtype or one.index == other.index:
            return None

        def before(given: list[Array | None]) -> InputArrays:
            old, new = given[older], given[newer]
            assert old is not None
            assert new is not None
            old = np.array(np.broadcast_to(old, (max(len(old), len(new)), *old.shape[1:])))
            flat, source = old.reshape(len(old), -1), new.reshape(len(new), -1)
            size = min(flat.shape[1], source.shape[1])
            flat[:, :size] = source[:, :size]
            given[older] = old
            return given

        return Mutant(node, before=before)

    return make


def _exchanged(node: Node) -> Mutant | None:
    """Inputs 0 and 1 exchanged."""
    if len(node.inputs) < 2 or None in node.inputs[:2]:
        return None
    one, other = node.input(0), node.input(1)
    if (one.shape, one.dtype) != (other.shape, other.dtype) or one.index == other.index:
        return None
    changed = replace(node, inputs=(other, one, *node.inputs[2:]))
    return Mutant(changed, before=lambda given: [given[1], given[0], *given[2:]])


def _next_entry(node: Node) -> Mutant | None:
    """A lookup table read one entry too far."""
    x = node.input(0)
    if x.dtype not in ("int8", "int16"):
        return None
    top = np.iinfo(x.dtype).max

    def before(given: list[Array | None]) -> InputArrays:
        value = given[0]
        assert value is not None
        return [np.minimum(value, top - 1).astype(value.dtype) + value.dtype.type(1), *given[1:]]

    return Mutant(node, before=before)


def _last_of_equals(node: Node) -> Mutant | None:
    """The index of the last of several equal elements."""
    axis = node.constant(1)
    if axis is None:
        return None
    place = node.axis(int(axis.item()), len(node.input(0).shape))
    size = node.input(0).shape[place]

    def before(given: list[Array | None]) -> InputArrays:
        value = given[0]
        assert value is not None
        return [np.flip(value, place + 1), *given[1:]]

    return Mutant(node, before=before, after=lambda outputs: [size - 1 - outputs[0]])


def _outputs_reversed(node: Node) -> Mutant | None:
    shapes = [tensor.shape for tensor in node.outputs]
    if len(shapes) < 2 or shapes != shapes[::-1]:
        return None
    return Mutant(node, after=lambda outputs: outputs[::-1])


def _parts_reversed(node: Node) -> Mutant | None:
    """The parts of a concatenation in reverse order."""
    if len({each.shape for each in node.inputs if each}) != 1 or len(node.inputs) < 2:
        return None
    changed = replace(node, inputs=node.inputs[::-1])
    return Mutant(changed, before=lambda given: given[::-1])


def _parameter(place: int, change: Callable[[Array], Array | None]) -> Change:
    return lambda node: _constant(node, place, change)


def _moved_by_one(node: Node) -> Mutant | None:
    """A slice or an index that begins one element too late; the last element is repeated."""

    def after(outputs: list[Array]) -> list[Array]:
        y = outputs[0]
        flat = y.reshape(len(y), -1)
        return [np.concatenate([flat[:, 1:], flat[:, -1:]], axis=1).reshape(y.shape)]

    return Mutant(node, after=after) if node.output().elements > 1 else None


def _stored_zero(node: Node) -> Mutant | None:
    """Filled elements have the stored value 0 instead of the zero point."""
    x = node.input(0)
    if not _quantized(x) or x.zero_point == 0 or node.present(2):
        return None
    flat = replace(node, outputs=(_with_zero_point_0(node.output()), *node.outputs[1:]))
    return Mutant(_replaced(flat, 0, _with_zero_point_0(x)))


# State.


def _state_forgotten(node: Node) -> Mutant | None:
    """The state is reset before each inference."""
    states = {
        place: tensor
        for place, tensor in enumerate(node.inputs)
        if tensor is not None and tensor.variable
    }
    if not states:
        return None

    def before(given: list[Array | None]) -> InputArrays:
        for place, tensor in states.items():
            value = given[place]
            assert value is not None
            value[...] = tensor.zero_point if tensor.dtype == "int8" else 0
        return given

    return Mutant(node, before=before)


def _memory_forgotten(node: Node) -> Mutant | None:
    return Mutant(node, forgets=True)


def _reads_nothing(node: Node) -> Mutant | None:
    return Mutant(node, after=lambda outputs: [np.zeros_like(each) for each in outputs])


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_CONVOLUTIONS = _set("CONV_2D DEPTHWISE_CONV_2D TRANSPOSE_CONV")
_WINDOWS = _CONVOLUTIONS | _set("AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D")
_TABLES = _set("LOGISTIC TANH ELU HARD_SWISH RSQRT LEAKY_RELU")
_STREAMS = _set(
    "CIRCULAR_BUFFER SignalDelay SignalFramer SignalOverlapAdd SignalStacker"
    " SignalFilterBankSpectralSubtraction"
)
#: Operator -> a similar one that is easily confused with it.
_NEIGHBOURS = {
    "GREATER": "GREATER_EQUAL", "GREATER_EQUAL": "GREATER", "LESS": "LESS_EQUAL",
    "LESS_EQUAL": "LESS", "MAXIMUM": "MINIMUM", "MINIMUM": "MAXIMUM", "REDUCE_MAX": "REDUCE_MIN",
    "REDUCE_MIN": "REDUCE_MAX", "FLOOR": "ROUND", "CEIL": "ROUND", "ROUND": "FLOOR", "MEAN": "SUM",
    "LOGICAL_AND": "LOGICAL_OR", "LOGICAL_OR": "LOGICAL_AND", "RELU6": "RELU", "ADD": "SUB",
    "SUB": "ADD", "MAX_POOL_2D": "AVERAGE_POOL_2D",
}  # fmt: skip
_FLAGS = {
    "half_pixel_centers": _set("RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR"),
    "align_corners": _set("RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR"),
    "exclusive": _set("CUMSUM"),
    "reverse": _set("CUMSUM"),
}

#: The table. Names are stable, because databases of histories store them.
MISTAKES: tuple[Mistake, ...] = (
    Mistake("drops the fraction when it scales", _rounding_of(_TruncatingMultiplier)),
    Mistake("rounds halves to even when it scales", _rounding_of(_HalfEvenMultiplier)),
    Mistake("rounds once for twice, or twice for once", _at_hook("multiplier", _other_rounding)),
    Mistake("scales all channels by the multiplier of channel 0",
            _at_hook("multiplier", _first_channel)),
    Mistake("stores results beyond the type's range by their low bits",
            _at_hook("requantizer", _wraps)),
    Mistake("clamps one step above the lower end", _moved_end(1, 0)),
    Mistake("clamps one step below the upper end", _moved_end(0, -1)),
    Mistake("accumulates in half of the bits", _at_hook("requantizer", _narrow)),
    Mistake("leaves out the fused activation", _no_activation),
    Mistake("forgets the zero point of input 0", _input_zero(0)),
    Mistake("forgets the zero point of input 1", _input_zero(1)),
    Mistake("forgets the zero point of input 2", _input_zero(2), _set("TRANSPOSE_CONV")),
    Mistake("forgets the zero point of the output", _output_zero),
    Mistake("takes input 1 for one of the scale of input 0", _same_scale),
    Mistake("leaves out the bias", _bias(np.zeros_like), frozenset(_BIASES)),
    Mistake("adds the bias of the next channel", _bias(lambda b: np.roll(b, -1)),
            frozenset(_BIASES)),
    Mistake("leaves out the last input channel", _without(3), frozenset(_WEIGHTS)),
    Mistake("leaves out the last row of the kernel", _without(1), _CONVOLUTIONS),
    Mistake("leaves out the last column of the kernel", _without(2), _CONVOLUTIONS),
    Mistake("exchanges rows and columns of the kernel", _weights(_transposed), _CONVOLUTIONS),
    Mistake("takes the stride of the other axis", _other_axis("stride"), _WINDOWS),
    Mistake("takes the dilation of the other axis", _other_axis("dilation"), _WINDOWS),
    Mistake("takes the padding of the other axis", _other_axis("before"), _WINDOWS),
    Mistake("pads behind only", _at_hook("window", _no_padding), _WINDOWS),
    Mistake("rounds half of an odd padding up", _at_hook("window", _padding_up), _WINDOWS),
    Mistake("pads with the stored 0", _at_hook("window", _raw_zero), _WINDOWS),
    Mistake("counts elements outside the image", _at_hook("divisor", _whole_window)),
    Mistake("divides by one element more", _at_hook("divisor", _one_more)),
    Mistake("drops the fraction of an average",
            _quotient(lambda sums, count: np.asarray(np.sign(sums) * (np.abs(sums) // count))),
            _set("AVERAGE_POOL_2D")),
    Mistake("rounds halves of an average up",
            _quotient(lambda sums, count: np.asarray((2 * sums + count) // (2 * count))),
            _set("AVERAGE_POOL_2D")),
    Mistake("does not write the last channel", _unwritten(-1, 1)),
    Mistake("does not write the last column", _unwritten(-2, 4)),
    Mistake("does not write the last row", _unwritten(-3, 4)),
    Mistake("overwrites input 0 by input 1 too early", _overwritten(0, 1)),
    Mistake("overwrites input 1 by input 0 too early", _overwritten(1, 0)),
    Mistake("takes the inputs in the other order", _exchanged,
            _set("SUB DIV FLOOR_DIV FLOOR_MOD PRELU GREATER GREATER_EQUAL LESS LESS_EQUAL")),
    Mistake("computes its neighbour", _reads_as(_NEIGHBOURS), frozenset(_NEIGHBOURS)),
    Mistake("reads its table one entry too far", _next_entry, _TABLES),
    Mistake("takes the last of equal elements", _last_of_equals, _set("ARG_MAX ARG_MIN")),
    *(Mistake(f"takes {name} the other way", _flipped(name), names)
      for name, names in _FLAGS.items()),
    Mistake("joins its parts in the other order", _parts_reversed, _set("CONCATENATION PACK")),
    Mistake("gives its parts in the other order", _outputs_reversed, _set("SPLIT SPLIT_V UNPACK")),
    Mistake("takes the inverse order of the axes", _parameter(1, np.argsort), _set("TRANSPOSE")),
    Mistake("pads in front and behind the wrong way round",
            _parameter(1, lambda pairs: pairs[:, ::-1]), _set("PAD PADV2 MIRROR_PAD")),
    Mistake("fills with the stored 0", _stored_zero, _set("PAD")),
    Mistake("begins one element too late", _moved_by_one,
            _set("SLICE STRIDED_SLICE GATHER GATHER_ND EMBEDDING_LOOKUP")),
    Mistake("forgets its state between inferences", _state_forgotten,
            _set("SVDF UNIDIRECTIONAL_SEQUENCE_LSTM")),
    Mistake("forgets its state between inferences", _memory_forgotten, _STREAMS),
    Mistake("reads a variable that was never assigned", _reads_nothing, _set("READ_VARIABLE")),
)  # fmt: skip
