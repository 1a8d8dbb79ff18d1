"""Limits for damaged models: the largest value that runs, the smallest that is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from flatbuffers import flexbuffers
from model_builder import Graph, Op, T, build, build_graphs
from model_builder import constant as _c
from one_operator_models import activation as _a
from one_operator_models import one_operator as _one
from one_operator_models import weights as _w

from harness.base.errors import BadModel, HilError, UnsupportedOperator
from harness.model import Model
from harness.reference import Interpreter

_STEPS = {"StrideH": 1, "StrideW": 1, "Padding": 1}


def _f(*shape: int) -> T:
    return T(shape, "float32")


def _padded(dilation: int) -> bytes:
    """Two images of two channels, each side 2 * ``dilation`` + 1."""
    told = {**_STEPS, "Padding": 0, "DilationHFactor": dilation, "DilationWFactor": dilation}
    ones = _c(np.ones((1, 3, 3, 2)), "float32")
    tensors = [_f(2, 1, 1, 2), ones, _f(2, 1, 1, 1)]
    return _one("CONV_2D", tensors, [0, 1], ("Conv2D", told))


def _scattered(stride: int) -> bytes:
    """Two images of two channels, each side ``stride`` + 1."""
    told = {"StrideH": stride, "StrideW": stride, "Padding": 0}
    tensors = [_c([2, 2, 2, 2]), _w(2, 1, 1, 1), _a(2, 2, 2, 1), _a(2, 2, 2, 2)]
    return _one("TRANSPOSE_CONV", tensors, [0, 1, 2], ("TransposeConv", told), (2,))


def _products(op: str, kernel: tuple[int, int]) -> bytes:
    """2^23 outputs, or inputs, each of as many products as ``kernel`` has elements."""
    same = {**_STEPS, "Padding": 0}
    if op == "CONV_2D":
        tensors = [_a(1, 2048, 2048, 1), _w(2, *kernel, 1), _a(1, 2048, 2048, 2)]
        return _one(op, tensors, [0, 1], ("Conv2D", same))
    if op == "DEPTHWISE_CONV_2D":
        tensors = [_a(1, 2048, 2048, 2), _w(1, *kernel, 2), _a(1, 2048, 2048, 2)]
        return _one(op, tensors, [0, 1], ("DepthwiseConv2D", {**same, "DepthMultiplier": 1}))
    tensors = [_c([1, 2048, 1024, 2]), _w(2, *kernel, 2), _a(1, 2048, 1024, 2)]
    tensors.append(_a(1, 2048, 1024, 2))
    return _one(op, tensors, [0, 1, 2], ("TransposeConv", same), (2,))


def _dense(columns: int) -> bytes:
    """``columns`` * 2^22 products."""
    tensors = [_a(2048, 2048), _a(columns, 2048), _a(2048, columns)]
    return _one("FULLY_CONNECTED", tensors, [0, 1], ("FullyConnected", {}), (0, 1))


def _matmul(columns: int) -> bytes:
    """``columns`` * 2^22 products."""
    tensors = [_a(2048, 2048), _a(2048, columns), _a(2048, columns)]
    return _one("BATCH_MATMUL", tensors, [0, 1], ("BatchMatMul", {}), (0, 1))


def _pool(kernel: tuple[int, int]) -> bytes:
    """2^23 windows."""
    told = {**_STEPS, "Padding": 0, "FilterHeight": kernel[0], "FilterWidth": kernel[1]}
    image = _a(1, 2048, 2048, 2)
    return _one("MAX_POOL_2D", [image, image], [0], ("Pool2D", told))


def _places(*kernel: int) -> bytes:
    """A window far larger than its image."""
    told = {**_STEPS, "Padding": 0, "FilterHeight": kernel[0], "FilterWidth": kernel[1]}
    image = _a(1, 1, 1, 1)
    return _one("MAX_POOL_2D", [image, image], [0], ("Pool2D", told))


def _lstm(steps: int) -> bytes:
    """512 units over 512 values: 4 * 2 * 2^18 products a step."""
    size = 512
    weights = T((size, size), "int8", 0.01, 0, np.ones((size, size)))
    bias = T((size,), "int32", 0.0005, 0, np.ones(size))
    tensors = [_a(1, steps, size), *[weights] * 8, *[bias] * 4]
    tensors += [
        T((1, size), "int8", 0.01, 0, variable=True),
        T((1, size), "int16", 2.0**-11, 0, variable=True),
        T((1, steps, size), "int8", 0.01, 0),
    ]
    inputs = [*range(9), -1, -1, -1, 9, 10, 11, 12, -1, -1, 13, 14, -1, -1, -1, -1]
    told = ("UnidirectionalSequenceLSTM", {"FusedActivationFunction": 4})
    return _one("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, inputs, told)


def _squares(depth: int) -> bytes:
    """A constant row times itself, 2^30 * ``depth`` at most."""
    zeros = np.zeros((1, depth), np.int16)
    tensors = [_a(1, depth, dtype="int16"), _a(1, 1, dtype="int16")]
    tensors[0].data = zeros
    options = ("BatchMatMul", {"AdjY": True})
    return build(tensors, [Op("BATCH_MATMUL", [0, 0], [1], options)], [], [1])


def _wide(*elements: int) -> bytes:
    """Tensors of those sizes, of which only the shapes are asked for."""
    tensors = [_f(each) for each in elements]
    operators = [Op("SHAPE", [i], [len(tensors) + i], ("Shape", {})) for i in range(len(tensors))]
    tensors += [T((1,), "int32") for _ in elements]
    fed = range(len(elements))
    return build(tensors, operators, fed, [len(elements)])


def _chain(tensors: int) -> bytes:
    """Tensors of 32 MiB, each computed from the one before: two of them are alive at once."""
    operators = [Op("RELU", [number], [number + 1]) for number in range(tensors - 1)]
    return build([_f(1 << 23)] * tensors, operators, [0], [tensors - 1])


def _nested(levels: int) -> bytes:
    """Subgraphs that call the next one, the last a NEG."""
    tensors = [T((1,), "bool"), _f(1), _f(1)]
    graphs = []
    for level in range(1, levels + 1):
        call = ("If", {"ThenSubgraphIndex": level, "ElseSubgraphIndex": level})
        last = Op("NEG", [1], [2])
        operator = Op("IF", [0, 1], [2], call) if level < levels else last
        graphs.append(Graph(tensors, [operator], [0, 1] if level == 1 else [1], [2]))
    for level, graph in enumerate(graphs[1:], 2):
        if level < levels:
            true = _c([True], "bool")
            graphs[level - 1] = Graph([true, *tensors[1:]], graph.operators, [1], [2])
    return build_graphs(graphs)


def _boxes(count: int) -> bytes:
    """``count`` * 64 * ``count`` pairs of boxes."""

    options = {
        "max_detections": 1024,
        "max_classes_per_detection": 1,
        "num_classes": 1,
        "nms_iou_threshold": 0.5,
        "y_scale": 1.0,
        "x_scale": 1.0,
        "h_scale": 1.0,
        "w_scale": 1.0,
    }
    shapes = [(1, count, 4), (1, count, 1), (count, 4), (1, 1024, 4), (1, 1024), (1, 1024), (1,)]
    name = "TFLite_Detection_PostProcess"
    told = flexbuffers.Dumps(options)
    operator = Op(name, [0, 1, 2], [3, 4, 5, 6], custom=name, custom_options=told)
    return build([T(s, "float32") for s in shapes], [operator], [0, 1, 2], [3, 4, 5, 6])


BOUNDS: dict[str, tuple[Callable[[], bytes], Callable[[], bytes], str]] = {
    "elements of padded images": (
        lambda: _padded(1023),
        lambda: _padded(1024),
        "its padded input has more than",
    ),
    "elements of a transposed convolution": (
        lambda: _scattered(2047),
        lambda: _scattered(2048),
        "its output has more than",
    ),
    "products of a convolution": (
        lambda: _products("CONV_2D", (16, 32)),
        lambda: _products("CONV_2D", (27, 19)),
        "it takes 4303355904 products, the reference at most",
    ),
    "products of a depthwise convolution": (
        lambda: _products("DEPTHWISE_CONV_2D", (16, 32)),
        lambda: _products("DEPTHWISE_CONV_2D", (27, 19)),
        "it takes 4303355904 products",
    ),
    "products of a transposed convolution": (
        lambda: _products("TRANSPOSE_CONV", (16, 32)),
        lambda: _products("TRANSPOSE_CONV", (27, 19)),
        "it takes 4303355904 products",
    ),
    "products of a dense layer": (
        lambda: _dense(1024),
        lambda: _dense(1025),
        "it takes 4299161600 products",
    ),
    "products of matrices": (
        lambda: _matmul(1024),
        lambda: _matmul(1025),
        "it takes 4299161600 products",
    ),
    "elements of windows of a pool": (
        lambda: _pool((16, 32)),
        lambda: _pool((27, 19)),
        "it takes 4303355904 products",
    ),
    "places of a high window": (
        lambda: _places(1 << 14, 4),
        lambda: _places((1 << 14) + 1, 4),
        "a kernel of 16385 x 4 has more than 65536 elements",
    ),
    "places of a wide window": (
        lambda: _places(4, 1 << 14),
        lambda: _places(4, (1 << 14) + 1),
        "a kernel of 4 x 16385 has more than 65536 elements",
    ),
    "products of an LSTM": (
        lambda: _lstm(2048),
        lambda: _lstm(2049),
        "it takes 4297064448 products",
    ),
    "sums that are exact": (
        lambda: _squares(1 << 23),
        lambda: _squares((1 << 23) + 1),
        "sums of 8388609 products are not supported",
    ),
    "elements of a tensor": (
        lambda: _wide(1 << 23),
        lambda: _wide((1 << 23) + 1),
        "has 8388609 elements",
    ),
    "bytes of the tensors that are alive at once": (
        lambda: _wide(1 << 23, (1 << 23) - 2),
        lambda: _wide(1 << 23, 1 << 23),
        "its tensors take 64 MiB at once",
    ),
    "bytes of all tensors": (
        lambda: _chain(16),
        lambda: _chain(17),
        "all its tensors take 544 MiB, and the reference keeps at most 512 MiB",
    ),
    "levels of subgraphs": (
        lambda: _nested(32),
        lambda: _nested(33),
        "its subgraphs call each other recursively",
    ),
    "pairs of boxes": (
        lambda: _boxes(4096),
        lambda: _boxes(4097),
        "1024 detections among 4097 boxes",
    ),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_inclusive(name: str) -> None:
    within, beyond, words = BOUNDS[name]
    assert Interpreter(Model.from_bytes(within(), name)).operators
    with pytest.raises(HilError) as refusal:
        Interpreter(Model.from_bytes(beyond(), "m"))
    assert words in refusal.value.message


def test_subgraphs_at_the_last_level_run() -> None:
    interpreter = Interpreter(Model.from_bytes(_nested(32)))
    (y,) = interpreter.invoke([np.array([True]), np.array([3], np.float32)])
    assert y.tolist() == [-3]


def test_a_subgraph_may_be_called_from_several_levels() -> None:
    """Three calls the second and the last, the second calls the last: that is not a cycle."""
    condition, x = _c([True], "bool"), _f(1)
    last = Graph([x, x], [Op("NEG", [0], [1])], [0], [1])
    calls = ("If", {"ThenSubgraphIndex": 2, "ElseSubgraphIndex": 2})
    second = Graph([condition, x, x], [Op("IF", [0, 1], [2], calls)], [1], [2])
    both = ("If", {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2})
    main = Graph([condition, x, x], [Op("IF", [0, 1], [2], both)], [1], [2])
    interpreter = Interpreter(Model.from_bytes(build_graphs([main, second, last])))
    assert interpreter.invoke([np.array([3], np.float32)])[0].tolist() == [-3]


def _counting(limit: int) -> bytes:
    """Adds one ``limit`` times: 6 small operators and subgraphs each time, 2 at the end."""
    number = T((1,), "int32")
    loop = ("While", {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    main = Graph([number, number], [Op("WHILE", [0], [1], loop)], [0], [1])
    less = Op("LESS", [0, 1], [2], ("Less", {}))
    condition = Graph([number, _c([limit]), T((1,), "bool")], [less], [0], [2])
    sums = [Op("ADD", [0, 1], [2], ("Add", {})), *[Op("RESHAPE", [2], [3], ("Reshape", {}))] * 2]
    body = Graph([number, _c([1]), number, number], sums, [0], [3])
    return build_graphs([main, condition, body])


def test_an_inference_runs_50000_operators_and_no_more() -> None:
    zero = [np.zeros(1, np.int32)]
    # 8333 times 6 and 2 are 50,000.
    assert Interpreter(Model.from_bytes(_counting(8333))).invoke(zero)[0].tolist() == [8333]
    interpreter = Interpreter(Model.from_bytes(_counting(8334)))
    with pytest.raises(BadModel, match="an inference runs more than 50,000 operators") as refusal:
        interpreter.invoke(zero)
    assert refusal.value.hint == "does the model contain an endless loop?"


def test_the_work_limit_is_for_each_inference() -> None:
    interpreter = Interpreter(Model.from_bytes(_counting(4200)))
    for _ in range(2):
        assert interpreter.invoke([np.zeros(1, np.int32)])[0].tolist() == [4200]


@pytest.mark.parametrize(
    ("data", "work"),
    [
        # 4,096 elements, or 16 times as many products, count as one more small operator.
        (_one("RELU", [_a(2047), _a(2047)], [0]), 1),
        (_one("RELU", [_a(2048), _a(2048)], [0]), 2),
        (_one("RELU", [_a(4096), _a(4096)], [0]), 3),
        (_one("FULLY_CONNECTED", [_a(1, 64), _w(32, 64), _a(1, 32)], [0, 1],
              ("FullyConnected", {})), 1),
        # 64 rows: 4096 inputs, 2048 weights, 2048 outputs; 131,072 products.
        (_one("FULLY_CONNECTED", [_a(64, 64), _w(32, 64), _a(64, 32)], [0, 1],
              ("FullyConnected", {})), 5),
        (_one("RESHAPE", [_a(), _a(1)], [0], ("Reshape", {})), 1),
    ],
)  # fmt: skip
def test_the_work_of_an_operator_counts_elements_and_products(data: bytes, work: int) -> None:
    (step,) = Interpreter(Model.from_bytes(data)).steps
    assert step.work == work


def test_eight_refused_operators_are_shown_and_the_rest_is_counted() -> None:
    for count, rest in ((8, ""), (9, "; and 1 more")):
        tensors = [_f(1)] * (count + 1)
        operators = [Op("CUSTOM", [i], [i + 1], custom=f"Own{i}") for i in range(count)]
        model = Model.from_bytes(build(tensors, operators, [0], [count]))
        with pytest.raises(UnsupportedOperator) as refusal:
            Interpreter(model)
        text = refusal.value.message
        assert text.count("has no kernel") == 8
        assert all(f"(Own{i}," in text for i in range(8))
        assert text.endswith("has no kernel for it" + rest)
