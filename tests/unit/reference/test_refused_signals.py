"""Messages for refused spectra and filter banks."""

from __future__ import annotations

import numpy as np
import pytest
from model_builder import T
from model_builder import constant as _c
from one_operator_models import INT16, INT32, assert_ends, assert_refused, overlap, signal, tensor
from oracle import Oracle

from harness.base.errors import HilError
from harness.model import Model
from harness.reference import Interpreter


def _window(x: T, w: T, y: T, **flex: int) -> bytes:
    return signal("SignalWindow", [x, w, y], 1, **{"shift": 2, **flex})


def _rfft(x: T, y: T, kind: int, length: int, op: str = "SignalRfft") -> bytes:
    return signal(op, [x, y], 1, T=kind, fft_length=length)


def _energy(x: T, y: T, start: int, end: int) -> bytes:
    return signal("SignalEnergy", [x, y], 1, start_index=start, end_index=end)


_BANK = ([9] * 6, [3] * 6, [0, 2, 4], [0, 2, 4], [2, 2, 2])


def _bank(size: int = 8, channels: int = 2, outputs: int = 2, **changed: list[int]) -> bytes:
    names = ("own", "rest", "bins", "places", "widths")
    rows = {**dict(zip(names, _BANK, strict=True)), **changed}
    tensors = [tensor("uint32", size), *(_c(row, "int16") for row in rows.values())]
    return signal(
        "SignalFilterBank", [*tensors, tensor("uint64", outputs)], 1, num_channels=channels
    )


def _subtraction(x: T, y: T, z: T, **flex: int) -> bytes:
    return signal("SignalFilterBankSpectralSubtraction", [x, y, z], 2, **flex)


_UINTS = tensor("uint32", 2)


REFUSED = {
    "SignalWindow of int32": (
        _window(tensor("int32", 4), _c([1, 2], "int16"), tensor("int32", 4)),
        "its tensors are int32 int16 -> int32, not int16 int16 -> int16",
    ),
    "SignalWindow of a table": (
        _window(tensor("int16", 4), _c([[1, 2]], "int16"), tensor("int16", 4)),
        "its window [1, 2] does not fit the input [4]",
    ),
    "SignalWindow that does not divide its input": (
        _window(tensor("int16", 5), _c([1, 2], "int16"), tensor("int16", 5)),
        "its window [2] does not fit the input [5]",
    ),
    "SignalWindow to another shape": (
        _window(tensor("int16", 4), _c([1, 2], "int16"), tensor("int16", 5)),
        "computes the shape [4]",
    ),
    "SignalWindow of a shift beyond a word": (
        _window(tensor("int16", 4), _c([1, 2], "int16"), tensor("int16", 4), shift=32),
        "its option shift is 32",
    ),
    "SignalWindow of a negative shift": (
        _window(tensor("int16", 4), _c([1, 2], "int16"), tensor("int16", 4), shift=-1),
        "its option shift is -1",
    ),
    "SignalWindow of a shift that is not whole": (
        _window(tensor("int16", 4), _c([1, 2], "int16"), tensor("int16", 4), shift=1.5),
        "its option shift is 1.5",
    ),
    "SignalWindow without a shift": (
        signal("SignalWindow", [tensor("int16", 4), _c([1, 2], "int16"), tensor("int16", 4)], 1),
        "it has no option 'shift'",
    ),
    "SignalFftAutoScale of a table": (
        signal(
            "SignalFftAutoScale", [tensor("int16", 1, 4), tensor("int16", 1, 4), tensor("int32")], 2
        ),
        "its input has the shape [1, 4]",
    ),
    "SignalFftAutoScale with a vector of exponents": (
        signal(
            "SignalFftAutoScale", [tensor("int16", 4), tensor("int16", 4), tensor("int32", 1)], 2
        ),
        "computes the shape [], but the model declares [1]",
    ),
    "SignalRfft of int8": (_rfft(tensor("int8", 4), tensor("int8", 6), 9, 4), "the type 9 is not"),
    "SignalOverlapAdd of int32": (
        overlap(tensor("int32", 2, 4), tensor("int32", 4), 2, INT32),
        "the type int32 is not supported",
    ),
    "SignalRfft for another type than its input": (
        _rfft(tensor("int16", 4), tensor("int32", 6), INT32, 4),
        "it is for int32, its tensors are int16",
    ),
    "SignalRfft for another type than its output": (
        _rfft(tensor("int32", 4), tensor("int16", 6), INT32, 4),
        "it is for int32, its tensors are int32",
    ),
    "SignalRfft of a length of 2": (
        _rfft(tensor("int16", 2), tensor("int16", 4), INT16, 2),
        "a length of 2 is not supported, only powers of two from 4 to 65536",
    ),
    "SignalRfft of a length of 12": (
        _rfft(tensor("int16", 4), tensor("int16", 14), INT16, 12),
        "a length of 12 is not supported, only powers of two from 4 to 65536",
    ),
    "SignalRfft of more than its length": (
        _rfft(tensor("int16", 5), tensor("int16", 6), INT16, 4),
        "its input [5] is longer than the transform, 4",
    ),
    "SignalRfft of a scalar": (
        _rfft(tensor("int16"), tensor("int16", 6), INT16, 4),
        "its input [] is longer than the transform, 4",
    ),
    "SignalRfft to another shape": (
        _rfft(tensor("int16", 4), tensor("int16", 4), INT16, 4),
        "computes the shape [6]",
    ),
    "SignalIrfft of other bins": (
        _rfft(tensor("int16", 8), tensor("int16", 4), INT16, 4, "SignalIrfft"),
        "[8] does not hold 3 bins",
    ),
    "SignalIrfft to another shape": (
        _rfft(tensor("int16", 6), tensor("int16", 6), INT16, 4, "SignalIrfft"),
        "computes the shape [4]",
    ),
    "SignalEnergy of a table": (
        _energy(tensor("int16", 1, 6), tensor("uint32", 3), 0, 3),
        "end_index 3 is out of range for [1, 6] and [3]",
    ),
    "SignalEnergy to a table": (
        _energy(tensor("int16", 6), tensor("uint32", 1, 3), 0, 3),
        "end_index 3 is out of range for [6] and [1, 3]",
    ),
    "SignalEnergy of more bins than there are": (
        _energy(tensor("int16", 6), tensor("uint32", 9), 0, 4),
        "end_index 4 is out of range for [6] and [9]",
    ),
    "SignalEnergy of more bins than have room": (
        _energy(tensor("int16", 6), tensor("uint32", 2), 0, 3),
        "end_index 3 is out of range for [6] and [2]",
    ),
    "SignalFilterBank to another number": (_bank(outputs=3), "computes the shape [2]"),
    "SignalFilterBank described for fewer channels": (
        _bank(bins=[0, 2]),
        "2 channels of 8 bins do not fit tables of 2",
    ),
    "SignalFilterBank with widths for fewer channels": (
        _bank(widths=[2, 2]),
        "2 channels of 8 bins do not fit tables of 3",
    ),
    "SignalFilterBank with places for fewer channels": (
        _bank(places=[0, 2]),
        "2 channels of 8 bins do not fit tables of 3",
    ),
    "SignalFilterBank that reaches beyond its bins": (
        _bank(size=5),
        "channel 2 reaches beyond its bins or weights",
    ),
    "SignalFilterBank that begins before its bins": (
        _bank(bins=[0, -1, 4]),
        "channel 1 reaches beyond its bins or weights",
    ),
    "SignalFilterBank that begins before its weights": (
        _bank(places=[-1, 2, 4]),
        "channel 0 reaches beyond its bins or weights",
    ),
    "SignalFilterBank that reaches beyond its weights": (
        _bank(own=[9] * 5),
        "channel 2 reaches beyond its bins or weights",
    ),
    "SignalFilterBank that reaches beyond its rests": (
        _bank(rest=[3] * 5),
        "channel 2 reaches beyond its bins or weights",
    ),
    "SignalFilterBank of no channel": (_bank(channels=0), "its option num_channels is 0"),
    "SignalFilterBankSquareRoot of a table": (
        signal(
            "SignalFilterBankSquareRoot",
            [tensor("uint64", 1, 2), _c(3), tensor("uint32", 1, 2)],
            1,
        ),
        "its inputs are [1, 2] and []",
    ),
    "SignalFilterBankSquareRoot of several scales": (
        signal(
            "SignalFilterBankSquareRoot", [tensor("uint64", 2), _c([3]), tensor("uint32", 2)], 1
        ),
        "its inputs are [2] and [1]",
    ),
    "SignalFilterBankSpectralSubtraction of other channels": (
        _subtraction(tensor("uint32", 3), tensor("uint32", 3), tensor("uint32", 3), num_channels=2),
        "num_channels is 2 for the shape [3]",
    ),
    "SignalFilterBankSpectralSubtraction of an estimate of other channels": (
        _subtraction(tensor("uint32", 2), tensor("uint32", 2), tensor("uint32", 3), num_channels=2),
        "num_channels is 2 for the shape [3]",
    ),
    "SignalFilterBankLog of a table": (
        signal(
            "SignalFilterBankLog",
            [tensor("uint32", 1, 2), tensor("int16", 1, 2)],
            1,
            input_correction_bits=3,
            output_scale=1600,
        ),
        "its input has the shape [1, 2]",
    ),
    "SignalPCAN of other channels": (
        signal(
            "SignalPCAN",
            [tensor("uint32", 2), tensor("uint32", 3), _c([1] * 9, "int16"), tensor("uint32", 2)],
            1,
            (0, 1),
            snr_shift=6,
        ),
        "its inputs are [2], [3], [9]",
    ),
    "SignalPCAN of a gain in a table": (
        signal(
            "SignalPCAN",
            [tensor("uint32", 2), tensor("uint32", 2), _c([[1] * 9], "int16"), tensor("uint32", 2)],
            1,
            (0, 1),
            snr_shift=6,
        ),
        "its inputs are [2], [2], [1, 9]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_inconsistent_models_are_refused_with_a_reason(name: str) -> None:
    assert_refused(*REFUSED[name])


TAKEN = {
    "a window of a shift of 31": _window(
        tensor("int16", 4), _c([1, 2], "int16"), tensor("int16", 4), shift=31
    ),
    "a transform of the shortest length": _rfft(tensor("int16", 3), tensor("int16", 6), INT16, 4),
    "energies of all bins": _energy(tensor("int16", 6), tensor("uint32", 3), 0, 3),
    "a filter bank": _bank(6),
    "a filter bank of one empty channel": _bank(4, widths=[2, 2, 0]),
}


@pytest.mark.parametrize("name", TAKEN)
def test_limits_are_inclusive(name: str) -> None:
    interpreter = Interpreter(Model.from_bytes(TAKEN[name], name))
    assert interpreter.operators


OPTIONS = {
    ("shift", 0, 31): lambda n: _window(
        tensor("int16", 4), _c([1, 2], "int16"), tensor("int16", 4), shift=n
    ),
    ("T", 0, 127): lambda n: _rfft(tensor("int16", 4), tensor("int16", 6), n, 4),
    ("fft_length", 0, 1 << 31): lambda n: _rfft(tensor("int16", 4), tensor("int16", 6), INT16, n),
    ("start_index", 0, 1 << 30): lambda n: _energy(tensor("int16", 6), tensor("uint32", 3), n, 3),
    ("end_index", 0, 1 << 30): lambda n: _energy(tensor("int16", 6), tensor("uint32", 3), 0, n),
    ("num_channels", 1, 1 << 20): lambda n: _bank(channels=n),
    ("input_correction_bits", 0, 31): lambda n: signal(
        "SignalFilterBankLog",
        [_UINTS, tensor("int16", 2)],
        1,
        input_correction_bits=n,
        output_scale=1,
    ),
    ("output_scale", -(1 << 31), 1 << 31): lambda n: signal(
        "SignalFilterBankLog",
        [_UINTS, tensor("int16", 2)],
        1,
        input_correction_bits=3,
        output_scale=n,
    ),
    ("snr_shift", 0, 63): lambda n: signal(
        "SignalPCAN",
        [_UINTS, _UINTS, _c([1] * 9, "int16"), _UINTS],
        1,
        (0, 1),
        snr_shift=n,
    ),
}


@pytest.mark.parametrize("option", OPTIONS, ids=[name for name, _, _ in OPTIONS])
def test_an_option_has_a_smallest_and_a_largest_value(option: tuple[str, int, int]) -> None:
    name, low, high = option
    assert_ends(OPTIONS[option], name, low, high)


def test_a_scale_of_a_square_root_is_a_shift_of_a_word() -> None:
    tensors = [tensor("uint64", 2), tensor("int32"), tensor("uint32", 2)]
    data = signal("SignalFilterBankSquareRoot", tensors, 1, (0, 1))
    interpreter, x = Interpreter(Model.from_bytes(data)), np.array([1 << 62, 9], np.uint64)
    for scale, expected in ((0, [1 << 31, 3]), (1, [1 << 30, 1]), (31, [1, 0])):
        assert interpreter.invoke([x, np.array(scale, np.int32)])[0].tolist() == expected
    for scale in (-1, 32):
        with pytest.raises(HilError, match="its scale is not from 0 to 31"):
            interpreter.invoke([x, np.array(scale, np.int32)])


def test_roots_are_the_nearest_whole_numbers_of_their_words(micro: Oracle) -> None:
    """That of the largest number of 32 bits is one of 16, that of 64 bits one of 32."""
    roots = {0: 0, 1: 1, 2: 1, 3: 2, 6: 2, 7: 3, 12: 3, 13: 4, (1 << 32) - 1: (1 << 16) - 1}
    roots |= {1 << 32: 1 << 16, (1 << 62) - 1: 1 << 31, (1 << 64) - 1: (1 << 32) - 1}
    tensors = [tensor("uint64", len(roots)), _c(0), tensor("uint32", len(roots))]
    data = signal("SignalFilterBankSquareRoot", tensors, 1)
    x = np.array([*roots], np.uint64)
    (y,) = Interpreter(Model.from_bytes(data)).invoke([x])
    assert dict(zip(x.tolist(), y.tolist(), strict=True)) == roots
    assert micro.run(data, [[x]])[0][0][0].tolist() == y.tolist()


@pytest.mark.parametrize(
    ("row", "bits"),
    [
        ([0, 5, -3], 12),
        ([16384, 0, 0], 0),
        ([0, 0, 0], 0),
        ([-32768, 5, 0], 12),
        ([5, 0, -32768], 0),
        ([-32768, -7, 3], 13),
        ([-32768, -7, -7], 12),
        ([-32768, -32768, 5], 12),
        ([5, -32768, 3], 13),
        ([100, -32768, -32768], 0),
    ],
)
def test_the_least_number_counts_for_nothing_in_auto_scale(
    row: list[int], bits: int, micro: Oracle
) -> None:
    """Its magnitude is negative in 16 bits: what follows it decides."""
    tensors = [tensor("int16", 3), tensor("int16", 3), tensor("int32")]
    data, x = signal("SignalFftAutoScale", tensors, 2), np.array(row, np.int16)
    scaled, exponent = Interpreter(Model.from_bytes(data)).invoke([x])
    assert exponent.tolist() == bits
    assert scaled.tolist() == (x.astype(np.int64) << bits).astype(np.int16).tolist()
    (wanted, shift), *_ = micro.run(data, [[x]], 2)[0]
    assert (wanted.tolist(), int(shift.item())) == (scaled.tolist(), bits)


def test_the_gain_of_the_smallest_noises_is_read_from_a_table_of_three() -> None:
    """Energies of 1: what is below 2^13 is squared, >> 20, the rest >> 6 less 64."""
    table = _c([4096, 8192, 16384], "int16")
    tensors = [tensor("uint32", 3), tensor("uint32", 3), table, tensor("uint32", 3)]
    data = signal("SignalPCAN", tensors, 1, (0, 1), snr_shift=0)
    interpreter, ones = Interpreter(Model.from_bytes(data)), np.ones(3, np.uint32)
    (y,) = interpreter.invoke([ones, np.array([0, 1, 2], np.uint32)])
    assert y.tolist() == [16, 64, 192]
    with pytest.raises(HilError, match="it reads element 4 of a table of 3"):
        interpreter.invoke([ones, np.array([0, 1, 3], np.uint32)])
