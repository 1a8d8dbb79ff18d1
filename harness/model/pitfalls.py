"""Operators that tflite-micro silently computes wrongly, unlike TensorFlow Lite.

The notes depend on the model only, not on an image.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.model import Model
from harness.model.types import Operator, Subgraph

_FILTER = 1  # FULLY_CONNECTED's weights are its second input


def pitfalls(model: Model) -> tuple[str, ...]:
    """One line for each operator of ``model`` that tflite-micro computes wrongly or refuses."""
    return tuple(
        note
        for graph in model.subgraphs
        for operator in graph.operators
        for check in (_relu6_without_rescaling, _per_channel_weights)
        for note in check(graph, operator)
    )


def _relu6_without_rescaling(graph: Subgraph, operator: Operator) -> Iterator[str]:
    """A RELU6 whose input and output have different quantizations.

    tflite-micro clamps the quantized values to 0 and 6 in the input's quantization, and does not
    rescale them to the output's. Measured: a network with 99.5 % correct results in TensorFlow Lite
    has 10 % in tflite-micro (0.dev20261023).
    """
    indices = (*operator.inputs[:1], *operator.outputs[:1])
    if operator.name != "RELU6" or len(indices) < 2 or min(indices) < 0:
        return
    source, result = (graph.tensors[index] for index in indices)
    if source.dtype != "int8":
        return
    if (source.scale, source.zero_point) == (result.scale, result.zero_point):
        return
    yield (
        f"operator {operator.index} RELU6: tflite-micro does not rescale from "
        f"({source.scale:.6g}, {source.zero_point}) to ({result.scale:.6g}, {result.zero_point}), "
        "so its outputs are silently wrong; TensorFlow Lite rescales. Let the converter fuse the "
        "activation into the preceding operator, or give both tensors the same range"
    )


def _per_channel_weights(graph: Subgraph, operator: Operator) -> Iterator[str]:
    """Per-channel weights of FULLY_CONNECTED, the converter's default since 2024.

    Source: tflite-micro pull requests 2602 and 2673.
    """
    if operator.name != "FULLY_CONNECTED" or len(operator.inputs) <= _FILTER:
        return
    index = operator.inputs[_FILTER]
    quantization = graph.tensors[index].quantization if index >= 0 else None
    if quantization is not None and len(quantization.scales) > 1:
        yield (
            f"operator {operator.index} FULLY_CONNECTED has per-channel weights: revisions of "
            "tflite-micro before May 2024 compute them wrongly, those before September 2024 "
            "refuse them"
        )
