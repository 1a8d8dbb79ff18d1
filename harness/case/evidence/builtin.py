"""The inputs that the project's samples generate themselves, computed on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from harness.build.generated import Sample
from harness.build.table import inputs_of
from harness.model import Model, Tensor

_TWO_PI = np.float32(6.28318531)


def builtin_inputs(sample: Sample, model: Model | None) -> Sequence[Sequence[bytes]] | None:
    """The input tensors of each inference; None for an application without a generator."""
    if model is None:
        return None
    if sample.inputs:
        return _stored(sample, model)
    make = _GENERATORS.get(sample.application)
    return None if make is None else make(sample, model)


def _stored(sample: Sample, model: Model) -> Sequence[Sequence[bytes]]:
    """Cut the rows of a test set into the model's inputs; a tensor of a short row is incomplete."""
    test_set = inputs_of(sample)
    assert test_set is not None
    rows = []
    for number in range(sample.inferences):
        start = number * test_set.row_bytes
        row, tensors = test_set.data[start : start + test_set.row_bytes], []
        for tensor in model.inputs:
            size = tensor.elements * np.dtype(tensor.dtype).itemsize
            tensors.append(row[:size])
            row = row[size:]
        rows.append(tensors)
    return rows


def _angles(sample: Sample, model: Model) -> Sequence[Sequence[bytes]]:
    """Hello_world's inputs: angles over a full turn, quantized in single precision."""
    (tensor,) = model.inputs
    steps = np.arange(sample.inferences, dtype=np.float32)
    angles = _TWO_PI * steps / np.float32(sample.inferences)
    if tensor.dtype == "float32":
        return [[angle.astype("<f4").tobytes()] for angle in angles]
    exact = (angles / np.float32(tensor.scale)).astype(np.float64)
    rounded = np.copysign(np.floor(np.abs(exact) + 0.5), exact).astype(np.int64)
    values = np.clip(rounded + tensor.zero_point, -128, 127).astype(np.int8)
    return [[value.tobytes()] for value in values]


def _noise(sample: Sample, model: Model) -> Sequence[Sequence[bytes]]:
    """Benchmark's inputs: the upper bytes of an LCG that is seeded by the inference."""
    return [_noise_row(number, model.inputs) for number in range(sample.inferences)]


def _noise_row(seed: int, tensors: Sequence[Tensor]) -> list[bytes]:
    state, row = seed, []
    for tensor in tensors:
        real = tensor.dtype == "float32"
        count = tensor.elements * (1 if real else np.dtype(tensor.dtype).itemsize)
        data = bytearray()
        for _ in range(count):
            state = (state * 1664525 + 1013904223) & 0xFFFF_FFFF
            data.append(state >> 24)
        if real:
            centred = np.frombuffer(bytes(data), np.uint8).astype(np.float32) - np.float32(128)
            row.append((centred / np.float32(128)).astype("<f4").tobytes())
        else:
            row.append(bytes(data))
    return row


_GENERATORS: dict[str, Callable[[Sample, Model], Sequence[Sequence[bytes]]]] = {
    "hello_world": _angles,
    "benchmark": _noise,
}
