"""What tflite-micro refuses in a model, whatever the image registers.

The rules depend on the model only. They are those of tflite-micro of 2026 (0.dev20261023), which
accepts more than earlier revisions; ``tests/unit/model/test_refusals.py`` compares them with the
official interpreter. A model that a rule does not name may still be refused: the rules claim
nothing about options, shapes, and types that no converter combines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

from harness.model.model import Model
from harness.model.types import Operator, Subgraph, Tensor, shown


@dataclass(frozen=True)
class Refusal:
    """One cause for which tflite-micro refuses a model; ``remedy`` says what to do about it.

    ``what`` names the kind, ``where`` the first operator or tensor, ``more`` counts the others.
    """

    what: str
    where: str
    remedy: str
    more: int = 0

    @property
    def message(self) -> str:
        """The cause in one line, without the remedy."""
        others = f" and {self.more} more" if self.more else ""
        return f"tflite-micro refuses {self.what} ({self.where}{others})"

    def __str__(self) -> str:
        return f"{self.message}: {self.remedy}"


def refusals(model: Model) -> tuple[Refusal, ...]:
    """The causes for which tflite-micro refuses ``model``, each once; () if none is known."""
    found: dict[tuple[str, str], Refusal] = {}
    for each in _each(model):
        known = found.get((each.what, each.remedy))
        more = 0 if known is None else known.more + 1
        where = each.where if known is None else known.where
        found[each.what, each.remedy] = Refusal(each.what, where, each.remedy, more)
    return tuple(found.values())


def _each(model: Model) -> Iterator[Refusal]:
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            yield from _tensor_type(tensor)
        for operator in graph.operators:
            told = (refusal for rule in _RULES for refusal in rule(graph, operator))
            yield from islice(told, 1)  # others may follow from the first


#: Types whose size tflite-micro does not know: it refuses tensors of them, even unused ones.
_NO_SIZE: Mapping[str, str] = MappingProxyType(
    {
        "string": "process text outside of the model, and give it numbers",
        "variant": "convert without lists and datasets in the model",
        "int2": "quantize to int8 or int4",
        "uint4": "quantize to int8 or int4",
    }
)


def _tensor_type(tensor: Tensor) -> Iterator[Refusal]:
    if tensor.dtype in _NO_SIZE:
        yield Refusal(f"{tensor.dtype} tensors", _named(tensor), _NO_SIZE[tensor.dtype])


def _no_kernel(_: Subgraph, operator: Operator) -> Iterator[Refusal]:
    """TensorFlow's own operators, and built-in ones that tflite-micro lacks."""
    if operator.custom:
        if operator.name.startswith("Flex"):
            yield Refusal(
                "TensorFlow operators",
                _placed(operator),
                "convert with TFLITE_BUILTINS alone, and replace the layer that then fails",
            )
    elif operator.name not in KERNELS:
        yield Refusal(
            f"{shown(operator.name)}, for which it has no kernel",
            f"operator {operator.index}",
            "replace the layer that needs the operator",
        )


def _float16(graph: Subgraph, operator: Operator) -> Iterator[Refusal]:
    weights = _tensor(graph, operator, 0)
    if operator.name == "DEQUANTIZE" and weights is not None and weights.dtype == "float16":
        yield Refusal(
            "float16 weights",
            f"{_placed(operator)}, {_named(weights)}",
            "convert without target_spec.supported_types = [tf.float16]",
        )


#: Operators with weights: the inputs that are activations and weights.
_WEIGHTS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "CONV_2D": (0, 1),
        "DEPTHWISE_CONV_2D": (0, 1),
        "FULLY_CONNECTED": (0, 1),
        "BATCH_MATMUL": (0, 1),
        "SVDF": (0, 1),
        "TRANSPOSE_CONV": (2, 1),
    }
)
_INTEGERS = frozenset(("int4", "int8", "uint8", "int16"))


def _dynamic_range(graph: Subgraph, operator: Operator) -> Iterator[Refusal]:
    """Integer weights beside float activations, "hybrid" in tflite-micro's messages."""
    if operator.name not in _WEIGHTS:
        return
    activations, weights = (_tensor(graph, operator, place) for place in _WEIGHTS[operator.name])
    if activations is None or weights is None:
        return
    if activations.dtype == "float32" and weights.dtype in _INTEGERS:
        yield Refusal(
            "dynamic-range models",
            f"{_placed(operator)}: float32 with {weights.dtype} weights, {_named(weights)}",
            "convert with full integer quantization (a representative_dataset), or with none",
        )


@dataclass(frozen=True)
class _Accepted:
    """Types of an operator's tensors at ``places``: inputs, or -1 for the first output."""

    places: tuple[int, ...]
    types: frozenset[tuple[str, ...]]


def _rows(*rows: tuple[tuple[int, ...], str, str]) -> Mapping[str, tuple[_Accepted, ...]]:
    """Rows of (places, types, operators): ``float32`` or, of two places, ``int8:int32``."""
    table: dict[str, tuple[_Accepted, ...]] = {}
    for places, types, operators in rows:
        accepted = _Accepted(places, frozenset(tuple(one.split(":")) for one in types.split()))
        for operator in operators.split():
            table[operator] = (*table.get(operator, ()), accepted)
    return MappingProxyType(table)


#: Operator -> the types with which tflite-micro runs it. Operators that copy any type, or read it
#: as another, are left out. int4 activations are left out, too: no official interpreter takes them.
ACCEPTED = _rows(
    ((0,), "float32",
     "CEIL COS EXP FLOOR FLOOR_DIV FLOOR_MOD L2_POOL_2D LOG NEG ROUND SIN SQRT SQUARE"),
    ((0,), "float32 int8", "ADD_N ARG_MAX ARG_MIN BATCH_TO_SPACE_ND CUMSUM DEPTH_TO_SPACE ELU "
     "GATHER GATHER_ND HARD_SWISH L2_NORMALIZATION LOG_SOFTMAX REDUCE_MAX REDUCE_MIN "
     "SPACE_TO_BATCH_ND SPACE_TO_DEPTH"),
    ((0,), "float32 int8 int16", "ABS AVERAGE_POOL_2D EXPAND_DIMS LEAKY_RELU LOGISTIC MAX_POOL_2D "
     "MEAN PRELU RELU RELU6 RSQRT SOFTMAX SUM TANH TRANSPOSE"),
    ((0,), "float32 int8 int32", "DIV"),
    ((0,), "float32 int8 int16 int32",
     "DYNAMIC_UPDATE_SLICE MUL PAD PADV2 SPLIT_V SQUARED_DIFFERENCE UNPACK"),
    ((1,), "float32 int8 int16 int32", "SPLIT"),
    ((0,), "float32 int8 int32 int64", "GREATER_EQUAL LESS LESS_EQUAL ZEROS_LIKE"),
    ((0,), "bool float32 int8 int32 int64", "EQUAL NOT_EQUAL"),
    ((0,), "bool float32 int8 int16 int32", "SLICE"),
    ((0,), "bool float32 int8 int16 int32 int64", "ADD CONCATENATION MAXIMUM MINIMUM MIRROR_PAD "
     "PACK RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR STRIDED_SLICE SUB"),
    ((0,), "bool", "LOGICAL_NOT REDUCE_ALL SELECT_V2"),
    ((-1,), "int32", "ARG_MAX ARG_MIN"),
    ((1,), "int32", "GATHER GATHER_ND"),
    ((1,), "float32 int8", "EMBEDDING_LOOKUP"),
    ((0,), "bool float32 int8 int16 int32 uint32", "CAST"),
    ((-1,), "bool float32 int8 int16 int32 uint32", "CAST"),
    ((0, -1), "int8:float32 int16:float32 uint8:float32", "DEQUANTIZE"),
    ((0, -1), "float32:int8 float32:int16 int8:int8 int8:int16 int8:int32 int8:uint8 int16:int8 "
     "int16:int16 int16:int32 int32:int8 int32:int16 uint8:int8", "QUANTIZE"),
    ((0, 1), "float32:float32 int8:int8 int8:int4 int16:int8",
     "CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED"),
    ((2, 1), "float32:float32 int8:int8 int16:int8 int16:int16", "TRANSPOSE_CONV"),
    ((0, 1), "float32:float32 int8:int8 int16:int16", "BATCH_MATMUL"),
    ((0, 1), "float32:float32 int8:int8", "SVDF"),
)  # fmt: skip

_OTHER_KERNELS = """
ASSIGN_VARIABLE BROADCAST_ARGS BROADCAST_TO CALL_ONCE FILL GREATER IF LOGICAL_AND LOGICAL_OR
READ_VARIABLE RESHAPE REVERSE_V2 SHAPE SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM VAR_HANDLE WHILE
"""
#: The built-in operators of tflite-micro. Source: the Add* methods of micro_mutable_op_resolver.h.
KERNELS = frozenset((*ACCEPTED, *_OTHER_KERNELS.split()))


#: Operators that may have uint8 on one side.
_CONVERSIONS = frozenset(("CAST", "DEQUANTIZE", "QUANTIZE"))


def _types(graph: Subgraph, operator: Operator) -> Iterator[Refusal]:
    """Types of tensors that an operator's kernel does not take."""
    for accepted in ACCEPTED.get(operator.name, ()):
        tensors = [_tensor(graph, operator, place) for place in accepted.places]
        present = [tensor for tensor in tensors if tensor is not None]
        types = tuple(tensor.dtype for tensor in present)
        if len(present) < len(tensors) or types in accepted.types or types[0] == "int4":
            continue
        if "uint8" in types and operator.name not in _CONVERSIONS:
            yield Refusal(
                "models quantized to uint8",
                f"{_placed(operator)}, {_named(present[-1])}",
                "convert with TensorFlow 2, which quantizes to int8",
            )
            continue
        known = (_listed(accepted.places, each) for each in sorted(accepted.types))
        yield Refusal(
            f"{operator.name} {_listed(accepted.places, types)}",
            f"operator {operator.index}, {_named(present[-1])}",
            f"it runs {', '.join(known)}",
        )


def _listed(places: tuple[int, ...], types: tuple[str, ...]) -> str:
    """``on float32``, ``to int64``, ``from float32 to uint8``, ``on uint8 with uint8 weights``."""
    match places:
        case (-1,):
            return f"to {types[0]}"
        case (_, -1):
            return f"from {types[0]} to {types[1]}"
        case (_, _):
            return f"on {types[0]} with {types[1]} weights"
        case _:
            return f"on {types[0]}"


#: Operator -> inputs that must be constants: they decide shapes.
CONSTANTS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "BROADCAST_TO": (1,),
        "EXPAND_DIMS": (1,),
        "FILL": (0,),
        "PAD": (1,),
        "PADV2": (1,),
        "RESIZE_BILINEAR": (1,),
        "RESIZE_NEAREST_NEIGHBOR": (1,),
        "SPLIT": (0,),
        "SPLIT_V": (2,),
        "STRIDED_SLICE": (1, 2, 3),
        "TRANSPOSE": (1,),
    }
)


def _computed_shape(graph: Subgraph, operator: Operator) -> Iterator[Refusal]:
    for place in CONSTANTS.get(operator.name, ()):
        tensor = _tensor(graph, operator, place)
        if tensor is not None and not tensor.constant:
            yield Refusal(
                "shapes that are computed",
                f"{_placed(operator)}: its input {place}, {_named(tensor)}, is not a constant",
                "convert with fixed input shapes",
            )


#: Convolutions: the filter's axis of output channels.
_CHANNELS: Mapping[str, int] = MappingProxyType(
    {"CONV_2D": 0, "TRANSPOSE_CONV": 0, "DEPTHWISE_CONV_2D": 3}
)


def _scales(graph: Subgraph, operator: Operator) -> Iterator[Refusal]:
    """The scales of a quantized convolution's weights, and of what QUANTIZE gives."""
    if operator.name == "QUANTIZE":
        result = _tensor(graph, operator, -1)
        count = len(result.quantization.scales) if result and result.quantization else 0
        if result is not None and count != 1:
            what = "no scale" if not count else f"{count} scales"
            yield Refusal(
                f"an output of QUANTIZE with {what}",
                f"operator {operator.index}, {_named(result)}",
                "give activations one scale",
            )
    if operator.name not in _CHANNELS:
        return
    weights = _tensor(graph, operator, _WEIGHTS[operator.name][1])
    if weights is None or weights.dtype not in _INTEGERS or len(weights.shape) != 4:
        return
    channels, quantization = weights.shape[_CHANNELS[operator.name]], weights.quantization
    if quantization is None:
        yield _wrong_scales(operator, weights, "no scale")
        return
    count, axis = len(quantization.scales), quantization.axis
    along = weights.shape[axis] if 0 <= axis < 4 else 0
    if count != 1 and not count == channels == along:
        what = f"{count} scales along axis {axis} for {channels} channels"
        yield _wrong_scales(operator, weights, what)


def _wrong_scales(operator: Operator, weights: Tensor, what: str) -> Refusal:
    return Refusal(
        f"weights with {what}",
        f"{_placed(operator)}, {_named(weights)}",
        "give them one scale, or one for each output channel",
    )


#: Of an operator, the first rule that finds something is told.
_RULES: tuple[Callable[[Subgraph, Operator], Iterator[Refusal]], ...] = (
    _no_kernel, _float16, _dynamic_range, _types, _computed_shape, _scales,
)  # fmt: skip


def _tensor(graph: Subgraph, operator: Operator, place: int) -> Tensor | None:
    """Input ``place`` of the operator, or its first output for -1; None if it is left out."""
    indices = operator.outputs[:1] if place < 0 else operator.inputs[place : place + 1]
    return graph.tensors[indices[0]] if indices and indices[0] >= 0 else None


def _placed(operator: Operator) -> str:
    return f"operator {operator.index} {shown(operator.name)}"


def _named(tensor: Tensor) -> str:
    """``tensor 3 'dense/kernel'``, or ``tensor 3`` without a name."""
    return f"tensor {tensor.index}" + (f" {tensor.name[:64]!r}" if tensor.name else "")
