"""Networks of random weights: the published shapes of MLPerf Tiny, and small ones.

Layers follow the reference models of the MLPerf Tiny benchmark: MobileNetV1 0.25 on 96 x 96 x 3
(visual wake words), a DS-CNN on 49 x 10 (keyword spotting), ResNet-8 on 32 x 32 x 3 (image
classification) and a dense autoencoder on 640 (anomaly detection), int8, per-channel weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from model_builder import ACTIVATIONS, PADDINGS, Op, T, build

from harness.model import Model


class Network:
    """A model under construction; every layer takes the index of its input tensor."""

    def __init__(self, shape: Sequence[int], seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.tensors = [T(tuple(shape), "int8", 0.05, 0)]
        self.operators: list[Op] = []

    def _activation(self, shape: Sequence[int], scale: float, zero: int) -> int:
        self.tensors.append(T(tuple(shape), "int8", scale, zero))
        return len(self.tensors) - 1

    def _constant(self, shape: Sequence[int], dtype: str, scale: object, axis: int = 0) -> int:
        high = 1 << 12 if dtype == "int32" else 128
        data = self.rng.integers(-high + 1, high, shape)
        self.tensors.append(T(tuple(shape), dtype, scale, 0, data, axis))
        return len(self.tensors) - 1

    def _weighted(
        self, op: str, x: int, weights: Sequence[int], y: Sequence[int], axis: int, options: tuple
    ) -> int:
        """An operator whose outputs spread over most of int8."""
        terms = int(np.prod(weights)) // weights[axis]
        # Random weights and inputs have these deviations; the sums should have about 45.
        inputs_deviation = 74 if x == 0 else 8 if self.operators[-1].name == "RESHAPE" else 28
        spread = 73 * inputs_deviation * np.sqrt(terms) / 45
        channels = weights[axis] if len(weights) == 4 else 1
        scales = 0.05 * self.rng.uniform(0.7, 1.4, channels) / (spread * self.tensors[x].scale)
        w = self._constant(weights, "int8", scales, axis)
        bias = self.tensors[x].scale * self.tensors[w].scale
        inputs = [x, w, self._constant((weights[axis],), "int32", bias)]
        out = self._activation(y, 0.05, int(self.rng.integers(-20, 20)))
        self.operators.append(Op(op, inputs, [out], options))
        return out

    def _window(self, stride: int, relu: bool, **more: int) -> dict[str, int]:
        return {
            "Padding": PADDINGS["SAME"],
            "StrideH": stride,
            "StrideW": stride,
            "FusedActivationFunction": ACTIVATIONS["RELU" if relu else "NONE"],
            **more,
        }

    def conv(
        self, x: int, outputs: int, kernel: Sequence[int], stride: int = 1, relu: bool = True
    ) -> int:
        n, h, w, c = self.tensors[x].shape
        options = ("Conv2D", self._window(stride, relu))
        shape = (n, -(-h // stride), -(-w // stride), outputs)
        return self._weighted("CONV_2D", x, (outputs, *kernel, c), shape, 0, options)

    def depthwise(self, x: int, stride: int = 1) -> int:
        n, h, w, c = self.tensors[x].shape
        options = ("DepthwiseConv2D", self._window(stride, True, DepthMultiplier=1))
        shape = (n, -(-h // stride), -(-w // stride), c)
        return self._weighted("DEPTHWISE_CONV_2D", x, (1, 3, 3, c), shape, 3, options)

    def dense(self, x: int, outputs: int, relu: bool = True) -> int:
        depth = int(np.prod(self.tensors[x].shape))
        options = ("FullyConnected", {"FusedActivationFunction": 1 if relu else 0})
        return self._weighted("FULLY_CONNECTED", x, (outputs, depth), (1, outputs), 0, options)

    def add(self, a: int, b: int) -> int:
        out = self._activation(self.tensors[a].shape, 0.07, -10)
        self.operators.append(Op("ADD", [a, b], [out], ("Add", {"FusedActivationFunction": 1})))
        return out

    def average(self, x: int) -> int:
        n, h, w, c = self.tensors[x].shape
        out = self._activation((n, 1, 1, c), self.tensors[x].scale, self.tensors[x].zero)
        fields = {"Padding": 1, "StrideH": 1, "StrideW": 1, "FilterHeight": h, "FilterWidth": w}
        self.operators.append(Op("AVERAGE_POOL_2D", [x], [out], ("Pool2D", fields)))
        return out

    def reshape(self, x: int) -> int:
        shape = (1, int(np.prod(self.tensors[x].shape)))
        out = self._activation(shape, self.tensors[x].scale, self.tensors[x].zero)
        self.operators.append(Op("RESHAPE", [x], [out], ("Reshape", {"NewShape": list(shape)})))
        return out

    def softmax(self, x: int) -> int:
        out = self._activation(self.tensors[x].shape, 1 / 256, -128)
        self.operators.append(Op("SOFTMAX", [x], [out], ("Softmax", {"Beta": 1.0})))
        return out

    def finish(self, output: int, description: str) -> bytes:
        return build(self.tensors, self.operators, [0], [output], description)


def visual_wake_words() -> bytes:
    net = Network((1, 96, 96, 3), 1)
    x = net.conv(0, 8, (3, 3), 2)
    layers = [
        (16, 1),
        (32, 2),
        (32, 1),
        (64, 2),
        (64, 1),
        (128, 2),
        *[(128, 1)] * 5,
        (256, 2),
        (256, 1),
    ]
    for outputs, stride in layers:
        x = net.conv(net.depthwise(x, stride), outputs, (1, 1))
    x = net.dense(net.reshape(net.average(x)), 2, relu=False)
    return net.finish(net.softmax(x), "visual wake words")


def keyword_spotting() -> bytes:
    net = Network((1, 49, 10, 1), 2)
    x = net.conv(0, 64, (10, 4), 2)
    for _ in range(4):
        x = net.conv(net.depthwise(x), 64, (1, 1))
    x = net.dense(net.reshape(net.average(x)), 12, relu=False)
    return net.finish(net.softmax(x), "keyword spotting")


def image_classification() -> bytes:
    net = Network((1, 32, 32, 3), 3)
    x = net.conv(0, 16, (3, 3))
    for outputs, stride in ((16, 1), (32, 2), (64, 2)):
        side = x if stride == 1 else net.conv(x, outputs, (1, 1), stride, relu=False)
        x = net.conv(net.conv(x, outputs, (3, 3), stride), outputs, (3, 3), relu=False)
        x = net.add(x, side)
    x = net.dense(net.reshape(net.average(x)), 10, relu=False)
    return net.finish(net.softmax(x), "image classification")


def anomaly_detection() -> bytes:
    net = Network((1, 640), 4)
    x = 0
    for outputs in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x = net.dense(x, outputs)
    return net.finish(net.dense(x, 640, relu=False), "anomaly detection")


NETWORKS = {
    "visual_wake_words": visual_wake_words,
    "keyword_spotting": keyword_spotting,
    "image_classification": image_classification,
    "anomaly_detection": anomaly_detection,
}


def svdf() -> bytes:
    """One SVDF with a state of three time steps for each of its two features."""
    rng = np.random.default_rng(3)
    tensors = [
        T((1, 4), "int8", 0.01, 0),
        T((2, 4), "int8", 0.01, 0, rng.integers(-127, 128, (2, 4))),
        T((2, 3), "int16", 0.01, 0, rng.integers(-9999, 9999, (2, 3))),
        T((2,), "int32", 1e-4, 0, rng.integers(-99, 99, 2)),
        T((1, 6), "int16", 0.01, 0, variable=True),
        T((1, 2), "int8", 0.5, 3),
    ]
    operator = Op("SVDF", [0, 1, 2, 3, 4], [5], ("SVDF", {"Rank": 1}))
    return build(tensors, [operator], [0], [5])


def ring_operators(name: tuple[str, dict[str, str]]) -> list[Op]:
    """Operators that keep the last frames in a variable: tensors 0 input, 3 all, 7 kept."""
    masks = {"BeginMask": 5, "EndMask": 7}
    return [
        Op("CALL_ONCE", [], [], ("CallOnce", {"InitSubgraphIndex": 1})),
        Op("VAR_HANDLE", [], [1], name),
        Op("READ_VARIABLE", [1], [2]),
        Op("CONCATENATION", [2, 0], [3], ("Concatenation", {"Axis": 1})),
        Op("STRIDED_SLICE", [3, 4, 5, 6], [7], ("StridedSlice", masks)),
        Op("ASSIGN_VARIABLE", [1, 7], []),
    ]


def small_network(seed: int = 0) -> Model:
    """CONV_2D, DEPTHWISE_CONV_2D, ADD with a constant, FULLY_CONNECTED, SOFTMAX."""
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> np.ndarray:
        return rng.integers(-127, 128, shape).astype(np.int8)

    tensors = [
        T((1, 6, 6, 3), "int8", 0.02, -3),
        T((8, 3, 3, 3), "int8", rng.uniform(0.001, 0.01, 8), 0, weights(8, 3, 3, 3)),
        T((1, 6, 6, 8), "int8", 0.03, -20),
        T((1, 3, 3, 8), "int8", rng.uniform(0.001, 0.01, 8), 0, weights(1, 3, 3, 8), axis=3),
        T((8,), "int32", 1e-4, 0, rng.integers(-999, 999, 8)),
        T((1, 3, 3, 8), "int8", 0.03, 5),
        T((1, 1, 1, 8), "int8", 0.02, 1, weights(1, 1, 1, 8)),
        T((1, 3, 3, 8), "int8", 0.04, 0),
        T((4, 72), "int8", 0.005, 0, weights(4, 72)),
        T((1, 4), "int8", 0.3, 0),
        T((1, 4), "int8", 1 / 256, -128),
    ]
    window = {"Padding": 0, "FusedActivationFunction": ACTIVATIONS["RELU"]}
    conv = ("Conv2D", {**window, "StrideW": 1, "StrideH": 1})
    depthwise = ("DepthwiseConv2D", {**window, "StrideW": 2, "StrideH": 2, "DepthMultiplier": 1})
    operators = [
        Op("CONV_2D", [0, 1], [2], conv, version=3),
        Op("DEPTHWISE_CONV_2D", [2, 3, 4], [5], depthwise),
        Op("ADD", [5, 6], [7], ("Add", {})),
        Op("FULLY_CONNECTED", [7, 8, -1], [9], ("FullyConnected", {})),
        Op("SOFTMAX", [9], [10], ("Softmax", {"Beta": 0.1})),
    ]
    return Model.from_bytes(build(tensors, operators, [0], [10]), "network")


def small_image(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-128, 128, (1, 6, 6, 3)).astype(np.int8)


def svdf_model() -> Model:
    return Model.from_bytes(svdf(), "svdf")
