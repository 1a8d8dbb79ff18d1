"""TFLM_DECODE equals the official interpreter, alone and in front of other operators."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from model_builder import Op, T, build
from operator_cases import Case, Draw, agree, cases, draws, single
from oracle import Oracle, Refused

from harness.base.errors import BadModel, UnsupportedOperator
from harness.model import Model
from harness.reference import Interpreter

_TYPES = ["int8", "int16", "int32", "int64", "float32", "bool"]
_LUT, _HUFFMAN, _PRUNE, _CUSTOM = 0, 1, 2, 127


def head(kind: int, fifth: int = 0, sixth: int = 0, *, version: int = 1, own: int = 1) -> bytes:
    return bytes([kind, version, 0, 0, own, fifth, sixth, *bytes(9)])


def constant(data: bytes) -> T:
    return T((len(data),), "uint8", data=np.frombuffer(data, np.uint8))


def decoding(draw: Draw, encoded: bytes, description: bytes, output: T) -> Case:
    tensors = [constant(encoded), constant(description), output]
    return single(draw, "TFLM_DECODE", tensors, [0, 1], fed=(), flex={})


def packed(indices: np.ndarray, width: int) -> bytes:
    """Numbers of ``width`` bits one after the other, the highest bit first."""
    bits = indices.reshape(-1, 1) >> np.arange(width)[::-1] & 1
    return np.packbits(bits.astype(np.uint8).ravel()).tobytes()


def output(draw: Draw, dtype: str, *, zero_points: bool) -> tuple[T, int]:
    """An output and its number of channels: none, along the first or along the last axis."""
    shape = tuple(draw.int(1, 5) for _ in range(draw.int(1, 3)))
    axis = draw.one(None, 0, len(shape) - 1)
    channels = 1 if axis is None else shape[axis]
    tensor = T(shape, dtype)
    if axis is not None:
        zeros = [draw.int(-128, 127) if zero_points else 0 for _ in range(channels)]
        tensor.scale, tensor.zero, tensor.axis = [0.5] * channels, zeros, axis
        if channels == 1:
            tensor.axis = 0
    elif zero_points:
        tensor.scale, tensor.zero = 0.5, draw.int(-128, 127)
    return tensor, channels


@pytest.mark.parametrize("dtype", _TYPES)
@cases
@given(draw=draws())
def test_a_table_of_values_equals(dtype: str, micro: Oracle, draw: Draw) -> None:
    tensor, channels = output(draw, dtype, zero_points=False)
    width, size = draw.int(1, 7), draw.int(1, 9)
    stride = min(size, 1 << width)
    elements = int(np.prod(tensor.shape))
    indices = draw.generator().integers(0, stride, elements)
    table = draw.array((channels, stride), dtype)
    description = head(_LUT, width, stride) + table.tobytes()
    agree([micro], decoding(draw, packed(indices, width), description, tensor))


@pytest.mark.parametrize("dtype", _TYPES)
@cases
@given(draw=draws())
def test_a_pruned_tensor_equals(dtype: str, micro: Oracle, draw: Draw) -> None:
    tensor, _ = output(draw, dtype, zero_points=dtype == "int8" and draw.flag())
    kept = draw.generator().integers(0, 2, int(np.prod(tensor.shape)))
    table = draw.array((max(int(kept.sum()), 1),), dtype)
    agree([micro], decoding(draw, packed(kept, 1), head(_PRUNE) + table.tobytes(), tensor))


def codes(draw: Draw, symbols: int) -> dict[str, int]:
    """A complete prefix code for so many symbols, as text of zeros and ones."""
    words = ["0", "1"]
    rng = draw.generator()
    while len(words) < symbols:
        word = words.pop(int(rng.integers(len(words))))
        words += [word + "0", word + "1"]
    return dict(zip(words, range(symbols), strict=True))


def tables(words: Mapping[str, int], first: int, then: int, size: int) -> list[int]:
    """The look-up tables of a code: ``first`` bits, then ``then`` at a time."""
    entries: list[int] = []
    waiting = [("", first, -1)]
    for prefix, width, place in waiting:
        if place >= 0:
            entries[place] = (width - 1) << (size - 5) | len(entries) - place
        for index in range(1 << width):
            bits = prefix + f"{index:0{width}b}"
            ends = [word for word in words if bits.startswith(word) and len(word) > len(prefix)]
            if ends:
                used = len(ends[0]) - len(prefix)
                entries.append(1 << (size - 1) | used << (size - 5) | words[ends[0]])
            else:
                waiting.append((bits, then, len(entries)))
                entries.append(0)
    return entries


@pytest.mark.parametrize(("dtype", "size"), [("int8", 16), ("int8", 32), ("int16", 32)])
@cases
@given(draw=draws())
def test_huffman_codes_equal(dtype: str, size: int, micro: Oracle, draw: Draw) -> None:
    words = codes(draw, draw.int(2, 12))
    rng = draw.generator()
    low, high = (-128, 128) if dtype == "int8" else (-32768, 32768)
    values = rng.choice(np.arange(low, high), len(words), replace=False)
    first, then = draw.int(1, 5), draw.int(1, 4)
    meant = {word: int(value) & (high - low - 1) for word, value in zip(words, values, strict=True)}
    entries = np.array(tables(meant, first, then, size), f"<u{size // 8}")
    shape = (draw.int(1, 6), draw.int(1, 9))
    chosen = rng.choice(list(words), shape)
    bits = "".join(chosen.ravel())
    # The device reads whole words of 32 bits.
    bits += "0" * (-len(bits) % 32)
    encoded = packed(np.array([int(bit) for bit in bits]), 1)
    description = head(_HUFFMAN, (first - 1) << 4 | (size == 32)) + entries.tobytes()
    case = decoding(draw, encoded, description, T(shape, dtype))
    agree([micro], case)
    wanted = np.vectorize(meant.__getitem__)(chosen).astype(f"u{dtype}").astype(dtype)
    assert np.array_equal(Interpreter(Model.from_bytes(case.model)).invoke([])[0], wanted)


@cases
@given(draw=draws())
def test_weights_that_are_decoded_are_constants_to_a_convolution(micro: Oracle, draw: Draw) -> None:
    channels, depth = draw.int(1, 4), draw.int(1, 4)
    shape = (channels, 2, 2, depth)
    weights = T(shape, "int8", [0.25] * channels, [0] * channels)
    indices = draw.generator().integers(0, 8, int(np.prod(shape)))
    table = draw.array((channels, 8), "int8")
    bias = T((channels,), "int32", [0.125] * channels, [0] * channels)
    bias.data = draw.array((channels,), "int32", largest=999)
    tensors = [
        T((1, 4, 4, depth), "int8", 0.5, draw.int(-128, 127)),
        constant(packed(indices, 3)),
        constant(head(_LUT, 3, 8) + table.tobytes()),
        weights,
        bias,
        T((1, 3, 3, channels), "int8", 9.0, draw.int(-128, 127)),
    ]
    operators = [
        Op("TFLM_DECODE", [1, 2], [3], custom="TFLM_DECODE"),
        Op("CONV_2D", [0, 3, 4], [5], ("Conv2D", {"Padding": 1, "StrideH": 1, "StrideW": 1})),
    ]
    inputs = [[draw.array((1, 4, 4, depth), "int8")] for _ in range(3)]
    agree([micro], Case(build(tensors, operators, [0], [5]), inputs, outputs=1))


def test_several_tensors_are_decoded_by_one_operator() -> None:
    first, second = head(_LUT, 2, 4) + bytes([10, 20, 30, 40]), head(_PRUNE) + bytes([7, 9])
    tensors = [
        constant(bytes([0b00_01_10_11])), constant(first), constant(bytes([0b0101_0000])),
        constant(second), T((4,), "int8"), T((2, 2), "int8", 1.0, -3),
    ]  # fmt: skip
    operator = Op("TFLM_DECODE", [0, 1, 2, 3], [4, 5], custom="TFLM_DECODE")
    interpreter = Interpreter(Model.from_bytes(build(tensors, [operator], [], [4, 5])))
    assert [each.tolist() for each in interpreter.invoke([])] == [
        [10, 20, 30, 40],
        [[-3, 7], [-3, 9]],
    ]


_REFUSED = {
    "an encoding of kind 127": (b"\0", head(_CUSTOM) + bytes(8), T((4,), "int8")),
    "an encoding of kind 3": (b"\0", head(3) + bytes(8), T((4,), "int8")),
    "version 2": (b"\0", head(_LUT, 1, 2, version=2) + bytes(8), T((4,), "int8")),
    "version 1, 3": (b"\0", head(_LUT, 1, 2, own=3) + bytes(8), T((4,), "int8")),
    "an output uint8": (b"\0", head(_LUT, 1, 2) + bytes(8), T((4,), "uint8")),
    "an output int32 of kind 1": (bytes(4), head(_HUFFMAN, 1) + bytes(8), T((4,), "int32")),
    "of codes with 16 bits": (bytes(4), head(_HUFFMAN) + bytes(8), T((4,), "int16")),
    "with a zero point": (b"\0", head(_PRUNE) + bytes(8), T((4,), "int16", 0.5, 3)),
    "quantized along axis 1": (
        b"\0",
        head(_LUT, 1, 2) + bytes(8),
        T((1, 2, 2), "int8", [0.5, 0.5], [0, 0], axis=1),
    ),
}


@pytest.mark.parametrize("reason", _REFUSED)
def test_models_that_tflm_refuses_are_refused(reason: str, micro: Oracle) -> None:
    encoded, description, tensor = _REFUSED[reason]
    operator = Op("TFLM_DECODE", [0, 1], [2], custom="TFLM_DECODE")
    tensors = [constant(encoded), constant(description), tensor]
    model = build(tensors, [operator], [], [2])
    with pytest.raises(BadModel, match=reason) as refused:
        Interpreter(Model.from_bytes(model))
    assert refused.value.hint == "TFLM refuses such a model too"
    with pytest.raises(Refused):
        micro.run(model, [[]], 1)


_BEYOND = {
    "a description of 9 bytes": (b"\0", bytes(9), T((4,), "int8")),
    "its indices have no bits": (b"\0", head(_LUT, 0, 2) + bytes(8), T((4,), "int8")),
    "8 bits are encoded, 16 are needed": (b"\0", head(_LUT, 4, 9) + bytes(16), T((4,), "int8")),
    "an index of 1 into a table of 1": (b"\1", head(_LUT, 1, 1) + bytes(1), T((8,), "int8")),
    "2 values are left, the table has 1": (b"\3", head(_PRUNE) + bytes(1), T((8,), "int8")),
    "8 bits are encoded, 9 are needed": (b"\3", head(_PRUNE) + bytes(9), T((9,), "int8")),
    "3 elements of 2 channels": (
        b"\0",
        head(_LUT, 1, 1) + bytes(9),
        T((3,), "int8", [1.0, 1.0], [0, 0]),
    ),
    "lead beyond their table": (bytes(4), head(_HUFFMAN) + bytes(2), T((4,), "int8")),
}


@pytest.mark.parametrize("reason", _BEYOND)
def test_reads_beyond_a_tensor_are_refused(reason: str) -> None:
    encoded, description, tensor = _BEYOND[reason]
    operator = Op("TFLM_DECODE", [0, 1], [2], custom="TFLM_DECODE")
    model = build([constant(encoded), constant(description), tensor], [operator], [], [2])
    with pytest.raises(BadModel, match=reason):
        Interpreter(Model.from_bytes(model))


def test_codes_that_end_before_their_symbols_do_are_refused() -> None:
    entries = np.array([1 << 15 | 1 << 11 | 5, 1 << 15 | 1 << 11 | 6], "<u2")
    operator = Op("TFLM_DECODE", [0, 1], [2], custom="TFLM_DECODE")
    description = constant(head(_HUFFMAN) + entries.tobytes())
    for size, fits in zip((8, 9), (True, False), strict=True):
        model = build([constant(b"\x0f"), description, T((size,), "int8")], [operator], [], [2])
        if fits:
            (symbols,) = Interpreter(Model.from_bytes(model)).invoke([])
            assert symbols.tolist() == [5, 5, 5, 5, 6, 6, 6, 6]
        else:
            with pytest.raises(BadModel, match="lead beyond"):
                Interpreter(Model.from_bytes(model))


def test_a_decoded_shape_is_not_a_constant() -> None:
    tensors = [
        T((2, 2), "int8"),
        constant(bytes([0b01_000000])),
        constant(head(_LUT, 1, 2) + np.array([0, 1], "<i4").tobytes()),
        T((2,), "int32"),
        T((2, 2), "int8"),
    ]
    operators = [
        Op("TFLM_DECODE", [1, 2], [3], custom="TFLM_DECODE"),
        Op("TRANSPOSE", [0, 3], [4], ("Transpose", {})),
    ]
    with pytest.raises(UnsupportedOperator, match="is computed at run time"):
        Interpreter(Model.from_bytes(build(tensors, operators, [0], [4])))


def test_a_decoded_tensor_cannot_be_decoded_again() -> None:
    tensors = [
        constant(bytes([0])),
        constant(head(_LUT, 1, 1) + bytes(8)),
        T((8,), "int8"),
        T((4,), "int8"),
    ]
    operators = [
        Op("TFLM_DECODE", [0, 1], [2], custom="TFLM_DECODE"),
        Op("TFLM_DECODE", [2, 1], [3], custom="TFLM_DECODE"),
    ]
    with pytest.raises(BadModel, match="its input 0 is computed, not a constant"):
        Interpreter(Model.from_bytes(build(tensors, operators, [], [3])))
