"""The Signal operators equal tflite-micro's, inference after inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from hypothesis import given
from model_builder import Op, T, build
from operator_cases import Draw, agree, cases, draws, single
from oracle import Oracle

from harness.model import Model
from harness.reference import Interpreter

#: The number of a type in the option T.
TYPES = {"float32": 0, "int32": 2, "int16": 7}


def _if_valid(outputs: Sequence[np.ndarray]) -> Sequence[Any]:
    """SignalFramer and SignalStacker write their first output where the second says so."""
    return [... if outputs[1] else slice(0), ...]


def _constant(values: np.ndarray) -> T:
    return T(values.shape, values.dtype.name, data=values)


@cases
@given(draw=draws())
def test_signal_window_equals(micro: Oracle, draw: Draw) -> None:
    size = draw.int(1, 40)
    x = T((*draw.shape(0, 2, 3), size * draw.int(1, 3)), "int16")
    weights = _constant(draw.array((size,), "int16"))
    flex = {"shift": draw.int(0, 20)}
    agree([micro], single(draw, "SignalWindow", [x, weights, x], [0, 1], flex=flex))


@cases
@given(draw=draws())
def test_signal_fft_auto_scale_equals(micro: Oracle, draw: Draw) -> None:
    x = T((draw.int(1, 40),), "int16")
    case = single(draw, "SignalFftAutoScale", [x, x, T((), "int32")], [0], outputs=(1, 2), flex={})
    for arrays in case.inputs:
        arrays[0] >>= draw.int(0, 16)
    agree([micro], case)


@pytest.mark.parametrize("op", ["SignalRfft", "SignalIrfft"])
@pytest.mark.parametrize("dtype", ["int16", "int32", "float32"])
@cases
@given(draw=draws())
def test_signal_transforms_equal(op: str, dtype: str, micro: Oracle, draw: Draw) -> None:
    length = 1 << draw.int(2, 10)
    lead = draw.shape(0, 2, 3)
    flex = {"T": TYPES[dtype], "fft_length": length}
    if op == "SignalRfft":
        x, y = (*lead, draw.int(1, length)), (*lead, length + 2)
    else:
        x, y = (*lead, length + 2), (*lead, length)
    case = single(draw, op, [T(x, dtype), T(y, dtype)], [0], flex=flex)
    if dtype == "float32":
        # Each of the log2(n) stages rounds values of at most this norm.
        norms = [np.abs(arrays[0]).sum() for arrays in case.inputs]
        case.bound = lambda *_: [np.full(y, 3 * (np.log2(length) + 3) * 2.0**-24 * max(norms))]
    if dtype == "int32":  # beyond this the sums of the last stage overflow, which C leaves open
        for arrays in case.inputs:
            arrays[0] >>= 2
    agree([micro], case)


@cases
@given(draw=draws())
def test_signal_energy_equals(micro: Oracle, draw: Draw) -> None:
    bins = draw.int(1, 40)
    end = draw.int(0, bins)
    start = draw.int(0, end)
    flex = {"end_index": end, "start_index": start}
    tensors = [T((2 * bins,), "int16"), T((bins,), "uint32")]
    case = single(draw, "SignalEnergy", tensors, [0], flex=flex)
    case.written = lambda _: [slice(start, end)]
    agree([micro], case)


@cases
@given(draw=draws())
def test_signal_filter_bank_equals(micro: Oracle, draw: Draw) -> None:
    rng = draw.generator()
    channels, bins = draw.int(1, 8), draw.int(8, 60)
    widths = rng.integers(0, 8, channels + 1)
    starts = np.array([rng.integers(0, bins - width + 1) for width in widths])
    places = np.cumsum(np.append(0, widths[:-1]))
    tables = [rng.integers(-4096, 4097, max(1, widths.sum())) for _ in range(2)]
    constants = [_constant(v.astype(np.int16)) for v in (*tables, starts, places, widths)]
    tensors = [T((bins,), "uint32"), *constants, T((channels,), "uint64")]
    flex = {"num_channels": channels}
    agree([micro], single(draw, "SignalFilterBank", tensors, range(6), flex=flex))


@cases
@given(draw=draws())
def test_signal_filter_bank_square_root_equals(micro: Oracle, draw: Draw) -> None:
    size = draw.int(1, 20)
    tensors = [T((size,), "uint64"), T((), "int32"), T((size,), "uint32")]
    case = single(
        draw, "SignalFilterBankSquareRoot", tensors, [0, 1], flex={}, fed=(0, 1), inferences=4
    )
    for arrays in case.inputs:
        shift = np.uint64(draw.int(0, 63))
        squares = arrays[0] >> np.uint64(33)
        near = squares * squares + np.uint64(draw.int(0, 3)) - np.uint64(1)
        arrays[0] = draw.one(arrays[0], near) >> shift
        arrays[1] = np.array(draw.int(0, 31), np.int32)
    agree([micro], case)


@cases
@given(draw=draws())
def test_signal_spectral_subtraction_equals(micro: Oracle, draw: Draw) -> None:
    size = draw.int(1, 20)
    x = T((size,), "uint32")
    bits = draw.int(0, 16)
    smoothing, alternate = draw.int(0, 1 << bits), draw.int(0, 1 << bits)
    flex = {
        "alternate_one_minus_smoothing": (1 << bits) - alternate,
        "alternate_smoothing": alternate,
        "clamping": draw.flag(),
        "min_signal_remaining": draw.int(0, 1 << bits),
        "num_channels": size,
        "one_minus_smoothing": (1 << bits) - smoothing,
        "smoothing": smoothing,
        "smoothing_bits": draw.int(0, 12),
        "spectral_subtraction_bits": bits,
    }
    name = "SignalFilterBankSpectralSubtraction"
    case = single(draw, name, [x, x, x], [0], outputs=(1, 2), flex=flex, inferences=4)
    small = draw.int(0, 24)
    for arrays in case.inputs:
        arrays[0] >>= np.uint32(small)
    agree([micro], case)


@cases
@given(draw=draws())
def test_signal_filter_bank_log_equals(micro: Oracle, draw: Draw) -> None:
    size = draw.int(1, 40)
    tensors = [T((size,), "uint32"), T((size,), "int16")]
    flex = {
        "input_correction_bits": draw.int(0, 8),
        "output_scale": draw.one(1600, draw.int(1, 9999)),
    }
    case = single(draw, "SignalFilterBankLog", tensors, [0], flex=flex)
    for arrays in case.inputs:
        arrays[0] >>= np.uint32(draw.int(0, 31))
    agree([micro], case)


@cases
@given(draw=draws())
def test_signal_pcan_equals(micro: Oracle, draw: Draw) -> None:
    size = draw.int(1, 40)
    x = T((size,), "uint32")
    table = _constant(draw.array((125,), "int16"))
    flex = {"snr_shift": draw.int(0, 20)}
    case = single(draw, "SignalPCAN", [x, x, table, x], [0, 1, 2], flex=flex, fed=(0, 1))
    for arrays in case.inputs:
        arrays[0] >>= np.uint32(draw.int(0, 31))
        arrays[1] >>= np.uint32(draw.int(0, 31))
    agree([micro], case)


@cases
@given(draw=draws())
def test_signal_framer_equals(micro: Oracle, draw: Draw) -> None:
    step, frames = draw.int(1, 8), draw.int(1, 3)
    prefill = draw.flag()
    size = draw.int(step, 20) if prefill else draw.int(1, 20)
    lead = draw.shape(0, 2, 3)
    tensors = [
        T((*lead, step * frames), "int16"),
        T((*lead, frames, size), "int16"),
        T((), "bool"),
    ]
    flex = {"frame_size": size, "frame_step": step, "prefill": prefill}
    case = single(draw, "SignalFramer", tensors, [0], outputs=(1, 2), flex=flex, inferences=6)
    case.written = _if_valid
    agree([micro], case)


@cases
@given(draw=draws())
def test_signal_stacker_equals(micro: Oracle, draw: Draw) -> None:
    channels, left, right = draw.int(1, 6), draw.int(0, 4), draw.int(0, 4)
    step = draw.int(1, left + right + 1)
    size = channels * (left + right + 1)
    tensors = [T((channels,), "int16"), T((size,), "int16"), T((), "bool")]
    flex = {
        "num_channels": channels,
        "stacker_left_context": left,
        "stacker_right_context": right,
        "stacker_step": step,
    }
    case = single(draw, "SignalStacker", tensors, [0], outputs=(1, 2), flex=flex, inferences=8)
    case.written = _if_valid
    agree([micro], case)


@cases
@given(draw=draws())
def test_signal_delay_equals(micro: Oracle, draw: Draw) -> None:
    x = T(draw.shape(1, 3, 5), "int16")
    flex = {"delay_length": draw.int(0, 12)}
    agree([micro], single(draw, "SignalDelay", [x, x], [0], flex=flex, inferences=6))


@pytest.mark.parametrize("dtype", ["int16", "float32"])
@cases
@given(draw=draws())
def test_signal_overlap_add_equals(dtype: str, micro: Oracle, draw: Draw) -> None:
    lead, frames, size = draw.shape(0, 2, 3), draw.int(1, 3), draw.int(1, 9)
    step = draw.int(1, size)
    tensors = [T((*lead, frames, size), dtype), T((*lead, frames * step), dtype)]
    flex = {"T": TYPES[dtype], "frame_step": step}
    agree([micro], single(draw, "SignalOverlapAdd", tensors, [0], flex=flex, inferences=4))


def _front_end(channels: int = 6, bins: int = 129) -> bytes:
    """Framer, window, scaling, transform, energy, filter bank, root, noise, gain, logarithm."""
    rng = np.random.default_rng(5)
    widths, order = np.full(channels + 1, 16), np.arange(channels + 1)
    half = rng.integers(0, 4096, 16 * (channels + 1))
    gains = np.sort(rng.integers(0, 9000, 125))[::-1]
    tables = (half, 4096 - half, 10 * order, 16 * order, widths)
    tensors = [
        T((160,), "int16"),
        T((1, 240), "int16"),
        T((), "bool"),
        _constant((4096 * np.hanning(240)).astype(np.int16)),
        T((1, 240), "int16"),
        T((240,), "int16"),
        T((240,), "int16"),
        T((), "int32"),
        T((2 * bins,), "int16"),
        T((bins,), "uint32"),
        *(_constant(each.astype(np.int16)) for each in tables),
        T((channels,), "uint64"),
        *(T((channels,), "uint32") for _ in range(3)),
        _constant(gains.astype(np.int16)),
        T((channels,), "uint32"),
        T((channels,), "int16"),
    ]
    noise = {
        "alternate_one_minus_smoothing": 15000,
        "alternate_smoothing": 1384,
        "clamping": True,
        "min_signal_remaining": 819,
        "num_channels": channels,
        "one_minus_smoothing": 16000,
        "smoothing": 384,
        "smoothing_bits": 10,
        "spectral_subtraction_bits": 14,
    }
    steps: list[tuple[str, dict[str, Any], list[int], list[int]]] = [
        ("SignalFramer", {"frame_size": 240, "frame_step": 160, "prefill": True}, [0], [1, 2]),
        ("SignalWindow", {"shift": 12}, [1, 3], [4]),
        ("RESHAPE", {}, [4], [5]),
        ("SignalFftAutoScale", {}, [5], [6, 7]),
        ("SignalRfft", {"T": TYPES["int16"], "fft_length": 2 * bins - 2}, [6], [8]),
        ("SignalEnergy", {"end_index": bins, "start_index": 0}, [8], [9]),
        ("SignalFilterBank", {"num_channels": channels}, list(range(9, 15)), [15]),
        ("SignalFilterBankSquareRoot", {}, [15, 7], [16]),
        ("SignalFilterBankSpectralSubtraction", noise, [16], [17, 18]),
        ("SignalPCAN", {"snr_shift": 6}, [17, 18, 19], [20]),
        ("SignalFilterBankLog", {"input_correction_bits": 3, "output_scale": 1600}, [20], [21]),
    ]
    operators = [
        Op(name, inputs, outputs, ("Reshape", {}))
        if name == "RESHAPE"
        else Op(name, inputs, outputs, custom=name, custom_options=flexbuffers.Dumps(flex))
        for name, flex, inputs, outputs in steps
    ]
    return build(tensors, operators, [0], [21])


def test_an_audio_front_end_equals_over_200_frames_and_a_reset(micro: Oracle) -> None:
    rng = np.random.default_rng(6)
    model = _front_end()
    loudness = np.repeat(rng.integers(1, 20000, 20), 10)
    frames = [[(rng.normal(size=160) * level).clip(-32768, 32767).astype(np.int16)]
              for level in loudness]  # fmt: skip
    expected, _ = micro.run(model, frames, resets={120})
    interpreter = Interpreter(Model.from_bytes(model))
    assert interpreter.stateful
    seen = set()
    for number, (frame, (wanted,)) in enumerate(zip(frames, expected, strict=True)):
        if number == 120:
            interpreter.reset()
        (obtained,) = interpreter.invoke(frame)
        np.testing.assert_array_equal(obtained, wanted)
        seen.add(obtained.tobytes())
    assert len(seen) > 100
