"""Small models for tests of the interpreter."""

from __future__ import annotations

import numpy as np
from model_builder import ACTIVATIONS, Op, T, build
from networks import svdf

from harness.model import Model


def _network(seed: int = 0) -> Model:
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


def _image(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-128, 128, (1, 6, 6, 3)).astype(np.int8)


def _svdf() -> Model:
    return Model.from_bytes(svdf(), "svdf")
