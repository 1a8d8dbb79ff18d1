"""What tflite-micro refuses in a model: each rule against the official interpreter.

Every model that a rule names is refused there, and its look-alike runs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import needs
import numpy as np
import pytest
from model_builder import Graph, Op, T, build, build_graphs, constant
from operator_models import every_graph
from oracle import Oracle, request
from type_table import recorded
from typed_models import TypedModel, typed_models

from harness.base import paths
from harness.model import Model
from harness.model.refusals import ACCEPTED, CONSTANTS, KERNELS, refusals
from harness.reference.node import NUMPY_TYPES

WEIGHTS = np.arange(-6, 6).reshape(3, 4)


@pytest.fixture(scope="module")
def official() -> Iterator[Oracle]:
    needs.require("tflite-micro")
    oracle = Oracle("tflm")
    yield oracle
    oracle.close()


def runs(official: Oracle, data: bytes) -> bool:
    """Whether the official interpreter computes the model's outputs for inputs of ones."""
    return runs_each(official, [data])[0]


def runs_each(official: Oracle, models: Sequence[bytes]) -> list[bool]:
    asked = []
    for data in models:
        model = Model.from_bytes(data)
        types = (NUMPY_TYPES.get(each.dtype, np.float32) for each in model.inputs)
        inputs = [np.ones(t.shape, dtype) for t, dtype in zip(model.inputs, types, strict=True)]
        asked.append(request(data, [inputs], len(model.outputs), arena=1 << 20, seconds=5))
    return ["error" not in answer for answer in official.ask(asked)]


def real(*shape: int) -> T:
    return T(shape, "float32")


def dense(activations: str = "float32", weights: str = "float32", **quantized: object) -> bytes:
    """A FULLY_CONNECTED."""
    scale = None if activations == "float32" else 0.5
    held = WEIGHTS.clip(-6 if weights != "uint8" else 0).astype(
        "int8" if weights == "int4" else weights
    )
    kernel = T((3, 4), weights, **{"scale": 0.1, **quantized}, data=held, name="dense/kernel")
    tensors = [T((1, 4), activations, scale), kernel, T((1, 3), activations, scale)]
    operator = Op("FULLY_CONNECTED", [0, 1, -1], [2], ("FullyConnected", {}))
    return build(tensors, [operator], [0], [2])


def dequantized(dtype: str) -> bytes:
    """A float FULLY_CONNECTED whose weights come from DEQUANTIZE."""
    kernel = T((3, 4), dtype, 0.1 if dtype == "int8" else None, 0, WEIGHTS.astype(dtype))
    tensors = [real(1, 4), replace(kernel, name="dense/kernel"), real(3, 4), real(1, 3)]
    multiply = Op("FULLY_CONNECTED", [0, 2, -1], [3], ("FullyConnected", {}))
    return build(tensors, [Op("DEQUANTIZE", [1], [2]), multiply], [0], [3])


def unary(name: str, x: str = "float32", y: str = "", *, custom: str = "") -> bytes:
    """An operator from a tensor of type ``x`` to one of type ``y``."""
    scales = [0.5 if dtype == "int8" else None for dtype in (x, y or x)]
    tensors = [T((1, 4), x, scales[0], name="x"), T((1, 4), y or x, scales[1], name="y")]
    return build(tensors, [Op(name, [0], [1], custom=custom)], [0], [1])


def beside(dtype: str) -> bytes:
    """A RELU, and a tensor of ``dtype`` that no operator uses."""
    tensors = [real(1, 4), real(1, 4), T((2,), dtype, name="unused")]
    return build(tensors, [Op("RELU", [0], [1])], [0], [1])


def argmax(dtype: str) -> bytes:
    options = ("ArgMax", {"OutputType": {"int32": 2, "int64": 4}[dtype]})
    tensors = [real(1, 4), constant(1), T((1,), dtype)]
    return build(tensors, [Op("ARG_MAX", [0, 1], [2], options)], [0], [2])


def padded(*, computed: bool) -> bytes:
    sizes = constant([[0, 0], [1, 1]])
    sizes = replace(sizes, data=None if computed else sizes.data, name="sizes")
    fed = [0, 1] if computed else [0]
    tensors = [real(1, 4), sizes, real(1, 6)]
    return build(tensors, [Op("PAD", [0, 1], [2])], fed, [2])


def convolution(
    scales: object, axis: int = 0, *, name: str = "CONV_2D", filters: int = 3, channels: int = 2
) -> bytes:
    depthwise, transposed = name == "DEPTHWISE_CONV_2D", name == "TRANSPOSE_CONV"
    shape = (1, 2, 2, channels) if depthwise else (filters, 2, 2, channels)
    given = channels if depthwise else filters
    options = {"Padding": 1, "StrideW": 1, "StrideH": 1}
    if not transposed:
        options |= {"DilationWFactor": 1, "DilationHFactor": 1}
    if depthwise:
        options |= {"DepthMultiplier": 1}
    kernel = T(shape, "int8", scales, 0, np.ones(shape, np.int8), axis=axis, name="kernel")
    size = 5 if transposed else 3
    tensors = [T((1, 4, 4, channels), "int8", 0.5), kernel, constant(np.zeros(given)),
               T((1, size, size, given), "int8", 0.5), constant([1, 5, 5, given])]  # fmt: skip
    inputs = [4, 1, 0, 2] if transposed else [0, 1, 2]
    table = {"CONV_2D": "Conv2D", "DEPTHWISE_CONV_2D": "DepthwiseConv2D"}.get(name, "TransposeConv")
    return build(tensors, [Op(name, inputs, [3], (table, options))], [0], [3])


def quantized(scale: object) -> bytes:
    result = T((1, 4), "int8", scale, 0, axis=1, name="y")
    return build([real(1, 4), result], [Op("QUANTIZE", [0], [1])], [0], [1])


FULL = "convert with full integer quantization (a representative_dataset), or with none"
SCALES = "give them one scale, or one for each output channel"
#: Refused model, what is said of it, a look-alike that runs.
ROWS: Mapping[str, tuple[bytes, str, bytes]] = {
    "dynamic range": (
        dense(weights="int8"),
        "tflite-micro refuses dynamic-range models (operator 0 FULLY_CONNECTED: float32 with int8 "
        f"weights, tensor 1 'dense/kernel'): {FULL}",
        dense("int8", "int8"),
    ),
    "dynamic range, per channel": (
        dense(weights="int8", scale=[0.1, 0.2, 0.3]),
        "tflite-micro refuses dynamic-range models (operator 0 FULLY_CONNECTED: float32 with int8 "
        f"weights, tensor 1 'dense/kernel'): {FULL}",
        dense(),
    ),
    "float16": (
        dequantized("float16"),
        "tflite-micro refuses float16 weights (operator 0 DEQUANTIZE, tensor 1 'dense/kernel'): "
        "convert without target_spec.supported_types = [tf.float16]",
        dequantized("int8"),
    ),
    "TensorFlow operator": (
        unary("CUSTOM", custom="FlexErf"),
        "tflite-micro refuses TensorFlow operators (operator 0 FlexErf): convert with "
        "TFLITE_BUILTINS alone, and replace the layer that then fails",
        unary("RELU"),
    ),
    "no kernel": (
        unary("GELU"),
        "tflite-micro refuses GELU, for which it has no kernel (operator 0): replace the layer "
        "that needs the operator",
        unary("ELU"),
    ),
    "string": (
        beside("string"),
        "tflite-micro refuses string tensors (tensor 2 'unused'): process text outside of the "
        "model, and give it numbers",
        beside("float16"),
    ),
    "variant": (
        beside("variant"),
        "tflite-micro refuses variant tensors (tensor 2 'unused'): convert without lists and "
        "datasets in the model",
        beside("resource"),
    ),
    "int2": (
        beside("int2"),
        "tflite-micro refuses int2 tensors (tensor 2 'unused'): quantize to int8 or int4",
        beside("int4"),
    ),
    "uint4": (
        beside("uint4"),
        "tflite-micro refuses uint4 tensors (tensor 2 'unused'): quantize to int8 or int4",
        beside("uint8"),
    ),
    "activations": (
        unary("LOGISTIC", "int32"),
        "tflite-micro refuses LOGISTIC on int32 (operator 0, tensor 0 'x'): it runs on float32, "
        "on int16, on int8",
        unary("RESHAPE", "int32"),
    ),
    "float64": (
        unary("RELU", "float64"),
        "tflite-micro refuses RELU on float64 (operator 0, tensor 0 'x'): it runs on float32, "
        "on int16, on int8",
        unary("RESHAPE", "float64"),
    ),
    "uint8": (
        dense("uint8", "uint8"),
        "tflite-micro refuses models quantized to uint8 (operator 0 FULLY_CONNECTED, tensor 1 "
        "'dense/kernel'): convert with TensorFlow 2, which quantizes to int8",
        unary("DEQUANTIZE", "uint8", "float32"),
    ),
    "weights of 8 bits": (
        dense("int16", "int16"),
        "tflite-micro refuses FULLY_CONNECTED on int16 with int16 weights (operator 0, tensor 1 "
        "'dense/kernel'): it runs on float32 with float32 weights, on int16 with int8 weights, "
        "on int8 with int4 weights, on int8 with int8 weights",
        dense("int16", "int8"),
    ),
    "quantize to uint8": (
        unary("QUANTIZE", "float32", "uint8"),
        "tflite-micro refuses QUANTIZE from float32 to uint8 (operator 0, tensor 1 'y'): it runs "
        "from float32 to int16, from float32 to int8, from int16 to int16, from int16 to int32, "
        "from int16 to int8, from int32 to int16, from int32 to int8, from int8 to int16, "
        "from int8 to int32, from int8 to int8, from int8 to uint8, from uint8 to int8",
        unary("QUANTIZE", "float32", "int8"),
    ),
    "index of 64 bits": (
        argmax("int64"),
        "tflite-micro refuses ARG_MAX to int64 (operator 0, tensor 2 't2'): it runs to int32",
        argmax("int32"),
    ),
    "computed shape": (
        padded(computed=True),
        "tflite-micro refuses shapes that are computed (operator 0 PAD: its input 1, tensor 1 "
        "'sizes', is not a constant): convert with fixed input shapes",
        padded(computed=False),
    ),
    "scales": (
        convolution([0.1, 0.2]),
        "tflite-micro refuses weights with 2 scales along axis 0 for 3 channels (operator 0 "
        f"CONV_2D, tensor 1 'kernel'): {SCALES}",
        convolution([0.1, 0.2, 0.3]),
    ),
    "scales, another axis": (
        convolution([0.1, 0.2, 0.3], 3),
        "tflite-micro refuses weights with 3 scales along axis 3 for 3 channels (operator 0 "
        f"CONV_2D, tensor 1 'kernel'): {SCALES}",
        convolution([0.1, 0.2, 0.3], 3, channels=3),
    ),
    "scales, depthwise": (
        convolution([0.1, 0.2], 0, name="DEPTHWISE_CONV_2D"),
        "tflite-micro refuses weights with 2 scales along axis 0 for 2 channels (operator 0 "
        f"DEPTHWISE_CONV_2D, tensor 1 'kernel'): {SCALES}",
        convolution([0.1, 0.2], 3, name="DEPTHWISE_CONV_2D"),
    ),
    "scales, transposed": (
        convolution([0.1, 0.2], 0, name="TRANSPOSE_CONV"),
        "tflite-micro refuses weights with 2 scales along axis 0 for 3 channels (operator 0 "
        f"TRANSPOSE_CONV, tensor 1 'kernel'): {SCALES}",
        convolution(0.1, name="TRANSPOSE_CONV"),
    ),
    "no scale": (
        convolution(None),
        f"tflite-micro refuses weights with no scale (operator 0 CONV_2D, tensor 1 'kernel'): "
        f"{SCALES}",
        dense("int8", "int8", scale=None),
    ),
    "output without a scale": (
        quantized(None),
        "tflite-micro refuses an output of QUANTIZE with no scale (operator 0, tensor 1 'y'): "
        "give activations one scale",
        quantized(0.5),
    ),
    "output with several scales": (
        quantized([0.1] * 4),
        "tflite-micro refuses an output of QUANTIZE with 4 scales (operator 0, tensor 1 'y'): "
        "give activations one scale",
        quantized([0.1]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_a_model_that_is_refused_is_told_with_its_remedy(row: str) -> None:
    refused, words, _ = ROWS[row]
    assert [str(each) for each in refusals(Model.from_bytes(refused))] == [words]


@pytest.mark.parametrize("row", ROWS)
def test_its_look_alike_is_not_told(row: str) -> None:
    assert refusals(Model.from_bytes(ROWS[row][2])) == ()


@pytest.mark.parametrize("row", ROWS)
def test_tflite_micro_refuses_the_one_and_runs_the_other(row: str, official: Oracle) -> None:
    refused, _, alike = ROWS[row]
    assert (runs(official, refused), runs(official, alike)) == (False, True)


def test_one_cause_in_several_operators_is_told_once() -> None:
    kernel = T((4, 4), "int8", 0.1, 0, np.ones((4, 4), np.int8), name="kernel")
    tensors = [real(1, 4), kernel, real(1, 4), real(1, 4), real(1, 4)]
    steps = [Op("FULLY_CONNECTED", [n, 1, -1], [n + 1], ("FullyConnected", {})) for n in (2, 3)]
    first = Op("FULLY_CONNECTED", [0, 1, -1], [2], ("FullyConnected", {}))
    (refusal,) = refusals(Model.from_bytes(build(tensors, [first, *steps], [0], [4])))
    assert refusal.message.endswith("tensor 1 'kernel' and 2 more)")


def test_two_causes_are_two_refusals() -> None:
    tensors = [real(1, 4), real(1, 4), T((2,), "string")]
    data = build(tensors, [Op("GELU", [0], [1])], [0], [1])
    assert [each.what for each in refusals(Model.from_bytes(data))] == [
        "string tensors", "GELU, for which it has no kernel",
    ]  # fmt: skip


@pytest.mark.parametrize("inputs", [[], [-1], [0], [0, -1]])
def test_an_operator_that_lacks_tensors_is_not_told(inputs: list[int]) -> None:
    for name in ("FULLY_CONNECTED", "CONV_2D", "PAD", "DEQUANTIZE", "TRANSPOSE_CONV"):
        data = build([real(1, 4), real(1, 4)], [Op(name, inputs, [1])], [0], [1])
        told = [each.what for each in refusals(Model.from_bytes(data))]
        assert told in ([], ["DEQUANTIZE from float32 to float32"])


@pytest.mark.parametrize(
    "file", sorted(paths.models().glob("*.tflite")), ids=lambda file: file.stem
)
def test_no_model_of_the_project_is_told(file) -> None:
    assert refusals(Model.from_file(file)) == ()


def test_the_operators_with_a_kernel_are_those_of_the_registry() -> None:
    assert {op.name for graph in every_graph() for op in graph[0].operators} >= KERNELS


def _of_a_table() -> list[TypedModel]:
    """A model for each combination of types of the operators whose types are a table."""
    return [model for model in typed_models() if model.name in ACCEPTED]


@pytest.mark.slow
def test_tflite_micro_refuses_every_type_that_is_told(official: Oracle) -> None:
    told = [one for one in _of_a_table() if refusals(Model.from_bytes(one.data))]
    assert {one.name for one in told} == ACCEPTED.keys()
    ran = runs_each(official, [one.data for one in told])
    assert [one.key for one, well in zip(told, ran, strict=True) if well] == []


@pytest.mark.slow
def test_tflite_micro_runs_every_type_that_is_accepted(official: Oracle) -> None:
    """By a model that runs, or one that the reference was compared with."""
    quiet = [one for one in _of_a_table() if not refusals(Model.from_bytes(one.data))]
    ran = runs_each(official, [one.data for one in quiet])
    well = defaultdict(list)
    for one, runs_well in zip(quiet, ran, strict=True):
        if runs_well:
            well[one.name].append(one.types)
    missing = {}
    for operator in ACCEPTED:
        compared = {types for name, types, by in recorded() if (name, by) == (operator, "tflm")}
        for accepted in ACCEPTED[operator]:
            held = {_types_at(types, accepted.places) for types in well[operator]}
            held |= {tuple(re.split(r" x | -> ", types.partition(",")[0])) for types in compared}
            if not accepted.types <= held:
                missing[operator] = accepted.types - held
    assert missing == {}


def _types_at(types: str, places: Sequence[int]) -> tuple[str, ...]:
    inputs, _, outputs = types.partition(" -> ")
    return tuple((outputs if place < 0 else inputs).split()[max(place, 0)] for place in places)


@pytest.mark.parametrize("operator", sorted(CONSTANTS))
def test_tflite_micro_refuses_computed_shapes_and_takes_constants(
    operator: str, official: Oracle
) -> None:
    graphs = next(each for each in every_graph() if each[0].operators[0].name == operator)
    assert runs(official, build_graphs(graphs))
    for place in CONSTANTS[operator]:
        data = build_graphs([_computed(graphs[0], place), *graphs[1:]])
        assert [each.what for each in refusals(Model.from_bytes(data))] == [
            "shapes that are computed"
        ]
        assert not runs(official, data)


def _computed(graph: Graph, place: int) -> Graph:
    """The graph with a constant input of its operator as an input of the model."""
    index = graph.operators[0].inputs[place]
    tensors = list(graph.tensors)
    tensors[index] = replace(tensors[index], data=None)
    return replace(graph, tensors=tensors, inputs=[*graph.inputs, index])


def test_other_constants_may_be_computed() -> None:
    graphs = next(each for each in every_graph() if each[0].operators[0].name == "MEAN")
    assert refusals(Model.from_bytes(build_graphs([_computed(graphs[0], 1)]))) == ()
