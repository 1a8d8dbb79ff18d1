"""Which side is wrong when outputs differ: the tensors in memory against what is stated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from elf_writer import MadeSection, write_elf
from model_builder import Op, T, build

from harness.base import paths
from harness.case.further_runs.wrong_side import WrongSide, wrong_side
from harness.case.layers import DeviceInference
from harness.elf import Image
from harness.model import Model
from harness.reference import Interpreter, dequantize
from harness.uart.scrapers.base import Stated

APPLICATION = "the application's "
DIGITS = Interpreter.from_file(paths.models() / "digits_int8.tflite")
SINE = Interpreter.from_file(paths.models() / "hello_world_int8.tflite")
FLOAT_SINE = Interpreter.from_file(paths.models() / "hello_world_float32.tflite")
CHIME = Interpreter.from_file(paths.models() / "chime_int8.tflite")
PAIR = T((1,), "int8", 1.0)
ADDS = build([PAIR] * 3, [Op("ADD", [0, 1], [2], ("Add", {}))], [0, 1], [2])
SUM = Interpreter.from_model(Model.from_bytes(ADDS, "sum"))
COUNT = 6


@pytest.fixture(scope="module")
def image(tmp_path_factory) -> Image:
    path = tmp_path_factory.mktemp("image") / "made.elf"
    path.write_bytes(write_elf([MadeSection(".text", 0x100, bytes(8), load=0x100)], []))
    return Image.from_elf(path)


def inputs_of(interpreter: Interpreter) -> np.ndarray:
    (tensor,) = interpreter.inputs
    chance = np.random.default_rng(7)
    return chance.integers(-100, 101, (COUNT, *tensor.shape)).astype(np.int8)


def computed(interpreter: Interpreter, inputs: np.ndarray) -> np.ndarray:
    interpreter.restart()
    return np.array(interpreter.invoke_batch([inputs])[0])


def device(inputs: np.ndarray, outputs: np.ndarray, heads: list[bytes] | None = None):
    heads = heads or [one.tobytes()[:4].ljust(4, b"\0") for one in inputs]
    return [
        DeviceInference((one.tobytes(),), (two.tobytes(),), (head,))
        for one, two, head in zip(inputs, outputs, heads, strict=True)
    ]


def text_of(*arguments) -> str:
    side = wrong_side(*arguments)
    return "" if side is None else side.text


Change = Callable[[np.ndarray], np.ndarray]
INPUTS: dict[str, tuple[Change, str]] = {
    "truncated": (lambda x: x - (np.arange(x.size).reshape(x.shape) % 3 == 0).astype(np.int8),
                  "input is rounded another way (truncated): it differs by 1"),
    "unsigned": (lambda x: x ^ np.int8(-128),
                 "input is off by 128: the zero point of -128 is not applied"),
    "another offset": (lambda x: x + np.int8(5), "input is off by 5"),
    "transposed": (lambda x: np.swapaxes(x, 2, 3), "input has height and width swapped"),
    "late": (lambda x: np.concatenate([x[:1], x[:-1]]),
             "input is that of the inference before"),
    "shifted": (lambda x: np.roll(x.reshape(COUNT, -1), 2, 1).reshape(x.shape),
                "input is shifted by 2 elements towards the end"),
    "constant": (lambda x: np.zeros_like(x) + x[:1],
                 "input is the same in each inference"),
    "inverted": (lambda x: ~x, "input is inverted: -1 - x for x"),
    "cut": (lambda x: x * (np.arange(64) < 32).reshape(x.shape[1:]),
            "input is right in its first 32 of 64 elements only"),
    "other values": (lambda x: x[::-1],
                     "input in memory is not the stated one: [0, 0, 0, 0] of inference 0 is FIRST"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "words"), INPUTS.values(), ids=INPUTS)
def test_an_input_that_is_stored_otherwise_than_it_is_stated(image, change, words):
    stated = inputs_of(DIGITS)
    stored = change(stated).astype(np.int8)
    outputs = computed(DIGITS, stored)
    said = Stated((stated,), (outputs,))
    words = words.replace("FIRST", f"{stored.flat[0]}, not {stated.flat[0]}")
    assert text_of(device(stored, outputs), said, DIGITS, image) == APPLICATION + words


def test_an_input_that_is_not_normalised(image):
    (tensor,) = DIGITS.inputs
    stated = (inputs_of(DIGITS) // 32 + tensor.zero_point + 8).astype(np.int8)
    real = dequantize(stated, tensor.scale, tensor.zero_point)
    stored = np.clip(np.round(real * 8 / tensor.scale) + tensor.zero_point, -128, 127)
    stored = stored.astype(np.int8)
    said = Stated((stated,), (computed(DIGITS, stored),))
    text = text_of(device(stored, computed(DIGITS, stored)), said, DIGITS, image)
    assert text == APPLICATION + "input is 8 times what it should be"


def test_a_float_in_an_integer_tensor(image):
    (tensor,) = SINE.inputs
    stated = inputs_of(SINE)
    floats = dequantize(stated, tensor.scale, tensor.zero_point).astype("<f4").ravel()
    heads = [one.tobytes() for one in floats]
    stored = np.frombuffer(b"".join(head[:1] for head in heads), np.int8).reshape(stated.shape)
    outputs = computed(SINE, stored)
    said = Stated((stated,), (outputs,))
    assert text_of(device(stored, outputs, heads), said, SINE, image).startswith(
        APPLICATION + "input holds a float: it is int8, quantize it (scale 0.02463"
    )


@pytest.mark.filterwarnings("error")
def test_any_bits_in_memory_give_no_warning(image):
    stated = inputs_of(SINE)
    heads = [bytes([number, 0, 0xA0, 0x7F]) for number in range(COUNT)]  # signalling NaNs
    outputs = computed(SINE, stated[::-1])
    said = Stated((stated,), (outputs,))
    text = text_of(device(stated[::-1], outputs, heads), said, SINE, image)
    assert text.startswith(APPLICATION + "input in memory is not the stated one: [0, 0] of inf")


def test_integers_in_a_float_tensor(image):
    stated = np.linspace(-3, 3, COUNT, dtype=np.float32).reshape(COUNT, 1, 1)
    integers = np.round(stated * 10).astype(np.int32).astype(np.uint8).astype(np.uint32)
    stored = integers.view(np.float32)
    outputs = computed(FLOAT_SINE, stored)
    said = Stated((stated,), (outputs,))
    text = text_of(device(stored, outputs), said, FLOAT_SINE, image)
    assert text == APPLICATION + "input holds integers: it is float32, store the real numbers"


def real_outputs(outputs: np.ndarray) -> np.ndarray:
    (tensor,) = SINE.outputs
    return dequantize(outputs, tensor.scale, tensor.zero_point).astype(np.float64)


OUTPUTS: dict[str, tuple[Change, str]] = {
    "late": (lambda q: np.concatenate([real_outputs(q)[:1] + 0.5, real_outputs(q)[:-1]]),
             "output is that of the inference before: read before Invoke()"),
    "another scale": (lambda q: (q.astype(np.float64) - 4) * 0.01,
                      "output is scaled with 0.01 (zero point 4), the model's with 0.00799"),
    "as a float": (lambda q: np.where(q % 2 == 0, -0.0, 1e-30),
                   "output is read as a float: it is int8 (scale "),
    "other values": (lambda q: real_outputs(q) * real_outputs(q)[::-1],
                     "output in memory is not the one that is stated"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "words"), OUTPUTS.values(), ids=OUTPUTS)
def test_an_output_that_is_stated_otherwise_than_it_is_stored(image, change, words):
    inputs = np.linspace(-128, 127, COUNT).round().astype(np.int8).reshape(COUNT, 1, 1)
    outputs = computed(SINE, inputs)
    said = Stated((inputs,), (change(outputs),))
    assert text_of(device(inputs, outputs), said, SINE, image).startswith(APPLICATION + words)


def test_a_kernel_that_computes_something_else(image):
    inputs = inputs_of(DIGITS)
    outputs = computed(DIGITS, inputs) ^ np.int8(1)
    outputs[:2] ^= np.int8(1)
    side = wrong_side(device(inputs, outputs), Stated((inputs,), (outputs,)), DIGITS, image)
    assert side == WrongSide("the kernels compute other outputs for the inputs that they got", 2)


def test_a_state_that_is_reset_before_each_inference(image):
    inputs = inputs_of(CHIME)
    outputs = np.concatenate([computed(CHIME, inputs[n : n + 1]) for n in range(COUNT)])
    text = text_of(device(inputs, outputs), Stated((inputs,), (outputs,)), CHIME, image)
    expected = "the model's state is reset before each inference"
    assert text == expected


def test_an_input_with_the_same_printed_digits_is_the_one_that_is_stated(image):
    stated = inputs_of(DIGITS)
    stored = stated + (np.arange(stated.size) % 3 == 0).reshape(stated.shape).astype(np.int8)
    outputs = computed(DIGITS, stored)
    said = Stated((stated,), (outputs,), ((stated - np.int8(1), stated + np.int8(1)),))
    assert text_of(device(stored, outputs), said, DIGITS, image) == ""


def test_two_inputs_are_told_apart_by_their_number(image):
    one = np.arange(3, 3 + COUNT, dtype=np.int8).reshape(COUNT, 1)
    two = one + np.int8(37)
    outputs = np.array(SUM.invoke_batch([one, one])[0])
    read = [
        DeviceInference((a.tobytes(), a.tobytes()), (y.tobytes(),), (bytes(4), bytes(4)))
        for a, y in zip(one, outputs, strict=True)
    ]
    said = Stated((one, two), (outputs,))
    assert text_of(read, said, SUM, image) == "the application's input 1 is off by -37"


@pytest.mark.parametrize("swapped", [True, False])
def test_two_inputs_that_are_swapped(image, swapped):
    one = np.arange(COUNT, dtype=np.int8).reshape(COUNT, 1)
    two = np.int8(10) - one
    first, second = (two, one) if swapped else (two, one + np.int8(1))
    outputs = np.array(SUM.invoke_batch([first, second])[0])
    read = [
        DeviceInference((a.tobytes(), b.tobytes()), (y.tobytes(),), (bytes(4), bytes(4)))
        for a, b, y in zip(first, second, outputs, strict=True)
    ]
    text = text_of(read, Stated((one, two), (outputs,)), SUM, image)
    assert (text == "the application's inputs 0 and 1 are swapped") is swapped


def test_nothing_is_said_where_both_sides_are_right(image):
    inputs = inputs_of(DIGITS)
    outputs = computed(DIGITS, inputs)
    assert text_of(device(inputs, outputs), Stated((inputs,), (outputs,)), DIGITS, image) == ""
