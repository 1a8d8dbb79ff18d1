"""The plausible mistakes of an implementation: one table, from which test data is judged.

A mistake is a change of one operator: of its tensors and options as the kernel reads them, of a
step that the kernel takes from the node's seams (:class:`~harness.reference.node.Seams`), or of
the arrays that go in and come out. The kernels know nothing of it.
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
from harness.reference.node import NUMPY_TYPES, Node, Run, Seams, constant
from harness.reference.registry import Kernels
from harness.reference.scale import Clamp, Multiplier, Requantizer
from harness.reference.window import Window

#: The arrays of an operator's inputs, None for one that is left out.
Given = Sequence["Array | None"]


@dataclass(frozen=True)
class Altered:
    """How an implementation with a mistake runs an operator.

    ``node`` is what its kernel reads, ``kernel`` the operator whose kernel runs (default: its
    own), ``constants`` replace inputs, ``before`` changes the inputs, and ``after`` the outputs.
    ``forgets``: the operator's own memory starts anew in each inference.
    """

    node: Node
    kernel: str = ""
    constants: Mapping[int, Array] = field(default_factory=dict)
    before: Callable[[list[Array | None]], Given] | None = None
    after: Callable[[list[Array]], list[Array]] | None = None
    forgets: bool = False

    def prepare(self, kernels: Kernels) -> Run:
        """The function that runs it. Raises HilError where the kernel refuses what it reads."""
        node = self.node
        if self.forgets:
            node = replace(node, memory=ModelMemory())
        name = self.kernel or node.operator.name
        run = kernels.find(replace(node, operator=replace(node.operator, name=name)))(node)

        def changed(*inputs: Array | None) -> Sequence[Array]:
            given = [self.constants.get(place, each) for place, each in enumerate(inputs)]
            if self.before is not None:
                given = list(self.before(given))
            if self.forgets:
                node.memory.reset(restart=True)
            result = run(*given)
            outputs = [result] if isinstance(result, np.ndarray) else list(result)
            return self.after(outputs) if self.after is not None else outputs

        return changed


#: A mistake in one operator; None where the operator has no such step.
Change = Callable[[Node], "Altered | None"]


@dataclass(frozen=True)
class Mistake:
    """A row of the table: ``name`` completes the sentence "the device ..."."""

    name: str
    change: Change
    operators: frozenset[str] | None = None  # None: any


@dataclass(frozen=True)
class Mistaken:
    """A mistake in one operator of a model, ready to run."""

    mistake: Mistake
    variant: Altered
    run: Run


def mistakes_of(node: Node, kernels: Kernels) -> Iterator[Mistaken]:
    """Every mistake of the table that this operator can have."""
    for mistake in MISTAKES:
        if mistake.operators is not None and node.operator.name not in mistake.operators:
            continue
        with np.errstate(all="ignore"):
            try:
                variant = mistake.change(node)
                prepared = None if variant is None else variant.prepare(kernels)
            except HilError:  # Prepare would refuse it: nobody runs such an implementation
                continue
        if variant is not None and prepared is not None and _takes(variant, node):
            yield Mistaken(mistake, variant, prepared)


def _takes(variant: Altered, node: Node) -> bool:
    """False where the kernel takes no such step from the seams, or the step is unchanged."""
    seams = variant.node.seams
    return not isinstance(seams, _Watched) or seams.used


# Seams.


@dataclass(frozen=True)
class _Watched(Seams):
    """Seams that know whether they changed anything."""

    changed: list[bool] = field(default_factory=list)

    @property
    def used(self) -> bool:
        return any(self.changed)


def _at_seam(name: str, change: Callable[[Node, Any], Any]) -> Change:
    """``change`` of what the kernel takes from that seam; None or the same: no such mistake."""

    def make(node: Node) -> Altered:
        changed: list[bool] = []

        def seam(step: Any) -> Any:
            other = change(node, step)
            changed.append(other is not None and other is not step)
            return step if other is None else other

        seams: dict[str, Any] = {name: seam}
        return Altered(replace(node, seams=_Watched(**seams, changed=changed)))

    return make


@dataclass(frozen=True)
class _Truncated(Multiplier):
    """Drops the fraction."""

    def scale(self, x: Array) -> Array:
        return _exact(self, x, lambda product, unit: product // unit)

    def scale64(self, x: Array) -> Array:
        return self.scale(x)


@dataclass(frozen=True)
class _ToEven(Multiplier):
    """Rounds halves to even, once."""

    def scale(self, x: Array) -> Array:
        def rounded(product: Array, unit: Array) -> Array:
            whole, rest = np.divmod(product, unit)
            up = (2 * rest > unit) | ((2 * rest == unit) & (whole & 1 == 1))
            return np.asarray(whole + up)

        return _exact(self, x, rounded)

    def scale64(self, x: Array) -> Array:
        return self.scale(x)


def _exact(of: Multiplier, x: Array, divide: Callable[[Array, Array], Array]) -> Array:
    """x * multiplier / 2^(31 - shift) by ``divide``, with the shift kept where 64 bits hold it."""
    shift = np.clip(31 - of.shift, 1, 62)
    return np.asarray(divide(x.astype(np.int64) * of.multiplier, np.int64(1) << shift))


def _rounds_by(kind: type[Multiplier]) -> Change:
    return _at_seam("multiplier", lambda _, m: kind(m.multiplier, m.shift, m.rounding))


def _other_rounding(node: Node) -> Altered | None:
    """Rounded once instead of twice, or twice instead of once."""

    def other(_: Node, m: Multiplier) -> Multiplier:
        return replace(m, rounding="double" if m.rounding == "single" else "single")

    return _at_seam("multiplier", other)(node)


def _first_channel(_: Node, m: Multiplier) -> Multiplier | None:
    alike = m.multiplier.ndim == 0 or (
        (m.multiplier == m.multiplier[0]).all() and (m.shift == m.shift[0]).all()
    )
    if alike:
        return None
    return replace(
        m, multiplier=np.full_like(m.multiplier, m.multiplier[0]),
        shift=np.full_like(m.shift, m.shift[0]),
    )  # fmt: skip


@dataclass(frozen=True)
class _Wraps(Clamp):
    """Stores the low bits of what the type cannot hold; the activation's ends stay."""

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
    return replace(requantizer, clamp=_Wraps(clamp.low, clamp.high, clamp.dtype))


def _moved_end(low: int, high: int) -> Change:
    def change(_: Node, requantizer: Requantizer) -> Requantizer:
        clamp = requantizer.clamp
        ends = Clamp(clamp.low + low, clamp.high + high, clamp.dtype)
        return replace(requantizer, clamp=ends)

    return _at_seam("requantizer", change)


@dataclass(frozen=True)
class _Narrow(Requantizer):
    """Accumulates in half of the bits: 16, or 32 of the 64."""

    def _output(self, accumulators: Array, bias: Array | None, multiplier: Multiplier) -> Array:
        sums = accumulators.astype(np.int64)
        if bias is not None:
            sums = sums + bias
        kind = np.int32 if self.wide else np.int16
        return super()._output(sums.astype(kind).astype(np.int64), None, multiplier)


def _narrow(_: Node, r: Requantizer) -> Requantizer:
    return _Narrow(r.multiplier, r.zero_point, r.clamp, r.wide)


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

    return _at_seam("window", change)


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
    """The odd one of the padding in front instead of behind."""
    if not isinstance(window, Window):
        return None

    def end(axis: Any) -> Any:
        reach = (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1
        total = max(0, reach - axis.size)
        return replace(axis, before=axis.before + total % 2)

    ends = Window(end(window.height), end(window.width))
    return None if ends == window else ends


@dataclass(frozen=True)
class _PadsWith(Window):
    """Pads with another value."""

    value: float = 0.0

    def pad(self, x: Array, value: float) -> Array:
        return super().pad(x, self.value)


def _raw_zero(node: Node, window: Any) -> Any:
    """The stored 0 in the padding, which is not the real value 0."""
    zero_point = node.input(0).zero_point
    name = node.operator.name
    if not isinstance(window, Window) or node.input(0).dtype not in ("int8", "int16"):
        return None
    sizes = [(axis.padded, axis.size) for axis in (window.height, window.width)]
    if all(padded == size for padded, size in sizes):
        return None
    if name == "MAX_POOL_2D":
        return _PadsWith(window.height, window.width, 0)
    if name == "AVERAGE_POOL_2D" or zero_point == 0:
        return None
    return _PadsWith(window.height, window.width, -zero_point)


# Divisors.


def _whole_window(node: Node, count: Array) -> Array | None:
    """Elements outside the image counted."""
    if node.operator.name not in ("AVERAGE_POOL_2D", "L2_POOL_2D"):
        return None
    whole = node.option("filter_height") * node.option("filter_width")
    return None if (count == whole).all() else np.full_like(count, whole)


def _one_more(node: Node, count: Array) -> Array | None:
    return None if node.operator.name == "SUM" else np.asarray(count + 1)


def _quotient(divide: Callable[[Array, Array], Array]) -> Change:
    def make(node: Node) -> Altered | None:
        if node.input(0).dtype == "float32":
            return None
        return Altered(replace(node, seams=Seams(quotient=divide)))

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


#: Operators whose outputs are some of their first input's values: they know no zero point.
COPIES = frozenset(
    {
        "BATCH_TO_SPACE_ND", "BROADCAST_TO", "DEPTH_TO_SPACE", "DYNAMIC_UPDATE_SLICE",
        "EXPAND_DIMS", "GATHER", "GATHER_ND", "MAX_POOL_2D", "MIRROR_PAD", "REDUCE_MAX",
        "REDUCE_MIN", "RESHAPE", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "SLICE",
        "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V", "SQUEEZE", "STRIDED_SLICE", "TRANSPOSE", "UNPACK",
    }
)  # fmt: skip
#: The others that compute with stored values, or with differences of them.
_STORED = COPIES | {
    "AVERAGE_POOL_2D", "CONCATENATION", "MAXIMUM", "MINIMUM", "PACK", "PAD", "PADV2", "SELECT_V2",
    "SHAPE", "SOFTMAX", "LOG_SOFTMAX", "SPACE_TO_BATCH_ND", "SUM", "ARG_MAX", "ARG_MIN",
    "RESIZE_BILINEAR", "ASSIGN_VARIABLE", "EMBEDDING_LOOKUP", "FILL", "ZEROS_LIKE", "CAST",
    "CIRCULAR_BUFFER",
}  # fmt: skip


def _input_zero(place: int) -> Change:
    def make(node: Node) -> Altered | None:
        tensor = node.inputs[place] if place < len(node.inputs) else None
        if node.operator.name in _STORED or tensor is None:
            return None
        if not _quantized(tensor) or tensor.zero_point == 0:
            return None
        return Altered(_replaced(node, place, _with_zero_point_0(tensor)))

    return make


def _output_zero(node: Node) -> Altered | None:
    output = node.output()
    if node.operator.name in _STORED - {"SOFTMAX", "LOG_SOFTMAX"}:
        return None
    if not _quantized(output) or output.zero_point == 0:
        return None
    whole = Clamp.whole(NUMPY_TYPES[output.dtype])

    def moved(outputs: list[Array]) -> list[Array]:
        return [whole(outputs[0].astype(np.int64) - output.zero_point), *outputs[1:]]

    return Altered(node, after=moved)


def _same_scale(node: Node) -> Altered | None:
    """Input 1 taken for one of the scale of input 0."""
    pair = node.inputs[:2]
    if len(pair) < 2 or not all(map(_quantized, pair)):
        return None
    first, second = node.input(0), node.input(1)
    if first.scale == second.scale or first.quantization is None:
        return None
    scaled = replace(first.quantization, zero_points=second.quantization.zero_points)  # type: ignore[union-attr]
    return Altered(_replaced(node, 1, replace(second, quantization=scaled)))


def _no_activation(node: Node) -> Altered | None:
    if node.options.get("fused_activation_function", "NONE") in ("NONE", "TANH"):
        return None
    if node.clamp() == node.clamp("NONE"):
        return None
    return _with_option(node, "fused_activation_function", "NONE")


def _with_option(node: Node, name: str, value: Any) -> Altered:
    operator = replace(node.operator, options={**node.options, name: value})
    return Altered(replace(node, operator=operator))


def _flipped(name: str) -> Change:
    return lambda node: _with_option(node, name, not node.option(name))


def _reads_as(kernels: Mapping[str, str]) -> Change:
    """The kernel of a neighbour."""

    def make(node: Node) -> Altered | None:
        return Altered(node, kernel=kernels[node.operator.name])

    return make


# Constants.

#: The input with the weights, and that with the bias.
_WEIGHTS = {"FULLY_CONNECTED": 1, "CONV_2D": 1, "DEPTHWISE_CONV_2D": 1, "TRANSPOSE_CONV": 1}
_BIASES = dict.fromkeys(_WEIGHTS, 2) | {"TRANSPOSE_CONV": 3, "SVDF": 3}


def _constant(node: Node, place: int, change: Callable[[Array], Array | None]) -> Altered | None:
    """A constant input with other values."""
    tensor = node.inputs[place] if place < len(node.inputs) else None
    if tensor is None or not tensor.constant or tensor.variable:
        return None
    value = constant(tensor)
    other = change(value)
    if other is None or np.array_equal(other, value):
        return None
    other = np.ascontiguousarray(other, value.dtype)
    changed = replace(tensor, data=memoryview(_packed(other, tensor.dtype)))
    return Altered(_replaced(node, place, changed), constants={place: other[None]})


def _packed(value: Array, dtype: str) -> bytes:
    if dtype != "int4":
        return value.tobytes()
    flat = value.reshape(-1).astype(np.uint8) & 15
    padded = np.append(flat, np.zeros(flat.size % 2, np.uint8))
    return bytes(padded[::2] | padded[1::2] << 4)


def _bias(change: Callable[[Array], Array]) -> Change:
    return lambda node: _constant(node, _BIASES[node.operator.name], change)


def _weights(change: Callable[[str, Array], Array | None]) -> Change:
    def make(node: Node) -> Altered | None:
        name = node.operator.name
        return _constant(node, _WEIGHTS[name], lambda w: change(name, w))

    return make


def _without(axis: int) -> Change:
    """The last place along an axis of the weights (outputs, rows, columns, inputs) is 0."""

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


def _turned(_: str, w: Array) -> Array | None:
    """Rows and columns of a square kernel exchanged."""
    return w.swapaxes(1, 2) if w.ndim == 4 and w.shape[1] == w.shape[2] > 1 else None


# Arrays.


def _output_place(axis: int, rank: int) -> Change:
    """The last place along an axis of a large output stays as the memory was: 0."""

    def make(node: Node) -> Altered | None:
        shape = node.output().shape
        if len(shape) < rank or shape[axis] < 2:
            return None

        def after(outputs: list[Array]) -> list[Array]:
            other = outputs[0].copy()
            np.moveaxis(other, axis, 0)[-1] = 0
            return [other, *outputs[1:]]

        return Altered(node, after=after)

    return make


def _computed(node: Node) -> list[int]:
    """The inputs that arrive at run time."""
    return [
        place
        for place, each in enumerate(node.inputs)
        if each is not None and not each.constant and not each.variable
    ]


def _overwritten(older: int, newer: int) -> Change:
    """An input whose memory the other one was given too early."""

    def make(node: Node) -> Altered | None:
        if _computed(node)[:2] != [0, 1]:
            return None
        one, other = node.input(0), node.input(1)
        if one.dtype != other.dtype or one.index == other.index:
            return None

        def before(given: list[Array | None]) -> Given:
            old, new = given[older], given[newer]
            assert old is not None
            assert new is not None
            old = np.array(np.broadcast_to(old, (max(len(old), len(new)), *old.shape[1:])))
            flat, source = old.reshape(len(old), -1), new.reshape(len(new), -1)
            size = min(flat.shape[1], source.shape[1])
            flat[:, :size] = source[:, :size]
            given[older] = old
            return given

        return Altered(node, before=before)

    return make


def _exchanged(node: Node) -> Altered | None:
    """Two inputs in the other order."""
    if len(node.inputs) < 2 or None in node.inputs[:2]:
        return None
    one, other = node.input(0), node.input(1)
    if (one.shape, one.dtype) != (other.shape, other.dtype) or one.index == other.index:
        return None
    changed = replace(node, inputs=(other, one, *node.inputs[2:]))
    return Altered(changed, before=lambda given: [given[1], given[0], *given[2:]])


def _next_entry(node: Node) -> Altered | None:
    """A table read one entry too far."""
    x = node.input(0)
    if x.dtype not in ("int8", "int16"):
        return None
    top = np.iinfo(x.dtype).max

    def before(given: list[Array | None]) -> Given:
        value = given[0]
        assert value is not None
        return [np.minimum(value, top - 1).astype(value.dtype) + value.dtype.type(1), *given[1:]]

    return Altered(node, before=before)


def _last_of_equals(node: Node) -> Altered | None:
    """The last of several equal elements."""
    axis = node.constant(1)
    if axis is None:
        return None
    place = node.axis(int(axis.item()), len(node.input(0).shape))
    size = node.input(0).shape[place]

    def before(given: list[Array | None]) -> Given:
        value = given[0]
        assert value is not None
        return [np.flip(value, place + 1), *given[1:]]

    return Altered(node, before=before, after=lambda outputs: [size - 1 - outputs[0]])


def _outputs_reversed(node: Node) -> Altered | None:
    shapes = [tensor.shape for tensor in node.outputs]
    if len(shapes) < 2 or shapes != shapes[::-1]:
        return None
    return Altered(node, after=lambda outputs: outputs[::-1])


def _parts_reversed(node: Node) -> Altered | None:
    """The parts of a concatenation in the other order."""
    if len({each.shape for each in node.inputs if each}) != 1 or len(node.inputs) < 2:
        return None
    changed = replace(node, inputs=node.inputs[::-1])
    return Altered(changed, before=lambda given: given[::-1])


def _inverse(order: Array) -> Array:
    return np.argsort(order)


def _parameter(place: int, change: Callable[[Array], Array | None]) -> Change:
    return lambda node: _constant(node, place, change)


def _moved_by_one(node: Node) -> Altered | None:
    """A slice or an index that begins one element too late, the last one repeated."""

    def after(outputs: list[Array]) -> list[Array]:
        y = outputs[0]
        flat = y.reshape(len(y), -1)
        return [np.concatenate([flat[:, 1:], flat[:, -1:]], axis=1).reshape(y.shape)]

    return Altered(node, after=after) if node.output().elements > 1 else None


def _stored_zero(node: Node) -> Altered | None:
    """Places that an operator fills hold the stored 0 instead of the zero point."""
    x = node.input(0)
    if not _quantized(x) or x.zero_point == 0 or node.present(2):
        return None
    flat = replace(node, outputs=(_with_zero_point_0(node.output()), *node.outputs[1:]))
    return Altered(_replaced(flat, 0, _with_zero_point_0(x)))


# State.


def _state_forgotten(node: Node) -> Altered | None:
    """The state is that of the first inference in each one."""
    states = {
        place: tensor
        for place, tensor in enumerate(node.inputs)
        if tensor is not None and tensor.variable
    }
    if not states:
        return None

    def before(given: list[Array | None]) -> Given:
        for place, tensor in states.items():
            value = given[place]
            assert value is not None
            value[...] = tensor.zero_point if tensor.dtype == "int8" else 0
        return given

    return Altered(node, before=before)


def _memory_forgotten(node: Node) -> Altered | None:
    return Altered(node, forgets=True)


def _reads_nothing(node: Node) -> Altered | None:
    return Altered(node, after=lambda outputs: [np.zeros_like(each) for each in outputs])


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_CONVOLUTIONS = _set("CONV_2D DEPTHWISE_CONV_2D TRANSPOSE_CONV")
_WINDOWS = _CONVOLUTIONS | _set("AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D")
_PRODUCTS = _CONVOLUTIONS | _set("FULLY_CONNECTED")
_TABLES = _set("LOGISTIC TANH ELU HARD_SWISH RSQRT LEAKY_RELU")
_STREAMS = _set(
    "CIRCULAR_BUFFER SignalDelay SignalFramer SignalOverlapAdd SignalStacker"
    " SignalFilterBankSpectralSubtraction"
)
#: Kernels that are easily taken for each other.
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

#: The table. Names are stable: histories hold them.
MISTAKES: tuple[Mistake, ...] = (
    Mistake("drops the fraction when it scales", _rounds_by(_Truncated)),
    Mistake("rounds halves to even when it scales", _rounds_by(_ToEven)),
    Mistake("rounds once for twice, or twice for once", _other_rounding),
    Mistake("scales all channels by the multiplier of channel 0",
            _at_seam("multiplier", _first_channel)),
    Mistake("stores results beyond the type's range by their low bits",
            _at_seam("requantizer", _wraps)),
    Mistake("clamps one step above the lower end", _moved_end(1, 0)),
    Mistake("clamps one step below the upper end", _moved_end(0, -1)),
    Mistake("accumulates in half of the bits", _at_seam("requantizer", _narrow)),
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
    Mistake("exchanges rows and columns of the kernel", _weights(_turned), _CONVOLUTIONS),
    Mistake("takes the stride of the other axis", _other_axis("stride"), _WINDOWS),
    Mistake("takes the dilation of the other axis", _other_axis("dilation"), _WINDOWS),
    Mistake("takes the padding of the other axis", _other_axis("before"), _WINDOWS),
    Mistake("pads behind only", _at_seam("window", _no_padding), _WINDOWS),
    Mistake("rounds half of an odd padding up", _at_seam("window", _padding_up), _WINDOWS),
    Mistake("pads with the stored 0", _at_seam("window", _raw_zero), _WINDOWS),
    Mistake("counts elements outside the image", _at_seam("divisor", _whole_window)),
    Mistake("divides by one element more",
            _at_seam("divisor", _one_more)),
    Mistake("drops the fraction of an average",
            _quotient(lambda sums, count: np.asarray(np.sign(sums) * (np.abs(sums) // count))),
            _set("AVERAGE_POOL_2D")),
    Mistake("rounds halves of an average up",
            _quotient(lambda sums, count: np.asarray((2 * sums + count) // (2 * count))),
            _set("AVERAGE_POOL_2D")),
    Mistake("does not write the last channel", _output_place(-1, 1)),
    Mistake("does not write the last column", _output_place(-2, 4)),
    Mistake("does not write the last row", _output_place(-3, 4)),
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
    Mistake("takes the inverse order of the axes", _parameter(1, _inverse), _set("TRANSPOSE")),
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
