"""Operators that tflite-micro silently computes wrongly, unlike TensorFlow Lite.

The notes depend on the model only, not on an image. :mod:`harness.model.refusals` has what
tflite-micro refuses.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.model import Model
from harness.model.types import Operator, Subgraph, shown

_FILTER = 1  # the weights of FULLY_CONNECTED and LSTM are the second input
_MOST_AXES = 6  # of tflite-micro's RuntimeShape


def pitfalls(model: Model) -> tuple[str, ...]:
    """One line for each operator of ``model`` that tflite-micro computes wrongly."""
    return tuple(
        note
        for graph in model.subgraphs
        for operator in graph.operators
        for check in _CHECKS
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


def _hybrid_lstm(graph: Subgraph, operator: Operator) -> Iterator[str]:
    """Integer weights in a float LSTM: other operators refuse them, this one does not look."""
    if operator.name != "UNIDIRECTIONAL_SEQUENCE_LSTM" or len(operator.inputs) <= _FILTER:
        return
    indices = operator.inputs[0], operator.inputs[_FILTER]
    if min(indices) < 0:
        return
    values, weights = (graph.tensors[index].dtype for index in indices)
    if values == "float32" and weights == "int8":
        yield (
            f"operator {operator.index} {operator.name}: tflite-micro reads its int8 weights as "
            "float32 and computes garbage, without a message; convert with full integer "
            "quantization, or with none"
        )


def _many_axes(graph: Subgraph, operator: Operator) -> Iterator[str]:
    indices = [index for index in (*operator.inputs, *operator.outputs) if index >= 0]
    axes = max((len(graph.tensors[index].shape) for index in indices), default=0)
    if axes > _MOST_AXES:
        yield (
            f"operator {operator.index} {shown(operator.name)} has a tensor of {axes} axes: "
            f"tflite-micro's shapes hold {_MOST_AXES}, and most of its operators do not check; "
            "merge axes of size 1"
        )


_CHECKS = (_relu6_without_rescaling, _per_channel_weights, _hybrid_lstm, _many_axes)
